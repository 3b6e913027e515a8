"""How often what was foreseen as the first, the second, the third next reply was the one that came.

Odds are counted, not judged: each call of a process adds to them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

PRIOR: Final = ((2, 4), (1, 4), (1, 6))
"""So many of so many, before anything was counted, by rank; further ranks are taken like the last."""


class Ranks:
    """The counts of one process."""

    def __init__(self) -> None:
        self._counts = [list(prior) for prior in PRIOR]

    def odds(self, rank: int) -> float:
        """Return the odds that what is foreseen at *rank* (from 0) comes."""
        came, of = self._counts[min(rank, len(self._counts) - 1)]
        return came / of

    def count(self, foreseen: Sequence[str], came: str) -> None:
        """Count that *came* was said where *foreseen* might have been."""
        for rank, text in enumerate(foreseen):
            counts = self._counts[min(rank, len(self._counts) - 1)]
            counts[0] += text == came
            counts[1] += 1
