"""Laws out of numbers: robust, pure, and silent about what too few numbers cannot say.

Requests are dear, so samples are few and some of them stall: medians, absolute deviations and quantiles are
used, never means. A slope that is not told apart from zero is zero.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from turnbudget.agents.simulated.law import Law

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Array: TypeAlias = NDArray[np.float64]
BEYOND: Final = 3
"""Samples that must be expected beyond a percentile before it is told: 300 for p99, 60 for p95, 6 for p50."""
AGAIN: Final = 200
"""Resamples of a bootstrap."""
STEPS: Final = 40
"""Most rounds of the fit."""
CHANCE: Final = 0.05
"""Stalls that are seen on average where there are none; a time beyond that is a stall."""
SLACK: Final = 0.01
"""Least deviation of a logarithm that is believed: clocks and schedulers are no better."""
TIE: Final = 1.02
"""Ratio of misfits below which two shifts are as good as each other, and the smaller is taken."""
ALPHA: Final = 1.1
"""Exponent of the tail of a stall before any was seen, as in the presets."""
WEIGHT: Final = 2
"""Stalls that the assumed tail :data:`ALPHA` weighs as much as."""
_NORMAL: Final = NormalDist()


@dataclass(frozen=True, slots=True, kw_only=True)
class Percentile:
    """A percentile of *n* values; ``value`` is ``None`` if they are too few, the interval (95 %) is not."""

    percent: int
    n: int
    value: float | None
    low: float
    high: float

    @property
    def needs(self) -> int:
        """How many values it takes."""
        return -(-100 * BEYOND // (100 - self.percent))


@dataclass(frozen=True, slots=True)
class FittedLine:
    """``intercept + slopes · x``; a slope is 0 where *intervals* (95 %) say it may be."""

    intercept: float
    slopes: tuple[float, ...]
    intervals: tuple[tuple[float, float], ...]

    def at(self, x: Array) -> Array:
        """Return its values at the rows of *x*."""
        return np.asarray(self.intercept + x @ np.array(self.slopes), np.float64)


def percentile(values: Sequence[float] | Array, percent: int, *, seed: int = 0) -> Percentile:
    """Return the *percent*-th percentile of *values* by nearest rank, or no number and the interval alone."""
    array = np.asarray(values, np.float64)
    n = len(array)
    low, high = interval(lambda rows: rank(array[rows], percent), n, seed)
    made = Percentile(percent=percent, n=n, value=None, low=low, high=high)
    return (
        made
        if n < made.needs
        else Percentile(percent=percent, n=n, value=rank(array, percent), low=low, high=high)
    )


def rank(values: Array, percent: float) -> float:
    """Return the *percent*-th percentile of *values*: one that occurred."""
    return float(np.quantile(values, percent / 100, method="inverted_cdf"))


def interval(of: Callable[[NDArray[np.intp]], float], n: int, seed: int = 0) -> tuple[float, float]:
    """Return the bootstrap interval (95 %) of a number made of *n* rows."""
    rng = np.random.default_rng(seed)
    found = np.array([of(rng.integers(0, n, n)) for _ in range(AGAIN)])
    return float(np.quantile(found, 0.025)), float(np.quantile(found, 0.975))


def line(x: Array, y: Array, weights: Array | None = None, *, seed: int = 0) -> FittedLine:
    """Return the line through the medians of *y* (least absolute deviation), with nothing below 0.

    A row of *weights* counts so much. A slope whose interval holds 0 is 0, and the others are fitted without.
    """
    weight = np.ones(len(y)) if weights is None else weights
    rng = np.random.default_rng(seed)
    drawn = [rng.integers(0, len(y), len(y)) for _ in range(AGAIN)]
    again = np.array([_slopes(x[rows], y[rows], weight[rows])[1:] for rows in drawn])
    low, high = np.quantile(again, 0.025, axis=0), np.quantile(again, 0.975, axis=0)
    sure = low > 0
    intercept, *kept = _slopes(x[:, sure], y, weight)
    slopes = np.zeros(x.shape[1])
    slopes[sure] = kept
    bounds = tuple((float(least), float(most)) for least, most in zip(low, high, strict=True))
    return FittedLine(float(intercept), tuple(float(slope) for slope in slopes), bounds)


def _slopes(x: Array, y: Array, weight: Array) -> Array:
    """Return intercept and slopes, none of these below 0, by reweighted least squares."""
    design = np.column_stack([np.ones(len(y)), x])
    used = list(range(design.shape[1]))
    whole = np.zeros(design.shape[1])
    while used:
        made = _least(design[:, used], y, weight)
        if made.min() >= 0:
            whole[used] = made
            break
        used.pop(int(made.argmin()))
    return whole


def _least(design: Array, y: Array, weight: Array) -> Array:
    """Return the coefficients of least absolute deviation."""
    # Columns of one size, so that what is nearly singular is so by its data and not by its units.
    size: Array = np.maximum(np.abs(design).max(axis=0), 1e-12)
    design = design / size
    tiny = max(1e-9, 1e-6 * float(np.abs(y).max()))
    made: Array = np.zeros(design.shape[1], np.float64)
    reweighted = weight
    for _ in range(STEPS):
        told = design * reweighted[:, None]
        before = made
        made = np.asarray(np.linalg.lstsq(design.T @ told, told.T @ y, rcond=1e-10)[0], np.float64)
        if np.abs(made - before).max() < tiny:
            break
        reweighted = np.asarray(weight / np.maximum(np.abs(y - design @ made), tiny), np.float64)
    return np.asarray(made / size, np.float64)


def law(values: Sequence[float] | Array) -> tuple[Law, int]:
    """Return the law of *values* (µs), shift + lognormal with stalls apart, and how many stalls were seen."""
    array = np.maximum(np.asarray(values, np.float64), 1.0)
    stalled = np.zeros(len(array), bool)
    far = _NORMAL.inv_cdf(1 - CHANCE / len(array))
    upto = 0.9
    shift, middle, sigma = 0.0, 0.0, 0.0
    for _ in range(4):
        shift, middle, sigma = _shape(np.sort(array[~stalled]), upto)
        above = np.log(np.maximum(array - shift, 1e-9)) - middle
        stalled, upto = above > far * max(sigma, SLACK), 0.98
    count = int(stalled.sum())
    median = float(np.exp(middle))
    if not count:
        return Law(median, sigma, shift, alpha=ALPHA), 0
    beyond = array[stalled] - shift
    tail = float(np.log(beyond / beyond.min()).sum())
    alpha = (count - 1 + WEIGHT) / (tail + WEIGHT / ALPHA)
    return Law(median, sigma, shift, count / len(array), float(beyond.min()), alpha), count


def _shape(ordered: Array, upto: float) -> tuple[float, float, float]:
    """Return shift, log-median and log-deviation whose quantiles are nearest to those of *ordered* values."""
    n = len(ordered)
    shares = (np.arange(n) + 0.5) / n
    core = (shares >= min(0.02, shares[0])) & (shares <= max(upto, shares[0]))
    z = np.array([_NORMAL.inv_cdf(share) for share in shares[core]])
    kept = ordered[core]
    found: list[tuple[float, float, float, float]] = []
    for shift in kept[0] * np.linspace(0, 0.98, 50):
        logs = np.log(kept - shift)
        spread = float(z.var())
        sigma = float(((z - z.mean()) * (logs - logs.mean())).mean() / spread) if spread > 0 else 0.0
        middle = float(logs.mean() - sigma * z.mean())
        misfit = float(np.abs(kept - shift - np.exp(middle + sigma * z)).mean())
        found.append((misfit, float(shift), middle, max(0.0, sigma)))
    best = min(misfit for misfit, *_ in found)
    enough = best * TIE + 1e-6 * float(kept[-1])
    return next((shift, middle, sigma) for misfit, shift, middle, sigma in found if misfit <= enough)


def lognormal(values: Sequence[float] | Array) -> tuple[float, float]:
    """Return median and log-deviation of *values*, by their median and its deviation."""
    logs = np.log(np.maximum(np.asarray(values, np.float64), 1e-9))
    middle = float(np.median(logs))
    return float(np.exp(middle)), float(np.median(np.abs(logs - middle))) / _NORMAL.inv_cdf(0.75)
