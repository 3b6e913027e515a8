"""Who holds the loop is named: a line that somebody can change, or the garbage collector."""

from __future__ import annotations

import asyncio
import gc
import json
import select
import sys
import threading

import pytest

from turnbudget.voice.time import clock, watch
from turnbudget.voice.time.clock import MS, SECOND
from turnbudget.voice.time.pulse import Pulse

NEVER = 365 * 24 * 3_600 * SECOND


def look_up_the_customer():
    select.select([], [], [], 0.2)


def watchers():
    return {thread for thread in threading.enumerate() if thread.name == "turnbudget-watch"}


@pytest.mark.parametrize("kind", ["wall", "skip"])
def test_the_line_that_blocks_is_named(kind):
    """MET-10."""

    async def main():
        with watch.watch():
            await clock.sleep(1 * MS)
            began = clock.now()
            look_up_the_customer()
            await clock.sleep(1 * MS)
            return max(clock.stalls(began, NEVER), key=lambda stall: stall.ended_us - stall.began_us)

    line = look_up_the_customer.__code__.co_firstlineno + 1
    assert clock.run(main(), kind).cause == f"test_watch.py:{line} look_up_the_customer"


@pytest.mark.clock("wall")
async def test_a_loop_that_only_waits_is_accused_of_nothing():
    pulse = clock.pulse()
    accused = []
    pulse.accuse = lambda who, since: accused.append((who, since))
    with watch.watch():
        for _ in range(5):
            await clock.sleep(20 * MS)
    assert [who for who, _ in accused if "test_watch" in who] == []


async def test_virtual_time_is_not_watched():
    hooks, before = list(gc.callbacks), watchers()
    with watch.watch():
        assert watchers() <= before
        assert gc.callbacks == hooks


@pytest.mark.clock("wall")
async def test_nothing_is_left_behind():
    hooks, before = list(gc.callbacks), watchers()
    with watch.watch():
        [watcher] = watchers() - before
        assert len(gc.callbacks) == len(hooks) + 1
    await asyncio.get_running_loop().run_in_executor(None, watcher.join)
    assert gc.callbacks == hooks


def test_the_innermost_line_that_can_be_changed_is_taken_not_pythons():
    seen = []

    def peek(_):
        seen.append(watch.name(sys._getframe(1)))

    def render():
        return json.dumps({1, 2}, default=peek)

    render()
    line = render.__code__.co_firstlineno + 1
    assert seen == [f"test_watch.py:{line} render"]


def collection(took, awake_since, now):
    """Tell the hook of a collection that ends *now*; return what the stall that follows is called."""
    instant = [now - took]
    pulse = Pulse(lambda: instant[0])
    if awake_since is not None:
        pulse.wake(awake_since)
    hook = watch._Collections(pulse)
    hook("start", {"generation": 2})
    instant[0] = now
    hook("stop", {"generation": 2})
    if awake_since is None:
        pulse.wake(now, due=now - took)
    else:
        pulse.rest(now)
    return [stall.cause for stall in pulse.stalls]


def test_a_long_garbage_collection_is_named():
    """MET-11."""
    assert collection(took=100 * MS, awake_since=0, now=110 * MS) == ["garbage collection, generation 2"]
    assert collection(took=100 * MS, awake_since=None, now=SECOND) == ["garbage collection, generation 2"]


def test_a_collection_that_is_a_small_part_of_a_stall_is_not_blamed():
    assert collection(took=12 * MS, awake_since=0, now=300 * MS) == ["blocking call"]


def test_settling_keeps_what_is_loaded_out_of_later_collections():
    """MET-11."""
    frozen = gc.get_freeze_count()
    try:
        watch.settle()
        assert gc.get_freeze_count() > frozen
    finally:
        gc.unfreeze()
