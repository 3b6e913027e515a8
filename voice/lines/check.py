"""What every line owes a call; any third party can check its own.

In a test: ``await check_line(my_line)``, on a line whose caller is there and will be gone in a while.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Final

import numpy as np

from turnbudget.voice.sound import audio
from turnbudget.voice.time import clock
from turnbudget.voice.time.clock import MS, SECOND

if TYPE_CHECKING:
    from turnbudget.voice.lines.line import Frame, Line

HELD_US: Final = 5 * MS
"""What handing over a frame may hold the loop on average: far more than it should, on a busy machine."""
AHEAD_US: Final = 20 * MS
"""Media may run so far ahead of the clock: a frame, for lines that hand over what is being spoken."""


async def check_line(line: Line, *, within_us: int = 60 * SECOND) -> int:
    """Raise ``AssertionError``, naming the promise broken, unless *line* keeps them all; return its frames.

    The line is listened to until its caller hangs up, which must be *within_us*, and is sent a frame for
    every frame heard, before the first and after the last as well.
    """
    _send(line)
    began = clock.now()
    first: int | None = None
    count = held = 0
    kept, copy = audio.silence(0), audio.silence(0)
    async with clock.move_on_at(began + within_us) as scope, contextlib.aclosing(line.listen()) as frames:  # type: ignore[type-var]
        async for frame in frames:
            _check(frame)
            _hold(bool((kept == copy).all()), "a frame stays as it was: no buffer is used twice")
            kept, copy = frame.samples, frame.samples.copy()
            first = frame.at if first is None else first
            ahead = audio.us(frame.at + frame.samples.size - first) - (clock.now() - began)
            _hold(ahead <= AHEAD_US, f"nobody is heard before he has spoken, but {ahead} µs too early")
            count += 1
            held += _send(line)
    _hold(not scope.expired(), f"listening ends when the caller hangs up, not after {within_us} µs")
    _hold(count > 0, "a caller who is there is heard")
    _hold(held <= HELD_US * count, f"sending returns at once, not after {held // max(count, 1)} µs")
    _send(line)
    return count


def _check(frame: Frame) -> None:
    samples = frame.samples
    _hold(samples.dtype == np.int16 and samples.ndim == 1, "a frame is int16, one channel")
    _hold(bool(samples.size), "a frame holds sound, silent or not")
    _hold(frame.at >= 0, "media has a beginning, and no place before it")


def _send(line: Line) -> int:
    """Hand *line* a frame; return how long it took."""
    began = clock.now()
    line.send(audio.silence(audio.FRAME))
    return clock.now() - began


def _hold(kept: bool, promise: str) -> None:  # noqa: FBT001 - reads as a sentence
    if not kept:
        raise AssertionError(promise)
