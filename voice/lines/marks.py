"""Marks that are waited for: one that comes back is proof of what was heard, unless the queue was cleared."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from turnbudget.voice.lines.dialect import MarkPlayed, Odd

MOST: Final = 256
"""Marks waited for at once; the oldest is given up."""


@dataclass(slots=True)
class _Mark:
    name: str
    cleared: bool = False


class Marks:
    """The marks of one call that have not come back; of two with one name, the older comes back first."""

    def __init__(self, *, only_played: bool) -> None:
        """*only_played*: the far side returns only marks whose audio was played, even behind a clear."""
        self._only_played = only_played
        self._waiting: list[_Mark] = []

    def set(self, name: str) -> None:
        """Wait for *name*."""
        self._waiting = [*self._waiting[1 - MOST :], _Mark(name)]

    def clear(self) -> None:
        """Take note that the far side's queue is being cleared: what comes back from now on is no proof."""
        for mark in self._waiting:
            mark.cleared = True

    def back(self, name: str) -> MarkPlayed | Odd:
        """Return what it means that *name* has come back."""
        for index, mark in enumerate(self._waiting):
            if mark.name == name:
                del self._waiting[index]
                return MarkPlayed(name, cleared=mark.cleared and not self._only_played)
        return Odd("a mark that nobody waits for")

    def lost(self) -> list[MarkPlayed]:
        """Return the marks that were cleared and will not come back, and wait for them no more."""
        gone = [MarkPlayed(mark.name, cleared=True) for mark in self._waiting if mark.cleared]
        self._waiting = [mark for mark in self._waiting if not mark.cleared]
        return gone
