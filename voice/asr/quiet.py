"""Where to cut long sound: at its quietest places, which are its pauses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from voice.audio import FRAME, RATE

if TYPE_CHECKING:
    from voice.audio import Int16

LONGEST: Final = 12 * RATE
"""Sound longer than this is cut."""
_SPAN: Final = 5
"""Frames a quiet place lasts: 100 ms."""


def quietest(sound: Int16, began: int, ended: int) -> int:
    """Return the middle of the quietest 100 ms between the samples *began* and *ended*."""
    count = (ended - began) // FRAME
    if count < _SPAN:
        return (began + ended) // 2
    frames = sound[began : began + count * FRAME].reshape(count, FRAME).astype(np.float32)
    power = np.convolve(np.square(frames).mean(axis=1), np.ones(_SPAN), "valid")
    return began + (int(power.argmin()) * FRAME) + _SPAN * FRAME // 2


def cuts(sound: Int16) -> list[int]:
    """Return where to cut *sound* so that no piece is longer than 12 s, each at a pause if there is one.

    A cut depends only on the sound before it plus at most 12 s, so cuts stay where they are as more
    sound comes, and the text of a piece before the last cut is final.
    """
    found: list[int] = []
    began = 0
    while sound.size - began > LONGEST:
        began = quietest(sound, began + LONGEST // 2, began + LONGEST)
        found.append(began)
    return found
