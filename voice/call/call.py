"""A Call: one caller on one line, turn after turn, until somebody hangs up.

It decides whose turn it is and nothing else: an utterance begins a turn; what the caller sounds over our
voice may hold it, cut it, or mean nothing (:mod:`turnbudget.voice.call.bargein`); speech before any sound, or
too soon after it to be about it, supersedes the turn, and its words join the next. Whoever works ahead is
told what is heard, and at a pause what the turn would be about.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Final

from turnbudget.voice.call.ledger import Ledger
from turnbudget.voice.call.overlap import Overlaps
from turnbudget.voice.call.parts import TurnParts
from turnbudget.voice.call.replies import Replies
from turnbudget.voice.call.turn import ask
from turnbudget.voice.hearing.ear import Ear
from turnbudget.voice.hearing.events import Partial, Pause, Resumed, SpeechStarted, Utterance, joined
from turnbudget.voice.hearing.keypad import Keypad
from turnbudget.voice.sound.echo import Echo
from turnbudget.voice.speaking.mouth import Mouth
from turnbudget.voice.speaking.tape import Tape
from turnbudget.voice.time import clock
from turnbudget.voice.time.crew import Crew

if TYPE_CHECKING:
    from collections.abc import Callable

    from turnbudget.voice.call.ahead import Ahead
    from turnbudget.voice.call.parts import CallRow, CallSettings, Parts
    from turnbudget.voice.call.responder import Said
    from turnbudget.voice.hearing.events import Event

GUARD_US: Final = 100 * clock.MS
"""Interval at which a call checks for missing frames, idle callers and its time limit (µs; 100 ms)."""
EARLY: Final = 31
"""Keys kept from before the call has begun, besides the latest."""


class Call:
    """One call. ``run`` returns when it is over; ``told`` gets each row as its turn ends.

    ``overheard`` gets what the caller sounded that needs no answer, so has no row; its text may be "".
    ``awaited`` says whether the caller is known to speak again, as a recorded one is: until then their
    silence is neither asked about nor taken for the end of the call.
    """

    def __init__(  # noqa: PLR0913 - its parts, its ways, and who is told what
        self,
        parts: Parts,
        settings: CallSettings,
        told: Callable[[CallRow], None],
        *,
        taped: bool = True,
        overheard: Callable[[Utterance], None] = lambda _: None,
        awaited: Callable[[], bool] = lambda: False,
    ) -> None:
        self._parts = parts
        self._settings = settings
        self._overheard = overheard
        self._awaited = awaited
        self._reprompts = 0
        self._spoke_us = 0
        self._greeting = parts.greeting
        """Greeting still to be said; ``None`` once it was said, or the caller spoke first."""
        self._later: list[Utterance] = []
        """Utterances during a protected announcement, which are answered after it."""
        self._echo = Echo() if settings.half_duplex else None
        self._keypad = Keypad(settings.keypad)
        self._early: list[str] = []
        """Keys pressed before the call had begun."""
        self._begun = self._on_hold = False
        self._quiet = asyncio.Event()
        """Set while the caller is silent and their last words were answered or let go."""
        self._quiet.set()
        self.epoch_us = clock.now()
        """When the call object was made (µs on the clock): zero of the call's times."""
        self.tape = Tape(self.epoch_us, keeps=taped)
        self.mouth = Mouth(parts.line, self.tape, self._echo)
        self._crew = Crew()
        self._turn_parts = TurnParts(
            crew=self._crew,
            responder=parts.responder,
            voice=parts.voice,
            mouth=self.mouth,
            forecast=parts.forecast,
            phrases=parts.phrases,
            act_us=parts.endpointing.silence_us,
            ahead=parts.ahead,
            quiet=self._quiet.wait,
            language=settings.language,
        )
        self._replies = Replies(self._turn_parts, settings, told=told, over=self._take_up)
        self.ear = Ear(
            parts.vad,
            parts.transcriber,
            parts.endpointing,
            tell=self._hear,
            crew=self._crew,
            text_by=self._text_by,
            listens_us=parts.ahead.listens_us if parts.ahead else 0,
        )
        self._overlaps = Overlaps(settings.barge_in, self.ear, self.mouth, self._replies)
        ahead = parts.ahead
        self._guessing = Guessing(ahead, self._turn_parts, self.ear, self._replies) if ahead else None
        self.ended = ""
        """Why the call is over; '' while it runs."""
        self.transfer = ""
        """Where to send the caller when the call is over; '' for nowhere."""
        self.dangling: tuple[str, ...] = ()
        """Names of tasks that did not end at the hang-up and were left behind."""

    @property
    def settled(self) -> bool:
        """Whether nobody speaks and no reply is due."""
        return self._replies.current is None and not (self.ear.speaking or self.ear.waiting)

    @property
    def sounding_since_us(self) -> int | None:
        """When the current reply began to sound (µs on the clock); ``None`` while none sounds."""
        return self.mouth.sounding_since_us

    @property
    def quiet_since_us(self) -> int:
        """When our last sound ended (µs on the clock)."""
        return self.mouth.quiet_since_us

    @property
    def history(self) -> list[Said]:
        """What both sides have said so far, as it was heard."""
        return self._replies.history

    def press(self, key: str) -> None:
        """Handle a *key* of the telephone: it silences what sounds and is gathered as an answer."""
        if self.ended:
            return
        if not self._begun:
            self._early = [*self._early[-EARLY:], key]
            return
        if not self._replies.protected:
            self._replies.break_off("a key was pressed")
        if self._parts.ahead and not self.ear.speaking:
            self._parts.ahead.listening(tuple(self.history))
        self._gathered(self._keypad.press(key, clock.now()))

    def hold(self, *, on: bool) -> None:
        """Handle hold and unhold; on hold nobody speaks, listens or is waited for."""
        self._on_hold = on
        if self._begun:
            self._overlaps.on_hold = on
            self._spoke_us = clock.now()
            self._overlaps.follow()

    def hang_up(self, why: str) -> None:
        """End the call, and say *why*."""
        self.ended = self.ended or why

    async def run(self) -> None:
        """Run the call from its greeting to the hang-up."""
        try:
            async with self._crew:
                await self._take_call()
            self.dangling = self._crew.dangling
        finally:
            self._replies.hand_out()

    async def _take_call(self) -> None:
        parts = self._parts
        if parts.ahead:
            parts.ahead.begin(self._crew)
        if parts.notice:
            self._replies.say("notice", parts.notice, protected=True)
        else:
            self._greet()
        self._begun = True
        self.hold(on=self._on_hold)
        for key in self._early:
            self.press(key)
        guard = self._crew.create_task(self._guard(), name="guard")
        listening = self._crew.create_task(self._listen(), name="line")
        try:
            await asyncio.wait([guard, listening], return_when=asyncio.FIRST_COMPLETED)
            self.ended = self.ended or "caller hung up"
        finally:
            self.ended = self.ended or "broken off"
            self.ear.hang_up()
            self._replies.break_off(self.ended)
            if self._later:
                self._replies.answer(joined(self._later), self.ended)
            if parts.ahead:
                parts.ahead.hang_up()

    async def _listen(self) -> None:
        async with contextlib.aclosing(self._parts.line.listen()) as frames:  # type: ignore[type-var]
            async for frame in frames:
                if self._on_hold:
                    continue
                masked = self._echo is not None and self._echo.masks(frame.samples, clock.now())
                sounded_us = self.ear.hear(frame, masked=masked)
                if sounded_us is not None:
                    self.tape.caller(frame.samples, sounded_us)
                self._overlaps.follow()

    async def _guard(self) -> None:
        """Watch what no frame tells of: frames that stopped, a silent caller, the time limit, a transfer."""
        while not self.ended:
            await clock.sleep(GUARD_US)
            self._gathered(self._keypad.waited(clock.now()))
            if clock.now() - self.epoch_us >= self._settings.longest_us:
                self.ended = "the call was too long"
            if self._on_hold or self.ended:
                continue
            self.ear.missed()
            self._overlaps.follow()
            if self._replies.transfer and self._settings.transfers:
                self.transfer = self._replies.transfer
                self.ended = "the caller was sent on"
            elif self.settled:
                self._idle(clock.now() - max(self.mouth.quiet_since_us, self._spoke_us))

    def _idle(self, quiet_us: int) -> None:
        """Ask a caller who has been silent for *quiet_us* whether they are there, or hang up."""
        leaving, settings = self._replies.leaving, self._settings
        if self._awaited() and not leaving:
            return
        if quiet_us < ((settings.parting_us if leaving else 0) or settings.idle_us):
            return
        if leaving:
            self.ended = "we said goodbye"
        elif self._parts.reprompt:
            if self._reprompts >= self._settings.reprompts:
                self.ended = "caller said nothing"
                return
            self._reprompts += 1
            self._replies.say("reprompt", self._parts.reprompt)

    def _text_by(self, ended_us: int, decided_us: int) -> int:
        """Return by when a final text must be there, so that a reply can be chosen, rendered and sent.

        If that cannot be in time however soon it begins, the bridge will cover the wait until its own start.
        """
        forecast, end = self._parts.forecast, ended_us + self._settings.budget_us
        by = end - sum(forecast.of(stage).p95_us for stage in ("choose", "synthesize", "deliver"))
        if by < decided_us:
            by = end - self._turn_parts.needs(self._parts.phrases.bridge)
        return max(decided_us, min(decided_us + self._settings.text_us, by))

    # --- hearing -----------------------------------------------------------------------------------

    def _hear(self, event: Event) -> None:
        match event:
            case SpeechStarted(at_us):
                self._quiet.clear()
                self._overlaps.begin(at_us)
                self._crew.create_task(self._make_ready(), name="making ready")
            case Utterance():
                self._answer(event)
                if not (self.ear.speaking or self.ear.waiting):
                    self._quiet.set()
            case _:
                pass
        if self._guessing:
            self._guessing.hear(event)

    async def _make_ready(self) -> None:
        """Let the responder prepare while the caller speaks."""
        with contextlib.suppress(Exception):  # it costs nothing but what it would have saved
            await self._parts.responder.make_ready(tuple(self.history))

    # --- answering ---------------------------------------------------------------------------------

    def _answer(self, utterance: Utterance) -> None:
        """Handle an *utterance*: begin its turn if an answer is due."""
        self._spoke_us = clock.now()
        if utterance.text:
            self._reprompts = 0
        if self._is_due(utterance):
            self._begin(utterance)
        else:
            self._overheard(utterance)
            self._take_up()

    def _begin(self, utterance: Utterance) -> None:
        """Begin the turn of *utterance*, after a protected announcement if one sounds."""
        if self._replies.protected and not self.ended:
            self._later.append(utterance)
            return
        self._replies.break_off("the caller spoke again")
        # The call ended, or the caller went on, while the text was being made.
        broken = self.ended or ("the caller went on" if self.ear.speaking or self.ear.waiting else "")
        said, self._later, self._greeting = joined([*self._later, utterance]), [], None
        self._replies.answer(said, broken)

    def _gathered(self, keyed: Utterance | None) -> None:
        """Begin the turn of keys that are a complete input."""
        if keyed:
            self._spoke_us, self._reprompts = clock.now(), 0
            self._begin(keyed)

    def _is_due(self, utterance: Utterance) -> bool:
        """Return whether *utterance* needs an answer; keep words that need none.

        A murmur too short to ask about does not, unless it broke us off or words before it wait for an
        answer: then silence would be ours. What was said over a reply that went on does not either. But
        a sound whose text never came may have been a "yes".
        """
        verdict = self._overlaps.end(utterance.text)
        if verdict is None:
            long = utterance.voiced_us >= self._settings.murmur_us
            unread = utterance.trust == "partial" and not self.ended
            return bool(utterance.text) or long or unread or self._replies.owing
        if verdict.kept and not verdict.answered:
            self._replies.note(utterance.text)
        return verdict.answered

    def _take_up(self) -> None:
        """Answer what waited for a protected announcement, or greet, unless the caller speaks."""
        if self._replies.current or self.ear.speaking or self.ear.waiting or self.ended:
            return
        later, self._later = self._later, []
        if later:
            self._greeting = None
            self._replies.answer(joined(later), behind="notice")
        else:
            self._greet()

    def _greet(self) -> None:
        """Say the greeting if it was not said yet."""
        greeting, self._greeting = self._greeting, None
        if greeting:
            self._replies.say("greeting", greeting)


class Guessing:
    """Tells *ahead* what one call hears."""

    def __init__(self, ahead: Ahead, turn_parts: TurnParts, ear: Ear, replies: Replies) -> None:
        self._ahead = ahead
        self._turn_parts = turn_parts
        self._ear = ear
        self._replies = replies
        self._paused_us = 0

    def hear(self, event: Event) -> None:
        """Handle an *event* of the ear."""
        match event:
            case SpeechStarted():
                self._ahead.listening(tuple(self._replies.history))
            case Pause(at_us):
                self._paused_us = at_us
            case Partial(text, _, whole=True):
                self._guess(self._replies.joined(text))
            case Partial(text):
                self._ahead.heard(self._replies.joined(text))
            case Resumed():
                self._ahead.went_on()
            case _:
                pass

    def _guess(self, said: str) -> None:
        """Have the turn prepared that would begin if this pause ended it."""
        draft = Ledger(self._paused_us)
        budget, patience = self._replies.budgets(draft.zero_us)
        question = ask(
            self._turn_parts,
            said,
            tuple(self._replies.history),
            draft,
            budget=budget,
            patience=patience,
            parting=self._replies.leaving,
            guess=True,
        )
        self._ahead.paused(question, draft, self._ear.wait, self._ear.sound())
