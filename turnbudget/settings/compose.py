"""From a configuration to the parts of a call: engines warmed, phrases rendered, milliseconds made µs."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from turnbudget.runs.records import Engine
from turnbudget.settings.answering import open_answering
from turnbudget.settings.engines import choose_transcriber, detector, open_second, open_voice, real, vad_maker
from turnbudget.speculative.bank import bank
from turnbudget.speculative.prepare import Ranks
from turnbudget.speculative.shelf.shelf import Shelf
from turnbudget.speculative.shelf.store import Store
from turnbudget.speculative.speculation import CallBank, SharedBank, Speculation
from turnbudget.voice.asr.reference import Reference
from turnbudget.voice.asr.scripted import ScriptedTranscriber
from turnbudget.voice.call.bargein import Rules
from turnbudget.voice.call.parts import CallSettings, Parts, Phrases
from turnbudget.voice.call.responder import Foresees
from turnbudget.voice.errors import ConfigError
from turnbudget.voice.hearing.endpoint import Endpointing
from turnbudget.voice.hearing.keypad import Gathering
from turnbudget.voice.language.language import ENGLISH, Language, language
from turnbudget.voice.language.phrases_heard import word_classes
from turnbudget.voice.language.sentences import split
from turnbudget.voice.language.speakable import speakable
from turnbudget.voice.named import is_spec
from turnbudget.voice.sound import audio
from turnbudget.voice.time import clock
from turnbudget.voice.time.budget import Cost, Forecast
from turnbudget.voice.tts.synthesizer import Speech

if TYPE_CHECKING:
    from collections.abc import Callable

    from turnbudget.settings.answering import Answering
    from turnbudget.settings.config import BargeInTable, Config, PhraseTable
    from turnbudget.voice.asr.transcriber import Transcriber
    from turnbudget.voice.call.responder import Responder
    from turnbudget.voice.hearing.end_of_turn import EndOfTurn
    from turnbudget.voice.lines.line import Line
    from turnbudget.voice.tts.synthesizer import Synthesizer

MS: Final = clock.MS
PRIORS: Final = {
    # What a stage is taken to cost until it has been measured. Assumed, on the careful side (2026-11):
    # a scripted reply comes at once, espeak-ng renders a sentence in 10-20 ms, a frame is 20 ms.
    "choose": Cost(0, 20 * MS),
    "synthesize": Cost(20 * MS, 60 * MS),
    "deliver": Cost(10 * MS, 20 * MS),
}
"""What a stage is taken to cost until it has been measured (µs)."""


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
    library: SharedBank | None = None
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
            vad=vad_maker(vad, config.vad)(reference),
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
        bank = CallBank(self.library) if self.library else None
        shelf = self.shelf.for_call()
        return Speculation(
            responder, shelf, bounds=self.endpointing, ranks=self.ranks, bank=bank, second=self.second
        )

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
    known = {"auto", "scripted", "none"}
    wrong = [f"{key} = {name!r}" for key, name in named.items() if name not in known and not is_spec(name)]
    if kind == "virtual" and wrong:
        raise real(" and ".join(wrong))


async def open_studio(config: Config, progress: Callable[[str], None] = lambda _: None) -> Studio:
    """Load and warm every engine of *config* on the running clock; *progress* hears what is being done."""
    kind = clock.kind()
    check(config, kind)
    answering = await clock.offload(open_answering, config)  # it may read files and make a database
    wanted, vad_why = detector(config.vad.engine, kind, words=True)
    vad = await clock.offload(  # its model is loaded here, not in a call
        lambda: vad_maker(wanted, config.vad)(Reference())
    )
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
        if ends := getattr(second, "aclose", None):
            closing.push_async_callback(ends)
        engines = (
            Engine(job="vad", name=vad.name, why=vad_why),
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
            spoken=await render_phrases(spoken_phrases(config), voice, progress, language(config.language)),
            forecast=Forecast(PRIORS),
            engines=engines,
            shelf=shelf,
            library=library,
            second=second,
            closing=closing.pop_all(),
        )


def open_library(config: Config) -> SharedBank | None:
    """Return the reply bank that *config* names; raises ConfigError.

    A council keeps account of the dialogue, so nothing may be answered past it.
    """
    told = config.speculation
    if not told.bank:
        return None
    return SharedBank(bank.read(Path(told.bank)), told.threshold, alone=not config.council.open)


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


def call_settings(config: Config) -> CallSettings:
    """Return how a call behaves: it aims to be a margin early."""
    return CallSettings(
        budget_us=config.budget_ms * MS - config.margin_ms * MS,
        patience_us=config.patience_ms * MS,
        text_us=config.asr.text_ms * MS,
        murmur_us=config.murmur_ms * MS,
        idle_us=config.idle_ms * MS,
        reprompts=config.reprompts,
        longest_us=config.longest_call_s * clock.SECOND,
        barge_in=barge_in(config.barge_in, config.language),
        language=language(config.language),
        keypad=Gathering(config.keypad.terminator, config.keypad.gap_ms * MS, config.keypad.most),
    )


def endpointing(config: Config) -> Endpointing:
    """Return how long silences end a turn."""
    told = config.endpoint
    return Endpointing(
        silence_us=told.silence_ms * MS,
        start_us=told.start_ms * MS,
        longest_us=told.longest_ms * MS,
        whole_us=told.whole_ms * MS,
        patient_us=max(told.silence_ms, config.budget_ms - config.margin_ms - 20) * MS,
        settled_us=told.settled_ms * MS,
        least_us=told.least_ms * MS,
        most_us=told.most_ms * MS,
        part_us=told.part_ms * MS,
    )


def barge_in(told: BargeInTable, spoken: str = "en") -> Rules:
    """Return what the caller's sound over ours means, by the configuration."""
    words = word_classes(told.language or spoken)
    return Rules(
        words=replace(
            words, stop=(*words.stop, *told.stop), backchannels=(*words.backchannels, *told.backchannels)
        ),
        pause_us=told.pause_ms * MS,
        cut_us=told.cut_ms * MS,
        wordless_us=told.wordless_ms * MS,
        resume_us=told.resume_ms * MS,
        hold_us=told.hold_ms * MS,
    )


BREATH: Final = audio.samples(120 * clock.MS)
"""Silence between two sentences of one phrase (samples; 120 ms)."""


@dataclass(frozen=True, slots=True)
class Spoken:
    """What every call may have to say, rendered before there is one."""

    phrases: Phrases
    notice: Speech | None
    greeting: Speech | None
    reprompt: Speech | None


def spoken_phrases(config: Config) -> PhraseTable:
    """Return the phrases of *config*, those that nobody has written in its language."""
    known, told = language(config.language), config.phrases
    generic = ("greeting", "bridge", "pardon", "apology", "reprompt")
    return msgspec.structs.replace(
        told,
        **{name: known.says(name) for name in generic if getattr(told, name) == ENGLISH.says(name)},
    )


async def render_phrases(
    told: PhraseTable, voice: Synthesizer, progress: Callable[[str], None], spoken: Language = ENGLISH
) -> Spoken:
    """Return the phrases *told* in *voice*; raises ConfigError for one that cannot be spoken."""
    progress("rendering phrases")
    bridge, pardon, apology = [
        await render_phrase(voice, text, spoken) for text in (told.bridge, told.pardon, told.apology)
    ]
    notice, greeting, reprompt = [
        await render_phrase(voice, text, spoken) if text else None
        for text in (told.notice, told.greeting, told.reprompt)
    ]
    return Spoken(Phrases(bridge, pardon, apology), notice, greeting, reprompt)


async def render_phrase(voice: Synthesizer, text: str, spoken: Language = ENGLISH) -> Speech:
    """Return a whole phrase as one sound, a breath between its sentences."""
    pieces = [await voice.render(piece) for piece in split(speakable(text, spoken))]
    if not pieces:
        raise ConfigError(f"{text!r} has no words to speak", where="phrases")
    sounds = [pieces[0].samples]
    for piece in pieces[1:]:
        sounds += [audio.silence(BREATH), piece.samples]
    return Speech(text=text, samples=audio.join(sounds), onset=pieces[0].onset, voice=voice.voice)
