"""Presets in a terminal: all in a table, one with its constants, a time to first token term by term."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from turnbudget.agents.simulated import physics
from turnbudget.agents.simulated.explain import constants, explain, total
from turnbudget.agents.simulated.hardware import Instance

if TYPE_CHECKING:
    from collections.abc import Iterable

    from turnbudget.agents.simulated.explain import Term
    from turnbudget.agents.simulated.presets import Preset

UNKNOWN: Final = "–"


def overview(presets: Iterable[Preset]) -> Table:
    """Return all *presets* with what they come to: median TTFT, tokens a second alone, price, origin."""
    table = _table("preset", ">TTFT", ">tok/s", ">$/Mtok out", ">accuracy", "what")
    for preset in presets:
        per_second, price = _speed(preset)
        table.add_row(
            preset.name,
            ms(total(explain(preset))),
            f"{per_second:.0f}" if per_second else UNKNOWN,
            UNKNOWN if price is None else f"{price:.2f}",
            UNKNOWN if preset.accuracy is None else f"{preset.accuracy:.0%} (yours)",
            Text(preset.note),
        )
    return table


def details(preset: Preset) -> Table:
    """Return every constant of *preset* with its mark, source and date."""
    table = _table("constant", ">value", "mark", "source", "as of")
    for path, value, mark, source, as_of in constants(preset):
        table.add_row(path, f"{value:.6g}", mark, Text(source), as_of)
    return table


def explanation(terms: tuple[Term, ...]) -> Table:
    """Return the *terms* of a time to the first token, and their sum."""
    table = _table("term", ">ms", "how", "mark", "source", "as of")
    for term in terms:
        table.add_row(term.name, ms(term.us), Text(term.how), term.mark, Text(term.source), term.as_of)
    table.add_row("sum", ms(total(terms)), "", "", "", "", style="bold")
    return table


def ms(us: float) -> str:
    """Return *us* as milliseconds, with a decimal below ten."""
    return f"{us / 1000:.1f}" if us < 10_000 else f"{us / 1000:.0f}"  # noqa: PLR2004 - ten milliseconds


def _speed(preset: Preset) -> tuple[float | None, float | None]:
    """Return tokens a second of one stream alone, and dollars a million tokens out."""
    if isinstance(preset, Instance):
        step = physics.step(preset, 1, physics.CONTEXT).total
        price = physics.priced(preset)
        per_token = step / physics.tokens_a_cycle(preset.speculation)
    else:
        price = preset.price
        per_token = preset.tpot_median_us
    dollars = None if price.output is None else price.output * price.multiplier
    return (physics.US / per_token if per_token else None), dollars


def _table(*columns: str) -> Table:
    """Return an empty table; a column whose name begins with ``>`` holds numbers."""
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for column in columns:
        number = column.startswith(">")
        table.add_column(
            column.removeprefix(">"), justify="right" if number else "left", no_wrap=number, overflow="fold"
        )
    return table
