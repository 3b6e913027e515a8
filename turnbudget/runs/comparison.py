"""Runs beside each other: one table, each measure on every side, n beside each number."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from turnbudget.runs import readings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from turnbudget.runs.records import Comparison, Spread, Summary


def table(comparison: Comparison) -> Table:
    """Return *comparison* as a table to print."""
    shown = Table(
        box=SIMPLE_HEAD,
        pad_edge=False,
        caption="shares are of all caller turns, whose number false cuts add to",
    )
    shown.add_column("", overflow="fold")
    for side in comparison.sides:
        shown.add_column(Text(side.label), justify="right", overflow="fold")
    for line in _lines(comparison):
        shown.add_row(*line)
    return shown


def columns(comparison: Comparison) -> dict[str, list[str] | list[list[str]]]:
    """Return *comparison* as the page draws it."""
    return {
        "labels": [side.label for side in comparison.sides],
        "folders": [side.folder for side in comparison.sides],
        "lines": _lines(comparison),
    }


def _lines(comparison: Comparison) -> list[list[str]]:
    """Return each measure with its value on every side."""
    sides = [dict(_measures(side.summary)) for side in comparison.sides]
    return [[name, *(side[name] for side in sides)] for name in sides[0]]


def _measures(summary: Summary) -> Iterator[tuple[str, str]]:
    """Yield what one side came to; what was right stands beside how fast it was."""
    budget = readings.ms(summary.budget_us)
    made = summary.guesses
    yield "caller turns", f"{summary.turns:,}"
    yield "answer within 200 ms", readings.good(summary.under_200)
    yield f"answer within {budget}", readings.good(summary.answered_in_time)
    yield f"sound within {budget}", readings.good(summary.in_time)
    yield "answer p50/p95/p99, ms", _spread(summary.first_answer)
    yield "false cuts", readings.bad(summary.false_cuts)
    yield "wrong hits, of hits", readings.bad(summary.wrong_hits)
    yield "hits", readings.good(summary.hits)
    yield "work ahead, taken up", readings.ms(made.saved_us)
    yield "work ahead, not used", readings.ms(made.unused_us)
    yield "CPU of renders not used", readings.cpu(made.unused_cpu_us)
    yield (
        "word errors",
        f"{summary.wer.rate * 100:.1f} % ({summary.wer.words:,} words)" if summary.wer else "–",
    )
    for name, share in zip(("tasks right", "slots right"), readings.tasks(summary.calls), strict=True):
        yield name, readings.good(share)


def _spread(spread: Spread) -> str:
    ranks = (spread.p50_us, spread.p95_us, spread.p99_us)
    return " / ".join(readings.ms(us).removesuffix(" ms") for us in ranks) + f" (n {spread.n})"
