"""How long a first token takes, as a distribution; and what racing, hedging and councils make of it.

A time is ``shift + lognormal``, and now and then a stall (Pareto) instead: published maxima show tails that
no lognormal has. The order statistics assume independent attempts, which two keys of one provider are not.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

    Survival = Callable[[float], float]

LONGEST_US: Final = 60_000_000
"""The longest stall (µs; 1 min): no client waits longer for a word."""
_NORMAL: Final = NormalDist()


@dataclass(frozen=True, slots=True)
class Law:
    """``shift + lognormal(median, sigma)`` with probability 1 − stall, else ``shift + Pareto``; µs."""

    median: float
    sigma: float = 0.0
    shift: float = 0.0
    stall: float = 0.0
    stall_us: float = 0.0
    alpha: float = 1.1

    def draw(self, rng: Random) -> float:
        """Return one time; always takes the same number of random numbers."""
        stalls, normal, pareto = rng.random() < self.stall, rng.gauss(), rng.random()
        if stalls:
            stalled = self.stall_us * math.pow(1 - pareto, -1 / self.alpha)
            return self.shift + min(LONGEST_US, stalled)
        return self.shift + self.median * math.exp(self.sigma * normal)

    def survival(self, us: float) -> float:
        """Return the odds that it takes longer than *us*."""
        left = us - self.shift
        if left <= 0:
            return 1.0
        if self.sigma:
            usual = 1 - _NORMAL.cdf(math.log(left / self.median) / self.sigma)
        else:
            usual = float(left < self.median)
        stalled = 0.0
        if self.stall and left < LONGEST_US:
            stalled = min(1.0, (self.stall_us / left) ** self.alpha)
        return (1 - self.stall) * usual + self.stall * stalled

    def quantile(self, share: float) -> float:
        """Return the time that *share* of the attempts do not exceed."""
        return quantile(self.survival, share)


def fitted(p50: float, p95: float, *, stall: float = 0.0, stall_us: float = 0.0, alpha: float = 1.1) -> Law:
    """Return the law without shift that has these two quantiles.

    Stalls (all beyond *p95*) take their share of the tail, so the lognormal's own quantiles move a little.
    """
    middle = _NORMAL.inv_cdf(0.5 / (1 - stall))
    high = _NORMAL.inv_cdf(min(0.95 / (1 - stall), 1 - 1e-9))
    sigma = math.log(p95 / p50) / (high - middle)
    return Law(p50 / math.exp(sigma * middle), sigma, stall=stall, stall_us=stall_us, alpha=alpha)


def quantile(survival: Survival, share: float) -> float:
    """Return the time that *share* of what has this *survival* do not exceed (µs, by halving)."""
    low, high = 0.0, float(LONGEST_US * 2)
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if survival(middle) > 1 - share else (low, middle)
    return high


def hedged(survival: Survival, delay_us: float, second: Survival | None = None) -> Survival:
    """Return the survival of the earlier of one attempt and another begun *delay_us* later."""
    other = second or survival
    return lambda us: survival(us) * (other(us - delay_us) if us > delay_us else 1.0)


def raced(*survivals: Survival) -> Survival:
    """Return the survival of the first of several begun together: the product."""
    return lambda us: math.prod(survival(us) for survival in survivals)


def gathered(*survivals: Survival) -> Survival:
    """Return the survival of the last of several begun together, which a council waits for."""
    return lambda us: 1 - math.prod(1 - survival(us) for survival in survivals)
