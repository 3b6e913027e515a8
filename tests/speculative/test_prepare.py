"""Rendering ahead: the cheapest gain first, one at a time, and nothing that is no longer likely."""

from __future__ import annotations

import contextlib

import pytest
from voices import Voice, shelved

from turnbudget.speculative.prepare import UNLIKELY, Likely, Prepare
from turnbudget.voice.time import clock
from turnbudget.voice.time.clock import MS, SECOND
from turnbudget.voice.time.crew import Crew

SHORT, LONG, OTHER = "Yes, it is.", "I have booked the taxi for you on Friday at noon.", "What day is it?"


@contextlib.asynccontextmanager
async def preparing(voice=None):
    """Rendering ahead for one call, until the block ends."""
    voice = voice or Voice()
    async with shelved(voice) as shelf, Crew() as crew:
        own = shelf.for_call()
        yield Prepare(own, crew), own, voice


async def test_the_cheapest_expected_gain_is_rendered_first():
    """A long sentence is worth its rendering only if it is that much likelier."""
    async with preparing() as (prepare, shelf, voice):
        prepare.want([Likely(LONG, 0.5), Likely(SHORT, 0.3), Likely(OTHER, 0.1)])
        await clock.sleep(SECOND)
        assert voice.rendered == [SHORT, LONG, OTHER]
        assert all(shelf.has(text) for text in (SHORT, LONG, OTHER))


async def test_one_is_rendered_at_a_time():
    async with preparing() as (prepare, _, voice):
        prepare.want([Likely(SHORT, 0.5), Likely(OTHER, 0.4)])
        await clock.sleep(voice.cost_us // 2)
        assert voice.rendered == [SHORT]


async def test_what_is_unlikely_or_ready_is_not_rendered():
    async with preparing() as (prepare, shelf, voice):
        await shelf.keep(SHORT)
        prepare.want([Likely(SHORT, 0.9), Likely(OTHER, UNLIKELY - 0.01), Likely(LONG, UNLIKELY)])
        await clock.sleep(SECOND)
        assert voice.rendered == [SHORT, LONG]


async def test_what_the_next_words_make_unlikely_is_given_up_for_what_they_make_likely():
    """And what has become likely is rendered at once, not only with the words after those."""
    async with preparing() as (prepare, shelf, voice):
        prepare.want([Likely(SHORT, 0.9)])
        await clock.sleep(voice.cost_us // 2)
        prepare.want([Likely(OTHER, 0.9), Likely(SHORT, UNLIKELY / 2)])
        await clock.sleep(SECOND)
        assert (voice.rendered, voice.cancelled) == ([SHORT, OTHER], 1)
        assert shelf.has(OTHER)
        assert not shelf.has(SHORT)


async def test_what_stays_likely_is_rendered_once_however_often_it_is_wanted():
    async with preparing() as (prepare, _, voice):
        for _ in range(10):
            prepare.want([Likely(SHORT, 0.9), Likely(OTHER, 0.4)])
            await clock.sleep(5 * MS)
        await clock.sleep(SECOND)
        assert voice.rendered == [SHORT, OTHER]
        assert prepare.take_spent() == {SHORT: voice.cost_us, OTHER: voice.cost_us}


async def test_once_the_caller_pauses_nothing_new_is_begun_but_what_is_under_way_is_kept():
    async with preparing() as (prepare, shelf, voice):
        prepare.want([Likely(SHORT, 0.9), Likely(OTHER, 0.4)])
        await clock.sleep(voice.cost_us // 2)
        prepare.rest()
        await clock.sleep(SECOND)
        assert voice.rendered == [SHORT]
        assert shelf.has(SHORT)


async def test_who_needs_what_is_being_rendered_joins_it():
    async with preparing() as (prepare, shelf, voice):
        prepare.want([Likely(SHORT, 0.9)])
        await clock.sleep(voice.cost_us // 2)
        prepare.rest()
        began = clock.now()
        await shelf.keep(SHORT)
        assert voice.rendered == [SHORT]
        assert clock.now() - began == voice.cost_us // 2


async def test_what_was_stopped_is_told_with_what_it_cost():
    async with preparing() as (prepare, _, voice):
        prepare.want([Likely(SHORT, 0.9)])
        await clock.sleep(voice.cost_us // 2)
        prepare.stop()
        await clock.sleep(SECOND)
        assert voice.cancelled == 1
        prepare.want([Likely(SHORT, 0.9)])
        await clock.sleep(SECOND)
        assert prepare.take_spent() == {SHORT: voice.cost_us // 2 + voice.cost_us}
        assert prepare.take_spent() == {}


class Broken(Voice):
    """Raises *what* at every text but one."""

    def __init__(self, what):
        super().__init__()
        self.what = what

    async def render(self, text, budget=None):
        speech = await super().render(text, budget)
        if text != OTHER:
            raise self.what
        return speech


@pytest.mark.parametrize("error", [ValueError("no such glyph"), OSError("no card")])
async def test_a_text_that_cannot_be_rendered_costs_itself_once_and_never_the_call(error):
    async with preparing(Broken(error)) as (prepare, shelf, voice):
        for _ in range(3):
            prepare.want([Likely(SHORT, 0.9), Likely(OTHER, 0.2)])
            await clock.sleep(SECOND)
        assert voice.rendered == [SHORT, OTHER]
        assert shelf.has(OTHER)
        prepare.take_spent()
        prepare.want([Likely(SHORT, 0.9)])
        await clock.sleep(SECOND)
        assert voice.rendered == [SHORT, OTHER, SHORT]
