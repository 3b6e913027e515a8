"""A Call: one caller on one line, turn after turn, until somebody hangs up.

It decides whose turn it is and nothing else: an utterance begins a turn; speech over our voice cuts it;
speech before any sound supersedes the turn, and its words join the next. Every turn leaves a row.
"""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from voice import clock
from voice.budget import Budget
from voice.crew import Crew
from voice.events import SpeechStarted, Utterance
from voice.ledger import Ledger, Owner
from voice.listen import Ear
from voice.speak import Heard, Mouth, at_once
from voice.tape import Tape
from voice.turn import Desk, Said, Turn, take_turn

if TYPE_CHECKING:
    from collections.abc import Callable

    from voice.asr.transcriber import Transcriber
    from voice.endpoint import Endpointing
    from voice.events import Event
    from voice.forecast import Forecast
    from voice.ledger import Account, Outcome
    from voice.line import Line
    from voice.tts.synthesizer import Speech, Synthesizer
    from voice.turn import Phrases, Responder
    from voice.vad import Vad

Kind: TypeAlias = Literal["turn", "greeting", "reprompt"]

GUARD_US = 100 * clock.MS
"""How often a call looks whether frames are missing and whether the caller is."""


@dataclass(frozen=True, slots=True)
class Manners:
    """How a call behaves. Times in microseconds."""

    budget_us: int = 800_000
    """From the caller's last voiced sample to our first audible one."""
    patience_us: int = 5_000_000
    """To the answer, when a bridge has gone before it."""
    text_us: int = 500_000
    """Longest wait for a final text after the endpoint; then the partial text has to do."""
    murmur_us: int = 200_000
    """Voice without a word that is asked about; shorter is a breath or a click."""
    idle_us: int = 8_000_000
    """Silence after which we ask whether the caller is still there."""
    reprompts: int = 2
    """How often we ask before we hang up."""


@dataclass(frozen=True, slots=True)
class Parts:
    """What a call is made of; vad, line and tape belong to it alone, the others may be shared."""

    line: Line
    vad: Vad
    transcriber: Transcriber
    endpointing: Endpointing
    responder: Responder
    voice: Synthesizer
    forecast: Forecast
    phrases: Phrases
    greeting: Speech | None = None
    reprompt: Speech | None = None


@dataclass(frozen=True, slots=True)
class Entry:
    """One row of a call: a turn, or something we said unasked (then there is no utterance)."""

    kind: Kind
    number: int
    account: Account
    utterance: Utterance | None
    asked: str
    said: str


class Call:
    """One call. ``run`` returns when it is over; ``told`` gets each row as its turn ends."""

    def __init__(
        self, parts: Parts, manners: Manners, told: Callable[[Entry], None], *, taped: bool = True
    ) -> None:
        self._parts = parts
        self._manners = manners
        self._told = told
        self._turn: Turn | None = None
        self._task: asyncio.Task[None] | None = None
        self._unanswered = ""
        self._numbers = 0
        self._reprompts = 0
        self.history: list[Said] = []
        self.epoch_us = clock.now()
        self.tape = Tape(self.epoch_us, keeps=taped)
        self.mouth = Mouth(parts.line, self.tape)
        self.ended = ""
        """Why the call is over: '' while it runs."""
        self.dangling: tuple[str, ...] = ()

    @property
    def settled(self) -> bool:
        """Whether nobody speaks and nothing is owed: the caller has the floor."""
        return self._task is None and not (self.ear.speaking or self.ear.waiting)

    @property
    def sounding_since_us(self) -> int | None:
        """Since when a reply has been sounding; ``None`` while none is."""
        return self.mouth.sounding_since_us

    @property
    def quiet_since_us(self) -> int:
        """When our last sound ended."""
        return self.mouth.quiet_since_us

    async def run(self) -> None:
        """Take the call from its greeting to the hang-up."""
        async with Crew() as crew:
            self._crew = crew
            parts = self._parts
            self._desk = Desk(crew, parts.responder, parts.voice, self.mouth, parts.forecast, parts.phrases)
            self.ear = Ear(
                parts.vad,
                parts.transcriber,
                parts.endpointing,
                tell=self._hear,
                crew=crew,
                text_by=self._text_by,
            )
            if parts.greeting:
                self._speak_unasked("greeting", parts.greeting)
            guard = crew.create_task(self._guard(), name="guard")
            listening = crew.create_task(self._listen(), name="line")
            await asyncio.wait([guard, listening], return_when=asyncio.FIRST_COMPLETED)
            self.ended = self.ended or "caller hung up"
            self.ear.hang_up()
            await self._break_off(self.ended)
        self.dangling = crew.dangling

    async def _listen(self) -> None:
        async with contextlib.aclosing(self._parts.line.listen()) as frames:  # type: ignore[type-var]
            async for frame in frames:
                self.ear.hear(frame)
                self.tape.caller(frame.samples, self.ear.at_clock(frame.at))

    async def _guard(self) -> None:
        """Look for what no frame tells: frames that stopped coming, a caller who says nothing."""
        while True:
            await clock.sleep(GUARD_US)
            self.ear.missed()
            if not self.settled:
                continue
            quiet = clock.now() - max(self.mouth.quiet_since_us, self.epoch_us)
            if self._parts.reprompt and quiet >= self._manners.idle_us:
                if self._reprompts >= self._manners.reprompts:
                    self.ended = "caller said nothing"
                    return
                self._reprompts += 1
                self._speak_unasked("reprompt", self._parts.reprompt)

    def _text_by(self, ended_us: int, decided_us: int) -> int:
        """By when a final text is worth waiting for: a reply must still be chosen, rendered and sent."""
        forecast = self._parts.forecast
        after = sum(forecast.of(stage).p95_us for stage in ("choose", "synthesize", "deliver"))
        return max(
            decided_us, min(decided_us + self._manners.text_us, ended_us + self._manners.budget_us - after)
        )

    def _hear(self, event: Event) -> None:
        match event:
            case SpeechStarted():
                self._reprompts = 0
                if self._task:
                    self._task.cancel()
            case Utterance():
                self._answer(event)
            case _:
                pass

    def _answer(self, utterance: Utterance) -> None:
        """Begin the turn that *utterance* ended."""
        if not utterance.text and utterance.voiced_us < self._manners.murmur_us:
            return
        self._numbers += 1
        said = " ".join(filter(None, (self._unanswered, utterance.text)))
        zero = utterance.ended_us
        turn = Turn(
            self._numbers,
            utterance,
            said,
            Ledger(zero),
            Budget(zero + self._manners.budget_us),
            Budget(zero + self._manners.patience_us),
        )
        if self._unanswered:
            turn.ledger.decide("words joined", "those of the turn before were never answered")
        if self.ear.speaking:  # the caller went on while the text was being made
            account = turn.ledger
            account.charge("endpoint", Owner(utterance.rule, "setting"), utterance.decided_us)
            account.charge("transcribe", Owner(utterance.transcriber, "service"), utterance.text_us)
            self._close(turn, "superseded")
            return
        before = self._task
        self._task = self._crew.create_task(self._take(turn, before), name=f"turn {turn.number}")

    async def _take(self, turn: Turn, before: asyncio.Task[None] | None) -> None:
        """Take *turn*, after what is left of the one *before* it has gone."""
        if before:
            before.cancel()
            await asyncio.wait([before])
        self._turn = turn
        try:
            await take_turn(turn, self._desk, tuple(self.history))
        except asyncio.CancelledError:
            turn.outcome = turn.outcome or ("superseded" if turn.ledger.first_sound_us is None else "cut")
            raise
        finally:
            if self._task is asyncio.current_task():
                self._task = None
            self._close(turn, turn.outcome or "silent")

    def _close(self, turn: Turn, outcome: Outcome) -> None:
        """Write *turn* into the history and hand out its row."""
        answered = turn.ledger.first_answer_us is not None
        self._unanswered = "" if answered or outcome == "failed" else turn.said
        if answered or outcome == "failed":
            self.history.append(Said("caller", turn.said))
        if turn.heard.text:
            self.history.append(Said("agent", turn.heard.text, cut=not turn.heard.complete))
        self._tell("turn", turn.number, turn.ledger, outcome, turn.utterance, turn.said, turn.heard)

    def _tell(  # noqa: PLR0913, PLR0917 - one row's fields
        self,
        kind: Kind,
        number: int,
        ledger: Ledger,
        outcome: Outcome,
        utterance: Utterance | None,
        asked: str,
        heard: Heard,
    ) -> None:
        ledger.close()
        account = ledger.account(outcome, clock.stalls(ledger.zero_us, clock.now()))
        self._told(Entry(kind, number, account, utterance, asked, heard.text))

    def _speak_unasked(self, kind: Kind, speech: Speech) -> None:
        self._task = self._crew.create_task(self._say(kind, speech), name=kind)

    async def _say(self, kind: Kind, speech: Speech) -> None:
        """Say something unasked; it has a row of its own kind, and its zero is when we decided to."""
        self._numbers += 1
        number, ledger, heard = self._numbers, Ledger(clock.now()), Heard()

        def sounding(by_clock: int, by_tape: int) -> None:
            ledger.witness_us = by_tape
            ledger.sounded(by_clock, answer=True)

        outcome: Outcome = "superseded"
        try:
            with ledger.stage("deliver", Owner("line", "own code")):
                await self.mouth.play(at_once(speech), heard, sounding)
            outcome = "answered"
        except asyncio.CancelledError:
            outcome = "superseded" if ledger.first_sound_us is None else "cut"
            raise
        finally:
            if self._task is asyncio.current_task():
                self._task = None
            if heard.text:
                self.history.append(Said("agent", heard.text, cut=not heard.complete))
            self._tell(kind, number, ledger, outcome, None, "", heard)

    async def _break_off(self, why: str) -> None:
        """End the turn that runs, if one does, because the call is over."""
        if self._task:
            if self._turn:
                self._turn.ledger.decide("break off", why)
            task = self._task
            task.cancel()
            await clock.wait_until([task], clock.now() + clock.SECOND)
