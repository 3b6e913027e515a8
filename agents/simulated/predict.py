"""The closed form of a serving instance under load: what a plan needs without simulating it.

Little's law with a step that grows with the batch: b = λ·(N − 1)·TPOT and TPOT = t(b) / (1 − ρ) give
TPOT = a / (1 − ρ − k·λ·N) while memory-bound; ρ is the share of the time that prefill takes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from turnbudget.agents.simulated import physics
from turnbudget.voice.errors import ConfigError

if TYPE_CHECKING:
    from turnbudget.agents.simulated.hardware import Instance


@dataclass(frozen=True, slots=True)
class Load:
    """What arrives: requests a second, and the tokens of one."""

    per_s: float
    out: float
    uncached: float
    cached: float = 0.0

    @property
    def context(self) -> float:
        """Mean tokens behind a stream while it decodes."""
        return self.uncached + self.cached + self.out / 2


@dataclass(frozen=True, slots=True)
class Prediction:
    """Steady state: µs, streams, shares."""

    tpot_us: float
    ttft_us: float
    batch: float
    utilisation: float
    """Of 1: what prefill and the growth of the step leave no room beyond; or the seats, if fewer."""
    usd_a_request: float | None = None


def predict(of: Instance, load: Load) -> Prediction:
    """Return the steady state of *of* under *load*; raises ConfigError when there is none."""
    if of.schedule.policy != "continuous":
        raise ConfigError("has no closed form", where=f"{of.name}: a bus", remedy="simulate it")
    cycles = max(0.0, load.out - 1) / physics.tokens_a_cycle(of.speculation)
    work = sum(physics.prefill(of, load.uncached, load.cached))
    rho = load.per_s * work / physics.US
    batch = _balance(of, load, cycles, rho)
    if batch is None:
        raise ConfigError(
            f"{load.per_s:g} requests a second are more than it can serve", where=of.name, remedy="fewer"
        )
    step = physics.step(of, batch, batch * load.context).total
    per_cycle = step / (1 - rho)
    _, k = physics.line(of, load.context)
    growth = k * load.per_s * cycles / physics.US
    # An idle instance starts at once; a busy one makes the newcomer wait for what is left of a step, which
    # is more than half when steps are uneven. Those who came in the same step prefill in the same step.
    busy = 1 - math.exp(-load.per_s * (cycles * per_cycle + work + step) / physics.US)
    left = per_cycle / 2 + rho * work / 2
    own = busy * per_cycle + (1 - busy) * step + work
    return Prediction(
        tpot_us=per_cycle / physics.tokens_a_cycle(of.speculation),
        ttft_us=of.losses.request_us + busy * left + own + step,
        batch=batch,
        utilisation=max(rho + growth, batch / of.schedule.seats),
        usd_a_request=physics.priced(of).of(load.uncached, load.cached, load.out),
    )


def _balance(of: Instance, load: Load, cycles: float, rho: float) -> float | None:
    """Return the batch at which streams leave as fast as they come, ``None`` if there is none."""
    if rho >= 1:
        return None

    def surplus(batch: float) -> float:
        step = physics.step(of, batch, batch * load.context).total
        return load.per_s * cycles * step / (1 - rho) / physics.US - batch

    seats = min(of.schedule.seats, of.kv_tokens / max(1.0, load.uncached + load.cached + load.out))
    if surplus(seats) > 0:
        return None
    low, high = 0.0, float(seats)
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if surplus(middle) > 0 else (low, middle)
    return high
