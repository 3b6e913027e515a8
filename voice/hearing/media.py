"""The caller's media time: where each frame belongs in it, and when its samples sounded on our clock.

Arrival never says when somebody spoke; it says when the media began, and of all arrivals the earliest is the
least delayed. Some lines stamp real time, others count only what they send: a frame that goes on with the
old count after a silence that was filled in stands where the clock says, and the count is shifted.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from turnbudget.voice.sound import audio
from turnbudget.voice.sound.audio import Samples
from turnbudget.voice.time import clock
from turnbudget.voice.time.clock import Micros

if TYPE_CHECKING:
    from collections.abc import Callable

    from turnbudget.voice.lines.line import Frame

LOST: Final = audio.samples(200_000)
"""Missing media that is filled in as silence (samples; 200 ms): more than jitter."""
JUMP: Final = audio.samples(1_000_000)
"""Jump in media places that is taken as a new count, unless as much time has passed (samples; 1 s)."""
DRIFT: Final = 5_000
"""Parts of the time by which a caller's clock may run slow (1 in 5,000: 200 ppm); more is jitter."""
COUNTS: Final = 16
"""Earlier counts that are remembered, so that the end of an old turn can be placed."""


@dataclass(slots=True)
class _Count:
    """How the far side counts from our place *began* on, until the next shift."""

    began: Samples
    shift: int
    """Samples to add to its places to make them ours."""
    epoch: Micros
    """When our place 0 would have sounded (µs on the clock)."""


class Media:
    """One caller's media: how far it has come, and where it stands on the clock."""

    def __init__(self) -> None:
        self.next = Samples(0)
        """Place after all that has been taken (samples)."""
        self._counts: deque[_Count] = deque(maxlen=COUNTS)
        self._arrived = 0
        self._filled = False

    @property
    def epoch_us(self) -> Micros:
        """When the media's first sample sounded, by the latest count (µs on the clock)."""
        return self._counts[-1].epoch if self._counts else Micros(0)

    def at_clock(self, at: Samples) -> Micros:
        """Return when sample *at* sounded (µs on the clock), whatever came late since."""
        return Micros(self._count(lambda count: count.began <= at).epoch + audio.us(at))

    def counted(self, us: Micros) -> Samples:
        """Return which sample sounded at *us* on the clock, in the far side's own count."""
        count = self._count(lambda count: count.epoch + audio.us(count.began) <= us)
        return Samples(audio.samples(us - count.epoch) - count.shift)

    def _count(self, holds: Callable[[_Count], bool]) -> _Count:
        """Return the latest count that *holds*, or the oldest one remembered."""
        oldest = self._counts[0] if self._counts else _Count(Samples(0), 0, Micros(0))
        return next(filter(holds, reversed(self._counts)), oldest)

    def place(self, frame: Frame) -> Samples | None:
        """Return the place of *frame*, which arrives now; ``None`` if it came twice or too late."""
        size, now = frame.samples.size, clock.now() - audio.us(frame.behind)
        if not self._counts:
            self.next = frame.at
            self._counts.append(_Count(frame.at, 0, Micros(now - audio.us(frame.at + size))))
        count = self._counts[-1]
        at = Samples(frame.at + count.shift)
        gap = at - self.next
        if gap <= -LOST and self._filled:
            at = max(self.next, Samples(self._sounded_by(now) - size))
        elif abs(gap) > JUMP and abs(self._sounded_by(now) - at) > JUMP:
            at = self.next
        elif gap < 0:
            return None
        if at - frame.at != count.shift:
            count = _Count(at, at - frame.at, count.epoch)
            self._counts.append(count)
        self._filled = False
        slowest = count.epoch + (now - self._arrived) // DRIFT
        count.epoch = Micros(min(slowest, now - audio.us(at + size)))
        self._arrived = now
        return at

    def lost(self) -> Samples:
        """Return how many samples should have come by now and count as lost; 0 if none.

        The frame that is under way is not among them.
        """
        if not self._counts:
            return Samples(0)
        missing = self._sounded_by(clock.now()) - audio.FRAME - self.next
        if missing < LOST:
            return Samples(0)
        self._filled = True
        return Samples(missing)

    def _sounded_by(self, now: int) -> Samples:
        return audio.samples(now - self.epoch_us)
