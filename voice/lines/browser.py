"""A page in a browser: frames of 20 ms at 16 kHz that say their place, and JSON for everything else.

A frame is one BINARY message, the same in both directions: the place of its first sample in all that was
sent that way (4 bytes, little-endian), then 320 samples of int16. What is not sound is one JSON object a TEXT
message, named by its ``event``. The page speaks first (``hello``); it acknowledges a ``mark`` when the sound
before it has been heard, and says when that was on our clock, which it knows from ``ping`` and ``pong``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, TypeAlias

import msgspec
import numpy as np
from msgspec import Struct

from turnbudget.voice.lines.dialect import (
    Abilities,
    AudioIn,
    CallInfo,
    Hangup,
    Hold,
    MarkPlayed,
    Odd,
    Started,
)
from turnbudget.voice.lines.wire import Framed, MarkIds, compact
from turnbudget.voice.sound import audio
from turnbudget.voice.sound.encoding import called

if TYPE_CHECKING:
    from collections.abc import Sequence

    from turnbudget.voice.lines.dialect import Inbound, Message
    from turnbudget.voice.sound.audio import Int16

VERSION: Final = 1
"""Version of what page and server say to each other."""
HEADER: Final = 4
"""Length of a frame's header, which holds its place (bytes)."""
BYTES: Final = HEADER + 2 * audio.FRAME
"""Length of a frame with its header (bytes)."""
LONGEST: Final = 4_096
"""Longest message that is read (characters): longer than any of the page's."""
WHY: Final = 160
"""Longest part of a reason that is kept (characters): it may quote the page."""
ABILITIES: Final = Abilities(
    rate=audio.RATE, buffers=True, marks=True, marks_on_clear=True, clears=True, transfers=False
)
"""What a page can do: it holds a few frames against jitter, and tells whether a mark was heard or cleared."""


class Hello(Struct, tag_field="event", tag="hello", frozen=True):
    """The page's first words; ``resume`` is the key of a call whose socket dropped."""

    version: int
    """Version of what the page speaks."""
    rate: int
    """Sample rate of its frames (Hz)."""
    frame: int
    """Length of its frames (samples)."""
    token: str = ""
    """Credential of the page; '' for none."""
    resume: str = ""
    """Key of a call whose socket dropped; '' for a new call."""


class _Mark(Struct, tag_field="event", tag="mark"):
    name: str
    cleared: bool = False
    at_us: int | None = None


class _Ping(Struct, tag_field="event", tag="ping"):
    id: int


class _Hold(Struct, tag_field="event", tag="hold"):
    on: bool


class _Hangup(Struct, tag_field="event", tag="hangup"):
    reason: str = ""


_Event: TypeAlias = Hello | _Mark | _Ping | _Hold | _Hangup


def read_hello(message: Message) -> Hello | Odd:
    """Return the page's first words, or why they cannot be taken."""
    event = _read(message) if isinstance(message, str) else Odd("sound before the hello")
    if not isinstance(event, Hello):
        return Odd(event.why if isinstance(event, Odd) else "it did not say hello", fatal=True)
    if event.version != VERSION:
        return Odd(f"the page speaks version {event.version}, not {VERSION}: reload it", fatal=True)
    if (event.rate, event.frame) != (audio.RATE, audio.FRAME):
        told = f"frames of {event.frame} samples at {event.rate} Hz"
        return Odd(f"{told}, not of {audio.FRAME} at {audio.RATE} Hz", fatal=True)
    return event


def pong(message: Message, now_us: int) -> str | None:
    """Return the answer to the page's question for the time; ``None`` if *message* is something else."""
    event = _read(message) if isinstance(message, str) and "ping" in message[:20] else None
    return compact(event="pong", id=event.id, us=now_us) if isinstance(event, _Ping) else None


def _read(text: str) -> _Event | Odd:
    if len(text) > LONGEST:
        return Odd(f"a message of {len(text)}, more than {LONGEST}")
    try:
        return msgspec.json.decode(text, type=_Event)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        return Odd(str(error)[:WHY])


class Browser:
    """One page's call, over however many sockets."""

    name = "browser"
    transport: Literal["websocket", "tcp"] = "websocket"
    abilities = ABILITIES

    def __init__(self, call: str) -> None:
        """Speak for the call *call*; a page has no name of its own for it."""
        self._call = call
        self._said: Framed | None = None
        """Cuts our audio into frames; ``None`` before the call and after it."""
        self._over = False
        self._marks = MarkIds()
        self._sent = 0
        self._replies = 0
        self.played_us: int | None = None
        """When the mark that came back last was heard (µs on our clock, as the page knows it)."""

    def receive(self, message: Message) -> Sequence[Inbound]:
        """Return what a message means."""
        if self._over:
            return ()
        if self._said is None:
            return (self._begin(message),)
        if not isinstance(message, str):
            return (self._listen(message),)
        told = self._told(_read(message))
        return (told,) if told else ()

    def ended(self) -> Sequence[Inbound]:
        """Return the hang-up, since the page is gone."""
        return () if self._over else (self._end(Hangup("the page is gone")),)

    def audio(self, samples: Int16) -> Sequence[Message]:
        """Return messages of one frame each; what does not fill one waits for more."""
        return self._placed(self._said.feed(samples)) if self._said else ()

    def begin_reply(self) -> Sequence[Message]:
        """Return the message that has the page look for the first audible sample."""
        if not self._said:
            return ()
        self._replies += 1
        return (compact(event="reply", reply=self._replies),)

    def end_reply(self, mark: str) -> Sequence[Message]:
        """Return the reply's last frame, *mark*, and the message that lets the page run dry."""
        if not self._said:
            return ()
        return (*self._placed(self._said.fill()), *self.mark(mark), compact(event="end"))

    def clear(self) -> Sequence[Message]:
        """Return the message that empties the page's buffer."""
        if not self._said:
            return ()
        self._said.drop()
        return (compact(event="clear"),)

    def mark(self, name: str) -> Sequence[Message]:
        """Return the message that makes the mark *name* come back."""
        return (compact(event="mark", name=self._marks.put(name)),) if self._said else ()

    def dtmf(self, digit: str) -> Sequence[Message]:  # noqa: ARG002 - a page has no use for it
        """Return nothing: nobody at a page waits for a tone."""
        return ()

    def transfer(self, target: str) -> Sequence[Message]:  # noqa: ARG002 - there is no telephone behind it
        """Return nothing: a page cannot be connected to anybody else."""
        return ()

    def hang_up(self) -> Sequence[Message]:
        """Return the message that ends the call."""
        return (compact(event="hangup"),) if self._said else ()

    def _told(self, event: _Event | Odd) -> Inbound | None:
        match event:
            case Odd():
                return event
            case Hello():
                return Odd("a second hello")
            case _Mark():
                return self._passed(event)
            case _Ping():
                return None  # whoever owns the socket, and the time, has answered
            case _Hold(on):
                return Hold(on)
            case _Hangup(reason):
                return self._end(Hangup(reason[:WHY] or "the caller hung up"))

    def _begin(self, message: Message) -> Inbound:
        hello = read_hello(message)
        if isinstance(hello, Odd):
            return self._end(hello)
        self._said = Framed(called("pcm16"), audio.FRAME)
        return Started(CallInfo(self._call, token=hello.token))

    def _listen(self, data: bytes) -> Inbound:
        if len(data) != BYTES:
            return Odd(f"a frame of {len(data)} bytes, not {BYTES}")
        samples = np.frombuffer(data, "<i2", offset=HEADER).astype(np.int16)
        return AudioIn(samples, int.from_bytes(data[:HEADER], "little"))

    def _passed(self, mark: _Mark) -> Inbound:
        try:
            name = self._marks.take(mark.name)
        except ValueError as error:
            return Odd(str(error))
        self.played_us = None if mark.cleared else mark.at_us
        return MarkPlayed(name, cleared=mark.cleared)

    def _placed(self, frames: Sequence[bytes]) -> Sequence[Message]:
        """Return *frames*, each behind a header with its place."""
        began, self._sent = self._sent, self._sent + len(frames) * audio.FRAME
        return [
            (began + number * audio.FRAME).to_bytes(HEADER, "little") + frame
            for number, frame in enumerate(frames)
        ]

    def _end(self, last: Inbound) -> Inbound:
        self._over, self._said = True, None
        return last
