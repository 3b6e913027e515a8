"""A run in numbers: rows in, a Summary out; nothing here reads a clock, a file or a setting.

The headline counts *all* caller turns, whatever became of them; percentiles speak only of those that
sounded, so they come second and carry their n. What we say unasked (greeting, re-prompt) is in neither.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final, get_args

from turnbudget.runs.records import (
    CallRecord,
    Checks,
    EndedBy,
    Engine,
    GuessTotals,
    Outcome,
    Record,
    Row,
    Share,
    Spread,
    StageTotal,
    Summary,
    WordErrors,
    verdicts,
)
from turnbudget.voice.call.ledger import Stage
from turnbudget.voice.time.budget import nearest_rank

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

STAGES: Final[tuple[str, ...]] = get_args(Stage)
"""The order in which a turn goes through its stages; any other comes after them, by name."""

FAST_US: Final = 200_000
"""An answer within 200 ms comes as fast as people answer one another (Stivers et al., PNAS 2009)."""

AHEAD: Final = ("head start", "shelf")
"""Lanes of work that was done before the turn that took it up."""


class Header(Record, frozen=True, kw_only=True):
    """What a run knows about itself beside its rows; the names are those of :class:`Summary`."""

    name: str
    clock: str
    pacing: str
    began: str | None
    seed: int
    versions: dict[str, str]
    engines: tuple[Engine, ...]
    budget_us: int
    speculation: bool = False
    calls: tuple[CallRecord, ...]
    wer: WordErrors | None = None
    usd: float | None = None
    faults: tuple[str, ...] = ()
    truncated: bool = False


def summarise(rows: Iterable[Row], header: Header) -> Summary:
    """Return the numbers of a run."""
    rows = tuple(rows)
    turns = [row for row in rows if row.kind == "turn"]
    return Summary(
        name=header.name,
        clock=header.clock,
        pacing=header.pacing,
        began=header.began,
        seed=header.seed,
        versions=dict(sorted(header.versions.items())),
        engines=header.engines,
        budget_us=header.budget_us,
        calls=header.calls,
        turns=len(turns),
        outcomes=_count(get_args(Outcome), (row.outcome for row in turns)),
        speculation=header.speculation,
        in_time=_share([row.in_time for row in turns]),
        answered_in_time=_share([row.answered_in_time for row in turns]),
        under_200=_share([_fast(row) for row in turns]),
        superseded_early=_share([superseded_early(row) for row in turns]),
        first_sound=spread(row.first_sound_us for row in turns),
        first_answer=spread(row.first_answer_us for row in turns),
        stages=stage_totals(turns),
        ended_by=_count(get_args(EndedBy), (row.speech_ended_by for row in turns)),
        partial_texts=_share([not row.heard_whole for row in turns if row.heard_whole is not None]),
        not_replayed=sum(call.not_replayed for call in header.calls),
        false_cuts=_share([row.false_cut for row in turns if row.false_cut is not None]),
        saved_us=sum(lane.saved_us for row in turns for lane in row.lanes),
        wasted_us=sum(lane.wasted_us for row in turns for lane in row.lanes),
        wrong_hits=_share([bool(verdict) for verdict in verdicts(turns) if verdict is not None]),
        hits=_share([row.hit for row in turns]),
        guesses=guess_totals(turns),
        checks=checked(rows),
        wer=header.wer,
        usd=header.usd,
        faults=header.faults,
        truncated=header.truncated,
    )


def superseded_early(row: Row) -> bool:
    """Say whether the caller took the floor back inside the budget, before anything had sounded."""
    return row.outcome == "superseded" and row.first_sound_us is None and row.closed_us <= row.budget_us


def spread(values: Iterable[int | None]) -> Spread:
    """Return the percentiles of the values that are there, by nearest rank."""
    ordered = sorted(value for value in values if value is not None)
    if not ordered:
        return Spread(n=0)
    return Spread(
        n=len(ordered),
        p50_us=nearest_rank(ordered, 50),
        p90_us=nearest_rank(ordered, 90),
        p95_us=nearest_rank(ordered, 95),
        p99_us=nearest_rank(ordered, 99),
    )


def stage_totals(turns: Sequence[Row]) -> tuple[StageTotal, ...]:
    """Return what each stage cost; its n and percentiles are of the turns that went through it."""
    costs: dict[str, list[int]] = {}
    for row in turns:
        of_turn: Counter[str] = Counter()
        for entry in row.entries:
            of_turn[entry.stage] += entry.us
        for stage, us in of_turn.items():
            costs.setdefault(stage, []).append(us)
    whole = sum(map(sum, costs.values()))
    return tuple(
        StageTotal(
            stage=stage,
            n=len(costs[stage]),
            total_us=sum(costs[stage]),
            share=sum(costs[stage]) / whole if whole else 0.0,
            p50_us=nearest_rank(sorted(costs[stage]), 50),
            p95_us=nearest_rank(sorted(costs[stage]), 95),
        )
        for stage in sorted(costs, key=stage_order)
    )


def guess_totals(turns: Sequence[Row]) -> GuessTotals:
    """Return what was done ahead and what came of it."""
    starts, foreseen = [], []
    for row in turns:
        outcomes = [guess.outcome for guess in row.guesses]
        starts += [outcome == "kept" for outcome in outcomes if outcome in {"kept", "dropped"}]
        foreseen += ["said" in outcomes] if {"said", "not said"} & set(outcomes) else []
    return GuessTotals(
        head_starts=_share(starts),
        foreseen=_share(foreseen),
        saved_us=sum(lane.saved_us for row in turns for lane in row.lanes if lane.name in AHEAD),
        unused_us=sum(guess.wasted_us for row in turns for guess in row.guesses),
        unused_cpu_us=sum(guess.cpu_us for row in turns for guess in row.guesses),
    )


def checked(rows: Sequence[Row]) -> Checks:
    """Return how the accounts of *rows* did on what they are held to."""
    read = [row.witness_us is not None for row in rows if row.first_sound_us is not None]
    apart = [
        abs(row.witness_us - row.first_sound_us)
        for row in rows
        if row.witness_us is not None and row.first_sound_us is not None
    ]
    left = [sum(entry.us for entry in row.entries if entry.stage == "unaccounted") for row in rows]
    return Checks(witnessed=_share(read), apart_us=max(apart, default=0), unaccounted_us=max(left, default=0))


def stage_order(stage: str) -> tuple[int, str]:
    """Return a key that sorts stages as a turn goes through them."""
    return (STAGES.index(stage) if stage in STAGES else len(STAGES), stage)


def _fast(row: Row) -> bool:
    return row.first_answer_us is not None and row.first_answer_us <= FAST_US


def _share(those: Sequence[bool]) -> Share:
    count = sum(those)
    return Share(count=count, of=len(those), share=count / len(those) if those else None)


def _count(names: Iterable[str], found: Iterable[str]) -> dict[str, int]:
    """Count every name, also those that did not occur: ``silent: 0`` is a promise kept."""
    counter = Counter(found)
    return {name: counter[name] for name in names}
