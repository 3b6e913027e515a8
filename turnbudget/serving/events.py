"""What happens on a floor of calls, for whoever watches: boards, metrics, traces, events, records.

Watchers are called on the loop, in the order in which things happen, and must not block or wait.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, TypeAlias

import msgspec

if TYPE_CHECKING:
    from collections.abc import Mapping

    from turnbudget.runs.recording import Pause
    from turnbudget.runs.records import CallRecord, Row
    from turnbudget.serving.admission import Rule
    from turnbudget.voice.lines.dialect import CallInfo


@dataclass(frozen=True, slots=True)
class CallBegan:
    """A call was taken. ``at_us`` is µs on the loop's clock."""

    call: str
    """What the call is named here."""
    tenant: str
    """Whose call it is."""
    line: str
    """What it came over: ``browser``, ``twilio``, ``audiosocket``, …"""
    info: CallInfo
    """What the carrier said of it."""
    at_us: int
    """When it began (µs on the loop's clock)."""


@dataclass(frozen=True, slots=True)
class TurnEnded:
    """A turn, or something said unasked, left its row."""

    call: str
    """Which call it was a turn of."""
    tenant: str
    """Whose call it is."""
    row: Row
    """What was measured, redacted."""


@dataclass(frozen=True, slots=True)
class CallEnded:
    """A call is over; ``record`` says why."""

    call: str
    """What the call is named here."""
    tenant: str
    """Whose call it was."""
    record: CallRecord
    """How it went, and why it ended."""
    rows: tuple[Row, ...]
    """Its turns, oldest first, as far as they are kept."""
    disposition: str = ""
    """What came of it, if that was said; '' leaves it to the tenant's rules."""
    transfer: str = ""
    """Where the caller was sent, if anywhere."""
    slots: Mapping[str, str] = field(default_factory=dict)
    """What was known by then of what the caller wants, redacted."""
    pauses: tuple[Pause, ...] = ()
    """Where its recording was paused."""


@dataclass(frozen=True, slots=True)
class CallShed:
    """A call was refused before it was answered, or degraded, and why."""

    tenant: str
    """Whose call it was to be."""
    line: str
    """What it came over."""
    rule: Rule
    """Which rule refused or degraded it."""
    because: str
    """Why, in words."""
    degraded: bool = False
    """It was taken, but is answered by the shelf and the fast backend alone."""


FloorEvent: TypeAlias = CallBegan | TurnEnded | CallEnded | CallShed
"""What watchers are told."""


class Watcher(Protocol):
    """Whoever watches."""

    def __call__(self, event: FloorEvent) -> None:
        """Handle *event* at once."""
        ...


def shown(row: Row, *, texts: bool) -> Row:
    """Return *row* as it is, or without its *texts*."""
    if texts:
        return row
    return msgspec.structs.replace(
        row,
        heard="",
        asked="",
        said="",
        reference=None,
        decisions=tuple(msgspec.structs.replace(decision, because="") for decision in row.decisions),
        guesses=tuple(msgspec.structs.replace(guess, said="", text="", because="") for guess in row.guesses),
    )
