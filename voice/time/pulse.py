"""The loop's heartbeat: whatever kept a loop from its selector for 10 ms or more is a :class:`Stall`.

The selector is where a loop waits, so the time between two visits is time in which it could do nothing else.
This file reads no clock of its own; :mod:`turnbudget.voice.time.clock` tells it the instants.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

STALL_US: Final = 10_000
"""Time away from its selector at which a loop is stalled (µs; 10 ms, half a frame)."""


@dataclass(frozen=True, slots=True)
class Stall:
    """Time in which the loop could run nothing, and what held it."""

    began_us: int
    """Beginning (µs on the clock)."""
    ended_us: int
    """End (µs on the clock)."""
    cause: str
    """What held the loop."""


class Pulse:
    """The loop's heartbeat: how long each turn of the loop kept it from its selector.

    ``read`` is the loop's clock (µs); it, ``awake_since`` and ``accuse`` may be used from any thread.
    """

    def __init__(self, read: Callable[[], int]) -> None:
        self.read = read
        self.stalls: deque[Stall] = deque(maxlen=256)
        self.awake_since: int | None = None
        """When the selector last returned (µs); ``None`` while the loop waits in it."""
        self._accused: tuple[int | None, str] | None = None

    def accuse(self, who: str, since: int | None) -> None:
        """Name *who* has held the loop *since* (its ``awake_since``); ignored if that has passed."""
        self._accused = (since, who)

    def rest(self, instant: int) -> None:
        """Note that the loop went back to its selector at *instant* (µs)."""
        self.stalls.extend(self._held(instant))
        self.awake_since = self._accused = None

    def wake(self, instant: int, due: int | None = None) -> None:
        """Note that the selector returned at *instant*, *due* by a timer (µs; ``None`` without one)."""
        if due is not None and instant - due >= STALL_US:
            self.stalls.append(Stall(due, instant, self._culprit() or "machine busy"))
        self.awake_since = instant

    def touching(self, began: int, ended: int) -> tuple[Stall, ...]:
        """Return the stalls between *began* and *ended* (µs), a current one included."""
        noted = (*self.stalls, *self._held(self.read()))
        return tuple(stall for stall in noted if stall.ended_us > began and stall.began_us < ended)

    def _held(self, instant: int) -> tuple[Stall, ...]:
        began = self.awake_since
        if began is None or instant - began < STALL_US:
            return ()
        return (Stall(began, instant, self._culprit() or "blocking call"),)

    def _culprit(self) -> str:
        since, who = self._accused or (None, "")
        return who if since == self.awake_since else ""
