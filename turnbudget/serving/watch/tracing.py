"""Calls as OpenTelemetry traces: a call is a span, its turns are its children, stages and lanes theirs.

Spans are made from rows after the fact, with times of their own, in a thread of their own; the SDK's batch
processor sends them (OTLP over HTTP) from another. What is too much for them is lost and counted, for a trace
is worth no caller's wait. The calendar time of a call is the SDK's; all within a call is counted from there.
"""

from __future__ import annotations

import logging
import queue
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from turnbudget.runs.records import versions
from turnbudget.serving.ending import reason
from turnbudget.serving.events import CallBegan, CallEnded, TurnEnded, shown
from turnbudget.voice.errors import MissingEngine

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SpanExporter
    from opentelemetry.trace import Span as LiveSpan

    from turnbudget.runs.records import LaneRow, Row
    from turnbudget.serving.events import FloorEvent

NAME: Final = "turnbudget"
"""The name of our tracer."""
PATH: Final = "/v1/traces"
"""Where an OTLP receiver takes traces."""
MOST: Final = 2_000
"""Events that wait for their spans to be made."""
MOST_CALLS: Final = 10_000
"""Calls at a time that have a span; more have none."""
PATIENCE_S: Final = 3
"""How long a receiver may take to answer, and at the end to take the rest (seconds)."""
DEFECTS: Final = frozenset(("failed", "silent"))
"""Outcomes that make a turn's span an error."""
LLM: Final = "llm:"
"""What the names of an LLM's lanes begin with."""
SENTENCE: Final = " first sentence"
"""End of the name of the lane that begins with an attempt's first token."""
PARTS: Final = (" first token", SENTENCE, " connect", " queue", " prefill", " prewarm")
"""Ends of the names of lanes that lie within an attempt."""
PROVIDERS: Final = {"responses": "openai"}
"""What the conventions call who is behind a kind of backend, where it is not the kind's own name."""
SECOND_US: Final = 1_000_000
"""Microseconds of a second."""
Value: TypeAlias = str | bool | int | float
"""What an attribute of a span may be."""
log = logging.getLogger(__name__)


class Tracing:
    """A watcher that makes spans."""

    def __init__(self, exporter: SpanExporter, *, worker: str = "", texts: bool = False) -> None:
        """Send spans by *exporter*, with *texts* redacted or without any."""
        self.lost = 0
        """Happenings that came too fast."""
        self._texts = texts
        self._provider = _provider(exporter, worker)
        self._tracer = self._provider.get_tracer(NAME)
        self._calls: dict[str, LiveSpan] = {}
        self._due: queue.Queue[FloorEvent | None] = queue.Queue(MOST)
        self._thread = threading.Thread(target=self._make, name="spans", daemon=True)
        self._thread.start()

    def __call__(self, event: FloorEvent) -> None:
        """Have spans made of *event*; never blocks."""
        try:
            self._due.put_nowait(event)
        except queue.Full:
            self.lost += 1

    def close(self) -> None:
        """Send what is left, and end; blocks for some seconds at most."""
        try:
            self._due.put(None, timeout=PATIENCE_S)
        except queue.Full:
            log.warning("spans are lost: %d", self._due.qsize())
        self._thread.join(PATIENCE_S)
        self._provider.shutdown()

    def _make(self) -> None:
        """Make spans until the end; what one event raises costs its own."""
        while (event := self._due.get()) is not None:
            try:
                self._take(event)
            except Exception:
                log.exception("no spans of one event")
        for span in self._calls.values():
            span.end()

    def _take(self, event: FloorEvent) -> None:
        match event:
            case CallBegan(call, tenant, line) if len(self._calls) < MOST_CALLS:
                facts = {"turnbudget.call.id": call, "turnbudget.tenant": tenant, "turnbudget.line": line}
                self._calls[call] = self._tracer.start_span("call", kind=_kind("server"), attributes=facts)
            case TurnEnded(call, _, row) if call in self._calls:
                self._turn(self._calls[call], shown(row, texts=self._texts))
            case CallEnded(call, _, record, transfer=transfer) if call in self._calls:
                span = self._calls.pop(call)
                span.set_attribute("turnbudget.call.turns", record.turns)
                span.set_attribute("turnbudget.call.ended", reason(record.ended, transfer))
                span.end(_began_ns(span) + record.length_us * 1_000)
            case _:
                """A call that was not taken has no trace."""

    def _turn(self, call: LiveSpan, row: Row) -> None:
        zero_ns = _began_ns(call) + row.speech_ended_call_us * 1_000
        turn = self._begin(turn_span(row), call, zero_ns)
        for part in parts(row):
            self._end(
                self._begin(part, call if part.ahead else turn, zero_ns, turn if part.ahead else None),
                part,
                zero_ns,
            )
        self._end(turn, turn_span(row), zero_ns)

    def _begin(self, span: Span, parent: LiveSpan, zero_ns: int, linked: LiveSpan | None = None) -> LiveSpan:
        from opentelemetry import trace  # noqa: PLC0415 - an extra, imported when used

        began = self._tracer.start_span(
            span.name,
            context=trace.set_span_in_context(parent),
            kind=_kind(span.kind),
            attributes=dict(span.facts),
            links=[trace.Link(linked.get_span_context())] if linked else None,
            start_time=zero_ns + span.began_us * 1_000,
        )
        for event in span.events:
            began.add_event(event.name, dict(event.facts), zero_ns + event.at_us * 1_000)
        if span.fault:
            began.set_status(trace.StatusCode.ERROR, span.fault)
        return began

    @staticmethod
    def _end(live: LiveSpan, span: Span, zero_ns: int) -> None:
        live.end(zero_ns + span.ended_us * 1_000)


def otlp(url: str) -> SpanExporter:
    """Return what sends spans to the receiver at *url* (``http://host:4318``); raises MissingEngine."""
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import (  # noqa: PLC0415 - an extra, imported when used
            OTLPSpanExporter,
        )
    except ImportError as error:
        raise _missing() from error
    target = url.rstrip("/")
    return OTLPSpanExporter(target if target.endswith(PATH) else target + PATH, timeout=PATIENCE_S)


def _provider(exporter: SpanExporter, worker: str) -> TracerProvider:
    from opentelemetry.sdk.resources import Resource  # noqa: PLC0415 - an extra, imported when used
    from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415 - an extra, imported when used
    from opentelemetry.sdk.trace.export import (  # noqa: PLC0415 - an extra, imported when used
        BatchSpanProcessor,
    )

    facts = {"service.name": NAME, "service.version": versions()[NAME], "service.instance.id": worker or NAME}
    provider = TracerProvider(resource=Resource.create(facts), shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(exporter))
    return provider


def _kind(name: str) -> Any:
    from opentelemetry.trace import SpanKind  # noqa: PLC0415 - an extra, imported when used

    return SpanKind[name.upper()]


def _began_ns(span: Any) -> int:
    """Return when the SDK says that *span* began."""
    began: int = span.start_time
    return began


def _missing() -> MissingEngine:
    return MissingEngine("OpenTelemetry is not installed", remedy="type: pip install 'turnbudget[otel]'")


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened at an instant of a span."""

    name: str
    """What happened."""
    at_us: int
    """When (µs from the turn's zero)."""
    facts: Mapping[str, Value] = field(default_factory=dict)
    """Its attributes."""


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of time with a name; ``ahead``: a child of the call, linked to the turn."""

    name: str
    """What it shows."""
    began_us: int
    """When it began (µs from the turn's zero)."""
    ended_us: int
    """When it ended (µs from the turn's zero)."""
    facts: Mapping[str, Value]
    """Its attributes."""
    kind: Literal["internal", "client"] = "internal"
    """``client`` where a server of somebody else was asked."""
    fault: str = ""
    """Why it counts as failed; '' if it does not."""
    ahead: bool = False
    """It is work that was done ahead."""
    events: tuple[Event, ...] = ()
    """What happened within it."""


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
