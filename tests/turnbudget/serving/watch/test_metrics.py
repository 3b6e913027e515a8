"""What was counted is what happened, its labels are bounded, and a real Prometheus reads it."""

from __future__ import annotations

import json
import shutil
import subprocess

import aiohttp
import pytest
from prometheus_client.parser import text_string_to_metric_families
from sample_run import SHELF, SLOW, lane, took, turn
from watched import PRIVATE, TOKEN, began, client, ended, watched, whole_call

from turnbudget.runs.records import EntryRow
from turnbudget.serving.admission import Load, Prediction, judge
from turnbudget.serving.events import CallShed, TurnEnded
from turnbudget.serving.watch.metrics import Metrics, failures
from turnbudget.voice.time import clock
from turnbudget.voice.time.clock import MS, SECOND

PROMETHEUS = shutil.which("prometheus")


def counted(*happenings, lag_us=0):
    """Return what is counted of *happenings*, by its name and labels in their alphabet; and the text."""
    metrics = Metrics({"bank", "shop"}.__contains__, lambda: lag_us)
    for event in happenings:
        metrics(event)
    text = metrics.exposition()[0].decode()
    values = {
        (sample.name, *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }
    return values, text


def told(*rows, tenant="bank"):
    return [TurnEnded(row.call, tenant, row) for row in rows]


def labelled(values, name):
    return {key[1:]: value for key, value in values.items() if key[0] == name}


def test_turns_are_counted_by_kind_and_outcome():
    rows = turn(), turn(), turn(SLOW, outcome="bridged", sounded=621_000), turn(kind="greeting", heard="")
    values, _ = counted(*told(*rows))
    assert labelled(values, "turnbudget_turns_total") == {
        ("turn", "shelved", "bank"): 2,
        ("turn", "bridged", "bank"): 1,
        ("greeting", "shelved", "bank"): 1,
    }
    assert values["turnbudget_turns_in_time_total", "bank"] == 3
    assert values["turnbudget_turns_answered_in_time_total", "bank"] == 2


def test_what_we_say_unasked_is_in_no_headline():
    values, _ = counted(*told(turn(SLOW, kind="greeting", heard="")))
    assert not labelled(values, "turnbudget_turns_over_budget_total")
    assert values["turnbudget_first_sound_seconds_count",] == 0


def test_a_late_turn_names_what_it_waited_for():
    late = turn(SLOW)
    taken_back = turn({"endpoint": 160_000}, outcome="superseded", answered=False)
    values, _ = counted(*told(late, taken_back))
    assert labelled(values, "turnbudget_turns_over_budget_total") == {("agent", "council", "bank"): 1}


def test_a_turn_without_an_answer_gives_no_time_to_its_answer():
    """MET-03: interrupted turns report no first answer, so no average looks better for them."""
    values, _ = counted(*told(turn(), turn(answered=False, outcome="superseded")))
    assert values["turnbudget_first_answer_seconds_count",] == 1
    assert values["turnbudget_first_answer_seconds_sum",] == pytest.approx(turn().first_answer_us / 1e6)


def test_a_stage_gives_one_value_a_turn():
    """MET-07: whatever pieces it came in."""
    pieces = tuple(
        EntryRow(stage="council", us=us, owner=f"seat {us}", owner_kind="agent") for us in (5_000, 7_000)
    )
    values, _ = counted(*told(turn({}, entries=pieces, closed_us=12_000, sounded=12_000)))
    assert values["turnbudget_stage_seconds_count", "council"] == 1
    assert values["turnbudget_stage_seconds_sum", "council"] == pytest.approx(0.012)


def test_calls_run_until_they_end_and_no_longer():
    first, second = began("a"), began("b", line="browser")
    values, _ = counted(first, second, ended("a"), ended("a"))
    assert values["turnbudget_calls_running", "twilio", "bank"] == 0
    assert values["turnbudget_calls_running", "browser", "bank"] == 1
    assert values["turnbudget_calls_total", "twilio", "bank"] == 1


def test_hits_and_wrong_hits_come_together():
    hit, wrong = turn(lanes=SHELF), turn(lanes=SHELF, false_cut=True)
    values, _ = counted(ended("a", (hit, wrong, turn())))
    assert (values["turnbudget_hits_total",], values["turnbudget_wrong_hits_total",]) == (2, 1)


def test_a_failure_has_its_component():
    broken = EntryRow(stage="synthesize", us=5, owner="piper", owner_kind="service", outcome="failed")
    late = took(200, "partial text", "the final text came too late")
    assert list(failures(turn({}, entries=(broken,), closed_us=5, sounded=5))) == ["tts"]
    assert list(failures(turn(decisions=(late,)))) == ["asr"]
    assert list(failures(turn(decisions=(took(200, "partial text", "the call ended first"),)))) == []
    assert list(failures(turn(lanes=(lane("llm:openai attempt 2", (0, 9), "failed"),)))) == ["llm"]


def load(**named):
    usual = {"calls": 1, "most": 9, "tenant_calls": 1, "tenant_most": 0, "budget_us": 800 * MS}
    fast = Prediction(100 * MS, "so")
    return Load(**{**usual, "full": fast, "light": None, **named})


@pytest.mark.parametrize(
    ("rule", "found"),
    [
        ("draining", {"draining": True}),
        ("tenant", {"tenant_most": 1}),
        ("concurrency", {"most": 1}),
        ("forecast", {"full": Prediction(900 * MS, "so")}),
    ],
)
def test_each_rule_of_admission_is_a_reason_of_its_own(rule, found):
    assert judge(load(**found)).rule == rule


def test_labels_are_bounded_whatever_is_told():
    strange = [TurnEnded("c", f"tenant {number}", turn()) for number in range(50)]
    lines = [began(f"call {number}", line=f"line {number}") for number in range(50)]
    shed = [CallShed("who", "twilio", "forecast", f"because {number}") for number in range(50)]
    over = [ended(f"call {number}", reason=f"carrier says {number}") for number in range(50)]
    values, _ = counted(*strange, *lines, *shed, *over)
    assert labelled(values, "turnbudget_turns_total") == {("turn", "shelved", "other"): 50}
    assert len(labelled(values, "turnbudget_calls_total")) == 17
    assert labelled(values, "turnbudget_shed_total") == {("no", "other", "forecast", "other"): 50}
    assert labelled(values, "turnbudget_calls_ended_total") == {("caller-ended", "bank"): 50}


def test_nothing_of_a_caller_is_in_the_metrics():
    _, text = counted(*whole_call("00d676d7058c49bb"))
    for private in (*PRIVATE, "00d676d7058c49bb"):
        assert private not in text


@pytest.mark.clock("wall")
async def test_metrics_ask_who_it_is_where_others_reach_us(tmp_path):
    """Health tells a stranger nothing; metrics are for whoever bears the operator's token."""
    serve = {"public": "http://calls.example.com", "operator_token": TOKEN}
    async with watched(tmp_path, serve=serve) as (server, url), client() as session:
        for path, token, status in (
            ("/healthz", "", 200),
            ("/readyz", "", 200),
            ("/metrics", "", 401),
            ("/metrics", "a token of nobody's", 401),
            ("/metrics", TOKEN, 200),
        ):
            headers = {"Authorization": f"Bearer {token}"} if token else {}
            async with session.get(f"{url}{path}", headers=headers) as response:
                assert response.status == status, (path, token)
        server.floor.draining = True
        async with session.get(f"{url}/readyz") as response:
            assert response.status == 503


@pytest.mark.skipif(not PROMETHEUS, reason="prometheus is not installed (apt-get install prometheus)")
@pytest.mark.clock("wall")
async def test_a_real_prometheus_scrapes_what_happened(tmp_path):
    async with watched(tmp_path, serve={"operator_token": TOKEN}) as (server, url), client() as session:
        for event in whole_call("a", 5):
            server.floor.tell(event)
        config = {
            "scrape_configs": [
                {
                    "job_name": "turnbudget",
                    "scrape_interval": "1s",
                    "authorization": {"credentials": TOKEN},
                    "static_configs": [{"targets": [url.removeprefix("http://")]}],
                }
            ]
        }
        (tmp_path / "prometheus.yml").write_text(json.dumps(config))
        port = server.listening.port + 1 if server.listening.port < 60_000 else server.listening.port - 1
        command = [
            PROMETHEUS,
            f"--config.file={tmp_path / 'prometheus.yml'}",
            f"--storage.tsdb.path={tmp_path / 'data'}",
            f"--web.listen-address=127.0.0.1:{port}",
            "--log.level=error",
        ]
        process = subprocess.Popen(command)  # noqa: ASYNC220, S603 - Debian's own, of a test
        try:
            query = f"http://127.0.0.1:{port}/api/v1/query"
            found = await answered(session, query, 'sum(turnbudget_turns_total{kind="turn"})')
            assert found[0]["value"][1] == "5"
            up = await answered(session, query, "up")
            assert up[0]["value"][1] == "1"
            share = await answered(
                session,
                query,
                'sum(turnbudget_turns_in_time_total) / sum(turnbudget_turns_total{kind="turn"})',
            )
            assert 0 <= float(share[0]["value"][1]) <= 1
        finally:
            process.terminate()
            await clock.offload(process.wait)


async def answered(session, url, query):
    """Return what Prometheus knows, once it does."""
    until = clock.now() + 15 * SECOND
    while clock.now() < until:
        try:
            async with session.get(url, params={"query": query}) as response:
                found = (await response.json())["data"]["result"]
                if found:
                    return found
        except (
            OSError,
            aiohttp.ContentTypeError,
        ):  # not there yet, or there and not ready: 503 and plain text
            pass
        await clock.sleep(100 * MS)
    pytest.fail(f"Prometheus never knew {query}")
    return None
