"""What a decode step, a prefill and a token cost: closed formulas, no state, no clock. Times are µs.

A decode step of batch b and mean context c on n chips (Splitwise, BLIS and the data named at the constants)::

    weights = bytes touched / (n · bandwidth · e_w)        kv = b · kv_bytes · c / (n · bandwidth · e_kv)
    step    = max(weights + kv, compute) + layers · c_layer + [n > 1] · 2 · layers · c_ar + c_step + hops

which is the line ``a + k·b`` while memory-bound. A dataflow machine streams no weights: µs a layer.

Under load, Little's law with a step that grows with the batch: b = λ·(N − 1)·TPOT and TPOT = t(b) / (1 − ρ)
give TPOT = a / (1 − ρ − k·λ·N) while memory-bound; ρ is the share of the time that prefill takes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import msgspec

from turnbudget.agents.simulated import physics
from turnbudget.voice.errors import ConfigError

if TYPE_CHECKING:
    from turnbudget.agents.simulated.hardware import Instance, Model, Price, Speculation

US: Final = 1e6
"""Microseconds in a second."""
CONTEXT: Final = 1_500
"""The tokens behind a stream of a voice agent (assumed): system prompt, tools and a few turns."""


@dataclass(frozen=True, slots=True)
class StepTime:
    """The terms of one decode step, in µs."""

    weights: float
    kv: float
    compute: float
    layers: float
    allreduce: float
    fixed: float
    hops: float
    crowd: float = 0.0
    """On a dataflow machine with more tokens under way than places: the wait for the slowest."""
    draft: float = 0.0
    pace: float = 1.0

    @property
    def total(self) -> float:
        """How long the step takes."""
        beside = self.layers + self.allreduce + self.fixed + self.hops + self.crowd + self.draft
        return (max(self.weights + self.kv, self.compute) + beside) / self.pace


def expert_share(model: Model, tokens: float) -> float:
    """Return the expected share of the experts that *tokens* of one step touch: 1 − (1 − K/E)^b."""
    return 1 - (1 - model.routed / model.experts) ** tokens if model.experts else 1.0


def touched(model: Model, tokens: float) -> float:
    """Return the weight bytes that a step of *tokens* streams."""
    if not model.experts:
        return model.bytes
    dense = model.params - model.expert_params
    return (dense + expert_share(model, max(1.0, tokens)) * model.expert_params) * model.weight_bytes


def step(of: Instance, batch: float, context: float) -> StepTime:
    """Return the decode step of *batch* streams with a total of *context* tokens behind them."""
    verify = 1 + of.speculation.drafted if of.speculation else 1.0
    if of.machine.dataflow:
        return _dataflow(of, batch, verify)
    chips, losses, model = of.machine.chips, of.losses, of.model
    # Micro-batches: in a pipeline each stage works on its own share of the streams.
    share = 1 / of.machine.stages
    tokens = batch * share * verify
    draft = 0.0
    if of.speculation:
        draft = of.speculation.drafted * of.speculation.draft_cost * _alone(of)
    return StepTime(
        weights=US * touched(model, tokens) / (chips * of.chip.bandwidth * losses.weights),
        kv=US * context * share * model.kv_per_token / (chips * of.chip.bandwidth * losses.kv),
        compute=US * 2 * model.active * tokens / (chips * of.chip.flops * losses.prefill),
        layers=model.layers * losses.layer_us,
        allreduce=2 * model.layers * losses.allreduce_us if chips > 1 else 0.0,
        fixed=losses.step_us,
        hops=(of.machine.stages - 1) * of.machine.hop_us,
        draft=draft,
        pace=of.pace,
    )


def _alone(of: Instance) -> float:
    """Return t(1) without its context, which a draft's cost is counted in."""
    chips, losses, model = of.machine.chips, of.losses, of.model
    stream = US * touched(model, 1) / (chips * of.chip.bandwidth * losses.weights)
    joins = 2 * model.layers * losses.allreduce_us if chips > 1 else 0.0
    return stream + model.layers * losses.layer_us + joins + losses.step_us


def _dataflow(of: Instance, batch: float, verify: float) -> StepTime:
    """Return a pass through all layers; more tokens than slots wait for the slowest place."""
    flow = of.machine.dataflow
    assert flow is not None  # noqa: S101 - the caller has looked
    one_pass = of.model.layers * flow.layer_us
    hops = (of.machine.stages - 1) * of.machine.hop_us
    crowded = batch * verify * one_pass / flow.slots - (one_pass + hops)
    draft = of.speculation.drafted * of.speculation.draft_cost * one_pass if of.speculation else 0.0
    return StepTime(0.0, 0.0, 0.0, one_pass, 0.0, 0.0, hops, max(0.0, crowded), draft, of.pace)


def line(of: Instance, context: float) -> tuple[float, float]:
    """Return a and k of the step a + k·b, memory-bound, at a mean *context*."""
    return step(of, 0, 0).total, step(of, 1, context).kv / of.pace


def prefill(of: Instance, uncached: float, cached: float = 0.0) -> tuple[float, float]:
    """Return what *uncached* tokens behind *cached* ones cost: the weights' part, and attention's."""
    speed = of.machine.chips * of.chip.flops * of.losses.prefill
    if of.machine.dataflow:
        speed *= of.machine.stages
    through = 2 * of.model.active * uncached / speed
    attention = 4 * of.model.layers * of.model.hidden * uncached * (cached + uncached / 2) / speed
    return US * through, US * attention


def tokens_a_cycle(speculation: Speculation | None) -> float:
    """Return E = (1 − a^(k+1)) / (1 − a), what a cycle of drafting and verifying gives."""
    if not speculation:
        return 1.0
    a, k = speculation.acceptance, speculation.drafted
    return float((1 - a ** (k + 1)) / (1 - a))


def priced(of: Instance) -> Price:
    """Return the price of a million tokens: as given, or by the chips' time in a full batch."""
    price = of.price
    if price.output is not None or price.chip_hour is None:
        return price
    second = price.chip_hour * of.machine.chips * of.machine.stages / 3600
    batch = min(of.schedule.seats, of.kv_tokens / CONTEXT)
    made = batch * tokens_a_cycle(of.speculation)
    return msgspec.structs.replace(
        price,
        input=second * sum(prefill(of, 1, CONTEXT)),
        cached=0.0,
        output=second * step(of, batch, batch * CONTEXT).total / made,
    )


def batch_ratio(speed: float, price: float) -> tuple[float, float, float]:
    """Return what a speed-up at a price ratio implies if price is GPU time: batch ratio, x_fast, x_standard.

    x is k·b/w, the share that the batch's context adds to streaming the weights.
    """
    x_fast = (speed - 1) / (speed * (price - 1))
    return speed * price, x_fast, speed * price * x_fast


@dataclass(frozen=True, slots=True)
class ArrivalLoad:
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


def predict(of: Instance, load: ArrivalLoad) -> Prediction:
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


def _balance(of: Instance, load: ArrivalLoad, cycles: float, rho: float) -> float | None:
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
