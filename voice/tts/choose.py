"""Which voice a run speaks with, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from turnbudget.voice.errors import ConfigError, MissingEngine
from turnbudget.voice.time.clock import MS, SECOND
from turnbudget.voice.tts import piper, pyttsx3
from turnbudget.voice.tts.process import ProcessSynthesizer, WorkerPatience
from turnbudget.voice.tts.scripted import ScriptedSynthesizer

if TYPE_CHECKING:
    from turnbudget.voice.tts.synthesizer import Synthesizer

NAMES: Final = ("auto", "pyttsx3", "piper", "scripted")
"""Names that may be chosen."""


def choose(name: str = "auto", *, voice: str = "", rate: int = 200) -> tuple[Synthesizer, str]:
    """Return the synthesizer of that *name* and why it was taken.

    *voice* is what its engine calls it (for piper the path of an ``.onnx``), *rate* is in words a minute.
    ``auto`` takes pyttsx3 where it can speak, for it answers in 10 ms, else piper. Raises
    :class:`~turnbudget.voice.errors.MissingEngine` or :class:`~turnbudget.voice.errors.ConfigError`.
    """
    if name == "auto":
        name = "pyttsx3" if pyttsx3.reachable() else "piper"
        if name == "piper" and not piper.reachable():
            raise MissingEngine(
                "no voice is installed",
                where="tts",
                remedy=f"{pyttsx3.REMEDY} (fast) or {piper.REMEDY} (better), or choose the tone 'scripted'",
            )
        why = "the fastest voice here" if name == "pyttsx3" else "pyttsx3 finds no espeak-ng"
        synthesizer, what = choose(name, voice=voice, rate=rate)
        return synthesizer, f"{what}; {why}"
    if name == "scripted":
        return ScriptedSynthesizer(), "scripted: a tone, no speech"
    if not 80 <= rate <= 450:  # noqa: PLR2004 - what espeak-ng takes
        raise ConfigError(f"a rate of {rate} words a minute", where="tts", remedy="80 to 450 is possible")
    if name == "pyttsx3":
        return _pyttsx3(voice, rate)
    if name == "piper":
        return _piper(voice, rate)
    raise ConfigError(f"no voice is called {name!r}", where="tts", remedy=f"choose of {', '.join(NAMES)}")


def _pyttsx3(voice: str, rate: int) -> tuple[Synthesizer, str]:
    found = pyttsx3.reachable()
    if not found:
        raise MissingEngine("pyttsx3 finds no espeak-ng to speak with", where="tts", remedy=pyttsx3.REMEDY)
    options = {"voice": voice, "rate": rate}
    made = ProcessSynthesizer("pyttsx3", options, voice=_named(voice or "default", rate, pyttsx3.edition()))
    return made, f"pyttsx3 with {found}"


def _piper(model: str, rate: int) -> tuple[Synthesizer, str]:
    found = model or piper.reachable()
    if not found:
        raise MissingEngine("piper or its voice is not installed", where="tts", remedy=piper.REMEDY)
    options = {"model": model, "rate": rate}
    patience = WorkerPatience(hung_us=5 * SECOND, quick_us=1_200 * MS)  # slow on a busy machine is not hung
    named = _named(found, rate, piper.edition(model))
    made = ProcessSynthesizer("piper", options, voice=named, patience=patience)
    return made, f"piper with {found}"


def _named(voice: str, rate: int, edition: str) -> str:
    """Return a voice's full name, in which everything stands that changes its sound."""
    return f"{voice}@{rate}, {edition}" if edition else f"{voice}@{rate}"
