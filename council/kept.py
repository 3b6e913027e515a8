"""A hearing begun on a guess: kept if the turn turns out to be about the same words, else dropped."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from council.opinions import dismiss
from voice.same import same

if TYPE_CHECKING:
    import asyncio

    from agents.agent import Opinion
    from council.choose import Ruling
    from council.dialogue import Opened
    from voice.crew import Crew


@dataclass(frozen=True, slots=True)
class Verdict:
    """A ruling, with the opinion to speak: the one chosen, or that one refined."""

    ruling: Ruling
    opinion: Opinion | None
    answered: bool
    """Whether any seat did, be it that it has nothing to say."""


@dataclass(frozen=True, slots=True)
class Kept:
    """A hearing on what a turn would be about if the caller's pause were its end."""

    opened: Opened
    hearing: asyncio.Task[Verdict]

    def fits(self, opened: Opened) -> bool:
        """Whether the turn that is *opened* is about the same words, and nothing else has changed."""
        asked = self.opened.asked
        return same(asked, opened.asked) and replace(opened, asked=asked) == self.opened

    def drop(self, crew: Crew) -> None:
        """End it unheard, and close what its opinion still holds open."""
        self.hearing.cancel()
        crew.create_task(_dismissed(self.hearing), name="dropping a guess")


async def _dismissed(hearing: asyncio.Task[Verdict]) -> None:
    if hearing.done() and not hearing.cancelled() and not hearing.exception():
        opinion = hearing.result().opinion
        if opinion:
            await dismiss(opinion)
