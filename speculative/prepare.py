"""Prepare: the likeliest replies are rendered while the caller speaks, the cheapest expected gain first.

One at a time, so that a live render waits for one sentence at most, and none begun once the caller has
paused: the one under way may be what is wanted next. What the next words make unlikely is no longer rendered.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from turnbudget.voice.time import clock

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Iterable, Sequence

    from turnbudget.speculative.shelf.shelf import CallShelf
    from turnbudget.voice.time.crew import Crew


UNLIKELY: Final = 0.05
"""The odds below which a reply is not worth its rendering."""
PRIOR: Final = ((2, 4), (1, 4), (1, 6))
"""How many of how many came before any was counted, by rank; further ranks are taken like the last."""


@dataclass(frozen=True, slots=True)
class Likely:
    """A reply that may come next, with its odds."""

    text: str
    """What may be said."""
    odds: float
    """How likely it is, 0 to 1."""
    because: str = ""
    """Why it is likely."""


class Prepare:
    """One call's rendering ahead."""

    def __init__(self, shelf: CallShelf, crew: Crew) -> None:
        self._shelf = shelf
        self._crew = crew
        self._wanted: list[Likely] = []
        self._task: asyncio.Task[None] | None = None
        self._rendering = ""
        self._spent: dict[str, int] = {}
        self._failed: set[str] = set()

    def want(self, likely: Iterable[Likely]) -> None:
        """Want these replies ready, and no others."""
        worth = {one.text: one for one in likely if one.odds >= UNLIKELY and self._lacks(one.text)}
        if self._rendering and worth.pop(self._rendering, None) is None:
            self._cancel()
        self._wanted = sorted(worth.values(), key=lambda one: (-one.odds / max(1, len(one.text)), one.text))
        if self._wanted and (self._task is None or self._task.done()):
            self._task = self._crew.create_task(self._render(), name="rendering ahead")

    def rest(self) -> None:
        """Begin to render nothing more until more is wanted."""
        self._wanted = []

    def stop(self) -> None:
        """Render nothing more."""
        self.rest()
        self._cancel()

    def take_spent(self) -> dict[str, int]:
        """Return what each text cost that was rendered since this was last asked, in µs."""
        spent, self._spent = self._spent, {}
        self._failed.clear()
        return spent

    def _lacks(self, text: str) -> bool:
        return text not in self._failed and not self._shelf.has(text)

    def _cancel(self) -> None:
        if self._task:
            self._task.cancel()
            self._task, self._rendering = None, ""

    async def _render(self) -> None:
        while self._wanted:
            self._rendering = text = self._wanted.pop(0).text
            began = clock.now()
            try:
                await self._shelf.keep(text)
            except Exception:  # noqa: BLE001 - a voice may raise anything; the turn that needs it will tell
                self._failed.add(text)
            finally:
                self._spent[text] = self._spent.get(text, 0) + clock.now() - began
            self._rendering = ""


class Ranks:
    """How often what was foreseen as the first, second, third next reply came: counts of one process."""

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
