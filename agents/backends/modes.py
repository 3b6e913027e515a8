"""Modes: how two backends answer one prompt. A mode is a backend, so modes nest.

======== ================================================= ==========================================
mode     who starts                                        who is followed
======== ================================================= ==========================================
fast     the fast one; the other if it fails or is silent  whoever runs
accurate the accurate one; likewise                        whoever runs
race     both                                              accurate if its first sentence is whole by
                                                           the checkpoint, else fast
hedge    the first; the other too when the first token is  the first token
         later than the forecast's p95
======== ================================================= ==========================================

Three watchdogs: the first token of an attempt, the first token of the turn, and the gap inside an answer;
the Budget ends all. Another try is made only while it can still land, by the forecast's median.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from turnbudget.agents.backends.backend import Prompt, nobody
from turnbudget.agents.backends.contest import PATIENCE, Contest, Patience, Plan, closing
from turnbudget.voice.time import clock
from turnbudget.voice.time.budget import Cost, Forecast
from turnbudget.voice.time.clock import MS
from turnbudget.voice.time.crew import Crew

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from turnbudget.agents.backends.backend import Backend, Delta, Told
    from turnbudget.voice.time.budget import Budget

CHECKPOINT_US: Final = 450 * MS
"""How long a race waits for the accurate one's first sentence (µs; 450 ms)."""
LATE_US: Final = 300 * MS
"""When a first token is late, until twenty have been measured (µs; 300 ms)."""


class Mode:
    """Answers with one of *backends*, by *plan*."""

    def __init__(
        self,
        name: str,
        backends: tuple[Backend, ...],
        plan: Plan,
        patience: Patience = PATIENCE,
        forecast: Forecast | None = None,
    ) -> None:
        """*forecast* holds each backend's time to first token by its name; it learns with every answer."""
        self.name = name
        self.backends = backends
        self.plan = plan
        self.patience = patience
        self.forecast = forecast or Forecast({backend.name: Cost(0, LATE_US) for backend in backends})

    async def stream(self, prompt: Prompt, budget: Budget, told: Told = nobody) -> AsyncIterator[Delta]:
        """Yield the answer; see ``Backend``. One record an attempt."""
        async with closing(Contest(self, prompt, budget, told).deltas()) as deltas:
            async for delta in deltas:
                yield delta

    async def prewarm(self, prefix: Prompt, budget: Budget) -> None:
        """Prewarm whoever starts at once with *prefix*; the other only connects, which costs no tokens."""
        async with Crew() as crew:
            warming = []
            for number, backend in enumerate(self.backends):
                starts = self.plan.together or number == 0
                work = backend.prewarm(prefix if starts else Prompt(()), budget)
                warming.append(crew.create_task(work, name=f"{backend.name}, prewarm"))
            await clock.wait_until(warming, budget.ends_us)

    async def aclose(self) -> None:
        """Close every backend."""
        for backend in self.backends:
            await backend.aclose()


def fast(
    quick: Backend,
    careful: Backend | None = None,
    *,
    patience: Patience = PATIENCE,
    forecast: Forecast | None = None,
) -> Mode:
    """Return a backend that asks *quick*, and *careful* where that fails."""
    return Mode("fast", _both(quick, careful), Plan(), patience, forecast)


def accurate(
    quick: Backend | None,
    careful: Backend,
    *,
    patience: Patience = PATIENCE,
    forecast: Forecast | None = None,
) -> Mode:
    """Return a backend that asks *careful*, and *quick* where that fails."""
    return Mode("accurate", _both(careful, quick), Plan(), patience, forecast)


def race(
    quick: Backend,
    careful: Backend,
    *,
    checkpoint_us: int = CHECKPOINT_US,
    patience: Patience = PATIENCE,
    forecast: Forecast | None = None,
) -> Mode:
    """Return a backend that asks both: *careful* counts if its first sentence is whole by the checkpoint."""
    plan = Plan(together=True, checkpoint_us=checkpoint_us)
    return Mode("race", (quick, careful), plan, patience, forecast)


def hedge(
    first: Backend,
    second: Backend | None = None,
    *,
    patience: Patience = PATIENCE,
    forecast: Forecast | None = None,
) -> Mode:
    """Return a backend that asks *first*, and *second* (or *first* again) too if its first token is late."""
    plan = Plan(keeps=True, by_forecast=True)
    return Mode("hedge", (first, second or first), plan, patience, forecast)


def _both(first: Backend, second: Backend | None) -> tuple[Backend, ...]:
    return (first,) if second is None else (first, second)
