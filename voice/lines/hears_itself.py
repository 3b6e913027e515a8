"""Whether the microphone hears our own voice, told by the loudness of both, at any delay up to 0.5 s.

Loudness survives what a room does to a waveform. A caller who speaks meanwhile follows another rhythm.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from voice.audio import Int16

LONGEST: Final = 25
"""Frames that an echo may be late: half a second."""
WINDOW: Final = 150
"""Frames compared: three seconds."""
OFTEN: Final = 25
"""Frames between two looks."""
ALIKE: Final = 0.8
"""Correlation of two rhythms that are one (measured: an echo 0.9 and more, two speakers 0.5 at most)."""
SPOKE: Final = 50
"""So many of the frames must hold a voice of ours: a second."""
FLOOR: Final = 100.0
"""Root mean square below which sound is the card's own noise (−50 dBFS)."""


class HearsItself:
    """Looks for an echo until one is found."""

    def __init__(self) -> None:
        self._near: deque[float] = deque([0.0] * WINDOW, maxlen=WINDOW)
        self._far: deque[float] = deque([0.0] * (WINDOW + LONGEST), maxlen=WINDOW + LONGEST)
        self._since = 0
        self.found = False
        """Whether our own voice came back."""

    def hear(self, near: Int16, far: Int16) -> None:
        """Take a frame heard *near* the microphone while *far* was played."""
        if self.found:
            return
        self._near.append(_loudness(near))
        self._far.append(_loudness(far))
        self._since += 1
        if self._since >= OFTEN:
            self._since = 0
            self.found = self._alike() >= ALIKE

    def _alike(self) -> float:
        """Return how much what was heard goes up and down as what was played did, at the likeliest delay."""
        near, far = np.array(self._near), np.array(self._far)
        if np.count_nonzero(far[LONGEST:] > FLOOR) < SPOKE or near.max() < FLOOR / 2:
            return 0.0
        near = _rhythm(near)
        shifts = (_rhythm(far[LONGEST - late : LONGEST - late + WINDOW]) for late in range(LONGEST + 1))
        return max(float(near @ shifted) for shifted in shifts)


def _loudness(sound: Int16) -> float:
    return float(np.sqrt(np.mean(np.square(sound.astype(np.float32))))) if sound.size else 0.0


def _rhythm(
    loudness: np.ndarray[tuple[int], np.dtype[np.float64]],
) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Return *loudness* in dB above the card's noise, without its mean and of length one."""
    levels = 20 * np.log10(np.maximum(loudness, 10.0) / 10.0)
    levels -= levels.mean()
    size = float(np.linalg.norm(levels))
    return levels / size if size else levels
