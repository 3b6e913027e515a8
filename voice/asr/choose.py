"""Which recogniser hears: the one asked for, else the best that is here, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from turnbudget.voice.asr import moonshine, vosk
from turnbudget.voice.asr.moonshine import Moonshine
from turnbudget.voice.asr.vosk import Vosk
from turnbudget.voice.errors import ConfigError, MissingEngine

if TYPE_CHECKING:
    from pathlib import Path

    from turnbudget.voice.asr.moonshine_convert import Progress
    from turnbudget.voice.asr.transcriber import Transcriber

ENGINES: Final = {"moonshine": moonshine.missing, "vosk": vosk.missing}
"""The real engines, best first on telephone English (``bench/asr.py``), and what each still lacks."""


def choose(
    name: str = "auto",
    *,
    threads: int = 1,
    model: Path | None = None,
    progress: Progress = lambda *_: None,
) -> tuple[Transcriber, str]:
    """Return the transcriber *name* and why it was taken; ``auto`` takes the first engine that is here.

    *model* is a Vosk model's folder, *threads* and *progress* are Moonshine's. Nothing is loaded yet.
    Raises :class:`~turnbudget.voice.errors.MissingEngine`, or :class:`~turnbudget.voice.errors.ConfigError`
    for an unknown name.
    """
    if name not in (*ENGINES, "auto"):
        raise ConfigError(
            f"no transcriber is called {name!r}", where="asr", remedy=f"use auto, {' or '.join(ENGINES)}"
        )
    lacks = {engine: missing() for engine, missing in ENGINES.items()}
    if model is not None:
        lacks["vosk"] = None
    taken = next((engine for engine in ENGINES if name in (engine, "auto") and not lacks[engine]), None)
    if taken is None:
        wanted = "no transcriber is" if name == "auto" else f"{name} is not"
        remedy = " or: ".join(lack for engine, lack in lacks.items() if lack and name in (engine, "auto"))
        raise MissingEngine(f"{wanted} ready to run", where="asr", remedy=f"type {remedy}")
    transcriber: Transcriber = (
        Moonshine(threads=threads, progress=progress) if taken == "moonshine" else Vosk(model)
    )
    return transcriber, _why(name, taken, lacks)


def _why(name: str, taken: str, lacks: dict[str, str | None]) -> str:
    if name != "auto":
        return f"{taken}: asked for"
    absent = [engine for engine, lack in lacks.items() if lack]
    without = f"; {', '.join(absent)} not ready here" if absent else ""
    because = "the one measured on telephone English" if taken == "moonshine" else "the one ready here"
    return f"{taken}: {because}{without}"
