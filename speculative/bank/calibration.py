"""Odds that mean what they say: of the guesses with odds of 0.9, nine in ten are what a person replied.

Platt's method on guesses about dialogues that were not learned from, with a prior that keeps the raw odds
where there were few.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from turnbudget.speculative.bank.bank import Calibration

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

STEPS: Final = 200
HALVINGS: Final = 40
"""Times a Newton step is halved before the fit is taken for the best there is."""
PRIOR: Final = 5.0
"""So strongly slope and offset are held at 1 and 0."""
EDGE: Final = 1e-3
"""Odds are kept so far from 0 and 1."""
BINS: Final = (0.0, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 1.01)


@dataclass(frozen=True, slots=True)
class Trial:
    """A guess about what was not learned from: its odds, and whether a person replied the same."""

    odds: float
    fits: bool


@dataclass(frozen=True, slots=True)
class Bin:
    """Guesses with odds from *low* to *high*: how many, their mean odds, and the share that fitted."""

    low: float
    high: float
    n: int
    odds: float
    fits: float


def honest(raw: float, calibration: Calibration) -> float:
    """Return calibrated odds for *raw* ones."""
    return _sigmoid(calibration.slope * _logit(raw) + calibration.offset)


def calibrated(trials: Sequence[Trial]) -> Calibration:
    """Return the calibration that the *trials* ask for; none without any.

    Newton's method, each step halved until it brings the loss down: undamped, where the raw odds part the
    trials cleanly, the first steps overshoot and the slope runs away.
    """
    points = [(_logit(trial.odds), trial.fits) for trial in trials]
    at, loss = (1.0, 0.0), _loss(points, 1.0, 0.0)
    for _ in range(STEPS if points else 0):
        step = _step(points, *at)
        for _ in range(HALVINGS):
            nearer = (at[0] - step[0], at[1] - step[1])
            less = _loss(points, *nearer)
            if less <= loss:
                break
            step = (step[0] / 2, step[1] / 2)
        else:
            break
        at, loss = nearer, less
        if max(map(abs, step)) < EDGE**2:
            break
    # A slope that is not positive would turn the order of guesses about.
    return Calibration(slope=round(max(at[0], 0.1), 4), offset=round(at[1], 4))


def _loss(points: Iterable[tuple[float, bool]], slope: float, offset: float) -> float:
    """Return the penalised negative log-likelihood of *points* (logit of the odds, whether it came true)."""
    loss = PRIOR / 2 * ((slope - 1) ** 2 + offset**2)
    for x, fits in points:
        z = slope * x + offset
        against = -z if fits else z
        loss += max(against, 0.0) + math.log1p(math.exp(-abs(z)))
    return loss


def _step(points: Iterable[tuple[float, bool]], slope: float, offset: float) -> tuple[float, float]:
    """Return Newton's step at *slope* and *offset*, to be taken away from them."""
    a, b = PRIOR * (slope - 1), PRIOR * offset
    aa, ab, bb = PRIOR, 0.0, PRIOR
    for x, fits in points:
        p = _sigmoid(slope * x + offset)
        wrong, weight = p - fits, p * (1 - p)
        a, b = a + wrong * x, b + wrong
        aa, ab, bb = aa + weight * x * x, ab + weight * x, bb + weight
    determinant = aa * bb - ab * ab
    return (bb * a - ab * b) / determinant, (aa * b - ab * a) / determinant


def reliability(trials: Iterable[Trial]) -> tuple[Bin, ...]:
    """Return the trials by odds: what was promised beside what came true."""
    trials = tuple(trials)
    bins = []
    for low, high in pairwise(BINS):
        inside = [trial for trial in trials if low <= trial.odds < high]
        if inside:
            n = len(inside)
            bins.append(
                Bin(low, min(high, 1.0), n, sum(t.odds for t in inside) / n, sum(t.fits for t in inside) / n)
            )
    return tuple(bins)


def _logit(odds: float) -> float:
    inside = min(max(odds, EDGE), 1 - EDGE)
    return math.log(inside / (1 - inside))


def _sigmoid(x: float) -> float:
    small = math.exp(-abs(x))
    return 1 / (1 + small) if x >= 0 else small / (1 + small)
