"""A sound card as a line sees it: it gives what it hears and asks for what to play, from threads of its own.

One rate for both ways, one channel, 16-bit samples. Its own clock says how long sound is under way inside it;
no other clock can.

A simulated one, in a simulated room, is for tests, and for hours of talk without a person. Its two clocks may
run fast or slow against ours, as those of two real cards do. It runs on the loop's clock, whichever that is,
and calls its owner as a real card's threads would.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final, Protocol

import numpy as np

from turnbudget.voice.sound import audio
from turnbudget.voice.time import clock

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Iterable

    from turnbudget.voice.sound.audio import Int16


class CardUser(Protocol):
    """Whoever uses the card; called from the card's own threads, and must never block them."""

    def heard(self, data: bytes, lag_us: int, lost: int) -> None:
        """Take a block from the microphone, whose last sample was spoken *lag_us* ago.

        *lost* samples before it were never given.
        """
        ...

    def wanted(self, count: int, lead_us: int) -> bytes:
        """Return *count* samples to play, the first of which sounds *lead_us* from now."""
        ...

    def gone(self, why: str) -> None:
        """Handle that the card will neither hear nor play any more; *why* says the reason."""
        ...


class Card(Protocol):
    """A microphone and a speaker."""

    rate: int
    """Sample rate of both directions (Hz)."""

    def start(self, owner: CardUser) -> None:
        """Hear and play for *owner* from now on; raises LineError."""
        ...

    def stop(self) -> None:
        """Stop hearing and playing; a second call does nothing."""
        ...

    def now(self) -> int:
        """Return the card's own clock (µs); may be called from any thread."""
        ...


BLOCK_US: Final = 10 * clock.MS
"""Length of a simulated card's blocks (µs; 10 ms)."""
MILLION: Final = 1_000_000
"""What a clock's deviation is counted in (parts per million)."""


class SimulatedRoom(Protocol):
    """What surrounds a simulated card."""

    def play(self, samples: Int16) -> None:
        """Take what comes out of the speaker."""
        ...

    def hear(self, count: int) -> Int16:
        """Return the next *count* samples at the microphone."""
        ...


class SimulatedCard:
    """A card of *rate* Hz in *room*, whose clocks deviate from ours by parts per million."""

    def __init__(
        self,
        room: SimulatedRoom,
        rate: int = audio.RATE,
        *,
        mic_ppm: int = 0,
        speaker_ppm: int = 0,
        lag_us: int = 0,
    ) -> None:
        """Delay sound by *lag_us* each way."""
        self.rate = rate
        self._room = room
        self._lag_us = lag_us
        self._block = rate * BLOCK_US // MILLION
        self._periods = (
            BLOCK_US * MILLION // (MILLION + mic_ppm),
            BLOCK_US * MILLION // (MILLION + speaker_ppm),
        )
        self._owner: CardUser | None = None
        self._timers: list[asyncio.TimerHandle | None] = [None, None]

    def start(self, owner: CardUser) -> None:
        """Hear and play for *owner*."""
        self._owner = owner
        began = clock.now()
        for side, step in enumerate((self._hear, self._play)):
            self._every(side, began, 1, step)

    def stop(self) -> None:
        """Stop hearing and playing."""
        self._owner = None
        for timer in self._timers:
            if timer:
                timer.cancel()

    def unplug(self, why: str = "the card was unplugged") -> None:
        """Fail, as a card does whose plug is pulled."""
        owner = self._owner
        self.stop()
        if owner:
            owner.gone(why)

    def now(self) -> int:
        """Return the loop's time (µs)."""
        return clock.now()

    def _every(self, side: int, began: int, turn: int, step: Callable[[CardUser], None]) -> None:
        """Call *step* once each period of a *side*'s clock."""

        def due() -> None:
            if self._owner:
                step(self._owner)
                self._every(side, began, turn + 1, step)

        self._timers[side] = clock.call_at(began + turn * self._periods[side], due)

    def _hear(self, owner: CardUser) -> None:
        owner.heard(self._room.hear(self._block).tobytes(), self._lag_us, 0)

    def _play(self, owner: CardUser) -> None:
        self._room.play(np.frombuffer(owner.wanted(self._block, self._lag_us), np.int16))


class Person:
    """A room with a scripted caller: says the next of *sayings* when they have been answered.

    They wait until our voice has been silent for *pause_us*, or for *longest_us* if none comes. A room noise
    of −66 dBFS is always there. *over* is called when the last has been answered.
    """

    def __init__(
        self,
        sayings: Iterable[Int16],
        *,
        pause_us: int = 700 * clock.MS,
        longest_us: int = 6 * clock.SECOND,
        over: Callable[[], None] = lambda: None,
    ) -> None:
        self._sayings = iter(sayings)
        self._pause = audio.samples(pause_us)
        self._longest = audio.samples(longest_us)
        self._over = over
        self._saying: deque[Int16] = deque()
        self._noise = np.random.default_rng(0).normal(0, 16, audio.RATE).astype(np.int16)
        self._at = 0
        self._quiet = self._waited = 0
        self._answered = False
        self.said = 0
        """Number of sayings begun."""

    def play(self, samples: Int16) -> None:
        """Take the agent's sound."""
        if audio.first_audible(samples) is None:
            self._quiet += samples.size
        else:
            self._quiet, self._answered = 0, True

    def hear(self, count: int) -> Int16:
        """Return what the person says, over the room's noise."""
        self._waited += count
        if not self._saying and self._due():
            self._next()
        heard = np.take(self._noise, range(self._at, self._at + count), mode="wrap")
        self._at += count
        speech = self._piece(count)
        heard[: speech.size] += speech
        return heard

    def _due(self) -> bool:
        return (self._answered and self._quiet >= self._pause) or self._waited >= self._longest

    def _next(self) -> None:
        saying = next(self._sayings, None)
        self._answered, self._waited = False, 0
        if saying is None:
            self._over()
            return
        self.said += 1
        self._saying.append(saying)

    def _piece(self, count: int) -> Int16:
        if not self._saying:
            return audio.silence(0)
        saying = self._saying.popleft()
        if saying.size > count:
            self._saying.appendleft(saying[count:])
        self._waited = 0
        return saying[:count]
