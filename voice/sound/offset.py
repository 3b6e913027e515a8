"""Whether a sound rests at zero, as silence does, or stands still at some other level.

A level that stands still away from zero is a fault of the way, not speech: a DC offset of the recorder's,
or one G.711 law read as the other (A-law silence, D5, is 716 in mu-law; mu-law silence, FF, is 848 in A-law).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from turnbudget.voice.sound import audio
from turnbudget.voice.sound.audio import AUDIBLE, FRAME

if TYPE_CHECKING:
    from turnbudget.voice.sound.audio import Int16

STILL: Final = 64
"""Spread of a frame's samples up to which it stands still (two quantisation steps of 10 bits)."""
ENOUGH: Final = 10
"""Frames that must stand still (200 ms): no sound of speech is flat for so long."""


def constant_level(sound: Int16) -> int | None:
    """Return the audible level at which *sound* (16 kHz) stands still; ``None`` if it rests at zero."""
    frames = sound[: sound.size // FRAME * FRAME].reshape(-1, FRAME)
    if not frames.size:
        return None
    low, high = frames.min(axis=1).astype(np.int32), frames.max(axis=1).astype(np.int32)
    middle = (low + high) // 2
    still = (high - low <= STILL) & (np.abs(middle) >= AUDIBLE)
    return int(np.median(middle[still])) if np.count_nonzero(still) >= ENOUGH else None


LONG_MS: Final = 200
"""Time that a level must stand (ms)."""


class ConstantLevel:
    """Looks for one audible value that does not change, and tells it once a call."""

    def __init__(self, rate: int) -> None:
        self._enough = rate * LONG_MS // 1_000
        self._level = 0
        self._run = 0
        self._told = False

    def feed(self, samples: Int16) -> int | None:
        """Take the next samples; return the level when one has stood still for the first time."""
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
