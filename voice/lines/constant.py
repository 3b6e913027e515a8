"""A line that gives one value for ever is no silent line: it is read by the wrong law, or broken.

A-law silence read as mu-law is +716, mu-law silence read as A-law +848; no talk and no noise stands still.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from turnbudget.voice.sound import audio

if TYPE_CHECKING:
    from turnbudget.voice.sound.audio import Int16

LONG_MS: Final = 200
"""A level that stands for so long is constant."""


class Constant:
    """Looks for one audible value that does not change; tells it once a call."""

    def __init__(self, rate: int) -> None:
        self._enough = rate * LONG_MS // 1_000
        self._level = 0
        self._run = 0
        self._told = False

    def feed(self, samples: Int16) -> int | None:
        """Take what was heard next; return the level, the first time that one has stood still."""
        if self._told or not samples.size:
            return None
        level = int(samples[-1])
        if abs(level) < audio.AUDIBLE or not (samples == level).all():
            self._run = 0
            return None
        self._run = samples.size + (self._run if level == self._level else 0)
        self._level = level
        self._told = self._run >= self._enough
        return level if self._told else None
