"""The seam between a telephone line and what its carrier speaks: messages in, events out, and the reverse.

A dialect is a pure machine: it opens no socket and knows no time. Whoever owns the socket feeds it what came
and writes what it returns. A message it cannot read costs that message: it comes back as :class:`Odd`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from turnbudget.voice.sound.audio import Int16

Message: TypeAlias = str | bytes
"""One WebSocket message (text or binary), or a piece of a TCP stream (bytes)."""


@dataclass(frozen=True, slots=True)
class Abilities:
    """What the far side does with our audio, and what it tells us of it."""

    rate: int
    """Sample rate of both directions, in Hz."""
    buffers: bool
    """It queues what it is sent and plays it at its own pace; otherwise we pace 20 ms frames."""
    marks: bool
    """It tells when the audio before a mark has been played."""
    marks_on_clear: bool
    """It returns pending marks when its queue is cleared, though they were not played."""
    clears: bool
    """Its queue can be emptied."""
    transfers: bool
    """It can be told where to send the caller."""
    keeps_alive: bool = False
    """It drops the call if we send nothing for a while: silence has to be sent."""
    ahead_us: int = 0
    """How far ahead of playing audio may be sent, in µs; 0 if not at all."""
    message_us: int = 0
    """How much of our audio a message has to hold before it goes out, in µs; 0 if it may be of any size."""


@dataclass(frozen=True, slots=True)
class CallInfo:
    """What the far side says of the call as it begins."""

    call: str
    """The carrier's id of the call; '' where it says none."""
    stream: str = ""
    caller: str = ""
    called: str = ""
    tenant: str = ""
    token: str = field(default="", repr=False)
    """A credential that came with the call; never to be logged."""
    parameters: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Started:
    """The call has begun; nothing may be sent before."""

    info: CallInfo


@dataclass(frozen=True, slots=True)
class AudioIn:
    """The caller's audio: int16 at the dialect's rate; ``at`` is its place in samples, if it is known."""

    samples: Int16
    at: int | None = None


@dataclass(frozen=True, slots=True)
class Dtmf:
    """A key was pressed."""

    digit: str


@dataclass(frozen=True, slots=True)
class MarkPlayed:
    """Audio up to the mark ``name`` was played; or its queue was ``cleared`` before that."""

    name: str
    cleared: bool = False


@dataclass(frozen=True, slots=True)
class Drained:
    """Nothing is left in the far side's queue; ``left`` is how many samples of it were never played."""

    left: int = 0


@dataclass(frozen=True, slots=True)
class Hold:
    """The caller was put on hold, or taken back."""

    on: bool


@dataclass(frozen=True, slots=True)
class Flow:
    """The far side's queue is full (``stop``), or has room again."""

    stop: bool


@dataclass(frozen=True, slots=True)
class Hangup:
    """The call is over at the far side."""

    reason: str = ""


@dataclass(frozen=True, slots=True)
class Odd:
    """A message that means nothing, and why; it cost nothing but itself.

    ``fatal``: the stream cannot be read any further, and its socket has to be closed.
    """

    why: str
    fatal: bool = False


Inbound: TypeAlias = Started | AudioIn | Dtmf | MarkPlayed | Drained | Hold | Flow | Hangup | Odd


class Dialect(Protocol):
    """What one carrier speaks on one call's socket."""

    name: str
    transport: Literal["websocket", "tcp"]

    @property
    def abilities(self) -> Abilities:
        """What the far side can do; final once :class:`Started` has come."""
        ...

    def receive(self, message: Message) -> Sequence[Inbound]:
        """Return what *message* means, in order; never raises."""
        ...

    def ended(self) -> Sequence[Inbound]:
        """Return what the end of the socket means."""
        ...

    def audio(self, samples: Int16) -> Sequence[Message]:
        """Return the messages that carry *samples* (int16 at the dialect's rate); none before the start."""
        ...

    def begin_reply(self) -> Sequence[Message]:
        """Return what goes before the audio of a reply."""
        ...

    def end_reply(self, mark: str) -> Sequence[Message]:
        """Return what goes behind the audio of a reply, so that *mark* comes back when it has been played."""
        ...

    def clear(self) -> Sequence[Message]:
        """Return what empties the far side's queue, at once."""
        ...

    def mark(self, name: str) -> Sequence[Message]:
        """Return what makes :class:`MarkPlayed` come back when the audio sent before has been played."""
        ...

    def dtmf(self, digit: str) -> Sequence[Message]:
        """Return what plays a key's tone to the caller; none if the far side cannot."""
        ...

    def transfer(self, target: str) -> Sequence[Message]:
        """Return what sends the caller to *target*; none if that is done by closing the socket."""
        ...

    def hang_up(self) -> Sequence[Message]:
        """Return what ends the call."""
        ...
