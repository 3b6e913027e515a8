"""Prepare: the likeliest replies are rendered while the caller speaks, the cheapest expected gain first.

One at a time, so that a live render waits for one sentence at most, and none begun once the caller has
paused. What the next words make unlikely is no longer rendered.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from voice import clock
from voice.errors import ComponentError

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Iterable

    from speculative.call_shelf import CallShelf
    from voice.crew import Crew

UNLIKELY: Final = 0.05
"""Odds below which a reply is not worth its rendering."""


@dataclass(frozen=True, slots=True)
class Likely:
    """A reply that may come next, with its odds."""

    text: str
    odds: float
    because: str = ""


class Prepare:
    """One call's rendering ahead."""

    def __init__(self, shelf: CallShelf, crew: Crew) -> None:
        self._shelf = shelf
        self._crew = crew
        self._wanted: list[Likely] = []
        self._task: asyncio.Task[None] | None = None
        self._rendering = ""
        self.spent: dict[str, int] = {}
        """What each text cost that was rendered since the last turn, in µs."""

    def want(self, likely: Iterable[Likely]) -> None:
        """Want these replies ready, and no others."""
        self._wanted = sorted(
            (one for one in likely if one.odds >= UNLIKELY and not self._shelf.has(one.text)),
            key=lambda one: (-one.odds / max(1, len(one.text)), one.text),
        )
        if self._task and self._rendering and self._rendering not in {one.text for one in self._wanted}:
            self.stop()
        if self._wanted and (self._task is None or self._task.done()):
            self._task = self._crew.create_task(self._render(), name="rendering ahead")

    def stop(self) -> None:
        """Render nothing more until more is wanted."""
        self._wanted = []
        if self._task:
            self._task.cancel()
            self._task = None

    async def _render(self) -> None:
        while self._wanted:
            self._rendering = self._wanted.pop(0).text
            began = clock.now()
            try:
                await self._shelf.keep(self._rendering)
            except ComponentError:
                continue  # it will be rendered when it is needed, or fail then
            finally:
                self.spent[self._rendering] = clock.now() - began
                self._rendering = ""
