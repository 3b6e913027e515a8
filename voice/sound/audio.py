"""Audio in its internal form: 16 kHz, mono, int16, in frames of 20 ms.

A sample is *audible* from −50 dBFS: below that an engineer sees a flat line in an editor, above it a
caller hears that somebody speaks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NewType, TypeAlias

import numpy as np
import numpy.typing as npt

from turnbudget.voice.time.clock import Micros

if TYPE_CHECKING:
    from collections.abc import Sequence

Int16: TypeAlias = npt.NDArray[np.int16]
"""Samples in the internal form."""
Float32: TypeAlias = npt.NDArray[np.float32]
"""Samples as floats, full scale at ±1."""
Samples = NewType("Samples", int)
"""Number of samples at 16 kHz, or a place among them, as a type of its own where microseconds are about."""

RATE: Final = 16_000
"""Sample rate of the internal form (Hz)."""
FRAME: Final = 320
"""Length of a frame (samples; 20 ms)."""
FRAME_US: Final = 20_000
"""Length of a frame (µs; 20 ms)."""
AUDIBLE: Final = 104
"""Amplitude from which a sample is audible (of 16 bits; −50 dBFS)."""
EDGE: Final = 80
"""Length of a fade at a join or a cut (samples; 5 ms)."""


def us(samples: int) -> Micros:
    """Return how long *samples* last, in microseconds (rounded down; one sample is 62.5 µs)."""
    return Micros(samples * 125 // 2)


def samples(us: int) -> Samples:
    """Return how many whole samples there are in *us* microseconds."""
    return Samples(us * 2 // 125)


def silence(count: int) -> Int16:
    """Return *count* samples of digital silence."""
    return np.zeros(count, np.int16)


def first_audible(sound: Int16) -> int | None:
    """Return the index of the first audible sample, ``None`` if there is none."""
    loud = (sound >= AUDIBLE) | (sound <= -AUDIBLE)
    index = int(loud.argmax()) if loud.size else 0
    return index if loud.size and loud[index] else None


def fade(sound: Int16, *, began: bool = False, ended: bool = False) -> Int16:
    """Return *sound* with a 5 ms fade at the sides named, so that joins and cuts do not click."""
    edge = min(EDGE, sound.size)
    if not edge or not (began or ended):
        return sound
    shaped = sound.astype(np.float32)
    ramp = np.linspace(0.0, 1.0, edge, dtype=np.float32)
    if began:
        shaped[:edge] *= ramp
    if ended:
        shaped[-edge:] *= ramp[::-1]
    return np.rint(shaped).astype(np.int16)


def join(sounds: Sequence[Int16]) -> Int16:
    """Return *sounds* one after another."""
    return np.concatenate(sounds) if sounds else silence(0)
