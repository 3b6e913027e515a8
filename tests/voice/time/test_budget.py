"""A budget is an absolute end: a child never outlives its parent."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from turnbudget.voice.time import clock
from turnbudget.voice.time.budget import Budget, Cost, Forecast, nearest_rank
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


ENOUGH, WINDOW = 20, 100

PRIOR = Cost(p50_us=50_000, p95_us=120_000)


def forecast(costs, prior=PRIOR):
    made = Forecast({"synthesize": prior})
    for cost in costs:
        made.note("synthesize", cost)
    return made.of("synthesize")


def test_before_anything_is_measured_the_prior_stands():
    assert forecast([]) == PRIOR


def test_a_stage_nobody_knows_costs_nothing():
    assert Forecast({}).of("match") == Cost(0, 0)


def test_few_cheap_costs_do_not_lower_the_prior():
    assert forecast([1_000] * (ENOUGH - 1)) == PRIOR


def test_one_dear_cost_counts_at_once():
    assert forecast([400_000]).p95_us == 400_000


def test_enough_measurements_replace_the_prior():
    assert forecast([10_000] * ENOUGH) == Cost(10_000, 10_000)


def test_old_costs_are_forgotten():
    assert forecast([900_000] * WINDOW + [10_000] * WINDOW) == Cost(10_000, 10_000)


def test_one_bad_turn_in_a_hundred_does_not_move_the_p95():
    assert forecast([10_000] * (WINDOW - 1) + [900_000]) == Cost(10_000, 10_000)


def test_stages_are_kept_apart():
    made = Forecast({})
    made.note("synthesize", 70_000)
    assert made.of("deliver") == Cost(0, 0)


def test_nearest_rank_is_a_value_that_occurred():
    assert nearest_rank([10, 20, 30, 40], 50) == 20
    assert nearest_rank([10, 20, 30, 40], 95) == 40
    assert nearest_rank(list(range(1, 101)), 95) == 95
    assert nearest_rank([7], 1) == 7


@given(st.lists(st.integers(0, 10**7), min_size=1, max_size=150))
def test_the_p95_is_never_below_the_p50_nor_above_the_worst_of_prior_and_past(costs):
    cost = forecast(costs)
    assert cost.p50_us <= cost.p95_us <= max(PRIOR.p95_us, *costs)
