"""Reasons in few words: what a label can be, of what was told in a sentence with numbers or by a carrier."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

    from turnbudget.records import Row

OTHER: Final = "other"
SHED: Final = (
    ("draining", "draining"),
    ("of this tenant", "tenant"),
    ("are the most", "concurrency"),
    ("first sound foreseen", "forecast"),
    ("takes no calls over", "line"),
)
"""A phrase of :mod:`turnbudget.serving.admission`, and the rule it belongs to; the first that is found."""
ENDED: Final = (
    ("caller hung up", "caller"),
    ("we said goodbye", "goodbye"),
    ("the caller was sent on", "transfer"),
    ("the call was too long", "too long"),
    ("caller said nothing", "silence"),
    ("the server is going down", "drain"),
    ("the supervisor hung up", "supervisor"),
    ("broken off: we failed", "failed"),
    ("broken off", "broken off"),
)
"""How calls end by our own words; a carrier may say anything."""
LATE_TEXT: Final = "partial text"
NO_FAULT: Final = "the call ended first"


def shed_by(because: str) -> str:
    """Return which rule refused or degraded a call."""
    return next((rule for phrase, rule in SHED if phrase in because), OTHER)


def ended_by(reason: str) -> str:
    """Return how a call ended, of the ways that are known."""
    return next((way for phrase, way in ENDED if reason.startswith(phrase)), OTHER)


def failures(row: Row) -> Iterator[str]:
    """Yield which components failed in *row*, each once: its text, its sound, an attempt of its LLM."""
    if any(told.took == LATE_TEXT and told.because != NO_FAULT for told in row.decisions):
        yield "asr"
    if any(entry.stage == "synthesize" and entry.outcome == "failed" for entry in row.entries):
        yield "tts"
    if any(lane.name.startswith("llm:") and lane.outcome == "failed" for lane in row.lanes):
        yield "llm"
