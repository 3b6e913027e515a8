"""How a call ended: one of a few reasons, the tenant's own word, and what a person who takes over is told.

Lines and calls tell an end in words; a table makes a reason of them. A disposition is found by the tenant's
rules, the first that fits; behind them stand some that fit every call.
"""

from __future__ import annotations

import re
from enum import StrEnum
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from turnbudget.runs.records import Record
from turnbudget.settings.config import Table

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from turnbudget.runs.records import Row

LAST: Final = 5
"""Latest turns that a person who takes over is told."""
LONGEST: Final = 300
"""Characters of one side's words in a turn."""


class EndReason(StrEnum):
    """Who or what ended a call."""

    CALLER_ENDED = "caller-ended"
    AGENT_ENDED = "agent-ended"
    TRANSFERRED = "transferred"
    CALLER_SILENT = "caller-silent"
    TOO_LONG = "too-long"
    LINE_LOST = "line-lost"
    OPERATOR_ENDED = "operator-ended"
    DRAINED = "drained"
    FAILED = "failed"
    BROKEN_OFF = "broken-off"


_TOLD: Final = (
    ("broken off: we failed", EndReason.FAILED),
    ("the caller was sent on", EndReason.TRANSFERRED),
    ("we said goodbye", EndReason.AGENT_ENDED),
    ("the call was too long", EndReason.TOO_LONG),
    ("caller said nothing", EndReason.CALLER_SILENT),
    ("the server is going down", EndReason.DRAINED),
    ("operator", EndReason.OPERATOR_ENDED),
    ("supervisor", EndReason.OPERATOR_ENDED),
    ("broken off", EndReason.BROKEN_OFF),
    ("hung up", EndReason.CALLER_ENDED),
    ("stop", EndReason.CALLER_ENDED),
    ("disconnect", EndReason.CALLER_ENDED),
    ("the page is gone", EndReason.LINE_LOST),
    ("the socket", EndReason.LINE_LOST),
    ("audiosocket error", EndReason.LINE_LOST),
    ("unplugged", EndReason.LINE_LOST),
    ("answers no ping", EndReason.LINE_LOST),
    ("does not read", EndReason.LINE_LOST),
    ("too slowly", EndReason.LINE_LOST),
)
"""What stands in the words for an end, in this order, and the reason that it is."""


def reason(ended: str, transfer: str = "") -> EndReason:
    """Return the reason that the words *ended* tell; whoever was sent on to *transfer* did not hang up.

    A carrier may say anything: what is not known counts as the far side's.
    """
    if transfer:
        return EndReason.TRANSFERRED
    words = ended.casefold()
    return next((reason for phrase, reason in _TOLD if phrase in words), EndReason.CALLER_ENDED)


class DispositionRule(Table, frozen=True):
    """``[[tenants.X.dispositions]]``: calls that are all this are called ``name``; what is not said fits all.

    ``said`` and ``heard`` are patterns looked for in the lines of either side, case aside, redacted.
    """

    name: str
    """What such calls are called."""
    reasons: tuple[EndReason, ...] = ()
    """Who or what ended them; none named: anybody."""
    least_turns: int = 0
    """The fewest turns that they have."""
    most_turns: int = 1_000_000
    """The most turns that they have."""
    said: str = ""
    """A pattern that something we said matches; '' for any."""
    heard: str = ""
    """A pattern that something the caller said matches; '' for any."""
    failed: bool | None = None
    """Whether a turn failed or was left without any sound; ``None``: either."""

    def __post_init__(self) -> None:
        for pattern in (self.said, self.heard):
            try:
                re.compile(pattern)
            except re.error as error:
                raise ValueError(f"{pattern!r} is no pattern ({error})") from None


USUAL: Final = (
    DispositionRule("failed", reasons=(EndReason.FAILED, EndReason.BROKEN_OFF)),
    DispositionRule("transferred", reasons=(EndReason.TRANSFERRED,)),
    DispositionRule("abandoned", most_turns=0),
    DispositionRule("unfinished", reasons=(EndReason.DRAINED, EndReason.LINE_LOST, EndReason.TOO_LONG)),
    DispositionRule("went silent", reasons=(EndReason.CALLER_SILENT,)),
    DispositionRule("with faults", failed=True),
    DispositionRule("contained"),
)
"""What calls are called of whose tenant no rule fits; *contained*: answered to its end without a person."""


def disposition(why: EndReason, rows: Sequence[Row], rules: Sequence[DispositionRule] = ()) -> str:
    """Return what came of a call with *rows* that ended for the reason *why*, by the first rule that fits."""
    return next(rule.name for rule in (*rules, *USUAL) if _fits(rule, why, rows))


def _fits(rule: DispositionRule, why: EndReason, rows: Sequence[Row]) -> bool:
    turns = [row for row in rows if row.kind == "turn"]
    faults = any(row.outcome in {"failed", "silent"} for row in turns)
    return (
        (not rule.reasons or why in rule.reasons)
        and rule.least_turns <= len(turns) <= rule.most_turns
        and rule.failed in {None, faults}
        and (not rule.said or any(_pattern(rule.said).search(row.said) for row in rows))
        and (not rule.heard or any(_pattern(rule.heard).search(row.heard) for row in rows))
    )


@lru_cache(maxsize=256)
def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(text, re.IGNORECASE)


class SpokenLine(Record, frozen=True, kw_only=True):
    """What one side said."""

    who: str
    """``caller`` or ``agent``."""
    text: str
    """Its words, redacted."""


class Handover(Record, frozen=True, kw_only=True):
    """A caller who is sent on to somebody."""

    target: str
    """Whom the caller is sent to."""
    because: str
    """Which agent sent them, and why."""
    slots: dict[str, str]
    """What was known of what the caller wants, redacted."""
    lines: tuple[SpokenLine, ...]
    """The last lines of both sides."""
    turns: int
    """Turns of the call so far."""


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
