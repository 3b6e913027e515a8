"""A budget is an absolute end: a child never outlives its parent."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from turnbudget.voice.time import clock
from turnbudget.voice.time.budget import Budget
from turnbudget.voice.time.clock import MS

times = st.integers(-(10**9), 10**9)


async def test_what_is_left_shrinks_with_the_clock():
    budget = Budget.of(800 * MS)
    assert budget.left() == 800 * MS
    await clock.sleep(300 * MS)
    assert budget.left() == 500 * MS


async def test_a_passed_budget_says_by_how_much():
    budget = Budget.of(100 * MS)
    await clock.sleep(150 * MS)
    assert budget.left() == -50 * MS


async def test_keep_leaves_room_for_what_comes_after():
    await clock.sleep(100 * MS)
    assert Budget.of(800 * MS).keep(70 * MS).left() == 730 * MS


async def test_keeping_more_than_is_left_gives_a_passed_budget():
    assert Budget.of(50 * MS).keep(70 * MS).left() == -20 * MS


async def test_share_is_no_more_than_asked_and_no_more_than_is_left():
    budget = Budget.of(800 * MS)
    assert budget.share(200 * MS).left() == 200 * MS
    await clock.sleep(700 * MS)
    assert budget.share(200 * MS).left() == 100 * MS


async def test_a_share_of_a_passed_budget_ends_where_it_ended():
    budget = Budget.of(100 * MS)
    await clock.sleep(150 * MS)
    assert budget.share(200 * MS) == budget


@given(ends=times, asked=times, kept=times)
def test_a_child_never_ends_after_its_parent(ends, asked, kept):
    async def main():
        parent = Budget(ends)
        return parent, parent.share(asked), parent.keep(kept)

    parent, shared, keeping = clock.run(main(), "virtual")
    assert shared <= parent
    assert keeping <= parent


async def test_the_end_stays_where_it_was_however_often_it_is_passed_on():
    budget = Budget.of(800 * MS)
    for _ in range(10):
        await clock.sleep(10 * MS)
        budget = budget.share(800 * MS)
    assert budget.ends_us == 800 * MS
