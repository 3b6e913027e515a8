"""One clock, three loops: the same code, exact in virtual time, at its real cost in real time."""

from __future__ import annotations

import asyncio
import concurrent.futures
import gc
import select
import signal
import threading
import time

import pytest

from turnbudget.voice.errors import Deadlock, Defect
from turnbudget.voice.time import clock
from turnbudget.voice.time.clock import MS, SECOND

HOUR = 3_600 * SECOND
NEVER = 365 * 24 * HOUR


def block(us):
    """Hold the loop for real."""
    select.select([], [], [], us / SECOND)


# --- virtual ---------------------------------------------------------------------------------------


async def test_an_hour_passes_at_once():
    cpu = clock.cpu()
    await clock.sleep(HOUR)
    assert clock.now() == HOUR
    assert clock.cpu() - cpu < 100 * MS


async def test_every_microsecond_is_exact():
    for step in range(1, 2_000):
        await clock.sleep(step)
    assert clock.now() == 2_000 * 1_999 // 2


async def test_instants_stay_exact_late_in_a_long_run():
    await clock.sleep_until(1_000 * HOUR + 1)
    assert clock.now() == 1_000 * HOUR + 1
    await clock.sleep(1)
    assert clock.now() == 1_000 * HOUR + 2


async def test_equal_instants_fire_in_the_order_they_were_set():
    fired = []

    async def waits(who):
        await clock.sleep_until(20 * MS)
        fired.append(who)

    async with asyncio.TaskGroup() as crew:
        for who in range(200):
            crew.create_task(waits(who))
    assert fired == list(range(200))


async def test_equal_instants_keep_their_order_when_some_are_cancelled():
    fired = []
    loop = asyncio.get_running_loop()
    handles = [loop.call_at(0.02, fired.append, who) for who in range(200)]
    for handle in handles[::3]:
        handle.cancel()
    await clock.sleep_until(20 * MS)
    assert fired == [who for who in range(200) if who % 3]


def test_two_runs_are_the_same_run():
    async def story():
        seen = []

        async def speaks(who, pause):
            for _ in range(20):
                await clock.sleep(pause)
                seen.append((clock.now(), who))

        async with asyncio.TaskGroup() as crew:
            for who in range(10):
                crew.create_task(speaks(who, 1 + who % 3))
        return seen

    assert clock.run(story(), "virtual") == clock.run(story(), "virtual")


async def test_a_past_instant_gives_way_once_and_takes_no_time():
    turns = []
    asyncio.get_running_loop().call_soon(turns.append, "another")
    await clock.sleep_until(-5)
    turns.append("mine")
    assert turns == ["another", "mine"]
    assert clock.now() == 0


async def test_threads_are_refused():
    with pytest.raises(Defect, match="--clock skip"):
        await asyncio.get_running_loop().run_in_executor(None, int)


async def test_bookkeeping_runs_in_place():
    assert await clock.offload(threading.get_ident) == threading.get_ident()
    assert clock.now() == 0


def test_when_nothing_can_happen_the_waiting_tasks_are_named():
    async def main():
        async with asyncio.TaskGroup() as crew:
            crew.create_task(asyncio.Event().wait(), name="the ear")
            crew.create_task(asyncio.Event().wait(), name="the mouth")

    with pytest.raises(Deadlock, match="the ear, the mouth wait and no timer is set"):
        clock.run(main(), "virtual")


def test_a_deadlock_still_lets_every_task_tidy_up():
    tidied = []

    async def waits():
        try:
            await asyncio.Event().wait()
        finally:
            tidied.append(clock.now())

    with pytest.raises(Deadlock):
        clock.run(waits(), "virtual")
    assert tidied == [0]


async def test_virtual_time_has_no_calendar():
    assert clock.label() is None
    assert clock.kind() == "virtual"


# --- skip ------------------------------------------------------------------------------------------


@pytest.mark.clock("skip")
async def test_an_idle_hour_costs_nothing():
    real, began = time.monotonic_ns(), clock.now()
    await clock.sleep(HOUR)
    assert HOUR <= clock.now() - began < HOUR + SECOND
    assert time.monotonic_ns() - real < 1e9


@pytest.mark.clock("skip")
async def test_real_work_costs_what_it_costs():
    began = clock.now()
    await asyncio.get_running_loop().run_in_executor(None, block, 50 * MS)
    assert 50 * MS <= clock.now() - began < SECOND


@pytest.mark.clock("skip")
async def test_while_real_work_is_under_way_timers_run_with_the_wall():
    gate = threading.Event()
    work = asyncio.get_running_loop().run_in_executor(None, gate.wait)
    real = time.monotonic_ns()
    await clock.sleep(20 * MS)
    assert time.monotonic_ns() - real >= 20e6
    gate.set()
    await work


@pytest.mark.clock("skip")
async def test_abandoned_work_still_runs_at_its_real_pace():
    """Who walks away from a render leaves an engine that is busy for as long as it really is."""
    gate, over = threading.Event(), threading.Event()

    def render():
        gate.wait()
        block(30 * MS)
        over.set()

    with concurrent.futures.ThreadPoolExecutor(1) as engine:
        work = asyncio.get_running_loop().run_in_executor(engine, render)
        async with clock.move_on_at(clock.now()):
            await work
        assert work.cancelled()
        gate.set()
        await clock.sleep(10 * SECOND)
        assert over.is_set()


@pytest.mark.clock("skip")
async def test_work_that_was_never_begun_holds_nothing_up():
    gate = threading.Event()
    with concurrent.futures.ThreadPoolExecutor(1) as engine:
        loop = asyncio.get_running_loop()
        first = loop.run_in_executor(engine, gate.wait)
        second = loop.run_in_executor(engine, block, SECOND)
        second.cancel()
        await clock.sleep(0)
        gate.set()
        await first
        real = time.monotonic_ns()
        await clock.sleep(HOUR)
    assert time.monotonic_ns() - real < 1e9


@pytest.mark.clock("skip")
async def test_a_failure_in_a_thread_arrives_and_the_clock_skips_again():
    with pytest.raises(ZeroDivisionError):
        await asyncio.get_running_loop().run_in_executor(None, divmod, 1, 0)
    real = time.monotonic_ns()
    await clock.sleep(HOUR)
    assert time.monotonic_ns() - real < 1e9


@pytest.mark.clock("skip")
async def test_beyond_holds_the_clock_to_the_wall():
    real = time.monotonic_ns()
    with clock.beyond(), clock.beyond():
        await clock.sleep(30 * MS)
    assert time.monotonic_ns() - real >= 30e6
    await clock.sleep(HOUR)
    assert time.monotonic_ns() - real < 2e9


# --- wall ------------------------------------------------------------------------------------------


@pytest.mark.clock("wall")
async def test_the_wall_clock_waits_for_real():
    real, began = time.monotonic_ns(), clock.now()
    await clock.sleep(20 * MS)
    assert clock.now() - began >= 20 * MS
    assert time.monotonic_ns() - real >= 20e6
    assert clock.kind() == "wall"
    assert clock.label().endswith("+00:00")


@pytest.mark.parametrize("kind", ["wall", "skip"])
def test_a_stepped_calendar_changes_no_duration_and_no_deadline(kind, monkeypatch):
    """MET-05."""

    async def main():
        began = clock.now()
        async with clock.move_on_at(began + SECOND) as scope:
            for step in (-2, 3_600):
                calendar = time.time()
                monkeypatch.setattr(time, "time", lambda at=calendar + step: at)
                await clock.sleep(10 * MS)
        assert not scope.expired()
        return clock.now() - began

    assert 20 * MS <= clock.run(main(), kind) < SECOND


def test_a_foreign_loop_counts_as_the_wall_and_has_no_pulse():
    async def main():
        with clock.beyond():
            await clock.sleep(1)
        return clock.kind(), clock.pulse(), clock.stalls(0, NEVER)

    assert asyncio.run(main()) == ("wall", None, ())


# --- the heartbeat ---------------------------------------------------------------------------------


async def test_a_blocked_virtual_loop_is_one_stall_of_that_length():
    await clock.sleep(SECOND)
    asyncio.get_running_loop().block(300 * MS)
    await clock.sleep(1)
    [stall] = clock.stalls(0, NEVER)
    assert (stall.began_us, stall.ended_us, stall.cause) == (SECOND, SECOND + 300 * MS, "blocking call")


@pytest.mark.parametrize("kind", ["wall", "skip"])
def test_a_real_blocking_call_is_one_stall_of_its_length(kind):
    async def main():
        await clock.sleep(5 * MS)
        began = clock.now()
        block(300 * MS)
        took = clock.now() - began
        await clock.sleep(5 * MS)
        return took, [stall for stall in clock.stalls(began, NEVER) if stall.cause == "blocking call"]

    took, [stall] = clock.run(main(), kind)
    assert took >= 300 * MS
    assert abs(stall.ended_us - stall.began_us - took) <= 20 * MS


async def test_a_stall_still_going_on_is_seen_from_inside_it():
    await clock.sleep(SECOND)
    asyncio.get_running_loop().block(300 * MS)
    [stall] = clock.stalls(0, NEVER)
    assert stall.ended_us == clock.now()


async def test_only_the_stalls_that_touch_a_time_are_returned():
    for _ in range(3):
        await clock.sleep(SECOND)
        asyncio.get_running_loop().block(100 * MS)
    await clock.sleep(1)
    assert [stall.began_us for stall in clock.stalls(0, NEVER)] == [SECOND, 2_100 * MS, 3_200 * MS]
    assert [stall.began_us for stall in clock.stalls(1_100 * MS, 2_101 * MS)] == [2_100 * MS]


async def test_waiting_is_no_stall():
    for _ in range(100):
        await clock.sleep(20 * MS)
        asyncio.get_running_loop().block(9 * MS)
    assert clock.stalls(0, NEVER) == ()


# --- tasks and signals -----------------------------------------------------------------------------


async def test_a_thousand_tasks_all_end_while_garbage_is_collected():
    """MET-15."""
    ended = []

    async def background(who):
        await clock.sleep(200 * MS)
        ended.append(who)

    async with asyncio.TaskGroup() as crew:
        for who in range(1_000):
            crew.create_task(background(who))
            if who % 50 == 0:
                gc.collect()
                await clock.sleep(10 * MS)
    assert sorted(ended) == list(range(1_000))


def test_ctrl_c_reaches_a_virtual_loop():
    tidied = []

    async def main():
        try:
            while clock.now() < HOUR:
                await clock.sleep(20 * MS)
                if clock.now() == SECOND:
                    signal.raise_signal(signal.SIGINT)
        finally:
            tidied.append(clock.now())

    with pytest.raises(KeyboardInterrupt):
        clock.run(main(), "virtual")
    assert tidied == [SECOND]


@pytest.mark.parametrize("kind", ["wall", "skip"])
def test_ctrl_c_reaches_a_loop_that_waits(kind):
    async def main():
        main_thread = threading.main_thread().ident
        interrupt = asyncio.get_running_loop().run_in_executor(
            None, signal.pthread_kill, main_thread, signal.SIGINT
        )
        await asyncio.wait([interrupt])
        await asyncio.Event().wait()

    with pytest.raises(KeyboardInterrupt):
        clock.run(main(), kind)
