"""Name who holds the loop: a stall that says which line caused it can be mended.

A thread looks at the loop's heartbeat every 25 ms and, when the loop has been awake for 30 ms, reads off
the loop's stack the innermost line that is neither Python's nor a package's. A garbage collection that
holds the loop is named as one. Virtual time has no other thread to look from and needs none.
"""

from __future__ import annotations

import contextlib
import gc
import sys
import sysconfig
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

from turnbudget.voice.time import clock

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

    from turnbudget.voice.time.pulse import Pulse

LOOK_S: Final = 0.025
"""Interval at which the watching thread looks at the heartbeat (s; 25 ms)."""
HELD_US: Final = 30_000
"""Time awake from which the line that holds the loop is looked for (µs; 30 ms)."""
COLLECTION_US: Final = 10_000
"""Shortest garbage collection that is named as a stall's cause (µs; 10 ms)."""

_PACKAGE: Final = Path(__file__).parents[2]
_THEIRS: Final = (
    "<",
    *{f"{sysconfig.get_path(name)}/" for name in ("stdlib", "platstdlib", "purelib", "platlib")},
)
_PLUMBING: Final = frozenset({str(_PACKAGE / "voice" / "time" / "clock.py"), __file__})


@contextlib.contextmanager
def watch() -> Iterator[None]:
    """Name whoever holds the running loop until the block ends; do nothing in virtual time."""
    pulse = clock.pulse()
    if pulse is None or clock.kind() == "virtual":
        yield
        return
    ended = threading.Event()
    collections = _Collections(pulse)
    watcher = threading.Thread(
        target=_look, args=(pulse, threading.get_ident(), ended), name="turnbudget-watch", daemon=True
    )
    gc.callbacks.append(collections)
    watcher.start()
    try:
        yield
    finally:
        gc.callbacks.remove(collections)
        ended.set()


def settle() -> None:
    """Collect garbage once and exempt what is left from later collections, after models are loaded.

    ``gc.unfreeze`` takes it back.
    """
    gc.collect()
    gc.freeze()


def _look(pulse: Pulse, thread: int, ended: threading.Event) -> None:
    named: int | None = None
    while not ended.wait(LOOK_S):
        since = pulse.awake_since
        if since is None or since == named or pulse.read() - since < HELD_US:
            continue
        frame = sys._current_frames().get(thread)  # noqa: SLF001 - the documented way to another thread's stack
        if frame is not None:
            pulse.accuse(name(frame), since)
            named = since


def name(frame: FrameType) -> str:
    """Return the innermost line on the stack that can be changed, as ``file.py:33 function``."""
    at: FrameType | None = frame
    while at is not None and at.f_code is not clock.run.__code__:
        if _changeable(at.f_code.co_filename):
            return _label(at)
        at = at.f_back
    return _label(frame)


def _changeable(file: str) -> bool:
    if file in _PLUMBING:
        return False
    return file.startswith(f"{_PACKAGE}/") or not file.startswith(_THEIRS)


def _label(frame: FrameType) -> str:
    return f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno} {frame.f_code.co_name}"


class _Collections:
    """Hook of the garbage collector that names a long collection."""

    def __init__(self, pulse: Pulse) -> None:
        self._pulse = pulse
        self._began = 0

    def __call__(self, phase: Literal["start", "stop"], info: dict[str, int]) -> None:
        now = self._pulse.read()
        if phase == "start":
            self._began = now
            return
        took = now - self._began
        since = self._pulse.awake_since
        most = since is None or 2 * took >= now - since
        if took >= COLLECTION_US and most:
            self._pulse.accuse(f"garbage collection, generation {info['generation']}", since)
