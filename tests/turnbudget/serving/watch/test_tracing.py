"""A turn is a span whose children sum to it; a real receiver of OTLP understands what is sent."""

from __future__ import annotations

import contextlib
import threading
from itertools import pairwise

import pytest

pytest.importorskip("opentelemetry.sdk", reason="needs the extra 'otel'")

from aiohttp import web
from google.protobuf.json_format import MessageToDict
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode
from sample_run import ANSWERED, EXACT, lane, turn
from watched import PRIVATE, WORDS, began, ended, watched, whole_call

from turnbudget.serving.events import TurnEnded
from turnbudget.serving.watch import tracing as tracing_file
from turnbudget.serving.watch.tracing import Tracing, otlp, parts, turn_span
from turnbudget.voice.time import clock
from turnbudget.voice.time.clock import MS, SECOND

US = 1_000
ATTEMPT = (
    lane("llm:openai first token", (210, 330), "came"),
    lane("llm:openai connect", (210, 220), "done"),
    lane("llm:openai first sentence", (330, 400), "done"),
    lane("llm:openai", (210, 460), "done"),
    lane("llm:openai attempt 2", (260, 300), "failed", wasted_ms=40),
)


def spans(*happenings, **settings):
    """Return the spans of *happenings*, by name."""
    exporter = InMemorySpanExporter()
    tracing = Tracing(exporter, **settings)
    for event in happenings:
        tracing(event)
    tracing.close()
    return exporter.get_finished_spans()


def of_one(row, **settings):
    return spans(began(row.call), TurnEnded(row.call, "bank", row), ended(row.call, [row]), **settings)


def named(found, name):
    return [span for span in found if span.name == name]


def test_a_turn_is_a_span_and_its_stages_fill_it():
    row = turn(ANSWERED, outcome="answered")
    found = of_one(row)
    (call,), (whole,) = named(found, "call"), named(found, "turn")
    stages = [span for span in found if span.parent and span.parent.span_id == whole.context.span_id]
    assert [span.name for span in stages] == list(ANSWERED)
    assert stages[0].start_time == whole.start_time == call.start_time + row.speech_ended_call_us * US
    assert stages[-1].end_time == whole.end_time == whole.start_time + row.closed_us * US
    assert all(one.end_time == other.start_time for one, other in pairwise(stages))
    assert whole.parent.span_id == call.context.span_id
    assert whole.attributes["turnbudget.critical.owner"] == "seat:transfer"
    assert call.end_time - call.start_time == 60 * SECOND * US


def test_work_begun_while_the_caller_spoke_is_the_calls_and_linked_to_its_turn():
    row = turn(
        lanes=(lane("head start", (-310, 12), "kept", saved_ms=172), lane("seat:faq", (249, 331), "heard"))
    )
    found = of_one(row)
    (call,), (whole,) = named(found, "call"), named(found, "turn")
    (start,), (seat,) = named(found, "head start"), named(found, "seat:faq")
    assert start.parent.span_id == call.context.span_id
    assert [link.context.span_id for link in start.links] == [whole.context.span_id]
    assert start.attributes["turnbudget.saved_ms"] == 172
    assert (seat.parent.span_id, list(seat.links)) == (whole.context.span_id, [])


def test_an_attempt_of_an_llm_bears_the_genai_conventions():
    found = of_one(turn(ANSWERED, outcome="answered", lanes=ATTEMPT))
    first, second = named(found, "chat openai")
    assert first.kind == SpanKind.CLIENT
    assert first.attributes["gen_ai.operation.name"] == "chat"
    assert first.attributes["gen_ai.provider.name"] == "openai"
    assert first.attributes["gen_ai.response.time_to_first_chunk"] == pytest.approx(0.12)
    assert "gen_ai.response.time_to_first_chunk" not in second.attributes
    assert (second.status.status_code, second.attributes["error.type"]) == (StatusCode.ERROR, "_OTHER")
    assert named(found, "llm:openai first token")


def test_a_defect_is_an_error_and_nothing_else_is():
    for outcome, code in (
        ("silent", StatusCode.ERROR),
        ("failed", StatusCode.ERROR),
        ("cut", StatusCode.UNSET),
    ):
        (whole,) = named(of_one(turn(outcome=outcome, answered=False)), "turn")
        assert whole.status.status_code == code


def test_decisions_and_sounds_are_events_and_tell_no_texts():
    (whole,) = named(of_one(turn(decisions=EXACT)), "turn")
    assert [event.name for event in whole.events] == ["decision", "first sound", "first answer"]
    assert dict(whole.events[0].attributes) == {"turnbudget.took": "shelf"}
    (whole,) = named(of_one(turn(decisions=EXACT), texts=True), "turn")
    assert whole.attributes["turnbudget.turn.heard"] == "savings"
    assert whole.events[0].attributes["turnbudget.because"] == EXACT[0].because


def test_nothing_of_a_caller_is_in_a_span():
    text = "".join(span.to_json() for span in spans(*whole_call("c")))
    for private in PRIVATE:
        assert private not in text


def test_a_call_that_is_still_running_at_the_end_has_its_span():
    assert named(spans(began("a")), "call")


def test_spans_in_plain_values_sum_to_the_turn():
    row = turn(ANSWERED)
    stages = [part for part in parts(row) if "turnbudget.owner" in part.facts]
    assert sum(part.ended_us - part.began_us for part in stages) == turn_span(row).ended_us == row.closed_us


def test_what_comes_too_fast_is_lost_and_counted_and_nobody_waits(monkeypatch):
    gate = threading.Event()
    monkeypatch.setattr(tracing_file, "MOST", 10)
    monkeypatch.setattr(Tracing, "_take", lambda *_: gate.wait(10))
    tracing = Tracing(InMemorySpanExporter())
    for _ in range(50):
        tracing(began("a"))
    assert tracing.lost in {39, 40}
    gate.set()
    tracing.close()


@contextlib.asynccontextmanager
async def receiver():
    """A receiver of OTLP over HTTP; yields its address and what came, read as the protocol says."""
    came = []

    async def take(request):
        assert request.headers["Content-Type"] == "application/x-protobuf"
        came.append(ExportTraceServiceRequest.FromString(await request.read()))
        return web.Response(
            body=ExportTraceServiceResponse().SerializeToString(), content_type="application/x-protobuf"
        )

    app = web.Application()
    app.router.add_post("/v1/traces", take)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}", came
    finally:
        await runner.cleanup()


@pytest.mark.clock("wall")
async def test_a_receiver_of_otlp_gets_the_turns_of_a_server(tmp_path):
    happenings = whole_call("a")
    rows = [one.row for one in happenings if isinstance(one, TurnEnded)]
    async with receiver() as (url, came):
        async with watched(tmp_path, otlp=url, site="harbour", worker="3") as (server, _):
            for event in happenings:
                server.floor.tell(event)
        found = [
            span
            for one in came
            for part in one.resource_spans
            for scope in part.scope_spans
            for span in scope.spans
        ]
        facts = {fact.key: fact.value.string_value for fact in came[0].resource_spans[0].resource.attributes}
    assert (facts["service.name"], facts["service.instance.id"]) == ("turnbudget", "harbour-3")
    turns = [span for span in found if span.name in {"turn", "greeting", "reprompt"}]
    assert sorted(span.end_time_unix_nano - span.start_time_unix_nano for span in turns) == sorted(
        row.closed_us * US for row in rows
    )
    assert len({span.trace_id for span in found}) == 1
    assert WORDS not in str([MessageToDict(one) for one in came])


@pytest.mark.clock("wall")
async def test_a_receiver_that_is_away_costs_a_server_nothing(tmp_path, monkeypatch, nowhere):
    monkeypatch.setattr(tracing_file, "PATIENCE_S", 1)
    async with watched(tmp_path, otlp=f"http://{nowhere}") as (server, _):
        began_us = clock.now()
        for event in whole_call("a"):
            server.floor.tell(event)
        assert clock.now() - began_us < 50 * MS
    assert clock.now() - began_us < 8 * SECOND


def test_the_address_of_a_receiver_is_its_root_or_its_path():
    assert otlp("http://there:4318")._endpoint == otlp("http://there:4318/v1/traces")._endpoint
