"""Guesses: what a call hears, told to whoever works ahead, and at a pause what the turn would be about."""

from __future__ import annotations

from typing import TYPE_CHECKING

from turnbudget.voice.call.ledger import Ledger
from turnbudget.voice.call.reply import ask
from turnbudget.voice.hearing.events import Partial, Pause, Resumed, SpeechStarted

if TYPE_CHECKING:
    from turnbudget.voice.call.ahead import Ahead
    from turnbudget.voice.call.desk import Desk
    from turnbudget.voice.call.saying import Saying
    from turnbudget.voice.hearing.ear import Ear
    from turnbudget.voice.hearing.events import Event


class Guessing:
    """Keeps *ahead* told of one call."""

    def __init__(self, ahead: Ahead, desk: Desk, ear: Ear, saying: Saying) -> None:
        self._ahead = ahead
        self._desk = desk
        self._ear = ear
        self._saying = saying
        self._paused_us = 0

    def hear(self, event: Event) -> None:
        """Take what the ear tells."""
        match event:
            case SpeechStarted():
                self._ahead.listening(tuple(self._saying.history))
            case Pause(at_us):
                self._paused_us = at_us
            case Partial(text, _, whole=True):
                self._guess(self._saying.joined(text))
            case Partial(text):
                self._ahead.heard(self._saying.joined(text))
            case Resumed():
                self._ahead.went_on()
            case _:
                pass

    def _guess(self, said: str) -> None:
        """Have the turn worked on that would begin if the caller's pause were its end."""
        draft = Ledger(self._paused_us)
        budget, patience = self._saying.budgets(draft.zero_us)
        question = ask(
            self._desk,
            said,
            tuple(self._saying.history),
            draft,
            budget=budget,
            patience=patience,
            parting=self._saying.leaving,
            guess=True,
        )
        self._ahead.paused(question, draft, self._ear.wait, self._ear.sound())
