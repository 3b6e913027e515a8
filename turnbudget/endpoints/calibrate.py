"""Requests into a preset: what an endpoint seems to cost, by its answers, and how well that foretells others.

The preset speaks the simulator's language: its tokens are the simulator's count, so that what is simulated
takes as long as what was measured. It is made for turns first, where a cached prefix grows by a few
words: what else was measured counts less, and how far off it is is told. It is judged by time, not by lot:
neighbours in time are alike.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Final

import numpy as np

from turnbudget.agents.simulated.endpoint import Remote
from turnbudget.agents.simulated.law import Law
from turnbudget.endpoints import fit
from turnbudget.endpoints.samples import alone, by_kind, cache_block, placed, tokens
from turnbudget.voice.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from turnbudget.endpoints.fit import Array
    from turnbudget.endpoints.samples import Kind, Sample

HELD: Final = 0.3
"""Share of the time, its end, whose answers are held out."""
LEAST: Final = 20
"""Answers below which nothing is fitted."""
FEW: Final = 6
"""Held-out answers of a kind below which it is not judged."""
DRAWS: Final = 200
"""Times drawn for each request whose answer is foretold."""
LEVELS: Final = 3
"""Loads below which there is no law of load: a line through two points always fits."""
BENT: Final = 0.25
"""Share by which a load's median may lie off the line."""
MOST: Final = 0.8
"""Share of answers with a server's own figures from which these are used."""
SHARES: Final = (1, 0.98, 0.96, 0.93, 0.9, 0.85, 0.8, 0.7, 0.6, 0.5)
"""Shares of their usual cost that prompts are tried at, the first first."""
SMALL: Final = 0.05
"""Share of its usual cost that a prompt is taken to have cost at least."""
WORSE: Final = 1.1
"""How much worse than the best a share may foretell and not be passed over for a smaller one (factor)."""
GRID: Final = 100
"""Quantiles at which the law of a first token is read."""
QUANTILES: Final = (10, 25, 50, 75, 90, 95, 99)
"""Percentiles by which foretold and measured times are compared."""
RELEVANT: Final[dict[Kind, float]] = {"cached": 1.0}
"""How much a kind counts: a turn is a long prefix, cached, and a few new words."""
ELSE: Final = 0.05
"""Weight of a kind of request that :data:`RELEVANT` does not name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """What the fit to the time before says of a held-out kind, and what was measured; µs."""

    kind: Kind
    n: int
    p50: tuple[float, float]
    """Predicted, measured."""
    p95: tuple[float, float]


def preset(samples: Sequence[Sample], name: str, model: str) -> tuple[Remote, tuple[str, ...]]:
    """Return the preset that fits *samples*, and what could not be told; raises ConfigError if too few."""
    block = cache_block(samples)
    single = placed(alone(samples), block)
    if len(single) < LEAST:
        raise ConfigError(
            f"only {len(single)} answers, which fit nothing", where=name, remedy=f"probe with --n {2 * LEAST}"
        )
    notes: list[str] = []
    costs = _costs(single, notes)
    first, stalls = costs.first
    if stalls:
        notes.append(f"{stalls} stalls seen; their tail is a guess until there are many")
    pace, sigma, burst = _pace(single, notes)
    load = _load(samples, notes)
    # Of the server's tokens, how many the simulator's is: an answer lasts as long in either.
    scale = sum(each.tokens_out for each in single) / max(1, sum(each.counted_out for each in single)) or 1.0
    failed = sum(bool(each.error) for each in samples)
    remote = Remote(
        name=name,
        model=model,
        rtt_us=_whole(min((each.headers_us for each in single if each.headers_us is not None), default=0)),
        handshake_us=_whole(_handshake(single)),
        keepalive_us=_keepalive(single, notes),
        ttft_shift_us=_whole(first.shift),
        ttft_median_us=max(1.0, _whole(first.median)),
        ttft_sigma=round(first.sigma, 4),
        stall=round(first.stall, 5),
        stall_us=_whole(first.stall_us),
        alpha=round(min(100.0, max(0.2, first.alpha)), 3),
        uncached_us=round(float(costs.tokens[0]), 2),
        cache_block=block,
        cached_us=round(float(costs.tokens[1]), 2),
        token_sigma=round(costs.sigma, 4),
        tpot_median_us=round(pace * scale, 1),
        tpot_sigma=round(sigma, 4),
        load_us=round(load * scale, 1),
        burst=max(1, round(burst / scale)),
        error=round(failed / len(samples), 5),
    )
    return remote, tuple(notes)


@dataclass(frozen=True, slots=True)
class _Costs:
    """What uncached and cached tokens add each, how much both vary, and the law (and stalls) of the rest."""

    tokens: Array
    sigma: float
    first: tuple[Law, int]


def _costs(single: Sequence[Sample], notes: list[str]) -> _Costs:
    """Return what a first token is made of: by the server's own prefill time, if it tells that."""
    told = [each for each in single if each.prefill_us is not None]
    if len(told) < MOST * len(single):
        return _seen(single, notes)
    prefill = np.array([each.prefill_us for each in told], np.float64)
    made = _slopes(told, prefill, notes)
    slopes = np.array(made.slopes)
    if not slopes.any():
        return _seen(single, [])
    notes.append("cost of tokens by the server's own prefill time")
    always = made.intercept
    used = _turns(told)
    prefill = np.array([each.prefill_us for each in used], np.float64)
    own = tokens(used) @ slopes
    _, sigma = fit.lognormal(np.maximum(prefill - always, SMALL * own) / own)
    ttft = np.array([each.ttft_us for each in used], np.float64)
    return _Costs(slopes, sigma, fit.law(ttft - prefill + always))


def _seen(single: Sequence[Sample], notes: list[str]) -> _Costs:
    """Return what a first token is made of, as seen from outside.

    Where noise grows with the prompt, what is left of a short request is often nothing or less, which no law
    gives: then a share of what tokens cost is taken as a cost of every request, the one that foretells best.
    """
    ttft = np.array([each.ttft_us for each in single], np.float64)
    slopes = np.array(_slopes(single, ttft, notes).slopes)
    used = _turns(single)
    ttft = np.array([each.ttft_us for each in used], np.float64)
    found: list[tuple[float, float, tuple[Law, int]]] = []
    for share in SHARES if slopes.any() else SHARES[:1]:
        first = fit.law(ttft - tokens(used) @ (share * slopes))
        found.append((_misfit(single, share * slopes, first[0]), share, first))
    best = min(misfit for misfit, *_ in found)
    _, share, first = next(made for made in found if made[0] <= best * WORSE)
    if share < 1:
        notes.append(
            f"noise grows with the prompt: {1 - share:.0%} of what tokens cost is put on every request"
        )
    return _Costs(share * slopes, 0.0, first)


def _slopes(single: Sequence[Sample], y: Array, notes: list[str]) -> fit.FittedLine:
    # Each kind counts by its own size: a long prompt's noise is larger, and it is not more true.
    usual = {kind: float(np.median(y[rows])) for kind, rows in by_kind(single).items()}
    weights = np.array([RELEVANT.get(each.kind, ELSE) / max(1.0, usual[each.kind]) for each in single])
    made = fit.line(tokens(single), y, weights)
    for what, slope, bounds in zip(("uncached", "cached"), made.slopes, made.intervals, strict=True):
        if not slope:
            notes.append(f"no cost of {what} tokens told apart from 0 (at most {bounds[1]:.1f} µs each)")
    return made


def _turns(single: Sequence[Sample]) -> Sequence[Sample]:
    """Return the requests that are most like a turn's, of which there are enough."""
    turns = [each for each in single if each.kind == "cached"]
    short = [each for each in single if each.kind != "uncached"]
    return next((some for some in (turns, short) if len(some) >= LEAST), single)


def judge(samples: Sequence[Sample]) -> tuple[Judged, ...]:
    """Return, for each kind, what a fit to the first 70 % of the time says of the rest."""
    single = sorted(alone(samples), key=lambda each: each.began_us)
    cut = round(len(single) * (1 - HELD))
    if cut < LEAST:
        return ()
    known, held = single[:cut], single[cut:]
    remote, _ = preset(known, "held out", "")
    rng = Random(0)  # noqa: S311 - a simulation, no secret
    found: list[Judged] = []
    for kind, rows in by_kind(held).items():
        if len(rows) < FEW:
            continue
        of = [held[row] for row in rows]
        drawn = predicted(remote, of, rng)
        measured = np.array([each.total_us for each in of], np.float64)
        p50, p95 = ((fit.rank(drawn, at), fit.rank(measured, at)) for at in (50, 95))
        found.append(Judged(kind=kind, n=len(of), p50=p50, p95=p95))
    return tuple(found)


def predicted(remote: Remote, samples: Sequence[Sample], rng: Random) -> Array:
    """Return times to the first token that *remote* may give for requests such as *samples*."""
    costs = tokens(placed(samples, int(remote.cache_block))) @ np.array(
        [remote.uncached_us, remote.cached_us]
    )
    connects = [0 if each.reused else remote.handshake_us for each in samples]
    first, vary = remote.law, Law(1, remote.token_sigma)
    drawn = [
        connect + own * vary.draw(rng) + first.draw(rng)
        for connect, own in zip(connects, costs, strict=True)
        for _ in range(DRAWS)
    ]
    return np.array(drawn, np.float64)


def _misfit(single: Sequence[Sample], costs: Array, law: Law) -> float:
    """Return how far foretold quantiles are from those measured, as a share, over all kinds."""
    chances = np.array([law.quantile((each + 0.5) / GRID) for each in range(GRID)])
    off: list[float] = []
    weights: list[float] = []
    for kind, rows in by_kind(single).items():
        of = [single[row] for row in rows]
        measured = np.array([each.ttft_us for each in of], np.float64)
        foretold = (tokens(of) @ costs)[:, None] + chances
        ratios = [fit.rank(foretold.ravel(), at) / fit.rank(measured, at) for at in QUANTILES]
        off.append(float(np.abs(np.array(ratios) - 1).mean()))
        weights.append(RELEVANT.get(kind, ELSE))
    return float(np.average(off, weights=weights))


def _pace(single: Sequence[Sample], notes: list[str]) -> tuple[float, float, float]:
    """Return a token's time, its deviation, and the tokens in a chunk."""
    paced = [(each, each.pace_us) for each in single]
    paces = [pace for _, pace in paced if pace is not None]
    if not paces:
        notes.append("no answer was long enough for a pace")
        return 0.0, 0.0, 1.0
    bursts = [each.tokens_out / each.chunks for each, pace in paced if pace is not None]
    median, sigma = fit.lognormal(paces)
    return median, sigma, float(np.median(bursts))


def _load(samples: Sequence[Sample], notes: list[str]) -> float:
    """Return what another stream of ours adds to a token's time, if that can be told."""
    used = [each for each in samples if each.kind in {"cached", "load"} and each.ttft_us is not None]
    paced = [(each.streams, pace) for each in used if (pace := each.pace_us) is not None]
    levels = sorted({streams for streams, _ in paced})
    if len(levels) < LEVELS:
        notes.append(f"no law of load: {len(levels)} loads, it takes {LEVELS}")
        return 0.0
    others = np.array([[streams - 1] for streams, _ in paced], np.float64)
    paces = np.array([pace for _, pace in paced])
    made = fit.line(others, paces)
    if not made.slopes[0]:
        most = made.intervals[0][1]
        notes.append(f"no law of load: not told apart from none (at most {most:.0f} µs a stream)")
        return 0.0
    medians = np.array([np.median(paces[others[:, 0] == level - 1]) for level in levels])
    off = np.abs(made.at(np.array([[level - 1] for level in levels], np.float64)) / medians - 1)
    if off.max() > BENT:
        notes.append(f"no law of load: no line, {off.max():.0%} off at {levels[int(off.argmax())]} streams")
        return 0.0
    return made.slopes[0]


def _handshake(single: Sequence[Sample]) -> float:
    cold = [each.connect_us for each in single if not each.reused]
    warm = [each.connect_us for each in single if each.reused]
    return max(0.0, float(np.median(cold)) - (float(np.median(warm)) if warm else 0.0)) if cold else 0.0


def _keepalive(single: Sequence[Sample], notes: list[str]) -> float:
    """Return how long a connection can serve again: as usual, or not at all."""
    meant = [each for each in single if each.kind != "cold"]
    if sum(each.reused for each in meant) * 2 >= len(meant):
        return Remote(name="", ttft_median_us=1).keepalive_us
    notes.append("the server closes a connection behind each answer, so every request pays for a new one")
    return 0.0


def _whole(us: float) -> float:
    return float(round(us))
