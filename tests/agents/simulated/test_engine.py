"""One simulated instance, shared by many calls: seats, caches, deadlines, bursts; all in virtual time."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from itertools import pairwise

import pytest
from laws import each
from msgspec.structs import replace
from riding import BANK, FAR_US, ask, mean, prompt, rides, ttft_ms

from turnbudget.agents.backends.backend import BackendError, Message, Prompt
from turnbudget.agents.backends.check import check_backend
from turnbudget.agents.simulated.engine import Engine
from turnbudget.agents.simulated.explain import constants
from turnbudget.agents.simulated.hardware import Schedule, Speculation
from turnbudget.agents.simulated.physics import ArrivalLoad, predict
from turnbudget.agents.simulated.presets import PRESETS, instance
from turnbudget.agents.simulated.scheduler import Scheduler, ServedRequest
from turnbudget.agents.simulated.words import Script
from turnbudget.voice.errors import ConfigError
from turnbudget.voice.time import clock
from turnbudget.voice.time.budget import Budget
from turnbudget.voice.time.clock import MS, SECOND

STORY = Script(["Once upon a time there was a bank that answered in time. " * 40])
SHORT = Script(["Yes. That is done now."])
SMALL = instance("gpu-small")


def seats(count, words=STORY, **schedule):
    return Engine(replace(SMALL, schedule=replace(SMALL.schedule, seats=count, **schedule)), words)


@each("name", ["gpu-batched", "gpu-low-batch", "gpu-small", "wafer-scale", "lpu", "bus"])
async def test_every_preset_of_hardware_keeps_the_promises_of_a_backend(name):
    await check_backend(Engine(instance(name), STORY))


@pytest.mark.parametrize("kind", ["virtual", "skip", "wall"])
def test_it_takes_the_same_time_on_every_clock(kind):
    _, timing = clock.run(ask(Engine(SMALL, SHORT)), kind)
    expected = 7.1 + 7.1 + 7.1 + 6.3
    assert expected - 2 < timing.ttft_us / MS < expected + (2 if kind == "virtual" else 60)


async def test_the_timing_is_as_full_as_a_real_servers():
    said, timing = await ask(Engine(SMALL, SHORT))
    assert said == "Yes. That is done now."
    assert timing.reused
    assert timing.ending == "done"
    assert timing.began_us <= timing.headers_us <= timing.first_token_us <= timing.first_sentence_us
    assert timing.first_sentence_us <= timing.ended_us
    assert timing.tokens_cached == 0 < timing.tokens_in
    assert timing.tokens_out == 7
    spans = timing.server_queue_us + timing.server_prefill_us + timing.server_decode_us
    assert timing.headers_us + spans == timing.ended_us


async def test_a_barge_in_frees_the_seat_at_once():
    """LLM-19: one seat, a long story, left after a second; the next question is not behind it."""
    backend = seats(1)
    async with aclosing(backend.stream(prompt(max_tokens=400), Budget.of(30 * SECOND))) as deltas:
        async for _ in deltas:
            if clock.now() > SECOND:
                break
    assert backend.statistics() == backend.statistics() | {"riding": 0, "waiting": 0, "reserved": 0}
    _, next_one = await ask(backend, prompt("Stop. What is my balance?", max_tokens=5))
    assert next_one.server_queue_us < 10 * MS


async def test_a_cancelled_call_in_the_queue_costs_no_other_its_answer():
    """LLM-19: three calls on one seat; the one in the middle is cancelled while it waits."""
    backend = seats(1, SHORT)
    async with asyncio.TaskGroup() as crew:
        calls = [crew.create_task(ask(backend, prompt(f"Call {number}"))) for number in range(3)]
        await clock.sleep(20 * MS)
        calls[1].cancel()
    assert [call.cancelled() for call in calls] == [False, True, False]
    assert backend.statistics() == backend.statistics() | {"riding": 0, "waiting": 0, "reserved": 0}


async def test_the_watch_goes_on_when_whoever_keeps_it_is_cancelled():
    backend = seats(8, SHORT)
    async with asyncio.TaskGroup() as crew:
        calls = [crew.create_task(ask(backend, prompt(f"Call {number}"))) for number in range(6)]
        for call in calls[:5]:
            await clock.sleep(5 * MS)
            call.cancel()
    assert calls[5].result()[0] == "Yes. That is done now."


async def test_more_calls_than_seats_wait_their_turn():
    backend = seats(2, SHORT)
    async with asyncio.TaskGroup() as crew:
        calls = [crew.create_task(ask(backend, prompt(f"Call {number}"))) for number in range(6)]
    queues = [call.result()[1].server_queue_us // MS for call in calls]
    assert queues == sorted(queues)
    assert queues[1] == 0
    assert 40 < queues[2] < queues[4]


async def test_prewarm_moves_the_prefill_out_of_the_turn():
    """A long system prompt read before the call: the turn pays for its own words alone."""
    asked = prompt(system=Message("system", "You answer for a bank. " * 400))
    _, cold = await ask(Engine(SMALL, SHORT), asked)
    warm_backend = Engine(SMALL, SHORT)
    await warm_backend.prewarm(Prompt(asked.messages[:1]), Budget.of(SECOND))
    _, warm = await ask(warm_backend, asked)
    assert warm.tokens_cached > 0.95 * warm.tokens_in
    assert cold.ttft_us - warm.ttft_us > 50 * MS


async def test_half_a_sentence_read_before_its_end_counts_in_whole_blocks():
    backend = Engine(SMALL, SHORT)
    said = "I would like to move forty euros and ten cents from my savings to my checking account, and then"
    await backend.prewarm(prompt(said), Budget.of(SECOND))
    _, timing = await ask(backend, prompt(f"{said} call my wife about it."))
    assert timing.tokens_cached % 16 == 0
    assert timing.tokens_in - timing.tokens_cached < 16 + 10


async def test_the_next_turn_finds_the_last_ones_answer_in_the_cache():
    backend = Engine(SMALL, STORY)
    said, first = await ask(backend, prompt("Hello"))
    history = (Message("user", "Hello"), Message("assistant", said))
    _, second = await ask(backend, prompt("And my balance?", *history))
    assert second.tokens_cached >= first.tokens_in + first.tokens_out - 16


def test_a_chunk_of_prefill_holds_up_the_others_by_so_much_and_once():
    def gaps(chunk):
        served = replace(SMALL, schedule=Schedule(seats=8, chunk=chunk))
        given = []
        scheduler = Scheduler(served, 0, lambda ride: given.append((ride, ride.last_us)))
        talker = ServedRequest((BANK,), 64, ("x",) * 300, 0, FAR_US)
        scheduler.add(talker)
        scheduler.settle(500 * MS)
        scheduler.add(ServedRequest((Message("user", "new"),), 4000, ("x",), 500 * MS, FAR_US))
        scheduler.settle(FAR_US)
        instants = [at for ride, at in given if ride is talker]
        return sorted((late - early) / MS for early, late in pairwise(instants))

    whole, chunked = gaps(100_000), gaps(500)
    usual = whole[len(whole) // 2]
    assert whole[-1] - usual > 100
    assert whole[-2] - usual < 100
    assert 15 < chunked[-1] - usual < 25
    assert chunked[-9] - usual < 1


async def test_context_that_does_not_fit_waits_for_room():
    """KV capacity: each takes 150k of the 427k tokens, so the third pair waits though seats are free."""
    asked = prompt("x" * 6 * 150_000)
    backend = Engine(SMALL, SHORT)
    async with asyncio.TaskGroup() as crew:
        calls = [crew.create_task(ask(backend, asked)) for _ in range(3)]
    queued = [call.result()[1].server_queue_us for call in calls]
    assert queued[1] < 10 * MS
    assert queued[2] > SECOND


async def test_a_prompt_that_can_never_fit_is_refused_at_once():
    with pytest.raises(BackendError, match="more than the 4") as caught:
        await ask(Engine(SMALL, SHORT), prompt("x" * 6 * 500_000))
    assert caught.value.status == 400
    assert clock.now() == 0


async def test_a_budget_ends_the_wait_to_the_microsecond():
    timings = []
    with pytest.raises(BackendError, match="no first token in time"):
        async with aclosing(seats(1).stream(prompt(), Budget.of(9 * MS), timings.append)) as deltas:
            await anext(deltas)
    assert clock.now() == 9 * MS
    assert timings[0].ending == "failed"


async def test_a_budget_ends_an_answer_that_runs_on():
    backend = seats(1)
    with pytest.raises(BackendError, match="did not end in time"):
        await ask(backend, prompt(max_tokens=1000), within=500 * MS)
    assert backend.statistics()["riding"] == 0


async def test_what_a_slow_listener_missed_comes_as_one_delta():
    backend = Engine(SMALL, STORY)
    async with aclosing(backend.stream(prompt(), Budget.of(30 * SECOND))) as deltas:
        await anext(deltas)
        await clock.sleep(200 * MS)
        missed = (await anext(deltas)).text
        assert len(missed.split()) > 15
        assert len((await anext(deltas)).text.split()) == 1


async def test_what_comes_after_the_budget_is_not_given_to_a_listener_who_slept():
    backend = Engine(SMALL, STORY)
    async with aclosing(backend.stream(prompt(), Budget.of(100 * MS))) as deltas:
        await anext(deltas)
        await clock.sleep(300 * MS)
        assert len((await anext(deltas)).text.split()) < 15
        with pytest.raises(BackendError, match="did not end in time"):
            await anext(deltas)


async def test_an_answer_longer_than_asked_for_is_cut_and_says_so():
    said, timing = await ask(Engine(SMALL, STORY), prompt(max_tokens=5))
    assert timing.tokens_out == 5
    assert said == "Once upon a time there"
    assert timing.flags == ("cut at max_tokens",)


async def test_drafts_come_in_bursts():
    drafting = Speculation(acceptance=0.8, drafted=4)
    backend = Engine(replace(SMALL, speculation=drafting), STORY, seed=4)
    async with aclosing(backend.stream(prompt(max_tokens=100), Budget.of(30 * SECOND))) as deltas:
        pieces = [len(delta.text.split()) async for delta in deltas]
    assert max(pieces) > 2
    assert sum(pieces) == pytest.approx(95, abs=10)
    assert len(pieces) < 50


async def test_fast_mode_is_the_same_model_at_two_and_a_half_times_the_pace():
    _, standard = await ask(Engine(instance("gpu-batched"), STORY))
    _, fast = await ask(Engine(instance("gpu-low-batch"), STORY))
    assert instance("gpu-low-batch").model == instance("gpu-batched").model
    assert standard.tpot_us / fast.tpot_us == pytest.approx(2.5, rel=0.001)
    steps = 2 * (standard.tpot_us - fast.tpot_us)
    assert standard.ttft_us - fast.ttft_us == pytest.approx(steps, rel=0.02)


async def test_price_is_by_the_token_and_unknown_where_nobody_gave_one():
    standard, fast, wafer = (
        Engine(instance(name), SHORT) for name in ("gpu-batched", "gpu-low-batch", "wafer-scale")
    )
    _, timing = await ask(standard)
    assert 0 < standard.price(timing) < 0.001
    assert fast.price(timing) == pytest.approx(6 * standard.price(timing))
    assert wafer.price(timing) is None


def test_a_step_costs_no_more_after_ten_thousand_requests():
    """Nothing of a finished request is kept but its place in a cache of a fixed size."""
    scheduler = Scheduler(replace(SMALL, schedule=Schedule(seats=4)), 0, lambda _: None)
    for number in range(10_000):
        scheduler.settle(number * 20 * MS)
        asked = (BANK, Message("user", f"{number} " + "x" * 6 * 100))
        scheduler.add(ServedRequest(asked, 250, ("x", "y"), number * 20 * MS, FAR_US))
    scheduler.settle(FAR_US)
    assert scheduler.statistics()["cached"] <= SMALL.kv_tokens
    kept = sum(
        len(held)
        for held in vars(scheduler).values()
        if isinstance(held, dict | list) or hasattr(held, "popleft")
    )
    assert kept <= 4
    assert len(scheduler._prefixes._known) < 2 * SMALL.kv_tokens / 110 + 10


async def test_deadlines_of_those_who_left_are_forgotten():
    """Though one who came before them, and has an earlier deadline, is still there."""
    backend = Engine(SMALL, STORY)
    async with aclosing(backend.stream(prompt(max_tokens=400), Budget.of(3600 * SECOND))) as deltas:
        await anext(deltas)
        for number in range(500):
            await ask(backend, prompt(f"Call {number}", max_tokens=1), within=3600 * SECOND)
        assert len(backend._deadlines) < 200


async def test_a_seat_on_a_bus_is_waited_for_though_many_are_free():
    _, timing = await ask(Engine(instance("bus"), SHORT))
    assert timing.server_queue_us == 250 * MS - round(instance("bus").losses.request_us)


async def test_whoever_fills_a_bus_makes_it_leave_at_once():
    """The first has fallen asleep until its budget's end; the second brings an earlier event."""
    backend = seats(2, SHORT, policy="static")
    async with asyncio.TaskGroup() as crew:
        first = crew.create_task(ask(backend, prompt("One")))
        await clock.sleep(100 * MS)
        second = crew.create_task(ask(backend, prompt("Two")))
    assert first.result()[1].server_queue_us == 100 * MS
    assert first.result()[1].ttft_us < 200 * MS
    assert second.result()[1].server_queue_us == 0


def test_a_full_instance_answers_later_and_an_overfull_one_has_no_steady_state():
    light, heavy = (
        rides(SMALL, arrivals=[n * gap for n in range(200)], out=40, messages=(BANK,), size=200)
        for gap in (50 * MS, 2 * MS)
    )
    assert mean(ttft_ms(SMALL, ride) for ride in light) < mean(ttft_ms(SMALL, ride) for ride in heavy)
    with pytest.raises(ConfigError, match="more than it can serve"):
        predict(SMALL, ArrivalLoad(per_s=1000, out=120, uncached=200))
    with pytest.raises(ConfigError, match="no closed form"):
        predict(instance("bus"), ArrivalLoad(per_s=1, out=40, uncached=100))


def test_every_constant_of_every_preset_has_a_mark():
    found = [(name, *row) for name, preset in PRESETS.items() for row in constants(preset)]
    assert len(found) > 500
    assert {row[3] for row in found} <= {"measured", "derived", "assumed", "source", "memory"}
    assert all(row[4] and row[5] for row in found)
