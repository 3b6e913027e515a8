"""A budget is one absolute end on the clock, and a forecast is what a stage has lately cost.

Deadlines, not timeouts: a child budget is made from its parent's and can never end later, and it is
passed as an argument, so nobody waits longer than whoever asked.

The budget decides with the forecast. Until a stage has been measured often enough its prior (from the
config) stands, and a cost above the prior counts at once: a forecast may be too careful at first, never too
hopeful.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from turnbudget.voice.time import clock

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True, order=True)
class Budget:
    """Time until an absolute end, in microseconds on the loop's clock."""

    ends_us: int
    """The end (µs on the clock)."""

    @classmethod
    def of(cls, us: int) -> Budget:
        """Return a budget of *us* microseconds from now."""
        return cls(clock.now() + us)

    def left(self) -> int:
        """Return the microseconds left, negative once it has passed."""
        return self.ends_us - clock.now()

    def keep(self, us: int) -> Budget:
        """Return a budget that ends *us* earlier, to leave room for what still has to come."""
        return Budget(self.ends_us - max(0, us))

    def share(self, us: int) -> Budget:
        """Return a budget of at most *us* from now, never longer than this one."""
        return Budget(min(self.ends_us, clock.now() + us))


ENOUGH: Final = 20
"""Measurements from which percentiles replace the prior: a p95 by nearest rank needs twenty."""
WINDOW: Final = 100
"""Latest measurements of a stage that are kept."""


@dataclass(frozen=True, slots=True)
class Cost:
    """A stage's cost, in microseconds."""

    p50_us: int
    """Median (µs)."""
    p95_us: int
    """95th percentile (µs)."""


class Forecast:
    """Latest costs of each stage, and their percentiles."""

    def __init__(self, priors: Mapping[str, Cost]) -> None:
        self._priors = dict(priors)
        self._latest: dict[str, deque[int]] = {}

    def note(self, stage: str, us: int) -> None:
        """Add *us* as the newest cost of *stage*."""
        self._latest.setdefault(stage, deque(maxlen=WINDOW)).append(us)

    def of(self, stage: str) -> Cost:
        """Return what *stage* will likely cost; zero if it has neither prior nor past."""
        latest = sorted(self._latest.get(stage, ()))
        if len(latest) >= ENOUGH:
            return Cost(nearest_rank(latest, 50), nearest_rank(latest, 95))
        prior = self._priors.get(stage, Cost(0, 0))
        if not latest:
            return prior
        return Cost(max(prior.p50_us, nearest_rank(latest, 50)), max(prior.p95_us, latest[-1]))


def nearest_rank(ordered: list[int], percent: int) -> int:
    """Return the *percent*-th percentile of ascending values, always one of them."""
    return ordered[max(0, -(-len(ordered) * percent // 100) - 1)]
