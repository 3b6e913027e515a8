"""A line behind a dialect: one call's messages in, the caller's frames out, and our frames as messages.

It owns no socket: whoever does gives it what came (:meth:`TelephoneLine.receive`) and writes what it is
given. The Mouth paces, so the far side's queue stays short; whatever it holds is dropped when a reply is cut.
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from typing import TYPE_CHECKING, Final

from turnbudget.voice.lines.dialect import AudioIn, Drained, Flow, Hangup, MarkPlayed, Odd
from turnbudget.voice.lines.line import Frame
from turnbudget.voice.sound import audio
from turnbudget.voice.sound.encoding import to_float
from turnbudget.voice.sound.resampler import Resampler
from turnbudget.voice.time import clock

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Sequence

    from turnbudget.voice.lines.dialect import Dialect, Inbound, Message
    from turnbudget.voice.sound.audio import Int16

HELD: Final = 250
"""Frames of the caller that may wait to be heard (5 s); more means that nobody listens, and is dropped."""
KINDS: Final = 8
"""Kinds of odd messages that are told apart in a call."""
OTHERS: Final = "others"
"""Name under which further kinds of odd messages are counted."""
FIRST: Final = "first"
"""Name of the mark that comes back when the first frame of a reply was played."""


class TelephoneLine:
    """One call; *write* sends a message to the far side, *told* gets what is neither audio nor a mark."""

    def __init__(
        self, dialect: Dialect, write: Callable[[Message], None], told: Callable[[Inbound], None]
    ) -> None:
        self._dialect = dialect
        self._write = write
        self._told = told
        self._frames: deque[Frame] = deque()
        self._arrived = asyncio.Event()
        self._up: Resampler | None = None
        self._down: Resampler | None = None
        self._next = 0
        """Place of the next sample that comes in, at the dialect's rate."""
        self._base = 0
        self._given = 0
        self._replies = 0
        self._in_reply = False
        self._sent_us = 0
        self._stopped = False
        self._mute_until_us = 0
        self._pausing = False
        """Whether what was sent last is silence that keeps the call alive."""
        self._marked_us = 0
        """How much of the reply was sent before its first mark (µs)."""
        self._began: tuple[int, int] | None = None
        """When the caller's first audio came (µs on the clock), and its place at our rate."""
        self._shift: int | None = 0
        """Samples to add to the far side's places; ``None`` before its first one."""
        self.over = False
        """Whether the call is over, whoever hung up."""
        self.ended = ""
        """Why the call is over; '' while it runs or if it is not known."""
        self.dropped = 0
        """Frames of the caller that were dropped, since nobody heard them in time."""
        self._odd: Counter[str] = Counter()
        """Number of odd messages, by what was odd."""
        self._owed = ""
        """Mark behind our last reply, until it comes back."""
        self.played_us = clock.now()
        """When the far side last told that a reply was played to its end (µs on the clock)."""
        self.heard_us: int | None = None

    @property
    def latency_us(self) -> int:
        """Delay by the filter, a message that is not full, and silence still to be played (µs)."""
        waits_us = self._down.pending_us if self._down else 0
        if holds_us := self._dialect.abilities.message_us:
            frames = -(-(holds_us + waits_us) // audio.FRAME_US)
            waits_us = (frames - 1) * audio.FRAME_US
        return waits_us + max(0, self._mute_until_us - clock.now())

    @property
    def keeps_alive(self) -> bool:
        """Whether :meth:`keep_alive` has to run beside the call."""
        return self._dialect.abilities.keeps_alive

    @property
    def unplayed(self) -> bool:
        """Whether the far side, if it tells, has not yet played our last reply to its end."""
        return bool(self._owed) and not self.over

    @property
    def lag(self) -> None:
        """``None``: no carrier tells how long sound takes."""
        return

    @property
    def odd(self) -> int:
        """Number of odd messages."""
        return self._odd.total()

    def notes(self) -> tuple[str, ...]:
        """Return what was odd about the line, a line each."""
        fast = (f"{self.dropped} frames of the caller came too fast",) if self.dropped else ()
        return (*fast, *(f"odd, {count} times: {why}" for why, count in self._odd.items()))

    # --- from the far side -------------------------------------------------------------------------

    def receive(self, message: Message) -> None:
        """Take one message, or one piece of the stream."""
        self._take(self._dialect.receive(message))

    def lost(self, why: str = "") -> None:
        """Handle that the socket is closed; *why* says the reason if it was not the far side."""
        self.ended = self.ended or why
        self._take(self._dialect.ended())
        self._end()

    def take_over(
        self, dialect: Dialect, write: Callable[[Message], None], told: Callable[[Inbound], None]
    ) -> None:
        """Go on with the same call behind *dialect*, since the far side opened another stream."""
        self._dialect, self._write, self._told = dialect, write, told
        self._up = self._down = None
        self._in_reply = self._stopped = False
        self.heard_us = None
        self._owed = ""
        self._shift = None

    def _take(self, events: Sequence[Inbound]) -> None:
        for event in events:
            match event:
                case AudioIn(samples, at):
                    self._hear(samples, at)
                    continue
                case MarkPlayed(name, cleared=False) if name == f"{FIRST}{self._replies}":
                    self.heard_us = clock.now() - self._marked_us
                case MarkPlayed(name) if name == self._owed:
                    self._played()
                case Drained(left=0):
                    self._played()
                case Flow(stop):
                    self._stopped = stop
                case Odd(why):
                    self._odd[why if why in self._odd or len(self._odd) < KINDS else OTHERS] += 1
                case Hangup(reason):
                    known = "hung up" in reason or "error" in reason
                    self.ended = self.ended or (reason if known else f"caller hung up ({reason})")
                    self._end()
                case _:
                    pass
            self._told(event)

    def _played(self) -> None:
        """Handle that nothing of ours is left at the far side."""
        self._owed, self.played_us = "", clock.now()

    def _hear(self, samples: Int16, at: int | None) -> None:
        """Bring the caller's *samples* to our rate and to their place."""
        rate = self._dialect.abilities.rate
        if self._up is None:
            self._up = Resampler(rate, audio.RATE, live=True)
        if self._shift is None:
            self._resume(at, rate)
        if at is not None:
            at += self._shift or 0
        if at is not None and at != self._next:
            self._put(self._up.flush())
            self._next, self._base, self._given = at, at * audio.RATE // rate, 0
        if self._began is None:
            self._began = clock.now(), self._base
        self._next += samples.size
        self._put(self._up.feed(to_float(samples)))

    def _resume(self, at: int | None, rate: int) -> None:
        """Let the audio of a new stream, whose first stands at *at*, go on where the clock says."""
        began_us, first = self._began or (clock.now(), self._base)
        heard = max(self._base + self._given, first + audio.samples(clock.now() - began_us))
        self._next = heard * rate // audio.RATE
        self._base, self._given = self._next * audio.RATE // rate, 0
        self._shift = 0 if at is None else self._next - at

    def _put(self, samples: Int16) -> None:
        if not samples.size or self._up is None:
            return
        behind = audio.samples(self._up.pending_us)
        self._frames.append(Frame(samples, audio.Samples(self._base + self._given), behind))
        self._given += samples.size
        if len(self._frames) > HELD:
            self._frames.popleft()
            self.dropped += 1
        self._arrived.set()

    def _end(self) -> None:
        self.over = True
        self._arrived.set()

    async def listen(self) -> AsyncIterator[Frame]:
        """Yield the caller's frames as they arrive; end when the far side hangs up."""
        while True:
            while self._frames:
                yield self._frames.popleft()
            if self.over:
                return
            self._arrived.clear()
            await self._arrived.wait()

    # --- to the far side ---------------------------------------------------------------------------

    def send(self, frame: Int16) -> None:
        """Send the next 20 ms of our audio."""
        if self.over or self._stopped:
            return
        self._pausing = False
        if not self._in_reply:
            self._in_reply = True
            self._replies += 1
            self.heard_us = None
            self._owed = ""
            self._say(self._dialect.begin_reply())
            self._marked_us = max(self._sound(frame), self._dialect.abilities.message_us)
            if self._dialect.abilities.marks:
                self._say(self._dialect.mark(f"{FIRST}{self._replies}"))
        else:
            self._sound(frame)

    def clear(self) -> None:
        """Drop what the far side has not played yet."""
        self._in_reply = False
        self._owed = ""
        if self._down:
            self._down.reset()
        if not self.over:
            self._say(self._dialect.clear())

    def end(self) -> None:
        """Send what the filter holds back; the reply is over."""
        if self._in_reply and not self.over:
            self._in_reply = False
            if self._down:
                self._say(self._dialect.audio(self._down.flush()))
            self._owed = f"end{self._replies}" if self._dialect.abilities.marks else ""
            self._say(self._dialect.end_reply(f"end{self._replies}"))

    async def keep_alive(self) -> None:
        """Send silence whenever nothing was sent for a frame's time, until the call is over.

        For a far side that drops a silent call, or that takes no frame for no line. Within a reply its next
        frame may be under way, so there silence begins a frame later; then it fills a pause like any other.
        """
        while not self.over:
            await clock.sleep_until(max(clock.now() + 1, self._silent_from_us))
            if clock.now() >= self._silent_from_us and not self.over:
                self._sound(audio.silence(audio.FRAME))
                self._mute_until_us = clock.now() + audio.FRAME_US
                self._pausing = True

    @property
    def _silent_from_us(self) -> int:
        """Return from when silence has to be sent, unless something else is (µs on the clock)."""
        frames = 2 if self._in_reply and not self._pausing else 1
        return self._sent_us + frames * audio.FRAME_US

    def hang_up(self, reason: str = "") -> None:
        """End the call at the far side, for a *reason*."""
        if not self.over:
            self._say(self._dialect.hang_up())
            self.ended = self.ended or reason
            self._end()

    def transfer(self, target: str) -> bool:
        """Send the caller to *target*; return whether the dialect can do that by itself."""
        messages = self._dialect.transfer(target)
        self._say(messages)
        return bool(messages)

    def press(self, digit: str) -> None:
        """Play a key's tone to the caller."""
        self._say(self._dialect.dtmf(digit))

    def _sound(self, frame: Int16) -> int:
        """Send *frame* at the far side's rate; return its length (µs)."""
        rate = self._dialect.abilities.rate
        if self._down is None:
            self._down = Resampler(audio.RATE, rate, live=True)
        self._sent_us = clock.now()
        samples = self._down.feed(to_float(frame))
        self._say(self._dialect.audio(samples))
        return samples.size * clock.SECOND // rate

    def _say(self, messages: Sequence[Message]) -> None:
        for message in messages:
            self._write(message)
