"""What every line owes a call; any third party can check its own.

In a test: ``await check_line(my_line)``, on a line whose caller is there and will be gone in a while.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Final

import numpy as np

from turnbudget.voice.errors import BrokenPromise
from turnbudget.voice.sound import audio
from turnbudget.voice.time import clock
from turnbudget.voice.time.clock import MS, SECOND

if TYPE_CHECKING:
    from turnbudget.voice.lines.line import Frame, Line

HELD_US: Final = 5 * MS
"""What handing over a frame may hold the loop on average: far more than it should, on a busy machine."""
AHEAD_US: Final = 20 * MS
"""Media may run so far ahead of the clock: a frame, for lines that hand over what is being spoken."""


async def check_line(line: Line, *, within_us: int = 60 * SECOND) -> None:
    """Raise :class:`BrokenPromise`, which lists all that *line* breaks of what a line promises.

    The line is listened to until its caller hangs up, which must be *within_us* (µs), and is sent a frame for
    every frame heard, before the first and after the last as well.
    """
    trial = _Trial(clock.now())
    try:
        _send(line)
        until_us = trial.began_us + within_us
        async with clock.move_on_at(until_us) as scope, contextlib.aclosing(line.listen()) as frames:  # type: ignore[type-var]
            async for frame in frames:
                trial.heard(frame)
                trial.held_us += _send(line)
        trial.hold(not scope.expired(), f"listening ends when the caller hangs up, not after {within_us} µs")
        _send(line)
    except Exception as error:  # noqa: BLE001 - whatever it raises is the finding
        trial.broken.append(f"it raises {error!r}")
    trial.end()
    BrokenPromise.unless_kept(type(line).__name__, trial.broken)


class _Trial:
    """A line being listened to; ``broken`` is what it did not keep."""

    def __init__(self, began_us: int) -> None:
        self.broken: list[str] = []
        self.began_us = began_us
        self.held_us = 0
        """How long it took to hand over frames."""
        self._count = 0
        self._first: int | None = None
        self._ahead_us = 0
        self._kept = self._copy = audio.silence(0)

    def heard(self, frame: Frame) -> None:
        """Judge *frame*, and the one before it, which must not have changed."""
        samples = frame.samples
        self.hold(samples.dtype == np.int16 and samples.ndim == 1, "a frame is int16, one channel")
        self.hold(bool(samples.size), "a frame holds sound, silent or not")
        self.hold(frame.at >= 0, "media has a beginning, and no place before it")
        self.hold(bool((self._kept == self._copy).all()), "a frame stays as it was: no buffer is used twice")
        self._kept, self._copy = samples, samples.copy()
        self._first = frame.at if self._first is None else self._first
        ahead_us = audio.us(frame.at + samples.size - self._first) - (clock.now() - self.began_us)
        self._ahead_us = max(self._ahead_us, ahead_us)
        self._count += 1

    def end(self) -> None:
        """Judge what only all frames together show."""
        early = self._ahead_us
        self.hold(early <= AHEAD_US, f"nobody is heard before he has spoken, but {early} µs too early")
        self.hold(self._count > 0, "a caller who is there is heard")
        each = self.held_us // max(self._count, 1)
        self.hold(each <= HELD_US, f"sending returns at once, not after {each} µs")

    def hold(self, kept: bool, promise: str) -> None:  # noqa: FBT001 - reads as a sentence
        """Note *promise* as broken unless it is *kept*; once, however often it is."""
        if not kept and promise not in self.broken:
            self.broken.append(promise)


def _send(line: Line) -> int:
    """Hand *line* a frame; return how long it took, in µs."""
    began = clock.now()
    line.send(audio.silence(audio.FRAME))
    return clock.now() - began
