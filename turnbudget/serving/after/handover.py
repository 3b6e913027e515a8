"""What a person is told who takes a caller over: the last words of both, and what is known of the wish."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from turnbudget.runs.records import Record

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from turnbudget.runs.records import Row

LAST: Final = 5
"""Turns that are told."""
LONGEST: Final = 300
"""Characters of one side's words in a turn."""


class SpokenLine(Record, frozen=True, kw_only=True):
    """What one side said."""

    who: str
    text: str


class Handover(Record, frozen=True, kw_only=True):
    """A caller who is sent on to somebody."""

    target: str
    because: str
    """Which agent sent them, and why."""
    slots: dict[str, str]
    lines: tuple[SpokenLine, ...]
    turns: int


def handover(target: str, rows: Sequence[Row], slots: Mapping[str, str]) -> Handover:
    """Return what is told of a caller who is sent to *target*; *rows* and *slots* are redacted already."""
    turns = [row for row in rows if row.kind == "turn"]
    lines = [
        SpokenLine(who=who, text=text[:LONGEST])
        for row in turns[-LAST:]
        for who, text in (("caller", row.heard), ("agent", row.said))
        if text
    ]
    because = [each.because for row in turns for each in row.decisions if each.took == "transfer"]
    return Handover(
        target=target,
        because=because[-1] if because else "",
        slots=dict(slots),
        lines=tuple(lines),
        turns=len(turns),
    )
