"""The far side of a call, simulated: it ticks every 20 ms of a time that is passed in, and opens no socket.

Whoever drives it gives it what we send (``receive``), sends us what it says (``advance``, after each such
message and at ``next_us``), and closes the socket when ``closed`` says why. Its caller hears, each tick, a
frame of the queue, and silence where there is none.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from typing import TYPE_CHECKING, Final

from turnbudget.voice.sound.audio import join, silence

if TYPE_CHECKING:
    from turnbudget.voice.lines.dialect import Message
    from turnbudget.voice.sound.audio import Int16

TICK_US: Final = 20_000
"""Interval at which a far side acts (µs; 20 ms)."""
TICKS_A_SECOND: Final = 50
"""Ticks a second."""


class FarSide(ABC):
    """A carrier and its caller; what it makes of our messages is in the carrier's own file."""

    def __init__(self, rate: int, began_us: int, *, transmits_silence: bool) -> None:
        """Begin at *began_us*; if it *transmits_silence*, a silent caller still sends frames."""
        self.rate = rate
        self.frame = rate // TICKS_A_SECOND
        self.closed = ""
        """Why the socket is closed; '' while it is open."""
        self.refused: list[str] = []
        """What of ours the carrier did not take, and why (the last hundred)."""
        self.playout = FarPlayout(self.frame)
        self._transmits_silence = transmits_silence
        self._tick_us = began_us + TICK_US
        self._says: deque[Int16] = deque()
        self._out: list[Message] = []

    @property
    def next_us(self) -> int:
        """When something happens next by itself (µs)."""
        return self._tick_us

    def say(self, sound: Int16) -> None:
        """Let the caller say *sound*, after what is being said."""
        self._says += [sound[at : at + self.frame] for at in range(0, sound.size, self.frame)]

    def press(self, digit: str) -> None:
        """Let the caller press a key."""
        self._out += self._pressed(digit)

    def hang_up(self) -> None:
        """Let the caller hang up, which just ends the socket."""
        self._close("the caller hung up")

    def advance(self, now: int) -> list[Message]:
        """Let the time until *now* pass; return the messages to us."""
        while not self.closed and self.next_us <= now:
            self._happen(self.next_us)
        said, self._out = self._out, []
        return said

    def receive(self, message: Message, now: int) -> None:
        """Take a message of ours that arrives at *now*."""
        self._out = self.advance(now)
        if not self.closed:
            self._take(message, now)

    def _happen(self, now: int) -> None:
        """Do what is due at *now*."""
        self._tick(now)

    def _tick(self, now: int) -> None:  # noqa: ARG002 - a carrier with a watchdog asks for it
        """Send a frame of the caller's and play one of ours."""
        if self._says or self._transmits_silence:
            self._out += self._spoken(self._says.popleft() if self._says else silence(self.frame))
        self._tick_us += TICK_US
        self._passed(self.playout.tick())

    def _refuse(self, why: str) -> None:
        self.refused = [*self.refused[-99:], why]

    def _close(self, why: str) -> None:
        self.closed = self.closed or why

    def _passed(self, marks: list[str]) -> None:  # noqa: B027 - a carrier without marks tells none
        """Send what tells that *marks* were passed."""

    @abstractmethod
    def _take(self, message: Message, now: int) -> None:
        """Act on a message of ours."""

    @abstractmethod
    def _spoken(self, frame: Int16) -> list[Message]:
        """Return the messages that carry the caller's *frame*."""

    @abstractmethod
    def _pressed(self, digit: str) -> list[Message]:
        """Return the messages that tell of a key of the caller's."""


KEPT: Final = 15_000
"""Frames heard that are kept until they are asked for (5 min)."""


class FarPlayout:
    """A queue of sound and marks, of which ``frame`` samples are heard each tick."""

    def __init__(self, frame: int) -> None:
        self._frame = frame
        self._queue: deque[Int16 | str] = deque()
        self._heard: deque[Int16] = deque(maxlen=KEPT)
        self.queued = 0
        """Samples that wait."""
        self.played = 0
        """Samples of ours that were heard, fillers not counted."""
        self.lost = 0
        """Samples of ours that will never be heard."""

    def add(self, sound: Int16) -> None:
        """Put *sound* at the end of the queue."""
        self._queue.append(sound)
        self.queued += sound.size

    def mark(self, name: str) -> None:
        """Put a mark at the end of the queue."""
        self._queue.append(name)

    def tick(self) -> list[str]:
        """Play the next frame; return the marks that were passed before its last sample."""
        marks: list[str] = []
        frame: list[Int16] = []
        need = self._frame
        while need and self._queue:
            head = self._queue.popleft()
            if isinstance(head, str):
                marks.append(head)
                continue
            frame.append(head[:need])
            if head.size > need:
                self._queue.appendleft(head[need:])
            need -= frame[-1].size
        self.queued -= self._frame - need
        self.played += self._frame - need
        self._heard.append(join([*frame, silence(need)]))
        return marks

    def flush(self) -> list[str]:
        """Empty the queue; return the marks that were in it."""
        marks = [one for one in self._queue if isinstance(one, str)]
        self._queue.clear()
        self.lost += self.queued
        self.queued = 0
        return marks

    def heard(self) -> Int16:
        """Return what was heard since the last call, silence included."""
        sound = join(list(self._heard))
        self._heard.clear()
        return sound
