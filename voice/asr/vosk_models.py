"""Where a Vosk model is found, and how the small English one is got.

A model is a folder with ``am``, ``graph`` and ``conf``; what has not got them is no model, whoever
published it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

from turnbudget.voice import cache
from turnbudget.voice.errors import AsrError, ComponentError, MissingEngine

if TYPE_CHECKING:
    from collections.abc import Callable

NAME: Final = "vosk-model-small-en-us"
"""Name of the small English model."""
REMEDY: Final = "turnbudget models vosk, or name a model's folder in VOSK_MODEL_PATH"
"""What to type where a model is missing."""
_PARTS: Final = ("am", "graph", "conf")
_ARTIFACT: Final = "com.alphacephei:vosk-model-en:0.3.75:aar"
_PATIENCE_S: Final = 600


def is_model(place: Path) -> bool:
    """Return whether *place* looks like a Vosk model."""
    return all((place / part).is_dir() for part in _PARTS)


def checked(place: Path) -> Path:
    """Return *place* if it is a model; raises :class:`~turnbudget.voice.errors.MissingEngine`."""
    if not is_model(place):
        raise MissingEngine(
            f"no Vosk model here (it has {', '.join(_PARTS)})", where=str(place), remedy=REMEDY
        )
    return place


def find() -> Path | None:
    """Return the model in ``VOSK_MODEL_PATH``, our cache, or where vosk's own downloader puts it."""
    named = os.environ.get("VOSK_MODEL_PATH")
    places = [Path(named), *sorted(Path(named).glob("vosk-model*"))] if named else []
    places.append(cache.folder() / NAME)
    places += sorted((Path.home() / ".cache" / "vosk").glob("vosk-model*-en-us*"))
    return next((place for place in places if is_model(place)), None)


def fetch(progress: Callable[[int, int, str], None] = lambda *_: None) -> Path:
    """Return a model's folder; get the small English one by vosk's own downloader, or else by Maven.

    Blocks. Raises :class:`~turnbudget.voice.errors.AsrError`, which says what each way ended in.
    """
    if (found := find()) is not None:
        return found
    faults: list[str] = []
    for step, (way, get) in enumerate((("vosk's downloader", _by_vosk), ("Maven", _by_maven))):
        progress(step, 2, way)
        try:
            place = get()
        except (ComponentError, OSError, subprocess.SubprocessError, zipfile.BadZipFile) as error:
            faults.append(f"{way}: {error}")
        else:
            progress(2, 2, "done")
            return place
    raise AsrError(f"no English model could be got ({'; '.join(faults)})", remedy='use asr = "moonshine"')


def _by_vosk() -> Path:
    if find_spec("vosk") is None:
        raise MissingEngine("vosk is not installed", remedy="pip install vosk")
    # A process of its own: where it fails, vosk ends the program or leaves a half-made model behind.
    _run(sys.executable, "-c", "import vosk; vosk.Model(lang='en-us')")
    place = find()
    if place is None:
        raise AsrError("it left no model")
    return place


def _by_maven() -> Path:
    return cache.keep(NAME, _unpack_artifact)


def _unpack_artifact(made: Path) -> None:
    mvn = shutil.which("mvn")
    if mvn is None:
        raise AsrError("mvn is not installed")
    with tempfile.TemporaryDirectory() as scratch:
        _run(mvn, "-q", "-B", "dependency:get", f"-Dartifact={_ARTIFACT}", "-Dtransitive=false")
        _run(mvn, "-q", "-B", "dependency:copy", f"-Dartifact={_ARTIFACT}", f"-DoutputDirectory={scratch}")
        for archive in Path(scratch).glob("*.aar"):
            unpack(archive, made)


def _run(*command: str) -> None:
    """Run *command*; raises :class:`~turnbudget.voice.errors.AsrError` with what it said last if it fails."""
    done = subprocess.run(  # noqa: S603 - the program was found, the arguments are ours
        command, capture_output=True, text=True, check=False, timeout=_PATIENCE_S
    )
    if done.returncode:
        said = (done.stderr + done.stdout).splitlines()
        errors = [line for line in said if "error" in line.lower()] or [f"{Path(command[0]).name} failed"]
        raise AsrError(errors[0].removeprefix("[ERROR] ").strip()[:160])


def unpack(archive: Path, made: Path) -> None:
    """Put the model inside *archive* (a zip that has it somewhere) into *made*; raises if it holds none."""
    with tempfile.TemporaryDirectory(dir=made.parent) as scratch, zipfile.ZipFile(archive) as packed:
        packed.extractall(scratch)
        inside = next((place.parent for place in Path(scratch).rglob("am") if is_model(place.parent)), None)
        if inside is None:
            held = ", ".join(sorted(name for name in packed.namelist() if not name.endswith("/"))[:4])
            raise AsrError(f"the artifact holds no model (only {held})", where=archive.name)
        shutil.copytree(inside, made, dirs_exist_ok=True)
