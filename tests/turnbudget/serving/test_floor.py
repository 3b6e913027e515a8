"""Who is let in under which load, what is told of it, and how the floor closes."""

from __future__ import annotations

import dataclasses
import json
import socket
from urllib.parse import urlsplit

import aiohttp
import msgspec
import pytest
from floors import QUICK, SAYS, ask, call, open_tones, serving, until
from hall import Table, hall, opener
from laws import each

from turnbudget.serving.admission import FirstSoundForecast, Load, Prediction, judge
from turnbudget.serving.config import ServeTable, TenantTable
from turnbudget.serving.doors.tenants import lightened
from turnbudget.serving.events import CallEnded, CallShed, TurnEnded
from turnbudget.settings.config import LlmTable
from turnbudget.voice.call.responder import Reply
from turnbudget.voice.errors import RunError
from turnbudget.voice.lines.far.twilio import FarCall, FarTwilio
from turnbudget.voice.time import clock
from turnbudget.voice.time.crew import Crew

wall = pytest.mark.clock("wall")
EASY = Load(
    calls=0,
    most=10,
    tenant_calls=0,
    tenant_most=0,
    budget_us=800_000,
    full=Prediction(600_000, ""),
    light=None,
)
SLOW = Prediction(912_000, "p95 of the last 57 turns")


@each(
    ("load", "mode", "because"),
    [
        ({}, "full", ""),
        ({"calls": 9}, "full", ""),
        ({"calls": 10}, None, "10 calls, 10 are the most"),
        ({"tenant_calls": 2, "tenant_most": 2}, None, "2 calls of this tenant, 2 are the most"),
        ({"draining": True, "calls": 3}, None, "draining, 3 calls left"),
        ({"full": Prediction(800_000, "")}, "full", ""),
        ({"full": SLOW}, None, "first sound foreseen at 912 ms (p95 of the last 57 turns), over 800 ms"),
        ({"full": SLOW, "light": Prediction(801_000, "")}, None, "over 800 ms"),
        (
            {"full": SLOW, "light": Prediction(700_000, "lag")},
            "light",
            "shelf and fast backend at 700 ms (lag)",
        ),
    ],
)
def test_a_call_is_judged_by_rule_and_the_number_is_said(load, mode, because):
    verdict = judge(dataclasses.replace(EASY, **load))
    assert verdict.mode == mode
    assert because in verdict.because


def test_what_answers_in_light_mode_is_the_fast_backend_alone():
    def with_llm(**llm):
        return msgspec.structs.replace(QUICK, llm=LlmTable(**llm))

    assert lightened(QUICK) is None
    assert lightened(with_llm(backend="simulated:a")) is None
    fast = lightened(with_llm(backend="simulated:a", second="simulated:b")).llm
    assert (fast.backend, fast.second, fast.mode) == ("simulated:a", "", "fast")
    slow = lightened(with_llm(backend="simulated:a", second="simulated:b", mode="accurate")).llm
    assert (slow.backend, slow.second, slow.mode) == ("simulated:b", "", "fast")


async def test_a_call_that_is_expected_counts_as_a_call_until_its_place_is_given_up():
    """A thousand that ask in one second are judged one behind the other."""
    async with hall(Table({}), serve=ServeTable(most_calls=2)) as (floor, happenings):
        tenant = floor.door.tenants.usual
        assert [floor.admit(tenant, "twilio", place).mode for place in "abc"] == ["full", "full", None]
        assert [one.because for one in happenings] == ["2 calls, 2 are the most"]
        floor.give_up("a")
        assert floor.admit(tenant, "twilio", "d").mode == "full"
        await clock.sleep(15 * clock.SECOND + 1)
        assert floor.admit(tenant, "twilio", "e").mode == "full", "they have not come"


async def test_a_tenants_own_limit_counts_whom_it_expects():
    async with hall(Table({}), tenant=TenantTable(most_calls=1)) as (floor, happenings):
        tenant = floor.door.tenants.usual
        assert [floor.admit(tenant, "twilio", place).mode for place in "ab"] == ["full", None]
        assert [one.because for one in happenings] == ["1 calls of this tenant, 1 are the most"]


@pytest.mark.parametrize(("most", "workers", "share"), [(10, 3, 4), (9, 3, 3), (1, 3, 1), (2, 1, 2)])
async def test_a_workers_share_of_a_limit_is_rounded_up_so_that_none_takes_no_calls(most, workers, share):
    async with hall(Table({}), serve=ServeTable(most_calls=most)) as (floor, _):
        floor.workers = workers
        tenant = floor.door.tenants.usual
        taken = [floor.admit(tenant, "twilio", str(place)).mode for place in range(most + 1)]
        assert taken.count("full") == share


async def test_a_turn_that_the_caller_took_back_says_nothing_of_the_next():
    """What is said on within the budget was owed nothing yet; nor is a greeting a turn."""
    studio = await open_tones(QUICK)
    forecast = FirstSoundForecast()
    calm = forecast.predict(studio)
    for _ in range(40):
        forecast.turn(row_of(outcome="superseded", closed_us=2_000_000, first_sound_us=None), "full")
        forecast.turn(row_of(kind="greeting", first_sound_us=2_000_000), "full")
    assert forecast.predict(studio) == calm
    for _ in range(20):
        forecast.turn(row_of(outcome="failed", closed_us=2_000_000, first_sound_us=None), "full")
    assert forecast.predict(studio).us == 2_000_000
    await studio.aclose()


async def test_late_turns_and_a_late_loop_are_foreseen():
    studio = await open_tones(QUICK)
    forecast = FirstSoundForecast()
    calm = forecast.predict(studio)
    assert 200_000 < calm.us < 400_000
    for lag in [0] * 94 + [500_000] * 6:
        forecast._lags.append(lag)
    assert forecast.predict(studio).us == calm.us + 500_000
    row = row_of(first_sound_us=950_000)
    for _ in range(19):
        forecast.turn(row, "full")
    assert forecast.predict(studio).us == calm.us + 500_000
    forecast.turn(row, "full")
    assert forecast.predict(studio).us == 950_000
    assert forecast.predict(studio, "light").us < 950_000
    await clock.sleep(11 * clock.SECOND)
    assert forecast.predict(studio).us == calm.us + 500_000, "old turns say nothing of the next"
    await studio.aclose()


def row_of(**fields):
    """What the outlook reads of a row."""
    return dataclasses.make_dataclass("Row", ["kind", "outcome", "first_sound_us", "closed_us"])(
        **{"kind": "turn", "outcome": "answered", "first_sound_us": 0, "closed_us": 0, **fields}
    )


def calling(number):
    """A caller of their own."""
    return FarTwilio(began_us=clock.now(), call=FarCall(call=f"CA{number}", stream=f"MZ{number}"))


@pytest.mark.quiet
@wall
async def test_more_calls_than_the_limit_are_shed_and_those_taken_stay_in_time(tmp_path):
    async with serving(tmp_path, most_calls=4) as (server, happenings), Crew() as crew:
        tasks = [
            crew.create_task(call(server, "/twilio/ws", calling(number), SAYS[:1]), name="caller")
            for number in range(8)
        ]
        heard = [await task for task in tasks]
        assert sum(one.greeted for one in heard) == 4
        shed = [one.because for one in happenings if isinstance(one, CallShed)]
        assert shed == ["4 calls, 4 are the most"] * 4
        turns = [one.row for one in happenings if isinstance(one, TurnEnded) and one.row.kind == "turn"]
        assert len(turns) == 4
        assert all(row.in_time for row in turns)
        await until(lambda: not server.floor.calls)
        assert (await call(server, "/twilio/ws", calling(9), says=())).greeted


@wall
async def test_a_switch_goes_on_with_its_dialplan_where_the_floor_is_full(tmp_path):
    """What it has told of the call by then decides how: no upgrade, or a hang-up that gives the call back."""
    async with serving(tmp_path, most_calls=1) as (server, _), Crew() as crew:
        crew.create_task(call(server, "/twilio/ws", says=(), hangs_up=False), name="caller")
        await until(lambda: server.floor.calls)
        with pytest.raises(aiohttp.WSServerHandshakeError) as told:
            await call(server, "/asterisk/ws", says=())
        assert told.value.status == 503
        heard = await call(server, "audiosocket", says=())
        assert heard.closed == "we hung up; the dialplan goes on"


@wall
async def test_a_floor_that_would_be_late_refuses_before_it_answers(tmp_path):
    async with serving(tmp_path) as (server, happenings):
        for _ in range(30):
            server.floor.forecast.turn(row_of(first_sound_us=1_200_000), "full")
        _, document = await ask(server, "POST", "/twilio/voice", data={"CallSid": "CA1", "To": "1"})
        assert '<Reject reason="busy"' in document
        path = "/audiosocket/6f9619ff-8b86-d011-b42d-00cf4fc964ff"
        assert (await ask(server, "PUT", path, json={})) == (503, "refused\n")
        (first, *_) = [one.because for one in happenings if isinstance(one, CallShed)]
        assert first == "first sound foreseen at 1200 ms (p95 of the last 30 turns), over 800 ms"
        assert json.loads((await ask(server, "GET", "/healthz"))[1]) == {"state": "full", "calls": 0}


@wall
async def test_a_floor_that_drains_is_not_ready_lets_calls_end_and_then_ends_them(tmp_path):
    async with serving(tmp_path, drain_ms=1_500) as (server, happenings), Crew() as crew:
        short = crew.create_task(call(server, "/twilio/ws", calling(1), says=()), name="short")
        long = crew.create_task(call(server, "/twilio/ws", calling(2), says=(), hangs_up=False), name="long")
        await until(lambda: len(server.floor.calls) == 2)
        assert (await ask(server, "GET", "/readyz"))[0] == 200
        server.stop()
        await until(lambda: server.floor.draining)
        assert (await ask(server, "GET", "/readyz"))[0] == 503
        _, document = await ask(server, "POST", "/twilio/voice", data={"CallSid": "CA3", "To": "1"})
        assert "<Reject" in document
        await short
        await long
        await until(lambda: not server.floor.calls)
    reasons = [one.record.ended for one in happenings if isinstance(one, CallEnded)]
    assert reasons == ["caller hung up (stop)", "the server is going down"]


@wall
async def test_a_call_that_was_let_in_before_the_drain_is_held_to_its_own_end(tmp_path):
    """Its stream comes behind SIGTERM, and the call that was there before it ends first."""
    async with serving(tmp_path, drain_ms=20_000) as (server, happenings), Crew() as crew:
        first = crew.create_task(call(server, "/twilio/ws", calling(1), says=()), name="first")
        await until(lambda: server.floor.calls)
        _, document = await ask(server, "POST", "/twilio/voice", data={"CallSid": "CA2", "To": "1"})
        server.stop()
        await until(lambda: server.floor.draining)
        await first
        path = urlsplit(document.partition('<Stream url="')[2].partition('"')[0]).path
        heard = await call(server, path, calling(2), says=SAYS[:2])
        assert (len(heard.waits_us), heard.unanswered) == (2, 0)
    reasons = [one.record.ended for one in happenings if isinstance(one, CallEnded)]
    assert reasons == ["caller hung up (stop)"] * 2


@wall
async def test_the_last_caller_to_be_sent_on_while_the_floor_drains_gets_there(tmp_path):
    """The carrier asks where to once its stream is closed, and we are still there to tell it."""
    answers = opener(Table({SAYS[0]: Reply("I will put you through.", "table", transfer="+15550123")}))
    async with serving(tmp_path, drain_ms=20_000, opener=answers) as (server, happenings):
        async with Crew() as crew:
            talking = call(server, "/twilio/ws", calling(1), says=SAYS[:1], hangs_up=False)
            last = crew.create_task(talking, name="last")
            await until(lambda: server.floor.calls)
            server.stop()
            await last
        await until(lambda: any(isinstance(one, CallEnded) for one in happenings))
        await clock.sleep(300 * clock.MS)
        status, document = await ask(server, "POST", "/twilio/after", data={"CallSid": "CA1"})
        assert (status, "+15550123" in document) == (200, True)


@wall
async def test_a_watcher_that_fails_costs_nobody_else_anything(tmp_path, caplog):
    def fails(_):
        raise ValueError("no")

    async with serving(tmp_path) as (server, happenings):
        server.floor.watch(fails)
        assert (await call(server, "/twilio/ws", says=())).greeted
        await until(lambda: any(isinstance(one, CallEnded) for one in happenings))
    assert caplog.text.count("a watcher failed") == 1


@wall
async def test_a_worker_whose_port_is_taken_says_so_and_leaves_no_run(tmp_path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(RunError, match="cannot listen on port"):
            async with serving(tmp_path, port=taken.getsockname()[1]):
                pass
    assert list((tmp_path / "runs").glob("serve*")) == []
