"""The seam between a call and whoever works ahead of the caller's last word.

A call tells it what it hears; in return it may say how long a pause is worth waiting for, and have work done
before the turn that needs it. Nothing it does is heard unless a turn takes it up.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable

    from turnbudget.voice.call.ledger import Ledger
    from turnbudget.voice.call.responder import Question, Reply, Said
    from turnbudget.voice.sound.audio import Int16
    from turnbudget.voice.time.budget import Budget
    from turnbudget.voice.time.crew import Crew
    from turnbudget.voice.tts.synthesizer import Speech


class Ahead(Protocol):
    """One call's work ahead of its turns. Only tasks wait; nothing here blocks the loop."""

    listens_us: int
    """How much of an utterance's sound it wants to hear at a pause; 0: none."""

    def begin(self, crew: Crew) -> None:
        """Begin the call: tasks belong to *crew*."""
        ...

    def listening(self, history: tuple[Said, ...]) -> None:
        """Know that the caller has begun to speak, or to press keys, after *history*."""
        ...

    def heard(self, said: str) -> None:
        """Know what the caller has said so far; it may still change."""
        ...

    def paused(
        self, question: Question, draft: Ledger, wait: Callable[[int, str], None], sound: Int16
    ) -> None:
        """Know that the caller has paused, and what would be asked if this were the end: a guess.

        What the guess does is noted in *draft*, whose zero is the last voiced sample. ``wait(µs, rule)``
        says how long a silence ends the turn, and whose choice that is; it may end it at once. *sound* is
        the last of the utterance, 16 kHz.
        """
        ...

    def went_on(self) -> None:
        """Know that the caller has spoken on: the pause was none of the turn's ends."""
        ...

    def settle(self, said: str, ledger: Ledger) -> None:
        """Know that the turn is over and what was *said*; tell *ledger* what was guessed, at what cost."""
        ...

    def match(self, question: Question) -> Reply | None:
        """Return a reply that is sure enough to be said without asking anybody; ``None`` if none is."""
        ...

    def opening(self, piece: str) -> tuple[Speech, str] | None:
        """Return the sound of the beginning of *piece* if it is ready, and the rest that is not."""
        ...

    async def joined(self, piece: str, budget: Budget) -> Speech | None:
        """Return *piece* from the render of it that is under way; ``None`` if none is, or it fails."""
        ...

    def hang_up(self) -> None:
        """Forget the call, and every sound that holds its caller's data."""
        ...
