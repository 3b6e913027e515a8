"""A crew: nobody in it outlives the call unseen, and nobody in it can hold the call."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import pytest

from turnbudget.voice.time import clock
from turnbudget.voice.time.clock import MS, SECOND
from turnbudget.voice.time.crew import Crew

NEVER = 3_600 * SECOND


async def fail(after_us=0):
    await clock.sleep(after_us)
    raise LookupError("no such customer")


async def stubborn(us):
    with suppress(asyncio.CancelledError):
        await clock.sleep(NEVER)
    await clock.sleep(us)


async def crew_of(*works, block=None):
    """Run a crew of *works* around *block*, or for ever."""
    async with Crew() as crew:
        for work in works:
            crew.create_task(work, name="seat")
        await (block or clock.sleep(NEVER))


async def test_whoever_still_works_at_the_end_is_cancelled():
    async with Crew() as crew:
        task = crew.create_task(clock.sleep(NEVER), name="seat")
        await clock.sleep(MS)
    assert task.cancelled()
    assert (len(crew), crew.dangling, clock.now()) == (0, (), MS)


async def test_a_task_that_fails_ends_the_block_with_its_error():
    with pytest.raises(LookupError):
        await crew_of(fail(5 * MS))
    assert clock.now() == 5 * MS
    assert asyncio.current_task().cancelling() == 0


async def test_a_task_that_fails_takes_the_others_with_it():
    before = asyncio.all_tasks()
    with pytest.raises(LookupError):
        await crew_of(clock.sleep(NEVER), fail())
    assert asyncio.all_tasks() == before


async def test_the_error_of_the_block_itself_comes_first():
    async def mine():
        raise ValueError("mine")

    with pytest.raises(ValueError, match="mine"):
        await crew_of(fail(NEVER), block=mine())


async def test_a_task_that_fails_while_it_is_cancelled_is_heard():
    async def fails_late():
        try:
            await clock.sleep(NEVER)
        finally:
            raise LookupError("in the clean-up")

    with pytest.raises(LookupError):
        await crew_of(fails_late(), block=clock.sleep(MS))


async def test_a_cancellation_from_outside_stays_one_even_beside_a_failure():
    async def fail_as_it_is_cancelled():
        await clock.sleep(2 * MS)
        asyncio.get_running_loop().call_soon(task.cancel)
        raise LookupError

    task = asyncio.ensure_future(crew_of(fail_as_it_is_cancelled()))
    await asyncio.wait([task])
    assert task.cancelled()


async def test_whoever_swallows_his_cancellation_is_left_behind_and_named():
    """MET-16: two seconds, however long he takes."""
    before = asyncio.all_tasks()
    async with Crew() as crew:
        crew.create_task(stubborn(5 * SECOND), name="seat: deaf")
        crew.create_task(stubborn(1 * SECOND), name="seat: slow")
        crew.create_task(clock.sleep(NEVER), name="seat: good")
        await clock.sleep(MS)
    assert clock.now() == 2 * SECOND + MS
    assert crew.dangling == ("seat: deaf",)
    await clock.sleep(5 * SECOND)
    assert asyncio.all_tasks() == before
    assert len(crew) == 0


async def test_a_hundred_crews_leave_nobody():
    """MET-16."""
    before = asyncio.all_tasks()
    for _ in range(100):
        async with Crew() as crew:
            crew.create_task(stubborn(500 * MS), name="seat")
            crew.create_task(clock.sleep(NEVER), name="other")
            await clock.sleep(MS)
    assert asyncio.all_tasks() == before


async def test_who_has_ended_is_forgotten_at_once():
    async with Crew() as crew:
        for _ in range(1_000):
            crew.create_task(clock.sleep(MS), name="piece")
        assert len(crew) == 1_000
        await clock.sleep(2 * MS)
        assert len(crew) == 0
