"""One call's replies: its own, which may hold the caller's data, over those that are everybody's.

Its own entries are in no other call's reach, never on disk, and gone when the call is.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from turnbudget.speculative.shelf.held import Held, Key
from turnbudget.speculative.shelf.pieces import beginnings, pieces, plain
from turnbudget.speculative.shelf.renders import Renders
from turnbudget.speculative.shelf.whole import every_piece, whole
from turnbudget.voice.errors import TtsError

if TYPE_CHECKING:
    from turnbudget.speculative.shelf.held import Kept
    from turnbudget.speculative.shelf.shelf import Shelf
    from turnbudget.voice.time.budget import Budget
    from turnbudget.voice.time.crew import Crew
    from turnbudget.voice.tts.synthesizer import Speech

MOST_BYTES: Final = 8 << 20
"""Four minutes of speech a call."""


class CallShelf:
    """What one call finds: its own entries first, then the *shared* ones; its renders belong to *crew*."""

    def __init__(self, shared: Shelf, crew: Crew) -> None:
        self._shared = shared
        self._own: Held[Key] = Held(MOST_BYTES)
        self._renders: Renders[Key] = Renders(crew, self._own.put, lasting=False)
        self._cpu: dict[str, int] = {}
        self._closed = False

    def find(self, text: str) -> Speech | None:
        """Return the sound of the piece *text* if it is in memory: to the letter, but for white space."""
        kept = self._own.take(self._shared.key(text))
        return kept.speech if kept else self._shared.find(text)

    def opening(self, text: str) -> tuple[Speech, str] | None:
        """Return the longest beginning of *text* that is in memory, and the text still to be rendered.

        It ends where a sentence or clause may; the rest is '' if all of *text* is there.
        """
        for beginning, rest in beginnings(plain(text)):
            if (speech := self.find(beginning)) is not None:
                return speech, rest
        return None

    async def fetch(self, text: str) -> Speech | None:
        """Return the sound of the piece *text* from memory or, somewhat later, from the disk."""
        return self.find(text) or await self._shared.fetch(text)

    def has(self, text: str) -> bool:
        """Say whether every piece of *text* is in memory, without counting a hit."""
        return every_piece(text, self._holds)

    def renders(self, piece: str) -> bool:
        """Say whether a render of *piece* is under way for this call."""
        return self._renders.at_work(self._shared.key(piece))

    async def keep(self, text: str, budget: Budget | None = None) -> Speech:
        """Return *text* as sound, and keep for this call each piece that is not everybody's.

        A render that all who asked for it have given up is cancelled. Raises TtsError, also when the call
        ends meanwhile.
        """
        cut = (text,) if self._holds(text) else pieces(text)
        return whole(text, [await self._piece(piece, budget) for piece in cut])

    def take_cpu(self) -> dict[str, int]:
        """Return the CPU (µs) of each piece whose render ended since this was last asked: each render once.

        What a render that was given up had taken until then is not known.
        """
        cpu, self._cpu = self._cpu, {}
        return cpu

    def close(self) -> None:
        """End the renders and forget every entry: the call is over."""
        self._closed = True
        self._renders.cancel()
        self._own.clear()

    def _holds(self, piece: str) -> bool:
        return self._own.peek(self._shared.key(piece)) is not None or self._shared.holds(piece)

    async def _piece(self, piece: str, budget: Budget | None) -> Speech:
        key = self._shared.key(piece)
        if (own := self._own.freshen(key)) is not None:
            return own.speech
        if (speech := await self._shared.seek(key)) is not None:
            return speech
        if self._closed:
            raise TtsError("the call has ended")
        return (await self._renders.once(key, partial(self._render, key, budget), budget)).speech

    async def _render(self, key: Key, budget: Budget | None) -> Kept:
        kept = await self._shared.render(key, budget)
        if kept.speech.cpu_us:
            self._cpu[key.text] = self._cpu.get(key.text, 0) + kept.speech.cpu_us
        return kept
