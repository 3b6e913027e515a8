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
    """One call's work ahead of its turns; only tasks wait, and nothing here blocks the loop."""

    listens_us: int
    """How much of an utterance's latest sound is handed over at a pause (µs; 0: none)."""

    def begin(self, crew: Crew) -> None:
        """Begin the call; tasks are started in *crew*."""
        ...

    def listening(self, history: tuple[Said, ...]) -> None:
        """Handle that the caller begins to speak, or to press keys, after *history*."""
        ...

    def heard(self, said: str) -> None:
        """Take the caller's words so far, which may still change."""
        ...

    def paused(
        self, question: Question, draft: Ledger, wait: Callable[[int, str], None], sound: Int16
    ) -> None:
        """Handle a pause: *question* is what would be asked if this were the end of the turn.

        What the guess does is noted in *draft*, whose zero is the last voiced sample. ``wait(µs, rule)``
        says how long a silence ends the turn, and whose choice that is; it may end it at once. *sound* is
        the last of the utterance, 16 kHz.
        """
        ...

    def went_on(self) -> None:
        """Handle that the caller speaks on, so that the pause did not end the turn."""
        ...

    def settle(self, said: str, ledger: Ledger) -> None:
        """Handle the end of a turn in which *said* was said; note in *ledger* what was guessed."""
        ...

    def match(self, question: Question) -> Reply | None:
        """Return a reply that is certain enough to be said without asking the responder, or ``None``."""
        ...

    def opening(self, piece: str) -> tuple[Speech, str] | None:
        """Return the sound that *piece* begins with and the text left over, ``None`` if none is ready."""
        ...

    async def joined(self, piece: str, budget: Budget) -> Speech | None:
        """Return *piece* from a render that is under way; ``None`` if there is none, or it fails."""
        ...

    def hang_up(self) -> None:
        """Forget the call, and every sound that holds its caller's data."""
        ...
