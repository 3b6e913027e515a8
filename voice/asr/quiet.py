"""Where a sound is quiet: its pauses are left out of what a model hears, and long sound is cut there.

Levels only, no voice detection: in noise that hides the pauses nothing is left out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt

from turnbudget.voice.sound.audio import FRAME, RATE

if TYPE_CHECKING:
    from turnbudget.voice.sound.audio import Int16

LONGEST: Final = 12 * RATE
"""Sound longer than this is cut."""
DEPTH_DB: Final = 30
"""A frame so much below the loud ones is quiet."""
_LOUD: Final = 0.95
"""The loud ones: a twentieth of all frames is louder."""
_AROUND: Final = 10
"""Frames kept before and after what is not quiet: 200 ms."""
_PLACE: Final = 5
"""Frames a quiet place lasts: 100 ms."""


def parts(sound: Int16) -> list[Int16]:
    """Return the parts of *sound* between its pauses, with up to 200 ms of each pause beside them.

    A pause between two parts is thus 0.4 s or longer; without one, there is one part.
    """
    power = _power(sound)
    if power.size <= 2 * _AROUND:
        return [sound]
    loud = power >= np.quantile(power, _LOUD) * 10 ** (-DEPTH_DB / 10)
    kept = np.convolve(loud, np.ones(2 * _AROUND + 1))[_AROUND : _AROUND + loud.size] > 0
    edges = np.flatnonzero(np.diff(kept, prepend=False, append=False)) * FRAME
    if edges.size and edges[-1] == kept.size * FRAME:
        edges[-1] = sound.size
    return [sound[began:ended] for began, ended in edges.reshape(-1, 2)]


def quietest(sound: Int16) -> int:
    """Return the middle of the quietest 100 ms of *sound*."""
    power = _power(sound)
    if power.size < _PLACE:
        return sound.size // 2
    places = np.convolve(power, np.ones(_PLACE), "valid")
    return int(places.argmin()) * FRAME + _PLACE * FRAME // 2


def cuts(sound: Int16) -> list[int]:
    """Return where to cut *sound* so that no piece is longer than 12 s, each at a pause if there is one.

    A cut depends only on the sound up to 12 s after the cut before it, so cuts stay where they are as
    more sound comes, and the text of a piece before the last cut is final.
    """
    found: list[int] = []
    began = 0
    while sound.size - began > LONGEST:
        half = began + LONGEST // 2
        began = half + quietest(sound[half : began + LONGEST])
        found.append(began)
    return found


def _power(sound: Int16) -> npt.NDArray[np.float32]:
    """Return the mean square of each whole frame."""
    count = sound.size // FRAME
    frames = sound[: count * FRAME].reshape(count, FRAME).astype(np.float32)
    power: npt.NDArray[np.float32] = np.square(frames).mean(axis=1, dtype=np.float32)
    return power
