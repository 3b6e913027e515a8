"""Work begun on a guess: kept until the turn takes it up, or dropped, and then closed.

It is one task of the call's crew that lives as long as what it made is kept, so that a hang-up closes that
too. What it raises is for whoever takes it up, and no failure of the crew.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Generic, TypeVar

from turnbudget.voice.time import clock

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from turnbudget.voice.time.crew import Crew

T = TypeVar("T")


class Prefetch(Generic[T]):
    """What *work* makes, which *close* closes unless it is taken."""

    def __init__(
        self, work: Callable[[], Awaitable[T]], close: Callable[[T], Awaitable[object]], crew: Crew
    ) -> None:
        self._work = work
        self._close = close
        self._made: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._ever: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._taken = self._dropped = False
        self._task = crew.create_task(self._keep(), name="head start")
        self._task.add_done_callback(lambda _: self._made.cancel())

    async def come(self) -> T:
        """Return what was made, which stays kept; raises what the work raised."""
        return await asyncio.shield(self._made)

    async def take(self, by_us: int) -> T | None:
        """Return what was made by *by_us*, which is now the taker's to close; raises what the work raised.

        If nothing was, or whoever takes it is cancelled meanwhile, it is dropped.
        """
        try:
            if await clock.wait_until([self._made], by_us) and not self._made.cancelled():
                self._taken = True
                return self._made.result()
        finally:
            self.drop()
        return None

    def drop(self) -> None:
        """End it unheard, and close what it holds open unless that was taken."""
        self._dropped = True
        self._made.cancel()
        self._task.cancel()

    async def _keep(self) -> None:
        try:
            made = await self._work()
        except Exception as error:  # noqa: BLE001 - whoever takes it up is told
            if not self._dropped:
                self._made.set_exception(error)
                self._made.exception()  # has been seen, even if nobody takes it up
            return
        try:
            if not self._dropped:  # else the work has swallowed its cancellation
                self._made.set_result(made)
                await self._ever
        finally:
            if not self._taken:
                with contextlib.suppress(Exception):  # an error in that interests nobody
                    await self._close(made)
