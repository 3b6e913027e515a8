"""Many wait for one machine, and one of them sleeps for all: no task of the machine's own runs free.

Whoever waits while nobody keeps the watch sleeps until the next instant at which anything happens, then
settles the machine's account up to now, which wakes those whom it concerns. Whoever leaves hands the watch
over. So a step costs one timer however many ride, and an idle machine costs nothing.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Generic, TypeVar

from turnbudget.voice.time import clock

if TYPE_CHECKING:
    from collections.abc import Callable

W = TypeVar("W")


class Watch(Generic[W]):
    """Who waits, and who of them keeps the watch."""

    def __init__(self, settle: Callable[[], None], due: Callable[[], int]) -> None:
        """*settle* brings the machine up to now and calls :meth:`wake`; *due* is when that is next needed."""
        self._settle = settle
        self._due = due
        self._waiting: dict[W, asyncio.Future[bool]] = {}
        self._sentry: W | None = None
        self._until = 0

    def wake(self, who: W) -> None:
        """Tell *who* that there is news; nothing if it does not wait."""
        woken = self._waiting.pop(who, None)
        if woken and not woken.done():
            woken.set_result(True)

    async def wait(self, who: W) -> None:
        """Return when *who* is woken."""
        try:
            while not await self._wait_once(who):
                pass
        finally:
            self._waiting.pop(who, None)
            if self._sentry is who:
                self._sentry = None
            self._hand_over()

    async def _wait_once(self, who: W) -> bool:
        """Wait as a sentry or behind one; say whether there is news."""
        woken: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._waiting[who] = woken
        due = self._due()
        if self._sentry is not None and self._until <= due:
            return await woken
        self._sentry, self._until = who, due
        async with clock.move_on_at(due):
            await woken
        if self._sentry is who:
            self._sentry = None
        if woken.cancelled():  # by the scope: it is time
            again: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
            self._waiting[who] = again
            self._settle()
            return again.done()
        return woken.result()

    def _hand_over(self) -> None:
        """Let one of those who wait keep the watch."""
        if self._sentry is None and self._waiting:
            who = next(iter(self._waiting))
            woken = self._waiting.pop(who)
            if not woken.done():
                woken.set_result(False)
