"""A hearing begun on a guess: kept if the turn turns out to be about the same words, else dropped."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from turnbudget.council.opinions import dismiss
from turnbudget.voice.words.same import same

if TYPE_CHECKING:
    from turnbudget.agents.agent import Opinion
    from turnbudget.agents.kept import Kept
    from turnbudget.council.choose import Ruling
    from turnbudget.council.dialogue import Opened


@dataclass(frozen=True, slots=True)
class CouncilVerdict:
    """A ruling, with the opinion to speak: the one chosen, or that one refined."""

    ruling: Ruling
    opinion: Opinion | None
    answered: bool
    """Whether any seat did, be it that it has nothing to say."""

    async def close(self) -> None:
        """Close what its opinion holds open: nobody will hear it."""
        if self.opinion:
            await dismiss(self.opinion)


@dataclass(frozen=True, slots=True)
class Begun:
    """A hearing on what a turn would be about if the caller's pause were its end."""

    opened: Opened
    hearing: Kept[CouncilVerdict]

    def fits(self, opened: Opened) -> bool:
        """Whether the turn that is *opened* is about the same words, and nothing else has changed."""
        asked = self.opened.asked
        return same(asked, opened.asked) and replace(opened, asked=asked) == self.opened
