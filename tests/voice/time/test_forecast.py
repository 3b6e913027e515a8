"""What a stage will cost: the prior until enough was measured, and never too hopeful."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from turnbudget.voice.time.budget import Cost, Forecast, nearest_rank

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
