"""A socket whose BINARY messages are sound and whose TEXT messages are control, whoever speaks it.

This file knows sound, order and limits; it knows no vendor's words, which a
:class:`PcmVendor` reads and writes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, Protocol, TypeAlias

import msgspec

from turnbudget.voice.lines.dialect import Abilities, AudioIn, Hangup, Odd, Started
from turnbudget.voice.lines.wire import Framed, Joined

if TYPE_CHECKING:
    from collections.abc import Sequence

    from turnbudget.voice.lines.dialect import CallInfo, Inbound, Message
    from turnbudget.voice.sound.audio import Int16
    from turnbudget.voice.sound.encoding import Encoding

LONGEST: Final = 65_536
"""Longest message that is read (bytes or characters): two seconds of 16 kHz, and more than any control."""
WHY: Final = 160
"""Longest part of a reason that is kept (characters): it may quote the far side."""
UNKNOWN: Final = Abilities(
    rate=8_000, buffers=True, marks=True, marks_on_clear=False, clears=True, transfers=False
)
"""What is assumed of a far side that has not begun; nothing is sent to it."""


@dataclass(frozen=True, slots=True)
class MediaOpened:
    """What the far side says at the start: who calls, and the audio's form (``frame`` samples a message)."""

    info: CallInfo
    encoding: Encoding
    abilities: Abilities
    frame: int


Told: TypeAlias = "MediaOpened | Inbound"


class PcmVendor(Protocol):
    """The words of one far side."""

    name: str
    """Name of the dialect, for records."""

    def read(self, text: str) -> Sequence[Told]:
        """Return what a TEXT message says; raises ValueError or msgspec's errors if it means nothing."""
        ...

    def begin(self) -> Sequence[Message]:
        """Return the messages that go before a reply."""
        ...

    def end(self, mark: str) -> Sequence[Message]:
        """Return the messages that go after a reply, so that *mark* comes back when it was played."""
        ...

    def clear(self) -> Sequence[Message]:
        """Return the messages that empty the far side's queue."""
        ...

    def mark(self, name: str) -> Sequence[Message]:
        """Return the messages that make the mark *name* come back."""
        ...

    def hang_up(self) -> Sequence[Message]:
        """Return the messages that end the call, besides closing the socket."""
        ...


class PcmWebsocket:
    """One call's socket; each message of ours that carries audio is one frame."""

    transport: Literal["websocket", "tcp"] = "websocket"

    def __init__(self, vendor: PcmVendor) -> None:
        self.name = vendor.name
        self._vendor = vendor
        self._abilities = UNKNOWN
        self._heard: Joined | None = None
        self._said: Framed | None = None
        """Cuts our audio into frames; ``None`` before the call and after it."""
        self._over = False

    @property
    def abilities(self) -> Abilities:
        """What the far side can do; final once it has begun."""
        return self._abilities

    def receive(self, message: Message) -> Sequence[Inbound]:
        """Return what a message means; audio carries no place, so lost frames go unnoticed."""
        if self._over:
            return ()
        if len(message) > LONGEST:
            return (Odd(f"a message of {len(message)}, more than {LONGEST}"),)
        if not isinstance(message, str):
            return self._listen(message)
        try:
            told = self._vendor.read(message)
        except (msgspec.MsgspecError, ValueError, RecursionError) as error:
            return (Odd(str(error)[:WHY]),)
        return [self._admit(one) for one in told]

    def ended(self) -> Sequence[Inbound]:
        """Return the hang-up, since these sockets just close."""
        return () if self._over else (self._end(Hangup("the socket was closed")),)

    def audio(self, samples: Int16) -> Sequence[Message]:
        """Return messages of one frame each; what does not fill one waits for more."""
        return self._said.feed(samples) if self._said else ()

    def begin_reply(self) -> Sequence[Message]:
        """Return what goes before the audio of a reply."""
        return self._vendor.begin() if self._said else ()

    def end_reply(self, mark: str) -> Sequence[Message]:
        """Return the reply's last frame, filled up with silence, and what brings *mark* back."""
        return (*self._said.fill(), *self._vendor.end(mark)) if self._said else ()

    def clear(self) -> Sequence[Message]:
        """Return what empties the far side's queue, at once."""
        if not self._said:
            return ()
        self._said.drop()
        return self._vendor.clear()

    def mark(self, name: str) -> Sequence[Message]:
        """Return what brings the mark *name* back when the audio sent before has been played."""
        return self._vendor.mark(name) if self._said else ()

    def dtmf(self, digit: str) -> Sequence[Message]:  # noqa: ARG002 - none of these far sides takes keys
        """Return nothing: none of these far sides takes keys from us."""
        return ()

    def transfer(self, target: str) -> Sequence[Message]:  # noqa: ARG002 - it is told by other ways
        """Return nothing: the far side goes on by its own plan when the socket closes."""
        return ()

    def hang_up(self) -> Sequence[Message]:
        """Return what ends the call, besides closing the socket."""
        return self._vendor.hang_up() if self._said else ()

    def _listen(self, data: bytes) -> Sequence[Inbound]:
        if self._heard is None:
            return (Odd("audio before the start"),)
        samples = self._heard.feed(data)
        return (AudioIn(samples),) if samples.size else ()

    def _admit(self, told: Told) -> Inbound:
        """Return *told*, or why it is out of place at this point."""
        if isinstance(told, Odd):
            return self._end(told) if told.fatal and not self._said else Odd(told.why)
        if not isinstance(told, MediaOpened):
            return told if self._said else Odd(f"{type(told).__name__} before the start")
        if self._said:
            return Odd("a second start")
        self._abilities = told.abilities
        self._heard = Joined(told.encoding)
        self._said = Framed(told.encoding, told.frame)
        return Started(told.info)

    def _end(self, last: Inbound) -> Inbound:
        self._over, self._said = True, None
        return last
