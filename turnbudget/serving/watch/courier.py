"""A link that keeps what it was given until the broker has it, and after a break sends it again, in order.

So a letter is delivered at least once, and those behind each other stay so. A broker that stays away costs
the oldest letters, counted; whoever reads sees a gap in their numbers.
"""

from __future__ import annotations

import asyncio
from collections import deque
from itertools import islice
from typing import TYPE_CHECKING, Final

from turnbudget.council.remote.client import Letter, publish
from turnbudget.council.remote.link import Link
from turnbudget.voice.time import clock
from turnbudget.voice.time.crew import Crew

if TYPE_CHECKING:
    from collections.abc import Sequence

    import aiomqtt

    from turnbudget.council.remote.broker import Broker
    from turnbudget.council.remote.client import Correspondent

MOST: Final = 5_000
"""Letters that wait for a broker: of 100 calls, what some five minutes bring."""
WINDOW: Final = 8
"""Letters on the wire at a time; the client warns of more than ten."""
TRIES: Final = 5
"""Connections that may break on one letter: it may be what breaks them."""


class Courier(Link):
    """A :class:`Link` for letters that must arrive; :meth:`send` is for those that need not."""

    def __init__(self, broker: Broker, name: str, topics: Sequence[str], user: Correspondent) -> None:
        super().__init__(broker, name, topics, user)
        self.dropped = 0
        """Letters that were given up for newer ones."""
        self._due: deque[Letter] = deque()
        self._tried: tuple[Letter | None, int] = None, 0
        self._ready = asyncio.Event()
        self._empty = asyncio.Event()
        self._empty.set()

    @property
    def due(self) -> int:
        """How many letters the broker has not acknowledged."""
        return len(self._due)

    def deliver(self, letter: Letter) -> None:
        """Have *letter* delivered behind those before it; never blocks."""
        if len(self._due) >= MOST:
            # Not from the front, where a window may be under way.
            del self._due[WINDOW]
            self.dropped += 1
        self._due.append(letter)
        self._empty.clear()
        self._ready.set()

    def send(self, letter: Letter) -> bool:
        """Send *letter* before those that are due, if there is a connection."""
        taken = super().send(letter)
        self._ready.set()
        return taken

    async def delivered(self, until_us: int) -> bool:
        """Wait until nothing is due, or until *until_us*; say which."""
        with clock.beyond():
            async with clock.move_on_at(until_us):
                await self._empty.wait()
        return not self._due

    async def forward(self, client: aiomqtt.Client) -> None:
        """Send what there is to send, for ever; raises MqttError."""
        while True:
            self._ready.clear()
            while not self._outbox.empty():
                await publish(client, self._outbox.get_nowait())
            if not self._due:
                self._empty.set()
                await self._ready.wait()
                continue
            await self._window(client)

    async def _window(self, client: aiomqtt.Client) -> None:
        """Put the first letters that are due on the wire, in order; forget those that are acknowledged."""
        before, tries = self._tried
        self._tried = self._due[0], tries + 1 if before is self._due[0] else 1
        if self._tried[1] > TRIES:
            self._due.popleft()
            self.dropped += 1
            return
        async with Crew() as crew:
            sending = [
                crew.create_task(publish(client, letter), name=f"mqtt:{letter.topic}")
                for letter in islice(self._due, WINDOW)
            ]
            with clock.beyond():
                for task in sending:
                    await task
                    self._due.popleft()
