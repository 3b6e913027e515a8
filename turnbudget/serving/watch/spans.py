"""A turn as spans, in plain values: the turn, its stages one behind the other, and the work beside them.

Work that began while the caller still spoke is no part of the turn's time: it belongs to the call, and is
linked to the turn that took it up. An attempt of an LLM bears the names of OpenTelemetry's GenAI conventions.
Every time is µs from the turn's zero.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from turnbudget.runs.records import LaneRow, Row

Value: TypeAlias = str | bool | int | float
DEFECTS: Final = frozenset(("failed", "silent"))
LLM: Final = "llm:"
SENTENCE: Final = " first sentence"
"""Ends the name of the lane that begins with an attempt's first token."""
PARTS: Final = (" first token", SENTENCE, " connect", " queue", " prefill", " prewarm")
"""How the names of lanes end that lie within an attempt."""
PROVIDERS: Final = {"responses": "openai"}
"""What the conventions call who is behind a kind of backend, where it is not the kind's own name."""
SECOND_US: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened at an instant of a span."""

    name: str
    at_us: int
    facts: Mapping[str, Value] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of time with a name; ``ahead``: a child of the call, linked to the turn."""

    name: str
    began_us: int
    ended_us: int
    facts: Mapping[str, Value]
    kind: Literal["internal", "client"] = "internal"
    fault: str = ""
    """Why it counts as failed; '' if it does not."""
    ahead: bool = False
    events: tuple[Event, ...] = ()


def turn_span(row: Row) -> Span:
    """Return the span of the turn itself."""
    counted = row.kind == "turn"
    facts: dict[str, Value] = {
        "turnbudget.call.id": row.call,
        "turnbudget.turn.number": row.turn,
        "turnbudget.turn.kind": row.kind,
        "turnbudget.turn.outcome": row.outcome,
        "turnbudget.turn.budget_ms": row.budget_us / 1_000,
        "turnbudget.turn.zero_by": row.speech_ended_by,
    }
    if counted:
        facts["turnbudget.turn.in_time"] = row.in_time
    for name, us in (("first_sound_ms", row.first_sound_us), ("first_answer_ms", row.first_answer_us)):
        if us is not None:
            facts[f"turnbudget.turn.{name}"] = us / 1_000
    if row.critical:
        facts["turnbudget.critical.stage"] = row.critical.stage
        facts["turnbudget.critical.owner"] = row.critical.owner
        facts["turnbudget.critical.ms"] = row.critical.us / 1_000
    for name, text in (("heard", row.heard), ("said", row.said)):
        if text:
            facts[f"turnbudget.turn.{name}"] = text
    fault = row.outcome if counted and row.outcome in DEFECTS else ""
    return Span(row.kind, 0, row.closed_us, facts, fault=fault, events=tuple(_events(row)))


def parts(row: Row) -> Iterator[Span]:
    """Yield the turn's stages, then its lanes."""
    at = 0
    for entry in row.entries:
        facts: dict[str, Value] = {
            "turnbudget.owner": entry.owner,
            "turnbudget.owner_kind": entry.owner_kind,
            "turnbudget.outcome": entry.outcome,
        }
        fault = "failed" if entry.outcome == "failed" else ""
        yield Span(entry.stage, at, at + entry.us, facts, fault=fault)
        at += entry.us
    for lane in row.lanes:
        yield _lane(lane, row)


def _lane(lane: LaneRow, row: Row) -> Span:
    facts: dict[str, Value] = {"turnbudget.lane": lane.name, "turnbudget.outcome": lane.outcome}
    if lane.saved_us:
        facts["turnbudget.saved_ms"] = lane.saved_us / 1_000
    if lane.wasted_us:
        facts["turnbudget.wasted_ms"] = lane.wasted_us / 1_000
    fault = "failed" if lane.outcome == "failed" else ""
    name, attempt = lane.name, _backend(lane.name)
    if attempt:
        name = f"chat {attempt}"
        facts |= _attempt(lane, attempt, row)
    return Span(
        name,
        lane.began_us,
        max(lane.began_us, lane.ended_us),
        facts,
        kind="client" if attempt else "internal",
        fault=fault,
        ahead=lane.began_us < 0,
    )


def _backend(lane: str) -> str:
    """Return whose attempt *lane* is; '' if it is none, or a part of one."""
    name, _, attempt = lane.removeprefix(LLM).partition(" attempt ")
    whole = lane.startswith(LLM) and (attempt.isdigit() or not attempt) and not name.endswith(PARTS)
    return name if whole else ""


def _attempt(lane: LaneRow, backend: str, row: Row) -> dict[str, Value]:
    """Return what the conventions call the facts of an attempt."""
    kind = backend.partition(" ")[0]
    facts: dict[str, Value] = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": PROVIDERS.get(kind, kind),
        "gen_ai.conversation.id": row.call,
        "gen_ai.request.stream": True,
    }
    tokens = (
        other.began_us
        for other in row.lanes
        if other.name == f"{lane.name}{SENTENCE}" and lane.began_us <= other.began_us <= lane.ended_us
    )
    first = next(tokens, None)
    if first is not None:
        facts["gen_ai.response.time_to_first_chunk"] = (first - lane.began_us) / SECOND_US
    if lane.outcome == "failed":
        facts["error.type"] = "_OTHER"
    return facts


def _events(row: Row) -> Iterator[Event]:
    for decision in row.decisions:
        because: dict[str, Value] = {"turnbudget.because": decision.because} if decision.because else {}
        yield Event("decision", decision.at_us, {"turnbudget.took": decision.took, **because})
    if row.first_sound_us is not None:
        yield Event("first sound", row.first_sound_us)
    if row.first_answer_us is not None:
        yield Event("first answer", row.first_answer_us)
