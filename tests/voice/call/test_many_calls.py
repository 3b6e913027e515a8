"""A process that takes calls all day stays as small as it was, and as fast."""

from __future__ import annotations

import asyncio
import gc
import sys
from itertools import pairwise

import pytest

from turnbudget.testing.stage import Answers, answering, play, prepared, says, speech, stays
from turnbudget.voice.sound.audio import FRAME_US
from turnbudget.voice.time import clock
from turnbudget.voice.time.clock import MS, SECOND
from turnbudget.voice.tts.scripted import ScriptedSynthesizer

pytestmark = pytest.mark.quiet
NOW = says("what is my balance please", when="at once", pause_us=0)


def blocks():
    """Memory in use, in Python's own blocks: exact, and free to ask for."""
    gc.collect()
    return sys.getallocatedblocks()


async def test_a_call_of_an_hour_grows_by_its_history_alone():
    """MET-14: sound goes to disk as it comes; of a turn only its words and its row are kept."""
    clips = [clip for _ in range(118) for clip in (NOW, stays(29 * SECOND))]
    call, line, rows = prepared(*clips)
    line.send = lambda _: None
    run, grown, sound = asyncio.ensure_future(call.run()), [], []
    while not await clock.wait_until([run], clock.now() + 2 * SECOND):
        call.tape.take(clock.now() - SECOND)
        if clock.now() % (600 * SECOND) == 0:
            grown.append(blocks())
            sound.append(call.tape._tracks.nbytes)
    assert clock.now() > 3_600 * SECOND
    assert [row.account.outcome for row in rows] == ["answered"] * 118
    per_turn = [(later - before) / 20 for before, later in pairwise(grown)]
    assert max(per_turn) < 200
    assert len(set(sound)) == 1
    assert sound[0] < 500_000


async def test_a_thousand_calls_leave_no_trace():
    """MET-14."""
    tasks, used = asyncio.all_tasks(), []
    for number in range(1_000):
        played = await play(NOW)
        assert played.outcomes == ["answered"]
        if number % 300 == 99:
            del played
            used.append(blocks())
    assert asyncio.all_tasks() == tasks
    assert used[-1] - used[0] < 2_000


async def test_a_task_is_never_collected_before_it_has_ended(monkeypatch):
    """MET-15: the collector runs wherever a turn waits, and each turn ends."""
    lost = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: lost.append(context["message"]))
    gc.collect()
    gc.freeze()  # what was there before is not looked at again, so that collecting costs little
    sleep = clock.sleep

    async def collecting(us):
        gc.collect()
        await sleep(us)
        gc.collect()

    monkeypatch.setattr(clock, "sleep", collecting)
    try:
        responder = Answers((100 * MS, "Your balance is ten dollars."))
        played = await play(*[NOW, stays(4 * SECOND)] * 100, responder=responder)
    finally:
        gc.unfreeze()
    assert played.outcomes == ["answered"] * 100
    assert lost == []


async def test_a_call_wakes_up_once_a_frame_each_way_and_hardly_more():
    """What a virtual call costs is its wake-ups; bench/replay.py measures the CPU."""
    timers = asyncio.get_running_loop()._births
    before, began = next(timers), clock.now()
    played = await play(
        *[says("I would like to know my balance", pause_us=200 * MS)] * 4,
        stays(4 * SECOND),
        greeting=speech("Good day."),
        responder=answering("Your balance is ten dollars. Is there anything else?"),
        voice=ScriptedSynthesizer(),
    )
    assert len(played.turns) == 4
    frames = (clock.now() - began) / FRAME_US
    spoken = sum(row.said != "" for row in played.rows)
    assert spoken == 5
    assert next(timers) - before < 1.8 * frames  # one a frame to hear, one a frame while we speak, the guard
