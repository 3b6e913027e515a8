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
    """What the far side does with our audio, and what it tells us about it."""

    rate: int
    """Sample rate of both directions (Hz)."""
    buffers: bool
    """Whether it queues what it is sent and plays it at its own pace; otherwise we pace 20 ms frames."""
    marks: bool
    """Whether it tells when the audio before a mark was played."""
    marks_on_clear: bool
    """Whether it returns pending marks when its queue is cleared, though they were not played."""
    clears: bool
    """Whether its queue can be emptied."""
    transfers: bool
    """Whether it can be told where to send the caller."""
    keeps_alive: bool = False
    """Whether it drops the call if we send nothing for a while, so that silence must be sent."""
    ahead_us: int = 0
    """How far ahead of playing audio may be sent (µs; 0: not at all)."""
    message_us: int = 0
    """Audio that a message must hold before it is sent (µs; 0: any length)."""


@dataclass(frozen=True, slots=True)
class CallInfo:
    """What the far side says about the call as it begins."""

    call: str
    """The carrier's id of the call; '' if it gives none."""
    stream: str = ""
    """The carrier's id of the stream; '' if it gives none."""
    caller: str = ""
    """Number of the caller; '' if it is not known."""
    called: str = ""
    """Number that was called; '' if it is not known."""
    tenant: str = ""
    """Whose call it is, as the parameters say; '' if they do not."""
    token: str = field(default="", repr=False)
    """Credential that came with the call; never to be logged."""
    parameters: Mapping[str, str] = field(default_factory=dict)
    """Further parameters of the call, by name."""


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
    """The caller pressed the key ``digit``."""

    digit: str


@dataclass(frozen=True, slots=True)
class MarkPlayed:
    """Audio up to the mark ``name`` was played, or the queue was ``cleared`` before that."""

    name: str
    cleared: bool = False


@dataclass(frozen=True, slots=True)
class Drained:
    """The far side's queue is empty; ``left`` is the number of samples in it that were never played."""

    left: int = 0


@dataclass(frozen=True, slots=True)
class Hold:
    """The caller was put on hold (``on``), or taken back."""

    on: bool


@dataclass(frozen=True, slots=True)
class Flow:
    """The far side's queue is full (``stop``), or has room again."""

    stop: bool


@dataclass(frozen=True, slots=True)
class Hangup:
    """The far side ended the call, for ``reason``."""

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
    """Name of the dialect, for records."""
    transport: Literal["websocket", "tcp"]
    """What it is spoken over."""

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
        """Return the messages that go before a reply's audio."""
        ...

    def end_reply(self, mark: str) -> Sequence[Message]:
        """Return the messages that go after a reply's audio, so that *mark* comes back when it was played."""
        ...

    def clear(self) -> Sequence[Message]:
        """Return the messages that empty the far side's queue at once."""
        ...

    def mark(self, name: str) -> Sequence[Message]:
        """Return the messages that make :class:`MarkPlayed` come back when earlier audio was played."""
        ...

    def dtmf(self, digit: str) -> Sequence[Message]:
        """Return the messages that play a key's tone to the caller; none if the far side cannot."""
        ...

    def transfer(self, target: str) -> Sequence[Message]:
        """Return the messages that send the caller to *target*; none if closing the socket does."""
        ...

    def hang_up(self) -> Sequence[Message]:
        """Return the messages that end the call."""
        ...
