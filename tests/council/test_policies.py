"""Each policy says when enough has been heard; none of those that hear everybody cares who came first."""

from __future__ import annotations

import random

import pytest
from panel import FIRST_US, Says, sleeper, table

from turnbudget.council.choose import POLICIES, policy
from turnbudget.council.convene import Seat
from turnbudget.voice.errors import ConfigError
from turnbudget.voice.time import clock
from turnbudget.voice.time.clock import MS


async def asked(*agents, named):
    """Who spoke, and after how long."""
    async with table(*agents, policy=named) as call:
        began = clock.now()
        reply = await call.ask()
        return reply.by, clock.now() - began


async def test_first_good_ends_with_the_first_that_nobody_outranks():
    agents = (Says("slow", "A.", 1.0, 90 * MS), Says("quick", "B.", 0.8, 20 * MS), sleeper())
    assert await asked(*agents, named="first-good") == ("quick", 20 * MS)


async def test_first_good_waits_for_who_outranks_it():
    agents = (Says("quick", "B.", 1.0), Seat(Says("high", "A.", 0.6, 50 * MS), rank=1), sleeper())
    assert await asked(*agents, named="first-good") == ("high", 50 * MS)


async def test_best_by_deadline_hears_everybody_in_time_and_takes_the_surest():
    agents = (Says("quick", "B.", 0.9), Says("best", "A.", 0.95, FIRST_US - 1), sleeper())
    assert await asked(*agents, named="best-by-deadline") == ("best", FIRST_US)


async def test_best_by_deadline_ends_early_when_all_have_answered():
    assert await asked(Says("a", "A."), Says("b", None, after_us=30 * MS), named="best-by-deadline") == (
        "a",
        30 * MS,
    )


async def test_vote_takes_what_most_say():
    agents = (Says("alone", "A.", 1.0), Says("one", "B.", 0.6, 40 * MS), Says("two", "b!", 0.7, 20 * MS))
    assert await asked(*agents, named="vote") == ("two", 40 * MS)


async def test_cascade_takes_the_small_one_if_it_is_sure():
    agents = (Says("small", "A.", 0.85, 20 * MS), Seat(Says("large", "B.", 0.95, 300 * MS), rank=1))
    assert await asked(*agents, named="cascade") == ("small", 20 * MS)


async def test_cascade_waits_for_the_large_one_if_the_small_is_not_sure():
    agents = (Says("small", "A.", 0.7, 20 * MS), Seat(Says("large", "B.", 0.9, 300 * MS), rank=1))
    assert await asked(*agents, named="cascade") == ("large", 300 * MS)


async def test_cascade_has_asked_both_at_once_and_falls_back_on_the_small_one():
    large = sleeper("large")
    agents = (Says("small", "A.", 0.7, 20 * MS), Seat(large, rank=1))
    assert await asked(*agents, named="cascade") == ("small", FIRST_US)
    assert len(large.asked) == 1


@pytest.mark.parametrize("named", ["vote", "best-by-deadline"])
async def test_the_order_of_completion_changes_nothing(named):
    """1,000 shuffles of who answers when."""
    chance = random.Random(7)  # noqa: S311 - no secret
    delays = [n * MS for n in (0, 0, 0, 5, 5, 10, 20, 40, 80, 160)]
    answers = [(f"Say {n % 3}.", 0.5 + n % 5 / 10) for n in range(10)]
    agents = [Says(f"s{n}", text, sure) for n, (text, sure) in enumerate(answers)]
    found = set()
    async with table(*agents, policy=named) as call:
        for _ in range(1_000):
            chance.shuffle(delays)
            for agent, delay_us in zip(agents, delays, strict=True):
                agent.after_us = delay_us
            reply = await call.ask()
            found.add((reply.by, reply.text, reply.because))
    assert len(found) == 1


def test_an_unknown_policy_is_refused_in_one_line():
    with pytest.raises(ConfigError, match=r"no policy is called 'best'; use one of first-good, .*refine"):
        policy("best")


def test_refine_without_a_backend_is_refused():
    with pytest.raises(ConfigError, match="refine needs a fast backend"):
        policy("refine")


def test_policies_are_known_by_their_names():
    assert set(POLICIES) == {"first-good", "best-by-deadline", "vote", "cascade"}
    assert all(policy(name).name == name for name in POLICIES)
