"""A stream's chunks in their order: what came too early waits for what is missing, while that may still come.

Order and place are the far side's word, never arrival. What is missing for 100 ms of newer media is given up:
the gap stays a gap, and what turns up behind it is dropped. Nothing is ever given out twice.
"""

from __future__ import annotations

from bisect import insort
from dataclasses import dataclass
from typing import Final

WAIT_MS: Final = 100
"""Longest wait of newer media for older (ms)."""
BACK_MS: Final = 1_000
"""How far back media must lie to be a new count instead of a late chunk (ms)."""
MOST: Final = 16
"""Chunks that may wait at once."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of media as it came, with the far side's time stamp (ms) and count."""

    payload: bytes
    """Its bytes."""
    stamp: int | None = None
    """Time stamp (ms); ``None`` if there is none."""
    number: int | None = None
    """Count; ``None`` if there is none."""


@dataclass(frozen=True, slots=True)
class Placed:
    """A piece of media in its order; ``at`` is its place in bytes, ``None`` if the far side gave none."""

    payload: bytes
    at: int | None
    joined: bool
    """Whether it begins where the one before it ended."""


@dataclass(frozen=True, slots=True, order=True)
class _Held:
    at: int
    number: int
    stamp: int
    payload: bytes

    @property
    def end(self) -> int:
        return self.at + len(self.payload)


class Reorder:
    """One stream's chunks, ordered by the places that the far side gives them."""

    def __init__(self, bytes_a_ms: int) -> None:
        self._scale = bytes_a_ms
        self._wait = WAIT_MS * bytes_a_ms
        self._back = BACK_MS * bytes_a_ms
        self._next = 0
        """Place after all that was given out (bytes)."""
        self._origin: tuple[int, int] | None = None
        """Stamp and count that stand for place 0; ``None`` before the first chunk."""
        self._shift = 0
        self._told = False
        """Whether the far side has given any place."""
        self._last = (-1, -1)
        """Stamp and count of what was given out last."""
        self._held: list[_Held] = []

    def feed(self, chunk: Chunk) -> list[Placed] | None:
        """Take the next chunk as it came; return what can be given out, ``None`` if it is late or twice."""
        stamp = -1 if chunk.stamp is None else chunk.stamp
        number = -1 if chunk.number is None else chunk.number
        place = self._place(chunk, stamp, number)
        if place is None:
            return None
        insort(self._held, _Held(place, number, stamp, chunk.payload))
        return self._drain()

    def flush(self) -> list[Placed]:
        """Return what still waits, since nothing more will come."""
        return [self._give(self._held.pop(0)) for _ in range(len(self._held))]

    def _place(self, chunk: Chunk, stamp: int, number: int) -> int | None:
        """Return the place of *chunk*; ``None`` if it is late or a duplicate."""
        size = len(chunk.payload)
        if chunk.stamp is None and chunk.number is None:
            return self._held[-1].end if self._held else self._next
        self._told = True
        if self._origin is None:
            self._origin = (stamp, number)
            self._shift = self._next
        said = self._said(stamp, number, size) + self._shift
        if any((held.stamp, held.number) == (stamp, number) for held in self._held):
            return None
        if self._newer(stamp, number):
            if said <= self._next - min(size, self._wait):
                self._shift += self._next - said
                return self._next
            return said
        if said < self._next - self._back:
            self._shift += self._next - said
            return self._next
        return None

    def _said(self, stamp: int, number: int, size: int) -> int:
        """Return the place that the far side gives, by its stamp or else by its count."""
        first_stamp, first_number = self._origin or (stamp, number)
        if stamp >= 0 and first_stamp >= 0:
            return (stamp - first_stamp) * self._scale
        if number >= 0 and first_number >= 0:
            return (number - first_number) * size
        return self._next - self._shift

    def _newer(self, stamp: int, number: int) -> bool:
        """Return whether stamp or count is beyond what was given out last."""
        return stamp > self._last[0] or number > self._last[1]

    def _drain(self) -> list[Placed]:
        out = []
        while self._held and (self._fits(self._held[0]) or self._overdue()):
            out.append(self._give(self._held.pop(0)))
        return out

    def _fits(self, first: _Held) -> bool:
        """Return whether nothing is missing before *first*, to within its own length."""
        follows = first.number >= 0 and first.number == self._last[1] + 1
        return follows or first.at - self._next < min(len(first.payload), self._wait)

    def _overdue(self) -> bool:
        return self._held[-1].end - self._next > self._wait or len(self._held) > MOST

    def _give(self, held: _Held) -> Placed:
        joined = held.at - self._next < min(len(held.payload), self._wait)
        at = self._next if joined else held.at
        self._next = at + len(held.payload)
        self._last = (held.stamp, held.number)
        return Placed(held.payload, at if self._told else None, joined)
