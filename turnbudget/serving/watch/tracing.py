"""Calls as OpenTelemetry traces: a call is a span, its turns are its children, stages and lanes theirs.

Spans are made from rows after the fact, with times of their own, in a thread of their own; the SDK's batch
processor sends them (OTLP over HTTP) from another. What is too much for them is lost and counted, for a trace
is worth no caller's wait. The calendar time of a call is the SDK's; all within a call is counted from there.
"""

from __future__ import annotations

import logging
import queue
import threading
from typing import TYPE_CHECKING, Any, Final

from turnbudget.runs.versions import versions
from turnbudget.serving.after.ending import reason
from turnbudget.serving.events import CallBegan, CallEnded, TurnEnded
from turnbudget.serving.watch.shown import shown
from turnbudget.serving.watch.spans import parts, turn_span
from turnbudget.voice.errors import MissingEngine

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SpanExporter
    from opentelemetry.trace import Span as LiveSpan

    from turnbudget.runs.records import Row
    from turnbudget.serving.events import Happening
    from turnbudget.serving.watch.spans import Span

NAME: Final = "turnbudget"
PATH: Final = "/v1/traces"
MOST: Final = 2_000
"""Happenings that wait for their spans to be made."""
MOST_CALLS: Final = 10_000
PATIENCE_S: Final = 3
"""For a receiver's answer, and at the end for what has not been sent."""
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
        self._due: queue.Queue[Happening | None] = queue.Queue(MOST)
        self._thread = threading.Thread(target=self._make, name="spans", daemon=True)
        self._thread.start()

    def __call__(self, happening: Happening) -> None:
        """Have spans made of *happening*; never blocks."""
        try:
            self._due.put_nowait(happening)
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
        """Make spans until the end; what one happening raises costs its own."""
        while (happening := self._due.get()) is not None:
            try:
                self._take(happening)
            except Exception:
                log.exception("no spans of one happening")
        for span in self._calls.values():
            span.end()

    def _take(self, happening: Happening) -> None:
        match happening:
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
            trace.set_span_in_context(parent),
            _kind(span.kind),
            dict(span.facts),
            [trace.Link(linked.get_span_context())] if linked else None,
            zero_ns + span.began_us * 1_000,
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
