"""The two channels of a recording compared: whether they are one sound, and what of one leaks into the other.

A leak is linear: the other side's voice, later, softer, and filtered. It is found where the cross-correlation
of the channels has one clear peak, fitted by least squares, and taken out, so that a detector hears in each
channel whose channel it is. All is done in blocks of 2 s: an hour needs little more memory than itself.
Blocks the thread: about 0.1 s a minute of sound.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from turnbudget.voice.sound import audio

if TYPE_CHECKING:
    import numpy.typing as npt

    from turnbudget.voice.sound.audio import Int16

SAME: Final = 0.98
"""Correlation at no delay above which two channels hold the same sound."""
BLOCK: Final = 1 << 15
"""Samples of the blocks in which the channels are compared: 2 s at 16 kHz."""
LONGEST: Final = audio.samples(500_000)
"""Delay up to which a leak is looked for (samples; 500 ms)."""
CLEAR: Final = 12.0
"""Times the usual height of the cross-correlation (its root mean square) at which a peak is a leak."""
BEFORE: Final = audio.samples(4_000)
AFTER: Final = audio.samples(28_000)
"""Samples of the leak's filter before and after its peak: 4 and 28 ms."""
SOFTEST_DB: Final = -50.0
"""Level below which a leak cannot be taken for a voice, and is left."""


@dataclass(frozen=True, slots=True)
class Leak:
    """One channel's sound in the other: how much later (µs) and how loud against the original (dB)."""

    delay_us: int
    level_db: float

    def __str__(self) -> str:
        """Return it as a person reads it."""
        return f"{self.delay_us / 1_000:.0f} ms late, {self.level_db:.0f} dB"


def same(one: Int16, other: Int16) -> bool:
    """Say whether two channels hold the same sound, at whatever level."""
    ab = aa = bb = 0.0
    for at in range(0, min(one.size, other.size), BLOCK):
        a, b = (side[at : at + BLOCK].astype(np.float64) for side in (one, other))
        a, b = a[: b.size], b[: a.size]
        ab, aa, bb = ab + float(a @ b), aa + float(a @ a), bb + float(b @ b)
    both = math.sqrt(aa * bb)
    return bool(both) and ab / both > SAME


def without(heard: Int16, source: Int16) -> tuple[Int16, Leak | None]:
    """Return *heard* without what leaks of *source* into it, and the leak; as it was and None without one."""
    delay = _delay(heard, source)
    if delay is None:
        return heard, None
    first = delay - BEFORE
    taps = _fitted(heard, source, first)
    cleaned = heard.copy()
    leaked = power = 0.0
    for at in range(0, heard.size, BLOCK):
        voice = _piece(source, at - first - taps.size + 1, BLOCK + taps.size - 1)
        length = BLOCK + 2 * taps.size
        through = np.fft.irfft(np.fft.rfft(voice, length) * np.fft.rfft(taps, length), length)
        leak = through[taps.size - 1 :][: min(BLOCK, heard.size - at)]
        leaked, power = leaked + float(leak @ leak), power + float(voice @ voice)
        left = heard[at : at + BLOCK] - leak
        cleaned[at : at + BLOCK] = np.clip(np.rint(left), -32_768, 32_767).astype(np.int16)
    level = 10 * math.log10(max(leaked, 1e-9) / power) if power else -math.inf
    return (heard, None) if level < SOFTEST_DB else (cleaned, Leak(round(audio.us(delay)), level))


def _delay(heard: Int16, source: Int16) -> int | None:
    """Return by how many samples *source* comes later in *heard*, where it clearly does."""
    size = min(heard.size, source.size)
    if size < BLOCK:
        heard, source = (np.pad(side[:size], (0, BLOCK - size)) for side in (heard, source))
        size = BLOCK
    window = np.hanning(BLOCK)
    cross = np.zeros(BLOCK // 2 + 1, np.complex128)
    power = np.zeros(BLOCK // 2 + 1)
    for at in range(0, size - BLOCK + 1, BLOCK // 2):
        theirs = np.fft.rfft(source[at : at + BLOCK] * window)
        ours = np.fft.rfft(heard[at : at + BLOCK] * window)
        cross += ours * theirs.conj()
        power += np.abs(theirs) ** 2
    if not power.any():
        return None
    response = np.fft.irfft(cross / (power + power.mean() * 0.01))
    height = float(np.sqrt(np.mean(response**2)))
    near = np.abs(response[: LONGEST + 1])
    peak = int(near.argmax())
    return peak if height and near[peak] > CLEAR * height else None


def _fitted(heard: Int16, source: Int16, first: int) -> npt.NDArray[np.float64]:
    """Return the filter that makes *source*, *first* samples later, most like *heard* (least squares)."""
    taps = BEFORE + AFTER
    length = BLOCK + 2 * taps
    auto, cross = np.zeros(taps), np.zeros(taps)
    for at in range(0, heard.size, BLOCK):
        voice = np.fft.rfft(_piece(source, at, BLOCK), length)
        auto += np.fft.irfft(np.fft.rfft(_piece(source, at, BLOCK + taps), length) * voice.conj(), length)[
            :taps
        ]
        later = np.fft.rfft(_piece(heard, at + first, BLOCK + taps), length)
        cross += np.fft.irfft(later * voice.conj(), length)[:taps]
    lags = np.abs(np.subtract.outer(np.arange(taps), np.arange(taps)))
    return np.linalg.solve(auto[lags] + np.eye(taps) * auto[0] * 1e-6, cross)


def _piece(sound: Int16, at: int, size: int) -> npt.NDArray[np.float64]:
    """Return *size* samples of *sound* from *at* on, with silence where there are none."""
    piece = np.zeros(size)
    begin, end = max(0, at), min(sound.size, at + size)
    if begin < end:
        piece[begin - at : end - at] = sound[begin:end]
    return piece
