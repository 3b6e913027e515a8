"""Who shares what: everybody one render and its sound, and no call another call's."""

from __future__ import annotations

import asyncio
import random

import pytest
from voices import NAME, THANKS, Voice, shelved

from turnbudget.speculative.shelf.shelf import Shelf
from turnbudget.voice.errors import TtsError
from turnbudget.voice.time import clock
from turnbudget.voice.time.budget import Budget
from turnbudget.voice.time.clock import MS, SECOND
from turnbudget.voice.time.crew import Crew

MINE = "Your balance is four hundred and twelve euros."
THEIRS = "Your balance is nine euros."


async def told(keeping):
    """Return what comes of *keeping*, be it an error."""
    try:
        return await keeping
    except TtsError as error:
        return error


async def test_thirty_calls_that_miss_at_once_wait_for_one_render():
    """CA-07: same greeting, cold shelf, all within 100 ms."""
    voice = Voice(cost_us=400 * MS)
    async with shelved(voice) as shelf, asyncio.TaskGroup() as callers:

        async def call(number):
            await clock.sleep(number * 3 * MS)
            return await shelf.keep(NAME), clock.now()

        calls = [callers.create_task(call(number)) for number in range(30)]
        sounds = [await each for each in calls]
    assert voice.rendered == [NAME]
    assert len({id(sound) for sound, _ in sounds}) == 1
    assert {ended for _, ended in sounds} == {400 * MS}


async def test_who_asked_first_may_leave_without_taking_the_render_along():
    """CA-07: the first caller is cancelled, then all but one are."""
    voice = Voice()
    async with shelved(voice) as shelf, asyncio.TaskGroup() as callers:
        first, second, third = (callers.create_task(shelf.keep(NAME)) for _ in range(3))
        await clock.sleep(10 * MS)
        first.cancel()
        await clock.sleep(0)
        third.cancel()
        assert (await second).text == NAME
    assert (voice.rendered, voice.cancelled) == ([NAME], 0)


async def test_a_render_that_everybody_left_is_kept_all_the_same():
    async with shelved() as shelf, asyncio.TaskGroup() as callers:
        asked = callers.create_task(shelf.keep(NAME))
        await clock.sleep(10 * MS)
        asked.cancel()
        await clock.sleep(30 * MS)
        assert shelf.find(NAME) is not None


async def test_a_failed_render_is_everybodys_error_and_the_next_try_works():
    """CA-07: nothing of the failure stays."""
    voice = Voice(faults={"name": 1})
    async with shelved(voice) as shelf:
        ends = await asyncio.gather(*(shelf.keep(NAME) for _ in range(5)), return_exceptions=True)
        assert [str(end) for end in ends] == ["no name"] * 5
        assert shelf.find(NAME) is None
        assert (await shelf.keep(NAME)).text == NAME
    assert len(voice.rendered) == 2


async def test_a_failure_that_nobody_waits_for_any_more_is_no_ones_trouble():
    async with shelved(Voice(faults={"name": 1})) as shelf, asyncio.TaskGroup() as callers:
        asked = callers.create_task(shelf.keep(NAME))
        await clock.sleep(10 * MS)
        asked.cancel()
        await clock.sleep(SECOND)
        assert shelf.entries() == []


async def test_a_shelf_that_closes_ends_its_renders_and_tells_who_waits():
    voice = Voice(cost_us=9 * SECOND)
    async with asyncio.TaskGroup() as callers:
        async with shelved(voice) as shelf:
            call = shelf.for_call()
            asked = [callers.create_task(told(keep(NAME))) for keep in (shelf.keep, call.keep)]
            await clock.sleep(10 * MS)
        assert [str(await each) for each in asked] == ["the render was given up"] * 2
        with pytest.raises(TtsError, match="closed"):
            await shelf.keep(NAME)
    assert voice.cancelled == 2


async def test_what_is_removed_while_it_is_rendered_is_played_but_not_kept():
    """CA-09: the render under way does not bring it back."""
    async with shelved() as shelf, asyncio.TaskGroup() as callers:
        asked = callers.create_task(shelf.keep(NAME))
        await clock.sleep(10 * MS)
        await shelf.remove(NAME)
        assert (await asked).text == NAME
        assert shelf.find(NAME) is None


async def test_a_calls_own_reply_is_found_by_that_call_only():
    """CA-03: same question, other data; and not even the same words are shared."""
    voice = Voice()
    async with shelved(voice) as shelf:
        mine, theirs = shelf.for_call(), shelf.for_call()
        await mine.keep(MINE)
        assert mine.find(MINE).text == MINE
        assert mine.has(MINE)
        assert theirs.find(MINE) is shelf.find(MINE) is None
        assert not theirs.has(MINE)
        await theirs.keep(MINE)
        assert voice.rendered == [MINE, MINE]
        assert shelf.entries() == []


async def test_two_calls_that_render_the_same_words_at_once_do_not_meet():
    """CA-03: a shared render would tell one that another call says this."""
    voice = Voice()
    async with shelved(voice) as shelf:
        one, two = await asyncio.gather(*(shelf.for_call().keep(MINE) for _ in range(2)))
        assert one is not two
        assert voice.rendered == [MINE, MINE]


async def test_a_call_hears_its_new_value():
    """CA-03: after a payment the reply is another text, so nothing old can be found for it."""
    async with shelved() as shelf:
        call = shelf.for_call()
        await call.keep(MINE)
        assert call.find(THEIRS) is None


async def test_a_call_finds_what_is_everybodys_and_does_not_render_it_again():
    voice = Voice()
    async with shelved(voice) as shelf:
        shared = await shelf.keep(f"{THANKS} {NAME}")
        call = shelf.for_call()
        assert call.find(THANKS) is shelf.find(THANKS)
        await call.keep(f"{THANKS} {MINE}")
        assert voice.rendered == [THANKS, NAME, MINE]
        assert call.opening(f"{THANKS} {MINE}")[1] == MINE
        assert call.opening(MINE)[1] == ""
        assert shared.text.startswith(THANKS)


async def test_a_call_that_is_over_has_nothing_left():
    """CA-03: gone at the hang-up, and what was still being rendered with it."""
    voice = Voice()
    async with shelved(voice) as shelf, asyncio.TaskGroup() as callers:
        call = shelf.for_call()
        await call.keep(MINE)
        asked = callers.create_task(told(call.keep(THEIRS)))
        await clock.sleep(10 * MS)
        call.close()
        assert str(await asked) == "the render was given up"
        assert call.find(MINE) is None
        with pytest.raises(TtsError, match="the call has ended"):
            await call.keep(MINE)
        await clock.sleep(SECOND)
        assert (call._own.bytes, shelf.statistics(), voice.cancelled) == (0, (0, 0), 1)


async def test_a_guess_that_nobody_wants_any_more_is_not_rendered_to_its_end():
    """Two asked for it: the render goes on for the second, and ends when both have left."""
    voice = Voice()
    async with shelved(voice) as shelf, asyncio.TaskGroup() as guesses:
        call = shelf.for_call()
        one, two = (guesses.create_task(call.keep(MINE)) for _ in range(2))
        await clock.sleep(10 * MS)
        one.cancel()
        await clock.sleep(10 * MS)
        assert voice.cancelled == 0
        two.cancel()
        await clock.sleep(10 * MS)
        assert (voice.cancelled, len(voice.rendered)) == (1, 1)
        assert (await call.keep(MINE)).text == MINE


async def test_nobody_waits_longer_than_his_budget():
    async with shelved(Voice(cost_us=SECOND)) as shelf:
        with pytest.raises(TtsError, match="in time"):
            await shelf.for_call().keep(MINE, Budget.of(100 * MS))
        assert clock.now() == 100 * MS


STEPS = 100_000
WORDS = ("four", "nine", "ten", "sixty")


async def test_two_callers_with_the_same_sentence_never_hear_each_others_data(monkeypatch):
    """CA-03: 10⁵ random steps of two calls that keep, look up and hang up, and take each other's place."""
    monkeypatch.setattr(
        Shelf.__module__ + ".pieces", lambda text: [text]
    )  # how a text is cut is tested elsewhere
    dice = random.Random(5)  # noqa: S311 - repeatable, not secret
    replies = [f"Your balance is {word} euros." for word in WORDS]
    found = 0
    async with shelved(Voice(cost_us=2 * MS)) as shelf, Crew() as crew:
        calls = [Caller(shelf), Caller(shelf)]
        for _ in range(STEPS):
            side = dice.randrange(2)
            caller, text = calls[side], dice.choice(replies)
            step = dice.random()
            if step < 0.15:
                crew.create_task(caller.keep(text), name="keep")
            elif step < 0.2:
                caller.shelf.close()
                assert caller.shelf.find(text) is None
                assert caller.shelf._own.bytes == 0
                calls[side] = Caller(shelf)
            elif step < 0.3:
                await clock.sleep(dice.randrange(3) * MS)
            else:
                heard = caller.shelf.find(text)
                assert heard is None or heard.text == text
                assert heard is not None or text not in caller.kept
                assert heard is None or text in caller.asked
                found += heard is not None
        await clock.sleep(SECOND)
        assert len(crew) == 0
        assert shelf.entries() == []
    assert found > STEPS // 10


class Caller:
    """A call, and what it asked for and got so far."""

    def __init__(self, shelf):
        self.shelf = shelf.for_call()
        self.asked = set()
        self.kept = set()

    async def keep(self, text):
        try:
            self.asked.add(text)
            assert (await self.shelf.keep(text)).text == text
            self.kept.add(text)
        except TtsError:
            assert self.shelf._closed
