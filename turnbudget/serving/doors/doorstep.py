"""The doorstep: sockets that were opened and have not begun a call; their number and their time are bounded.

Who stays silent is dropped after a while. When too many wait the one that has waited longest goes, for a
carrier begins within moments: so a flood of silent sockets never keeps a call out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from turnbudget.voice.time import clock

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Hashable


class Doorstep:
    """Who waits, in the order in which they came."""

    def __init__(self, most: int, patience_us: int) -> None:
        self._most = most
        self._patience_us = patience_us
        self._waiting: dict[Hashable, tuple[asyncio.TimerHandle, Callable[[str], None]]] = {}
        self.dropped = 0

    def __len__(self) -> int:
        return len(self._waiting)

    def enter(self, who: Hashable, drop: Callable[[str], None]) -> None:
        """Let *who* wait; *drop* is called, with the reason, if they have to go."""
        while len(self._waiting) >= self._most:
            self._drop(next(iter(self._waiting)), "too many sockets wait")
        due = clock.now() + self._patience_us
        timer = clock.call_at(due, lambda: self._drop(who, "nothing began in time"))
        self._waiting[who] = timer, drop

    def leave(self, who: Hashable) -> None:
        """Know that *who* waits no longer: a call began, or the socket is gone."""
        timer, _ = self._waiting.pop(who, (None, None))
        if timer:
            timer.cancel()

    def _drop(self, who: Hashable, why: str) -> None:
        found = self._waiting.pop(who, None)
        if found:
            timer, drop = found
            timer.cancel()
            self.dropped += 1
            drop(why)
