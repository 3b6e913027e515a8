"""A Call: one caller on one line, turn after turn, until somebody hangs up.

It decides whose turn it is and nothing else: an utterance begins a turn; speech over our voice cuts it;
speech before any sound, or too soon after it to be about it, supersedes the turn, and its words join the
next. Every turn leaves a row, closed at
the moment it ends and written as soon as what it broke off has told its last.
"""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from voice import clock
from voice.budget import Budget
from voice.crew import Crew
from voice.events import Partial, Pause, Resumed, SpeechStarted, Utterance
from voice.ledger import Ledger, Owner
from voice.listen import Ear
from voice.parts import Entry
from voice.responder import Said
from voice.speak import Heard, Mouth, at_once
from voice.tape import Tape
from voice.turn import Desk, Turn, account_for_listening, ask, needs, take_turn, tells

if TYPE_CHECKING:
    from collections.abc import Callable

    from voice.ahead import Ahead
    from voice.events import Event
    from voice.ledger import Outcome
    from voice.parts import Kind, Manners, Parts
    from voice.tts.synthesizer import Speech

GUARD_US: Final = 100 * clock.MS
"""How often a call looks whether frames are missing and whether the caller is."""
LINGER_US: Final = 100 * clock.MS
"""What was broken off has so long to tell its last (an LLM's times) before its row is written."""
REACT_US: Final = 200 * clock.MS
"""Nobody answers a sound sooner: a caller who speaks on within it goes on with what they were saying."""
LINE: Final = Owner("line", "own code")


@dataclass(slots=True)
class _Unasked:
    """Something we say unasked; its zero is when we decided to."""

    kind: Kind
    number: int
    ledger: Ledger
    outcome: Outcome | None = None
    heard: Heard = field(default_factory=Heard)

    def close(self) -> None:
        """End the account."""
        self.ledger.close()


class Call:
    """One call. ``run`` returns when it is over; ``told`` gets each row as its turn ends."""

    def __init__(
        self, parts: Parts, manners: Manners, told: Callable[[Entry], None], *, taped: bool = True
    ) -> None:
        self._parts = parts
        self._manners = manners
        self._told = told
        self._part: Turn | _Unasked | None = None
        self._task: asyncio.Task[None] | None = None
        self._unanswered = ""
        self._owing = False
        self._numbers = 0
        self._reprompts = 0
        self._spoke_us = 0
        self._paused_us = 0
        self._due: list[Callable[[], None]] = []
        """Rows of what was broken off, to be handed out shortly, or when the call is over."""
        self.history: list[Said] = []
        self.epoch_us = clock.now()
        self.tape = Tape(self.epoch_us, keeps=taped)
        self.mouth = Mouth(parts.line, self.tape)
        self.ended = ""
        """Why the call is over: '' while it runs."""
        self.dangling: tuple[str, ...] = ()
        """Names of tasks that would not end and were left behind."""

    @property
    def settled(self) -> bool:
        """Whether nobody speaks and nothing is owed: the caller has the floor."""
        return self._part is None and not (self.ear.speaking or self.ear.waiting)

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
        try:
            async with Crew() as crew:
                await self._take_call(crew)
            self.dangling = crew.dangling
        finally:
            while self._due:
                self._due.pop(0)()

    async def _take_call(self, crew: Crew) -> None:
        self._crew = crew
        parts = self._parts
        self._desk = Desk(
            crew,
            parts.responder,
            parts.voice,
            self.mouth,
            parts.forecast,
            parts.phrases,
            parts.endpointing.silence_us,
            parts.ahead,
        )
        if parts.ahead:
            parts.ahead.begin(crew)
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
        try:
            await asyncio.wait([guard, listening], return_when=asyncio.FIRST_COMPLETED)
            self.ended = self.ended or "caller hung up"
        finally:
            self.ended = self.ended or "broken off"
            self.ear.hang_up()
            self._break_off(self.ended)
            if parts.ahead:
                parts.ahead.hang_up()

    async def _listen(self) -> None:
        async with contextlib.aclosing(self._parts.line.listen()) as frames:  # type: ignore[type-var]
            async for frame in frames:
                sounded_us = self.ear.hear(frame)
                if sounded_us is not None:
                    self.tape.caller(frame.samples, sounded_us)

    async def _guard(self) -> None:
        """Look for what no frame tells: frames that stopped coming, a caller who says nothing."""
        while True:
            await clock.sleep(GUARD_US)
            self.ear.missed()
            if not self.settled:
                continue
            quiet = clock.now() - max(self.mouth.quiet_since_us, self._spoke_us)
            if self._parts.reprompt and quiet >= self._manners.idle_us:
                if self._reprompts >= self._manners.reprompts:
                    self.ended = "caller said nothing"
                    return
                self._reprompts += 1
                self._speak_unasked("reprompt", self._parts.reprompt)

    def _text_by(self, ended_us: int, decided_us: int) -> int:
        """By when a final text is worth waiting for: a reply must still be chosen, rendered and sent.

        If that cannot be in time however soon it begins, the bridge will cover the wait until its own start.
        """
        forecast, end = self._parts.forecast, ended_us + self._manners.budget_us
        by = end - sum(forecast.of(stage).p95_us for stage in ("choose", "synthesize", "deliver"))
        if by < decided_us:
            by = end - needs(self._desk, self._parts.phrases.bridge)
        return max(decided_us, min(decided_us + self._manners.text_us, by))

    def _hear(self, event: Event) -> None:
        match event:
            case SpeechStarted(at_us):
                self._break_off("the caller spoke", since_us=at_us)
                self._crew.create_task(self._make_ready(), name="making ready")
            case Utterance():
                self._answer(event)
            case _:
                pass
        if self._parts.ahead:
            self._tell(self._parts.ahead, event)

    def _tell(self, ahead: Ahead, event: Event) -> None:
        """Let *ahead* know of *event*."""
        match event:
            case SpeechStarted():
                ahead.listening(tuple(self.history))
            case Pause(at_us):
                self._paused_us = at_us
            case Partial(text, _, whole=True):
                self._guess(ahead, self._joined(text))
            case Partial(text):
                ahead.heard(self._joined(text))
            case Resumed():
                ahead.went_on()
            case _:
                pass

    def _guess(self, ahead: Ahead, said: str) -> None:
        """Have *ahead* work on what the turn would be about if the caller's pause were its end."""
        draft = Ledger(self._paused_us)
        budget, patience = self._budgets(draft.zero_us)
        question = ask(
            self._desk, said, tuple(self.history), draft, budget=budget, patience=patience, guess=True
        )
        ahead.paused(question, draft, self.ear.wait)

    def _joined(self, text: str) -> str:
        """Return *text* behind the words before it that were never answered."""
        return " ".join(filter(None, (self._unanswered, text)))

    def _budgets(self, zero_us: int) -> tuple[Budget, Budget]:
        """Return by when something must sound, and by when the answer must, behind a bridge."""
        return Budget(zero_us + self._manners.budget_us), Budget(zero_us + self._manners.patience_us)

    async def _make_ready(self) -> None:
        """Let the responder use the time in which the caller speaks."""
        with contextlib.suppress(Exception):  # it costs nothing but what it would have saved
            await self._parts.responder.make_ready(tuple(self.history))

    def _answer(self, utterance: Utterance) -> None:
        """Begin the turn that *utterance* ended.

        A murmur too short to ask about is no turn, unless it broke us off or words before it wait for an
        answer: then silence would be ours.
        """
        self._spoke_us = clock.now()
        if utterance.text:
            self._reprompts = 0
        elif utterance.voiced_us < self._manners.murmur_us and not self._owing:
            return
        self._break_off("the caller spoke again")
        turn = self._turn(utterance)
        if (
            self.ended or self.ear.speaking or self.ear.waiting
        ):  # it ended, or went on, while the text was being made
            account_for_listening(turn, self._parts.ahead)
            turn.ledger.decide("broken off", self.ended or "the caller went on")
            self._close(turn, "superseded")()
        else:
            self._part = turn
            self._task = self._crew.create_task(
                self._take(turn, tuple(self.history)), name=f"turn {turn.number}"
            )

    def _turn(self, utterance: Utterance) -> Turn:
        self._numbers += 1
        zero = utterance.ended_us
        said = self._joined(utterance.text)
        turn = Turn(self._numbers, utterance, said, Ledger(zero), *self._budgets(zero))
        if self._unanswered:
            turn.ledger.decide("words joined", "those of the turn before were never answered")
        return turn

    async def _take(self, turn: Turn, history: tuple[Said, ...]) -> None:
        try:
            await take_turn(turn, self._desk, history)
        finally:
            self._end(turn)

    def _speak_unasked(self, kind: Kind, speech: Speech) -> None:
        self._numbers += 1
        self._part = part = _Unasked(kind, self._numbers, Ledger(clock.now()))
        self._task = self._crew.create_task(self._say(part, speech), name=kind)

    async def _say(self, part: _Unasked, speech: Speech) -> None:
        try:
            sounding = tells(part.ledger, self._parts.forecast, answer=True)
            with part.ledger.stage("deliver", LINE):
                await self.mouth.play(at_once(speech), part.heard, sounding)
            part.outcome = "answered"
        finally:
            self._end(part)

    def _break_off(self, why: str, *, since_us: int | None = None) -> None:
        """Stop what we are saying or about to say, if anything, and write its row.

        *since_us* is when the caller spoke: if that was too soon to be about what sounds, they went on.
        """
        part, task = self._part, self._task
        if part and task:
            task.cancel()
            sounded = part.ledger.first_answer_us
            went_on = since_us is not None and sounded is not None and since_us < sounded + REACT_US
            part.ledger.decide("broken off", "the caller went on" if went_on else why)
            self._due.append(self._close(part, "superseded", withdrawn=went_on))
            work = part.work if isinstance(part, Turn) else None
            ending = [one for one in (task, work) if one]
            self._crew.create_task(self._hand_out(self._due[-1], ending), name=f"row {part.number}")

    async def _hand_out(self, row: Callable[[], None], ending: list[asyncio.Task[None]]) -> None:
        """Hand out a *row* that is due once what was broken off has told its last, or will not soon."""
        await clock.wait_until(ending, clock.now() + LINGER_US)
        self._due.remove(row)
        row()

    def _end(self, part: Turn | _Unasked) -> None:
        """Write the row of *part*, unless it was broken off and has one."""
        if self._part is part:
            self._close(part, "silent")()

    def _close(
        self, part: Turn | _Unasked, unheard: Outcome, *, withdrawn: bool = False
    ) -> Callable[[], None]:
        """Write *part* into the history; return what hands out its row. *unheard* if nothing has sounded.

        The words of a turn whose answer is *withdrawn* wait for another one, with those that follow.
        """
        self._part = self._task = None
        part.close()
        ledger, heard = part.ledger, part.heard
        outcome = part.outcome or (unheard if ledger.first_sound_us is None else "cut")
        self._owing = outcome in {"superseded", "cut"}
        utterance, asked, said = None, "", heard.text
        if isinstance(part, Turn):
            utterance, asked = part.utterance, part.said
            said = " ".join(filter(None, (part.aside.text, heard.text)))
            settled = (ledger.first_answer_us is not None and not withdrawn) or outcome == "failed"
            self._unanswered = "" if settled else asked
            if settled and asked:
                self.history.append(Said("caller", asked))
        if heard.text:
            self.history.append(Said("agent", heard.text, cut=not heard.complete))
        stalls = clock.stalls(ledger.zero_us, clock.now())

        def hand_out() -> None:
            account = ledger.account(outcome, stalls)
            self._told(Entry(part.kind, part.number, account, utterance, asked, said))

        return hand_out
