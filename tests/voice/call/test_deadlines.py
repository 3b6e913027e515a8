"""Deadlines, not timeouts: a block is cut at its instant, and nobody else's end is swallowed."""

from __future__ import annotations

import asyncio

import pytest

from turnbudget.voice.time import clock
from turnbudget.voice.time.clock import MS, SECOND

HOUR = 3_600 * SECOND


async def test_a_block_is_cut_at_its_instant_and_says_so():
    async with clock.move_on_at(300 * MS) as scope:
        await clock.sleep(HOUR)
    assert scope.expired()
    assert clock.now() == 300 * MS


async def test_a_block_that_ends_in_time_is_left_alone():
    async with clock.move_on_at(300 * MS) as scope:
        await clock.sleep(299 * MS + 999)
    assert not scope.expired()


@pytest.mark.parametrize("scope_first", [True, False])
async def test_an_answer_exactly_at_the_deadline_is_late(scope_first):
    answer = asyncio.get_running_loop().create_future()
    if scope_first:
        async with clock.move_on_at(300 * MS) as scope:
            asyncio.get_running_loop().call_at(0.3, answer.set_result, None)
            await answer
    else:
        asyncio.get_running_loop().call_at(0.3, answer.set_result, None)
        async with clock.move_on_at(300 * MS) as scope:
            await answer
    assert scope.expired()
    assert clock.now() == 300 * MS


async def test_an_instant_already_past_cuts_at_the_first_wait():
    await clock.sleep(SECOND)
    reached = []
    async with clock.move_on_at(0) as scope:
        reached.append("the first wait")
        await clock.sleep(1)
        reached.append("beyond it")
    assert scope.expired()
    assert reached == ["the first wait"]


async def test_the_blocks_own_timeout_error_is_not_swallowed():
    with pytest.raises(TimeoutError, match="the backend's"):
        async with clock.move_on_at(300 * MS):
            raise TimeoutError("the backend's")


async def test_the_inner_of_two_scopes_swallows_only_its_own_expiry():
    async with clock.move_on_at(300 * MS) as outer:
        async with clock.move_on_at(100 * MS) as inner:
            await clock.sleep(HOUR)
        assert clock.now() == 100 * MS
        await clock.sleep(HOUR)
        pytest.fail("the outer scope let it run on")
    assert inner.expired()
    assert outer.expired()
    assert clock.now() == 300 * MS


async def test_an_outer_scope_that_ends_first_cuts_both():
    async with clock.move_on_at(100 * MS) as outer:
        async with clock.move_on_at(300 * MS) as inner:
            await clock.sleep(HOUR)
        pytest.fail("the inner scope swallowed the outer one's expiry")
    assert outer.expired()
    assert not inner.expired()


@pytest.mark.parametrize("at", [50 * MS, 100 * MS, 150 * MS])
async def test_a_cancellation_from_outside_is_not_swallowed(at):
    ended = []

    async def works():
        async with clock.move_on_at(100 * MS):
            await clock.sleep(HOUR)
        await clock.sleep(HOUR)
        ended.append("ran on")

    async with asyncio.TaskGroup() as crew:
        task = crew.create_task(works())
        await clock.sleep_until(at)
        task.cancel()
    assert task.cancelled()
    assert clock.now() == at
    assert not ended


async def test_wait_until_walks_away_and_cancels_nobody():
    async with asyncio.TaskGroup() as crew:
        quick, slow = crew.create_task(clock.sleep(10 * MS)), crew.create_task(clock.sleep(SECOND))
        assert not await clock.wait_until([quick, slow], 300 * MS)
        assert clock.now() == 300 * MS
        assert quick.done()
        assert not slow.cancelling()
        assert await clock.wait_until([quick, slow], 2 * SECOND)
        assert clock.now() == SECOND


async def test_wait_until_a_past_instant_only_looks():
    await clock.sleep(SECOND)
    async with asyncio.TaskGroup() as crew:
        slow = crew.create_task(clock.sleep(SECOND))
        assert not await clock.wait_until([slow], 0)
        assert clock.now() == SECOND
    assert await clock.wait_until([slow], 0)
    assert await clock.wait_until([], 0)


async def test_a_task_that_swallows_cancellation_does_not_keep_us():
    async def stubborn():
        try:
            await clock.sleep(HOUR)
        except asyncio.CancelledError:
            await clock.sleep(5 * SECOND)

    async with asyncio.TaskGroup() as crew:
        task = crew.create_task(stubborn())
        assert not await clock.wait_until([task], 300 * MS)
        task.cancel()
        assert clock.now() == 300 * MS
    assert clock.now() == 300 * MS + 5 * SECOND
