"""One render a key, however many ask for it at once.

The render belongs to a crew, not to whoever asked first, so nobody's leaving takes it from the others. All
get the sound, or all the error; the next who asks begins anew.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Generic, TypeVar

from turnbudget.voice.errors import TtsError
from turnbudget.voice.time import clock

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from turnbudget.speculative.shelf.held import Kept
    from turnbudget.voice.time.budget import Budget
    from turnbudget.voice.time.crew import Crew

K = TypeVar("K")


@dataclass(slots=True)
class _Render:
    """A render under way."""

    task: asyncio.Task[Kept | Exception]
    made: asyncio.Future[Kept]
    waiting: int = 0


class Renders(Generic[K]):
    """Renders under way; *keep* is told each that ends well and was not forgotten meanwhile.

    *lasting* ones go on when nobody waits for them any more, the others are cancelled.
    """

    def __init__(self, crew: Crew, keep: Callable[[K, Kept], object], *, lasting: bool) -> None:
        self._crew = crew
        self._keep = keep
        self._lasting = lasting
        self._running: dict[K, _Render] = {}

    async def once(self, key: K, make: Callable[[], Awaitable[Kept]], budget: Budget | None = None) -> Kept:
        """Return what *make* made of *key*, or join whoever is at it; not longer than *budget*.

        Raises whatever *make* raises, and TtsError.
        """
        render = self._running.get(key) or self._begin(key, make)
        render.waiting += 1
        try:
            if budget is None:
                await asyncio.wait([render.made])
            elif not await clock.wait_until([render.made], budget.ends_us):
                raise TtsError("no sound in time")
        finally:
            render.waiting -= 1
            if not render.waiting and not self._lasting and self._running.get(key) is render:
                self.forget(key)
                render.task.cancel()
        return render.made.result()

    def at_work(self, key: K) -> bool:
        """Say whether a render of *key* is under way."""
        return key in self._running

    def forget(self, key: K) -> None:
        """Have nothing kept of the render under way, if there is one; who waits for it gets it."""
        self._running.pop(key, None)

    def cancel(self) -> None:
        """Cancel every render under way; who waits gets a TtsError."""
        for render in self._running.values():
            render.task.cancel()
        self._running.clear()

    def _begin(self, key: K, make: Callable[[], Awaitable[Kept]]) -> _Render:
        made: asyncio.Future[Kept] = asyncio.get_running_loop().create_future()
        # No text in the name: it may be a caller's.
        task = self._crew.create_task(_outcome(make), name="shelf: render")
        render = self._running[key] = _Render(task, made)
        task.add_done_callback(partial(self._end, key, render))
        return render

    def _end(self, key: K, render: _Render, task: asyncio.Task[Kept | Exception]) -> None:
        outcome = TtsError("the render was given up") if task.cancelled() else task.result()
        if self._running.get(key) is render:
            self.forget(key)
            if not isinstance(outcome, Exception):
                self._keep(key, outcome)
        if render.made.done():
            return
        if isinstance(outcome, Exception):
            render.made.set_exception(outcome)
            render.made.exception()  # has been seen, even if nobody waits any more
        else:
            render.made.set_result(outcome)


async def _outcome(make: Callable[[], Awaitable[Kept]]) -> Kept | Exception:
    """Return what *make* made, or what it raised: a failed render is no failure of the crew."""
    try:
        return await make()
    except Exception as error:  # noqa: BLE001 - whatever a voice raises is for those who asked
        return error
