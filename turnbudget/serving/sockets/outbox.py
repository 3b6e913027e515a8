"""What waits to be written to one WebSocket: in order, bounded, and never for long.

A peer that reads nothing costs the messages of a few seconds, then its socket. After the end messages are
counted, not written, and the log has one line of it.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from typing import TYPE_CHECKING, Final

from turnbudget.voice.time import clock

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from turnbudget.voice.lines.dialect import Message

MOST: Final = 1_000
"""Messages: ten seconds of 20 ms frames, twice over."""
log = logging.getLogger(__name__)


class Outbox:
    """Messages of one socket. :meth:`run` writes them until the end."""

    def __init__(
        self, write: Callable[[Message], Awaitable[None]], broken: Callable[[str], None], stall_us: int
    ) -> None:
        """Write with *write*; *broken* is told, once, why nothing more can be written."""
        self._write = write
        self._broken = broken
        self._stall_us = stall_us
        self._waiting: deque[Message] = deque()
        self._ready = asyncio.Event()
        self._moved_us = clock.now()
        """When the last message was taken by the socket, or nothing waited."""
        self._over = ""
        self._ending = False
        self.lost = 0
        """Messages that came after the end."""

    def put(self, message: Message) -> None:
        """Write *message* behind those that wait. Never blocks."""
        if self._over or self._ending:
            self.lost += 1
            if self.lost == 1 and self._over:
                log.info("not written, for %s", self._over)
            return
        if not self._waiting and not self._ready.is_set():
            self._moved_us = clock.now()
        self._waiting.append(message)
        self._ready.set()
        if len(self._waiting) > MOST:
            self._break("the peer reads too slowly")
        elif clock.now() - self._moved_us > self._stall_us:
            self._break("the peer does not read")

    def end(self) -> None:
        """Take no more; :meth:`run` ends behind what waits."""
        self._ending = True
        self._ready.set()

    def stop(self, why: str) -> None:
        """Know that the socket is gone."""
        self._over = self._over or why
        self._waiting.clear()
        self._ready.set()

    async def run(self) -> None:
        """Write until the end."""
        while not self._over:
            while self._waiting:
                message = self._waiting.popleft()
                try:
                    await self._write(message)
                except (ConnectionError, RuntimeError) as error:
                    self._break(str(error) or type(error).__name__)
                    return
                self._moved_us = clock.now()
            if self._ending:
                return
            self._ready.clear()
            await self._ready.wait()

    def _break(self, why: str) -> None:
        self.stop(why)
        self._broken(why)
