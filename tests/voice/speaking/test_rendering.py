"""A reply on its way to sound: never lost, never waited for in vain."""

from __future__ import annotations

import asyncio

import pytest

from turnbudget.testing.stage import speech
from turnbudget.voice.speaking.mouth import Rendering
from turnbudget.voice.time import clock
from turnbudget.voice.time.clock import MS

AHEAD = 4


async def heard(rendering):
    return [piece.text async for piece in rendering.pieces()]


async def test_the_pieces_come_in_order_and_the_end_after_the_last():
    rendering = Rendering()
    for text in "abc":
        await rendering.put(speech(text))
    rendering.end("")
    assert await heard(rendering) == ["a", "b", "c"]
    assert (rendering.failure, rendering.broken) == ("", "")


async def test_it_is_ready_with_its_first_piece():
    rendering = Rendering()
    assert (rendering.ready.done(), rendering.failure) == (False, "no answer came in time")
    await clock.sleep(5 * MS)
    await rendering.put(speech("a"))
    assert (rendering.ready.done(), rendering.ready_us, rendering.failure) == (True, 5 * MS, "")


async def test_it_is_ready_with_its_failure_when_there_is_no_piece():
    rendering = Rendering()
    rendering.end("the table is empty")
    assert (rendering.ready.done(), rendering.failure) == (True, "the table is empty")
    assert await heard(rendering) == []


async def test_a_failure_after_the_first_piece_breaks_the_reply_and_leaves_what_is_there():
    rendering = Rendering()
    await rendering.put(speech("a"))
    rendering.end("the voice failed")
    assert (rendering.failure, rendering.broken) == ("", "the voice failed")
    assert await heard(rendering) == ["a"]


async def fill(rendering, count):
    for number in range(count):
        await rendering.put(speech(str(number), cost_us=10))


async def test_few_pieces_are_rendered_ahead():
    rendering = Rendering()
    filling = asyncio.ensure_future(fill(rendering, 12))
    await clock.sleep(MS)
    assert rendering._pieces.qsize() == AHEAD
    pieces = rendering.pieces()
    await anext(pieces)
    await clock.sleep(MS)
    assert rendering._pieces.qsize() == AHEAD
    filling.cancel()
    await pieces.aclose()


@pytest.mark.parametrize("count", [AHEAD, AHEAD + 1, AHEAD + 5])
async def test_the_end_never_waits_and_is_never_lost(count):
    """Whoever renders is cancelled while it waits for room; the Mouth still finds an end."""
    rendering = Rendering()

    async def render():
        try:
            await fill(rendering, count)
        finally:
            rendering.end("broken off")

    task = asyncio.ensure_future(render())
    await clock.sleep(MS)
    task.cancel()
    await asyncio.wait([task])
    assert len(await heard(rendering)) == AHEAD


async def test_a_mouth_that_goes_away_leaves_nobody_waiting_but_the_one_who_renders():
    rendering = Rendering()
    filling = asyncio.ensure_future(fill(rendering, 12))
    listening = asyncio.ensure_future(heard(Rendering()))
    await clock.sleep(MS)
    for task in (listening, filling):
        task.cancel()
    await asyncio.wait([listening, filling])
    assert rendering.unheard_us() == AHEAD * 10
    assert rendering.unheard_us() == 0
