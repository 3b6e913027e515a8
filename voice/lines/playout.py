"""What is about to be played: a small bounded buffer between our frames and a card that asks for samples.

The pacer's clock rules. A reply begins behind a cushion of 20 ms and the buffer runs empty behind it, so a
card's clock that runs fast or slow (200 ppm: 12 ms in a minute) never adds up beyond one reply. Inside a
reply a buffer that runs empty is filled up with silence and counted, one too long loses its oldest.
"""

from __future__ import annotations

import statistics
import threading
from collections import deque
from typing import TYPE_CHECKING, Final

import numpy as np

from turnbudget.voice.sound import audio

if TYPE_CHECKING:
    from collections.abc import Callable

    from turnbudget.voice.sound.audio import Int16

CUSHION_US: Final = 20_000
"""Before a reply's first sample: the pacer may be so late with the next."""
MORE_US: Final = 10_000
THICKEST_US: Final = 60_000
"""Each gap makes the cushion so much thicker, up to this: cards that ask for much at once, busy machines."""
LONGEST_US: Final = 200_000
"""More is never held: a card that does not play must not make us late for ever."""
MEASURED: Final = 50
"""Beginnings of replies that the latency is the median of."""


class Playout:
    """Samples at *rate* Hz, on their way to a card whose clock *now* reads (µs)."""

    def __init__(self, rate: int, now: Callable[[], int]) -> None:
        self._rate = rate
        self._now = now
        self._lock = threading.Lock()
        self._held: Int16 = audio.silence(0)
        self._begun: tuple[int, int] | None = None
        """How many samples before the first of a new reply, and when that was sent."""
        self._cushion_us = CUSHION_US
        self._cut = False
        self._open = False
        """Whether a reply is on its way and has not ended."""
        self._owed = False
        """Whether samples of it should be there, and it was not noted yet if they are not."""
        self._lead_us = 0
        self._latencies: deque[int] = deque(maxlen=MEASURED)
        self.underruns = 0
        """How often a reply was not there when the card asked for its next samples."""
        self.dropped = 0
        """Samples that were never played, for too many were held."""

    @property
    def latency_us(self) -> int:
        """How much later a sample sounds than it was put here: the median of what was measured.

        Before a reply was played it is the cushion, half a block, and what the card says of itself.
        """
        measured = tuple(self._latencies)
        return round(statistics.median(measured)) if measured else self._cushion_us + self._lead_us

    def put(self, samples: Int16, held_us: int = 0) -> None:
        """Take the next *samples* of a reply, of which a filter still holds back *held_us*."""
        if not samples.size:
            return
        with self._lock:
            if self._cut and self._held.size:
                samples = audio.fade(samples, began=True)
            else:
                samples = self._on_from_here(samples, self._cushion_us + held_us)
            self._cut = False
            self._held = audio.join((self._held, samples))
            over = max(0, self._held.size - self._samples(LONGEST_US))
            if over:
                self._held, self._begun = self._held[over:], None
                self.dropped += over

    def take(self, count: int, lead_us: int) -> Int16:
        """Return *count* samples, the first of which sounds *lead_us* from now, filled up with silence."""
        with self._lock:
            self._lead_us = lead_us + count * 500_000 // self._rate
            taken, self._held = self._held[:count], self._held[count:]
            if self._begun:
                before, sent_us = self._begun
                self._begun = (before - count, sent_us)
                if before < count:
                    sounds_us = self._now() + lead_us + before * 1_000_000 // self._rate
                    self._latencies.append(sounds_us - sent_us)
                    self._begun = None
            if taken.size == count:
                return taken
            if self._owed:
                self._owed = False
                self.underruns += 1
                self._cushion_us = min(self._cushion_us + MORE_US, THICKEST_US)
            return np.concatenate((taken, audio.silence(count - taken.size)))

    def clear(self) -> None:
        """Drop what has not sounded, without a click: 5 ms of it fade out, and what is sent next fades in."""
        with self._lock:
            self._cut = bool(self._held.size)
            self._held = audio.fade(self._held[: audio.EDGE * self._rate // audio.RATE], ended=True)
            self._begun, self._open, self._owed = None, False, False

    def end(self) -> None:
        """Know that a reply has been handed over to its end: running empty is no fault now."""
        with self._lock:
            self._open = self._owed = False

    def _on_from_here(self, samples: Int16, cushion_us: int) -> Int16:
        """Return *samples* as what a reply begins or goes on with, behind a cushion if none is held."""
        began, self._open, self._owed = not self._open, True, True
        if self._held.size:
            return samples
        cushion = audio.silence(self._samples(cushion_us))
        if began:
            self._begun = (cushion.size, self._now())
        return audio.join((cushion, samples))

    def _samples(self, us: int) -> int:
        return us * self._rate // 1_000_000
