"""The tape: a call as it sounded, two tracks on one clock, sample by sample.

It is the independent witness. The ledger reads the clock; the tape counts samples, as the sound engineer
does who opens the recording in an editor. The caller's track stands where the caller's media stood, ours
where the line was handed it: a frame that goes on from the one before follows it without a seam (a line's
playout buffer absorbs the jitter), a frame that begins a new sound stands where it was sent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from voice import audio, clock

if TYPE_CHECKING:
    from voice.audio import Int16


class Tape:
    """Both tracks of one call from *epoch_us* on; what has been taken off it is forgotten."""

    def __init__(self, epoch_us: int, *, keeps: bool = True) -> None:
        """Start at *epoch_us*; a tape that keeps nothing is still a witness."""
        self.epoch_us = epoch_us
        self._keeps = keeps
        self._tracks: tuple[list[tuple[int, Int16]], list[tuple[int, Int16]]] = ([], [])
        self._taken = 0
        self._sent = 0

    def caller(self, samples: Int16, at_us: int) -> None:
        """Note the caller's *samples*, whose first sounded at *at_us*."""
        if self._keeps:
            self._tracks[0].append((audio.samples(at_us - self.epoch_us), samples))

    def agent(self, samples: Int16, *, fresh: bool) -> int:
        """Note *samples* handed to the line now; return the place of the first (samples from the start)."""
        place = audio.samples(clock.now() - self.epoch_us) if fresh else self._sent
        place = max(place, self._sent)
        if self._keeps:
            self._tracks[1].append((place, samples))
        self._sent = place + samples.size
        return place

    def clock_at(self, place: int) -> int:
        """Return when the sample at *place* sounded, in µs on the clock."""
        return self.epoch_us + audio.us(place)

    def take(self, until_us: int) -> Int16:
        """Return what lies before *until_us* and was not taken yet, as an array of (n, 2), and forget it."""
        until = max(audio.samples(until_us - self.epoch_us), self._taken)
        block = np.zeros((until - self._taken, 2), np.int16)
        for side, track in enumerate(self._tracks):
            later: list[tuple[int, Int16]] = []
            for place, samples in track:
                start = place - self._taken
                end = min(start + samples.size, len(block))
                if end > max(start, 0):
                    block[max(start, 0) : end, side] = samples[max(-start, 0) : end - start]
                if start + samples.size > len(block):
                    later.append((place, samples))
            track[:] = later
        self._taken = until
        return block
