"""What was begun on a guess: taken once, or dropped and closed, whoever leaves first."""

from __future__ import annotations

import asyncio
import contextlib

import pytest

from turnbudget.agents.prefetch import Prefetch
from turnbudget.voice.time import clock
from turnbudget.voice.time.clock import MS, SECOND
from turnbudget.voice.time.crew import Crew


class Work:
    """Makes "it" after *us*, and remembers what was closed."""

    def __init__(self, us=100 * MS, error=None):
        self.us = us
        self.error = error
        self.closed = []
        self.cancelled = 0

    async def make(self):
        try:
            await clock.sleep(self.us)
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        if self.error:
            raise self.error
        return "it"

    async def close(self, made):
        self.closed.append(made)

    def begun(self, crew):
        return Prefetch(self.make, self.close, crew)


async def test_what_was_made_is_there_for_whoever_takes_it_and_is_theirs_to_close():
    work = Work()
    async with Crew() as crew:
        kept = work.begun(crew)
        assert await kept.come() == "it"
        assert await kept.take(clock.now()) == "it"
        await clock.sleep(0)
        assert len(crew) == 0
    assert work.closed == []


async def test_who_takes_it_while_it_is_made_waits_for_it():
    work = Work()
    async with Crew() as crew:
        kept = work.begun(crew)
        assert await kept.take(clock.now() + SECOND) == "it"
        assert clock.now() == 100 * MS
    assert work.closed == []


async def test_what_does_not_come_in_time_is_dropped():
    work = Work()
    async with Crew() as crew:
        kept = work.begun(crew)
        assert await kept.take(clock.now() + 50 * MS) is None
        assert clock.now() == 50 * MS
        await clock.sleep(0)
        assert (work.cancelled, len(crew)) == (1, 0)


async def test_who_leaves_while_taking_drops_it():
    work = Work()
    async with Crew() as crew:
        kept = work.begun(crew)
        taking = crew.create_task(kept.take(clock.now() + SECOND), name="turn")
        await clock.sleep(50 * MS)
        taking.cancel()
        await clock.sleep(0)
        await clock.sleep(0)
        assert (work.cancelled, len(crew)) == (1, 0)


async def test_who_leaves_while_it_comes_takes_nothing_from_the_others():
    work = Work()
    async with Crew() as crew:
        kept = work.begun(crew)
        waiting = crew.create_task(kept.come(), name="head start")
        await clock.sleep(50 * MS)
        waiting.cancel()
        await clock.sleep(0)
        assert await kept.take(clock.now() + SECOND) == "it"


@pytest.mark.parametrize("after_us", [0, 50 * MS, 200 * MS])
async def test_what_is_dropped_is_closed_and_who_waits_for_it_is_cancelled(after_us):
    work = Work()
    async with Crew() as crew:
        kept = work.begun(crew)
        if after_us:
            await clock.sleep(after_us)
        kept.drop()
        kept.drop()
        with pytest.raises(asyncio.CancelledError):
            await (kept.come() if after_us < work.us else asyncio.shield(kept._task))
        await clock.sleep(0)
        assert len(crew) == 0
    assert work.closed == (["it"] if after_us > work.us else [])
    assert await kept.take(SECOND) is None or after_us > work.us


async def test_a_hang_up_closes_what_nobody_took():
    work = Work()
    async with Crew() as crew:
        work.begun(crew)
        await clock.sleep(SECOND)
    assert work.closed == ["it"]


async def test_a_failure_is_told_to_who_takes_it_and_ends_no_call():
    async with Crew() as crew:
        kept = Work(error=ZeroDivisionError("odd")).begun(crew)
        await clock.sleep(SECOND)
        for ask in (kept.come(), kept.take(clock.now())):
            with pytest.raises(ZeroDivisionError):
                await ask


async def test_work_that_swallows_its_cancellation_is_closed_when_it_comes():
    class Stubborn(Work):
        async def make(self):
            while clock.now() < SECOND:
                with contextlib.suppress(asyncio.CancelledError):
                    await clock.sleep_until(SECOND)
            return "it"

    work = Stubborn()
    async with Crew() as crew:
        kept = work.begun(crew)
        await clock.sleep(10 * MS)
        kept.drop()
        await clock.sleep(2 * SECOND)
        assert len(crew) == 0
    assert work.closed == ["it"]


async def test_an_error_in_closing_interests_nobody():
    class Broken(Work):
        async def close(self, made):
            raise OSError(made)

    async with Crew() as crew:
        kept = Broken().begun(crew)
        await kept.come()
        kept.drop()
        await clock.sleep(SECOND)
