"""What we are saying, or about to say: one thing at a time, and each leaves a row.

A row is closed the moment its turn ends, and written as soon as what it broke off has told its last.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from turnbudget.voice.call.ledger import Ledger, Owner
from turnbudget.voice.call.parts import CallRow
from turnbudget.voice.call.responder import Said
from turnbudget.voice.call.turn import HELD, Turn, account_for_listening, take_turn, tells
from turnbudget.voice.speaking.mouth import Playback, at_once
from turnbudget.voice.time import clock
from turnbudget.voice.time.budget import Budget

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

    from turnbudget.voice.call.ledger import Outcome
    from turnbudget.voice.call.parts import CallSettings, Kind, TurnParts
    from turnbudget.voice.hearing.events import Utterance
    from turnbudget.voice.tts.synthesizer import Speech

LINGER_US: Final = 100 * clock.MS
"""Longest wait for late facts of a reply that was cut, before its row is written (µs; 100 ms)."""
REACT_US: Final = 200 * clock.MS
"""Time after our first sound within which a caller who speaks is going on, not answering (µs; 200 ms)."""
LINE: Final = Owner("line", "own code")
"""Owner of the time in which a sound is handed to the line."""


@dataclass(slots=True)
class Announcement:
    """Something we say unasked: a notice, a greeting, a reprompt. Its zero is when we decided to."""

    kind: Kind
    """Which announcement it is."""
    number: int
    """Number of its row in the call, from 1."""
    ledger: Ledger
    protected: bool = False
    """Whether it is played to its end whatever the caller says."""
    outcome: Outcome | None = None
    """How it ended; ``None`` while that is open."""
    heard: Playback = field(default_factory=Playback)
    """What was heard of it."""

    def close(self) -> None:
        """Close the account."""
        self.ledger.close()


class Replies:
    """One call's replies; *told* gets each row, *over* is called after each that was played to its end."""

    def __init__(
        self,
        parts: TurnParts,
        settings: CallSettings,
        told: Callable[[CallRow], None],
        over: Callable[[], None],
    ) -> None:
        self._parts = parts
        self._settings = settings
        self._told = told
        self._over = over
        self._task: asyncio.Task[None] | None = None
        self._unanswered = self._unwritten = ""
        """Words that were never answered: as said, and (``_unwritten``) without keyed-in digits."""
        self._numbers = 0
        self._due: list[Callable[[], None]] = []
        """What hands out the rows of replies that were cut: shortly after, or when the call is over."""
        self.current: Turn | Announcement | None = None
        """The turn or announcement that sounds, or is about to; ``None`` if there is none."""
        self.history: list[Said] = []
        """What both sides have said so far, as it was heard."""
        self.owing = False
        """Whether the last turn was cut or superseded, so that an answer is still due."""
        self.leaving = False
        """Whether the last reply said goodbye."""
        self.transfer = ""
        """Where the last reply, heard to its end, sends the caller; '' for nowhere."""

    @property
    def protected(self) -> bool:
        """Whether an announcement sounds that is played to its end whatever the caller says."""
        return isinstance(self.current, Announcement) and self.current.protected

    def joined(self, text: str) -> str:
        """Return *text* behind the earlier words that were never answered."""
        return " ".join(filter(None, (self._unanswered, text)))

    def budgets(self, zero_us: int) -> tuple[Budget, Budget]:
        """Return by when something must sound, and by when the answer must behind a bridge."""
        return Budget(zero_us + self._settings.budget_us), Budget(zero_us + self._settings.patience_us)

    def answer(self, utterance: Utterance, broken: str = "", behind: str = "") -> None:
        """Begin the turn of *utterance*; *broken* says why it is over already, '' if it is not.

        *behind* names what had to be heard to its end before: then the promise counts from now.
        """
        turn = self._turn(utterance, behind)
        if broken:
            account_for_listening(turn, self._parts.ahead)
            turn.ledger.decide("broken off", broken)
            self._close(turn, "superseded")()
        else:
            self.current = turn
            taking = self._take(turn, tuple(self.history))
            self._task = self._parts.crew.create_task(taking, name=f"turn {turn.number}")

    def say(self, kind: Kind, speech: Speech, *, protected: bool = False) -> None:
        """Play *speech* unasked; if *protected*, to its end whatever the caller says."""
        self._numbers += 1
        self.current = spoken = Announcement(kind, self._numbers, Ledger(clock.now()), protected)
        self._task = self._parts.crew.create_task(self._say(spoken, speech), name=kind)

    def note(self, words: str) -> None:
        """Keep *words* of the caller that need no answer, and drop the wait for earlier ones."""
        self.history.append(Said("caller", self.joined(words)))
        self._unanswered = self._unwritten = ""
        self.owing = False

    def break_off(self, why: str, *, since_us: int | None = None) -> None:
        """Stop the current reply, if there is one, and write its row.

        *since_us* is when the caller spoke: if that was too soon to be about what sounds, they went on.
        """
        spoken, task = self.current, self._task
        if spoken and task:
            task.cancel()
            sounded = spoken.ledger.first_answer_us
            went_on = since_us is not None and sounded is not None and since_us < sounded + REACT_US
            spoken.ledger.decide("broken off", "the caller went on" if went_on else why)
            self._due.append(self._close(spoken, "superseded", withdrawn=went_on))
            work = spoken.work if isinstance(spoken, Turn) else None
            ending = [one for one in (task, work) if one]
            self._parts.crew.create_task(self._hand_out(self._due[-1], ending), name=f"row {spoken.number}")

    def hand_out(self) -> None:
        """Hand out every row that is still due, at the end of the call."""
        while self._due:
            self._due.pop(0)()

    def _turn(self, utterance: Utterance, behind: str) -> Turn:
        self._numbers += 1
        zero = utterance.ended_us
        said = self.joined(utterance.text)
        budget, patience = self.budgets(clock.now() if behind else zero)
        asked = " ".join(filter(None, (self._unwritten, utterance.written)))
        turn = Turn(
            number=self._numbers,
            utterance=utterance,
            said=said,
            asked=asked,
            ledger=Ledger(zero),
            budget=budget,
            patience=patience,
        )
        if behind:
            turn.behind = Owner(behind, "setting")
            turn.ledger.decide("answered late", f"the {behind} had to be heard to its end")
        if self._unanswered:
            turn.ledger.decide("words joined", "those of the turn before were never answered")
        return turn

    async def _take(self, turn: Turn, history: tuple[Said, ...]) -> None:
        try:
            await take_turn(turn, self._parts, history)
        finally:
            self._end(turn)

    async def _say(self, spoken: Announcement, speech: Speech) -> None:
        try:
            with spoken.ledger.stage("deliver", HELD):
                await self._parts.mouth.freed()
            sounding = tells(spoken.ledger, self._parts.forecast, answer=True)
            with spoken.ledger.stage("deliver", LINE):
                await self._parts.mouth.play(at_once(speech), spoken.heard, sounding)
            spoken.outcome = "answered"
        finally:
            self._end(spoken)

    async def _hand_out(self, row: Callable[[], None], ending: list[asyncio.Task[None]]) -> None:
        """Hand out *row* once the tasks in *ending* are done, or after a short wait."""
        await clock.wait_until(ending, clock.now() + LINGER_US)
        if row in self._due:
            self._due.remove(row)
            row()

    def _end(self, spoken: Turn | Announcement) -> None:
        """Write the row of *spoken*, unless it was cut and has one."""
        if self.current is spoken:
            self._close(spoken, "silent")()
            self._over()

    def _close(
        self, spoken: Turn | Announcement, unheard: Outcome, *, withdrawn: bool = False
    ) -> Callable[[], None]:
        """Close *spoken*, add it to the history, and return what hands out its row.

        The words of a turn whose answer is *withdrawn* wait for another one, with those that follow.
        """
        self.current = self._task = None
        spoken.close()
        ledger, heard = spoken.ledger, spoken.heard
        outcome = spoken.outcome or (unheard if ledger.first_sound_us is None else "cut")
        self.owing = outcome in {"superseded", "cut"}
        utterance, asked, said = None, "", heard.text
        if isinstance(spoken, Turn):
            utterance, asked = spoken.utterance, spoken.asked
            self.leaving = spoken.ends_call and heard.complete
            self.transfer = spoken.transfer if heard.complete else ""
            said = " ".join(filter(None, (spoken.aside.text, heard.text)))
            settled = (ledger.first_answer_us is not None and not withdrawn) or outcome == "failed"
            self._unanswered, self._unwritten = ("", "") if settled else (spoken.said, asked)
            if settled and spoken.said:
                self.history.append(Said("caller", spoken.said))
        if heard.text:
            self.history.append(Said("agent", heard.text, cut=not heard.complete))
        stalls = clock.stalls(ledger.zero_us, clock.now())
        left = ledger.first_sound_us if ledger.first_answer_us is None else ledger.first_answer_us
        played = self._parts.mouth.heard_us
        if left is not None and played is not None and played >= left:
            ledger.lane("line: sent to sounded", left).end("as the far side tells", played)

        def hand_out() -> None:
            account = ledger.account(outcome, stalls)
            self._told(
                CallRow(
                    kind=spoken.kind,
                    number=spoken.number,
                    account=account,
                    utterance=utterance,
                    asked=asked,
                    said=said,
                )
            )

        return hand_out
