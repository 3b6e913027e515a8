"""Who is told that a text changed."""

from __future__ import annotations

import asyncio

from turnbudget.voice.time import clock


def ignore():
    """Nobody cares."""


class Watching:
    """Keeps when it was told, and what the dictation it watches had then."""

    def __init__(self):
        self.dictation = None
        self.seen = []
        self._whole = asyncio.Event()

    def __call__(self):
        self.seen.append((clock.now(), self.dictation.partial, self.dictation.whole))
        if self.dictation.whole:
            self._whole.set()

    async def until_whole(self):
        """Wait until the text is whole, at most half a minute."""
        async with clock.move_on_at(clock.now() + 30 * clock.SECOND):
            await self._whole.wait()

    @property
    def whole_at(self):
        """When the text was first whole."""
        return next((at for at, _, whole in self.seen if whole), None)


def watched(transcriber, at=0):
    """Begin an utterance; return it and who watches it."""
    watching = Watching()
    watching.dictation = transcriber.begin(at, watching)
    return watching.dictation, watching
