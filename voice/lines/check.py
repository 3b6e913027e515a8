"""What every line owes a call; any third party can check its own.

In a test: ``await check_line(my_line)``, on a line whose caller is there and will be gone in a while.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from turnbudget.voice.errors import BrokenPromise
from turnbudget.voice.lines.line import Line
from turnbudget.voice.promises import lacking, tried
from turnbudget.voice.sound import audio
from turnbudget.voice.time import clock
from turnbudget.voice.time.clock import MS, SECOND

if TYPE_CHECKING:
    from turnbudget.voice.lines.line import Frame

HELD_US: Final = 5 * MS
"""What handing over a frame may hold the loop on average: far more than it should, on a busy machine."""
BLOCKED_US: Final = 50 * MS
"""What ending or cutting a reply may hold the loop: far more than it should, on a busy machine."""
CUT_AT: Final = 2
"""The frame at which a reply of ours is ended and cut."""
GONE_US: Final = SECOND
"""How long a line that is no longer listened to may take to let go (µs; 1 s)."""
AHEAD_US: Final = 20 * MS
"""Media may run so far ahead of the clock: a frame, for lines that hand over what is being spoken."""


async def check_line(line: Line, *, within_us: int = 60 * SECOND) -> None:
    """Raise :class:`BrokenPromise`, which lists all that *line* breaks of what a line promises.

    The line is listened to until its caller hangs up, which must be *within_us* (µs), and is sent a frame for
    every frame heard, before the first and after the last as well. A reply of ours ends, and one is cut.
    """
    BrokenPromise.unless_kept(type(line).__name__, lacking(line, Line))
    trial = _Trial(clock.now())
    broken = await tried(
        _listened(line, trial, within_us), within_us + GONE_US, "listening cannot be cancelled"
    )
    trial.broken += broken
    trial.end()
    BrokenPromise.unless_kept(type(line).__name__, trial.broken)


async def _listened(line: Line, trial: _Trial, within_us: int) -> None:
    """Listen to *line* until its caller hangs up, and have *trial* judge what comes."""
    trial.send(line)
    until_us = trial.began_us + within_us
    async with clock.move_on_at(until_us) as scope, contextlib.aclosing(line.listen()) as frames:  # type: ignore[type-var]
        async for frame in frames:
            trial.heard(frame)
            trial.send(line)
            if trial.count == CUT_AT:
                trial.cut(line)
    trial.hold(not scope.expired(), f"listening ends when the caller hangs up, not after {within_us} µs")
    trial.send(line)
    trial.cut(line)


class _Trial:
    """A line being listened to; ``broken`` is what it did not keep."""

    def __init__(self, began_us: int) -> None:
        self.broken: list[str] = []
        self.began_us = began_us
        self.held_us = 0
        """How long it took to hand over frames."""
        self.count = 0
        self._first: int | None = None
        self._ahead_us = 0
        self._kept = self._copy = audio.silence(0)

    def heard(self, frame: Frame) -> None:
        """Judge *frame*, and the one before it, which must not have changed."""
        samples = frame.samples
        places = all(isinstance(_any(place), int | np.integer) for place in (frame.at, frame.behind))
        self.hold(places, "a frame's place is a whole number of samples")
        self.hold(frame.behind >= 0, "no less than nothing is held back behind a frame")
        self.hold(samples.dtype == np.int16 and samples.ndim == 1, "a frame is int16, one channel")
        self.hold(bool(samples.size), "a frame holds sound, silent or not")
        self.hold(frame.at >= 0, "media has a beginning, and no place before it")
        self.hold(bool((self._kept == self._copy).all()), "a frame stays as it was: no buffer is used twice")
        self._kept, self._copy = samples, samples.copy()
        self._first = frame.at if self._first is None else self._first
        ahead_us = audio.us(frame.at + samples.size - self._first) - (clock.now() - self.began_us)
        self._ahead_us = max(self._ahead_us, ahead_us)
        self.count += 1

    def end(self) -> None:
        """Judge what only all frames together show."""
        early = self._ahead_us
        self.hold(early <= AHEAD_US, f"nobody is heard before he has spoken, but {early} µs too early")
        self.hold(self.count > 0, "a caller who is there is heard")
        each = self.held_us // max(self.count, 1)
        self.hold(each <= HELD_US, f"sending returns at once, not after {each} µs")

    def hold(self, kept: bool, promise: str) -> None:  # noqa: FBT001 - reads as a sentence
        """Note *promise* as broken unless it is *kept*; once, however often it is."""
        if not kept and promise not in self.broken:
            self.broken.append(promise)

    def send(self, line: Line) -> None:
        """Hand *line* a frame, and note how long it took."""
        began = clock.now()
        line.send(audio.silence(audio.FRAME))
        self.held_us += clock.now() - began

    def cut(self, line: Line) -> None:
        """End a reply and cut one; then judge what *line* tells of its delays."""
        for what in (line.end, line.clear):
            blocked: list[bool] = []
            began = clock.now()
            # Virtual time does not pass while code runs: a thread watches the wall instead.
            with clock.alarm(BLOCKED_US, lambda: blocked.append(True)):  # noqa: B023 - the block ends before
                what()
            held = blocked or clock.now() - began > BLOCKED_US
            self.hold(not held, f"{what.__name__} returns at once, not after {BLOCKED_US} µs")
        late, told = _any(line.latency_us), _any(line.heard_us)
        self.hold(isinstance(late, int) and late >= 0, f"latency_us is a delay (µs), not {late!r}")
        self.hold(told is None or isinstance(told, int), f"heard_us is an instant (µs) or None, not {told!r}")


def _any(value: Any) -> Any:
    """Return *value* as what anybody may have put there."""
    return value
