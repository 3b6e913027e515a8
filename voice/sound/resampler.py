"""From one sample rate to another, with the filter's state carried from piece to piece.

soxr does it, on floats: its int16 path dithers, and digital silence must stay silence. Two ways to run it:
for files its fixed-ratio filter, which works in large blocks; for a live leg its variable-rate filter,
which holds back the same 30 ms at all times from 8 kHz to 16 kHz and 15 ms from 16 kHz to 8 kHz, where the
other holds back up to 115 ms (soxr 1.1, 20 ms pieces).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import soxr

from turnbudget.voice.errors import AudioError
from turnbudget.voice.sound.audio import join, silence
from turnbudget.voice.sound.encoding import from_float, to_float

if TYPE_CHECKING:
    from turnbudget.voice.sound.audio import Float32, Int16

SLOWEST: Final = 4_000
"""Lowest sample rate that is believed (Hz): below it there is no speech left."""
FASTEST: Final = 384_000
"""Highest sample rate that is believed (Hz): that of the fastest sound cards."""


def check_rate(rate: int, where: str = "") -> int:
    """Return *rate*, or raise AudioError if nobody records speech at it."""
    if not SLOWEST <= rate <= FASTEST:
        raise AudioError(
            f"a sample rate of {rate} Hz is not one that speech is recorded at",
            where=where,
            remedy=f"give one from {SLOWEST} to {FASTEST} Hz",
        )
    return rate


class Resampler:
    """One channel on its way from *source* to *target* Hz."""

    def __init__(self, source: int, target: int, *, live: bool) -> None:
        self._source = check_rate(source)
        self._target = check_rate(target)
        self._soxr = None if source == target else soxr.ResampleStream(source, target, 1, vr=live)
        self._taken = 0
        self._given = 0

    @property
    def pending_us(self) -> int:
        """Sound taken and not yet given back (µs)."""
        return max(0, self._taken * 1_000_000 // self._source - self._given * 1_000_000 // self._target)

    def feed(self, sound: Float32) -> Int16:
        """Take the next piece; return what is ready of it."""
        return self._pass(sound, last=False)

    def flush(self) -> Int16:
        """Return what is still held back, and be ready for another sound."""
        rest = self._pass(to_float(silence(0)), last=True)
        self.reset()
        return rest

    def reset(self) -> None:
        """Drop what is held back."""
        if self._soxr is not None:
            self._soxr.clear()
        self._taken = self._given = 0

    def _pass(self, sound: Float32, *, last: bool) -> Int16:
        ready = from_float(sound if self._soxr is None else self._soxr.resample_chunk(sound, last=last))
        self._taken += sound.size
        self._given += ready.size
        return ready


def resample(sound: Int16, source: int, target: int) -> Int16:
    """Return all of *sound*, which stands at *source* Hz, at *target* Hz."""
    resampler = Resampler(source, target, live=False)
    return join((resampler.feed(to_float(sound)), resampler.flush()))
