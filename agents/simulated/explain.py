"""A predicted time to the first token, term by term, each with where its constant comes from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from turnbudget.agents.simulated import physics
from turnbudget.agents.simulated.hardware import Instance, origin, weakest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from turnbudget.agents.simulated.endpoint import Remote
    from turnbudget.agents.simulated.hardware import Mark
    from turnbudget.agents.simulated.presets import Preset


@dataclass(frozen=True, slots=True)
class Term:
    """One summand, in µs: what it is, how it is made, and the origin of its least certain constant."""

    name: str
    us: float
    how: str
    mark: Mark
    source: str
    as_of: str


def explain(
    of: Preset, *, uncached: int = 100, cached: int = 1400, batch: int = 1, cold: bool = False
) -> tuple[Term, ...]:
    """Return the terms of the TTFT of a request, which sum to it; *batch* streams ride along.

    Of an API, the sum is the median; *cold* pays for a new connection.
    """
    if isinstance(of, Instance):
        return tuple(_instance(of, uncached, cached, batch))
    return tuple(_remote(of, uncached, cached, cold=cold))


def total(terms: tuple[Term, ...]) -> float:
    """Return the sum of *terms*, in µs."""
    return sum(term.us for term in terms)


def _term(name: str, us: float, how: str, *constants: float) -> Term:
    return Term(name, us, how, *weakest(*constants))


def _instance(of: Instance, uncached: int, cached: int, batch: int) -> Iterator[Term]:
    losses, model, chip, machine = of.losses, of.model, of.chip, of.machine
    step = physics.step(of, batch, batch * (uncached + cached))
    yield _term("front", losses.request_us, "a request", losses.request_us)
    if of.schedule.policy == "static":
        window = of.schedule.window_us
        yield _term("window", window / 2, "half of the bus's window, on average", window)
    elif batch:
        yield _term("wait", step.total / 2, "half of the step under way", *_made_of(of))
    parts = (
        ("weights", step.weights, "bytes / (chips · bandwidth · share)", (chip.bandwidth, losses.weights)),
        ("context", step.kv, "keys and values / (chips · bandwidth · share)", (chip.bandwidth, losses.kv)),
        ("layers", step.layers, "layers · µs a layer", (_layer(of),)),
        ("all-reduce", step.allreduce, "two a layer", (losses.allreduce_us,)),
        ("step", step.fixed, "a step", (losses.step_us,)),
        ("hops", step.hops, "stages − 1", (machine.hop_us,)),
        ("crowd", step.crowd, "more tokens than places", (_layer(of),)),
        ("draft", step.draft, "drafted tokens", (of.speculation.draft_cost if of.speculation else 0.0,)),
    )
    bound = step.compute > step.weights + step.kv
    for name, us, how, constants in parts:
        if us and not (bound and name in {"weights", "context"}):
            yield _term(f"own step: {name}", us / of.pace, _paced(of, how), *_vendor(of), *constants)
    if bound:
        yield _term(
            "own step: compute", step.compute / of.pace, _paced(of, "2 · active · tokens / peak"), chip.flops
        )
    through, attention = physics.prefill(of, uncached, cached)
    yield _term("prefill", through, f"{uncached} uncached tokens", chip.flops, losses.prefill, model.active)
    yield _term("attention", attention, f"of them, behind {cached} cached", chip.flops, losses.prefill)
    yield _term("output", step.total, "one step until a token leaves", *_made_of(of))


def _paced(of: Instance, how: str) -> str:
    return f"{how}, / {of.pace:g}" if of.pace != 1 else how


def _vendor(of: Instance) -> tuple[float, ...]:
    """Return the pace, where it is a promise that the physics does not explain."""
    return (of.pace,) if of.pace != 1 else ()


def _layer(of: Instance) -> float:
    return of.machine.dataflow.layer_us if of.machine.dataflow else of.losses.layer_us


def _made_of(of: Instance) -> tuple[float, ...]:
    """Return the constants that a whole step is made of."""
    if of.machine.dataflow:
        return (_layer(of), *_vendor(of))
    return *_vendor(of), of.losses.weights, of.losses.layer_us, of.chip.bandwidth


def _remote(of: Remote, uncached: int, cached: int, *, cold: bool) -> Iterator[Term]:
    if cold:
        yield _term("handshake", of.handshake_us, "a new connection", of.handshake_us)
    if of.ttft_shift_us:
        yield _term("shift", of.ttft_shift_us, "always", of.ttft_shift_us)
    middle = of.law.quantile(0.5) - of.ttft_shift_us
    within = f"median, round trip of {of.rtt_us / 1000:g} ms within"
    yield _term("thinking", middle, within, of.ttft_median_us)
    if of.uncached_us:
        yield _term("uncached", uncached * of.uncached_us, f"{uncached} tokens", of.uncached_us)
    if of.cached_us:
        yield _term("cached", cached * of.cached_us, f"{cached} tokens", of.cached_us)


def constants(of: Preset) -> tuple[tuple[str, float, Mark, str, str], ...]:
    """Return every constant of a preset: path, value, mark, source, date."""
    return tuple(_walk("", of))


def _walk(path: str, record: object) -> Iterator[tuple[str, float, Mark, str, str]]:
    for field in getattr(record, "__struct_fields__", ()):
        value, name = getattr(record, field), f"{path}{field}"
        if isinstance(value, int | float):
            yield (name, float(value), *origin(value))
        else:
            yield from _walk(f"{name}.", value)
