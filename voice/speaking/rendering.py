"""A reply on its way to sound: its pieces come as they are rendered, a few ahead of the Mouth.

Whoever makes it always says when it has ended, without waiting, so the Mouth never waits for a piece that
nobody makes.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from turnbudget.voice.time import clock

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from turnbudget.voice.tts.synthesizer import Speech

AHEAD: Final = 4
"""Pieces of a reply rendered ahead of its playing."""


class Rendering:
    """The pieces of one reply, from whoever renders them to the Mouth."""

    def __init__(self) -> None:
        self.ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Done when the first piece is there, or none will be."""
        self.ready_us: int | None = None
        """When that was."""
        self.failure = "no answer came in time"
        """Why there is nothing to play; '' once a piece is there."""
        self.broken = ""
        """Why the reply ended before its last piece; '' if it did not."""
        self._room = asyncio.Semaphore(AHEAD)
        self._pieces: asyncio.Queue[Speech | None] = asyncio.Queue(AHEAD + 1)

    async def put(self, speech: Speech) -> None:
        """Add the next piece; waits while enough are ahead."""
        await self._room.acquire()
        self._pieces.put_nowait(speech)
        self._settle("")

    def end(self, failure: str) -> None:
        """Say that no further piece will come, and why if not all have."""
        if self.ready.done():
            self.broken = failure
        self._settle(failure)
        self._pieces.put_nowait(None)

    def _settle(self, failure: str) -> None:
        if not self.ready.done():
            self.ready_us = clock.now()
            self.failure = failure
            self.ready.set_result(None)

    async def pieces(self) -> AsyncGenerator[Speech, None]:
        """Yield the pieces in order, until the end."""
        while (piece := await self._pieces.get()) is not None:
            self._room.release()
            yield piece

    def unheard_us(self) -> int:
        """Return what the pieces cost that the Mouth never asked for, and forget them."""
        cost = 0
        while not self._pieces.empty():
            piece = self._pieces.get_nowait()
            cost += piece.cost_us if piece else 0
        return cost
