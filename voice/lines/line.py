"""A Line is where a call's audio comes from and goes to: a recording, a microphone, a telephone.

This file knows neither wires nor files, only what a line owes a call: the caller's frames with their
place in the caller's own media, and a way to play ours. What a line may tell of itself beside sound, it
need not; who writes a call down asks those that do.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from turnbudget.voice.sound.audio import Int16, Samples


@dataclass(frozen=True, slots=True)
class Frame:
    """A piece of the caller's audio: int16 samples at 16 kHz, usually 320 of them.

    ``at`` is the place of its first sample in the caller's media, in samples. Media time, not arrival,
    says when a caller spoke: frames may come late, twice, out of order, or not at all.
    """

    samples: Int16
    """int16 at 16 kHz, usually 320 of them."""
    at: Samples
    """Place of the first sample in the caller's media (samples)."""
    behind: int = 0
    """Audio of the caller's that had arrived behind this frame but was held back by a resampler (samples), so
    that the caller does not seem to have spoken later."""


class Line(Protocol):
    """Full-duplex audio of one call."""

    @property
    def latency_us(self) -> int:
        """Delay between handing a sample over and its leaving us, by filters and sound card (µs)."""
        ...

    @property
    def heard_us(self) -> int | None:
        """When the far side began to play the latest reply (µs on our clock), if it tells."""
        ...

    def listen(self) -> AsyncIterator[Frame]:
        """Yield the caller's frames as they arrive; end when the caller hangs up."""
        ...

    def send(self, frame: Int16) -> None:
        """Hand over the next 20 ms of our audio (320 samples), to be heard now; never blocks."""
        ...

    def clear(self) -> None:
        """Drop what was handed over and has not sounded, since a reply was cut or held; never blocks."""
        ...

    def end(self) -> None:
        """Handle the end of a reply: all of it was handed over; never blocks."""
        ...


@dataclass(frozen=True, slots=True)
class Lag:
    """How long sound takes between a person and us, as lately measured by whoever carries it.

    A turn's times hold it already: its zero is when the sound was made, its first sound when it is heard.
    """

    carrier: str
    """Who carries it: a device, a network."""
    into_us: int
    """From the caller's mouth to us (µs)."""
    out_us: int
    """From us to the caller's ear (µs)."""


@runtime_checkable
class Reports(Protocol):
    """A line that tells about itself."""

    @property
    def ended(self) -> str:
        """Why the line ended; '' while it is up, or if it does not know."""
        ...

    @property
    def lag(self) -> Lag | None:
        """How long sound takes; ``None`` if nothing was measured."""
        ...

    def notes(self) -> tuple[str, ...]:
        """Return what was odd, a line each: lost sound, filled gaps."""
        ...
