"""Laws out of numbers: the laws they were drawn from come back, and what too few cannot say is not said."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from laws import each

from turnbudget.agents.simulated.law import Law
from turnbudget.endpoints.fit import law, line, lognormal, percentile, rank
from turnbudget.voice.time.clock import MS, SECOND

LAWS = {
    "plain": Law(300 * MS, 0.5),
    "shifted": Law(300 * MS, 0.5, 100 * MS),
    "narrow": Law(550 * MS, 0.2),
    "stalling": Law(300 * MS, 0.3, 50 * MS, 0.03, 4 * SECOND, 1.3),
    "near": Law(5 * MS, 0.3, 20 * MS),
}


def drawn(of, n, seed=0):
    rng = Random(seed)  # noqa: S311 - a simulation, no secret
    return np.array([of.draw(rng) for _ in range(n)])


@each("name", LAWS)
@each(("n", "within"), [(120, 0.12), (2000, 0.03)])
def test_the_quantiles_of_a_law_come_back(name, n, within):
    """Within 12 % from 120 values, within 3 % from 2,000."""
    found, _ = law(drawn(LAWS[name], n))
    for share in (0.1, 0.5, 0.9, 0.95):
        assert found.quantile(share) == pytest.approx(LAWS[name].quantile(share), rel=within)


def test_the_constants_of_a_law_come_back_from_many():
    """Within 15 %; a shift and a deviation can stand in for one another, quantiles cannot."""
    true = LAWS["stalling"]
    found, stalls = law(drawn(true, 4000))
    assert stalls == pytest.approx(120, rel=0.2)
    assert found.stall == pytest.approx(true.stall, rel=0.2)
    assert found.stall_us == pytest.approx(true.stall_us, rel=0.05)
    assert found.alpha == pytest.approx(true.alpha, rel=0.15)
    assert found.median + found.shift == pytest.approx(true.median + true.shift, rel=0.02)
    assert found.sigma == pytest.approx(true.sigma, rel=0.15)


def test_times_that_are_all_the_same_are_a_law_without_deviation():
    found, stalls = law([300 * MS] * 40)
    assert (found.sigma, found.shift, stalls) == (0, 0, 0)
    assert found.median == pytest.approx(300 * MS)


def test_one_stall_does_not_widen_the_law():
    usual = list(drawn(LAWS["narrow"], 100))
    found, stalls = law([*usual, 20 * SECOND])
    assert stalls == 1
    assert found.stall == pytest.approx(1 / 101)
    assert found.sigma == pytest.approx(0.2, rel=0.3)
    assert found.alpha == pytest.approx(1.1)


def test_no_time_at_all_is_no_error():
    assert law([0.0, -5.0, 3.0] * 10)[0].median > 0


@pytest.mark.parametrize("spoiled", [0, 0.05])
def test_slopes_come_back_though_some_values_are_spoiled(spoiled):
    """Within 3 % with lognormal noise of 40 %, 5 % of the values off by 5 s."""
    rng = np.random.default_rng(3)
    x = np.column_stack([rng.choice([20, 60, 300, 1000], 200), rng.choice([0, 600], 200)]).astype(float)
    y = 100 * MS + 2600 * x[:, 0] + 150 * x[:, 1] + 50 * MS * np.exp(0.4 * rng.standard_normal(200))
    y[rng.random(200) < spoiled] += 5 * SECOND
    found = line(x, y)
    assert found.slopes[0] == pytest.approx(2600, rel=0.03)
    assert found.slopes[1] == pytest.approx(150, rel=0.3)
    assert found.intercept == pytest.approx(150 * MS, rel=0.15)
    assert found.intervals[0][0] < 2600 < found.intervals[0][1]


def test_a_slope_that_is_not_told_apart_from_none_is_none():
    """Chance makes one out of it now and then: in 2.5 % of the probes, by the interval."""
    made = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        x = rng.choice([20, 300], (60, 1)).astype(float)
        found = line(x, 300 * MS * np.exp(0.8 * rng.standard_normal(60)))
        assert (found.slopes[0] == 0) == (found.intervals[0][0] == 0)
        made += found.slopes[0] > 0
    assert made <= 2


def test_no_cost_is_below_zero():
    x = np.arange(40, dtype=float)[:, None]
    assert line(x, 100 - x[:, 0]).slopes == (0,)


def test_columns_that_are_one_column_do_not_break_it():
    x = np.column_stack([np.arange(1.0, 41), np.arange(1.0, 41)])
    found = line(x, 7 * x[:, 0])
    assert sum(found.slopes) == pytest.approx(7, rel=0.01)


@pytest.mark.parametrize(("percent", "needs"), [(50, 6), (95, 60), (99, 300)])
def test_a_percentile_takes_three_samples_beyond_it(percent, needs):
    values = drawn(LAWS["plain"], needs)
    few, enough = percentile(values[:-1], percent), percentile(values, percent)
    assert (few.value, few.n, few.needs) == (None, needs - 1, needs)
    assert few.low <= few.high
    assert enough.value == rank(values, percent)
    assert enough.low <= enough.value <= enough.high


def test_a_pace_is_a_median_and_a_deviation():
    median, sigma = lognormal(drawn(Law(8000, 0.2), 1000))
    assert median == pytest.approx(8000, rel=0.03)
    assert sigma == pytest.approx(0.2, rel=0.1)
