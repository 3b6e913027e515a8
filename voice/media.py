"""The caller's media time: where each frame belongs in it, and when its samples sounded on our clock.

Arrival never says when somebody spoke; it says when the media began, and of all arrivals the earliest is the
least delayed. Some lines stamp real time, others count only what they send: a frame that goes on with the
old count after a silence that was filled in stands where the clock says, and the count is shifted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from voice import audio, clock

if TYPE_CHECKING:
    from voice.line import Frame

LOST: Final = audio.samples(200_000)
"""Media missing for so long is filled in by the guard: a radio gap, not jitter."""
JUMP: Final = audio.samples(1_000_000)
"""A jump in media places beyond this is a new count, unless as much time has passed."""
DRIFT: Final = 5_000
"""A caller's clock runs slow by one part in so many at worst (200 ppm); what comes later still is jitter."""


class Media:
    """One caller's media: how far it has come, and where it stands on the clock."""

    def __init__(self) -> None:
        self.next = 0
        """The place after all that has been taken, in samples."""
        self._epoch: int | None = None
        self._arrived = 0
        self._shift = 0
        self._filled = False

    @property
    def epoch_us(self) -> int:
        """When the first sample of the media sounded, in µs on the clock."""
        return self._epoch or 0

    def at_clock(self, at: int) -> int:
        """Return when the sample *at* sounded, in µs on the clock."""
        return self.epoch_us + audio.us(at)

    def place(self, frame: Frame) -> int | None:
        """Return where *frame*, arriving now, belongs; ``None`` if it came twice or too late."""
        size, now = frame.samples.size, clock.now() - audio.us(frame.behind)
        if self._epoch is None:
            self.next, self._epoch = frame.at, now - audio.us(frame.at + size)
        at = frame.at + self._shift
        gap = at - self.next
        if gap <= -LOST and self._filled:
            at = max(self.next, self._sounded_by(now) - size)
        elif abs(gap) > JUMP and abs(self._sounded_by(now) - at) > JUMP:
            at = self.next
        elif gap < 0:
            return None
        self._shift = at - frame.at
        self._filled = False
        slowest = self._epoch + (now - self._arrived) // DRIFT
        self._epoch, self._arrived = min(slowest, now - audio.us(at + size)), now
        return at

    def lost(self) -> int:
        """Return how many samples should have come by now and will be taken as lost; 0 if none.

        The frame that is under way is not among them.
        """
        if self._epoch is None:
            return 0
        missing = self._sounded_by(clock.now()) - audio.FRAME - self.next
        if missing < LOST:
            return 0
        self._filled = True
        return missing

    def _sounded_by(self, now: int) -> int:
        return audio.samples(now - self.epoch_us)
