"""The tape: a call as it sounded, two tracks on one clock, sample by sample.

It is the independent witness. The ledger reads the clock; the tape counts samples, as the sound engineer
does who opens the recording in an editor. The caller's track stands where the caller's media stood, ours
where the line was handed it: a frame that goes on from the one before follows it without a seam (a line's
playout buffer absorbs the jitter), a frame that begins a new sound stands where it was sent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from turnbudget.voice.sound import audio
from turnbudget.voice.sound.audio import Samples
from turnbudget.voice.time import clock
from turnbudget.voice.time.clock import Micros

if TYPE_CHECKING:
    from turnbudget.voice.sound.audio import Int16


class Tape:
    """Both tracks of one call from *epoch_us* on; what was taken off is forgotten."""

    def __init__(self, epoch_us: int, *, keeps: bool = True) -> None:
        """Start at *epoch_us*; a tape that keeps nothing still counts samples."""
        self.epoch_us = epoch_us
        self._keeps = keeps
        self._tracks = np.zeros((2, audio.RATE), np.int16)
        self._taken = 0
        self._sent = Samples(0)

    def caller(self, samples: Int16, at_us: Micros) -> None:
        """Record the caller's *samples*, whose first sounded at *at_us*."""
        self._note(0, audio.samples(at_us - self.epoch_us), samples)

    def agent(self, samples: Int16, *, fresh: bool) -> Samples:
        """Record *samples* handed to the line now; return the place of the first."""
        place = audio.samples(clock.now() - self.epoch_us) if fresh else self._sent
        place = max(place, self._sent)
        self._note(1, place, samples)
        self._sent = Samples(place + samples.size)
        return place

    def clock_at(self, place: Samples) -> Micros:
        """Return when the sample at *place* sounded (µs on the clock)."""
        return Micros(self.epoch_us + audio.us(place))

    def take(self, until_us: int) -> Int16:
        """Return what lies before *until_us* and was not taken yet, as an array (n, 2), and forget it."""
        count = max(0, audio.samples(until_us - self.epoch_us) - self._taken)
        self._reach(count)
        block = self._tracks[:, :count].T.copy()
        self._tracks = np.concatenate((self._tracks[:, count:], np.zeros((2, count), np.int16)), axis=1)
        self._taken += count
        return block

    def _note(self, side: int, place: Samples, samples: Int16) -> None:
        if not self._keeps:
            return
        start = place - self._taken
        if start < 0:
            samples, start = samples[-start:], 0
        self._reach(start + samples.size)
        self._tracks[side, start : start + samples.size] = samples

    def _reach(self, count: int) -> None:
        """Make room for *count* samples a track."""
        size = self._tracks.shape[1]
        if count > size:
            more = np.zeros((2, max(count - size, size)), np.int16)
            self._tracks = np.concatenate((self._tracks, more), axis=1)
