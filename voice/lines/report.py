"""What a line may tell beside sound: how long sound is under way, why the line ended, what was odd about it.

A line need not; who writes a call down asks those that do.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable


@dataclass(frozen=True, slots=True)
class Lag:
    """How long sound is under way between a person and us, as measured lately by whoever carries it.

    A turn's times hold it already: its zero is when the sound was made, its first sound when it is heard.
    """

    carrier: str
    """Who carries it: a device, a network."""
    into_us: int
    """From the caller's mouth to us."""
    out_us: int
    """From us to the caller's ear."""


@runtime_checkable
class Reports(Protocol):
    """A line that tells of itself."""

    @property
    def ended(self) -> str:
        """Why the line ended, as far as it knows; '' while it is up, or if it knows no more than that."""
        ...

    @property
    def lag(self) -> Lag | None:
        """How long sound is under way; ``None`` while nothing was measured."""
        ...

    def notes(self) -> tuple[str, ...]:
        """Return what was odd, a line each: sound that was lost, gaps that were filled."""
        ...
