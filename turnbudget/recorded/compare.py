"""Runs of the same recordings side by side: by each backend, or without speculation and with it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import msgspec
from rich.box import SIMPLE_HEAD
from rich.table import Table

from turnbudget.runs.readings import ms
from turnbudget.runs.records import Comparison, Side
from turnbudget.settings.answering import open_answering
from turnbudget.voice.errors import RunError
from turnbudget.voice.time import clock

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from turnbudget.recorded.replay import ReplayPlan
    from turnbudget.runs.folder import Run
    from turnbudget.runs.records import Row, Spread, Summary
    from turnbudget.settings.config import Config

MINUTE_US: Final = 60 * clock.SECOND
"""One minute (µs)."""


def answered_by(plan: ReplayPlan, spec: str, number: int) -> ReplayPlan:
    """Return *plan* with the LLM *spec* answering, in a folder of its own if it is not the first."""
    llm = msgspec.structs.replace(plan.config.llm, backend=spec)
    folder = plan.folder.with_name(f"{plan.folder.name}-{number + 1}") if number else plan.folder
    return replace(plan, folder=folder, config=msgspec.structs.replace(plan.config, llm=llm))


async def look_ahead(plans: Iterable[ReplayPlan]) -> None:
    """Refuse what the last of *plans* would be refused for, before the first has run."""
    for plan in plans:
        if plan.folder.exists() and not plan.force:
            raise RunError(
                "the run folder exists", where=str(plan.folder), remedy="choose another --name, or --force"
            )
        answering = open_answering(plan.config)
        try:
            await answering.ready()
        finally:
            await answering.aclose()


def side_by_side(runs: Iterable[tuple[str, Run]]) -> Table:
    """Return a table of *runs*, each under its name."""
    table = Table(box=SIMPLE_HEAD, caption="p50 / p95 / p99 in ms; late: sounds after the budget, or never")
    table.add_column("backend", overflow="fold")
    for name in ("first sound", "first answer", "late", "$/minute"):
        table.add_column(name, justify="right", no_wrap=True)
    for name, run in runs:
        table.add_row(
            name.removeprefix("simulated:"),
            _spread(run.summary.first_sound),
            _spread(run.summary.first_answer),
            late(run.rows, run.summary.budget_us),
            price(run.summary),
        )
    return table


def _spread(spread: Spread) -> str:
    return " / ".join(ms(us).removesuffix(" ms") for us in (spread.p50_us, spread.p95_us, spread.p99_us))


def late(rows: Iterable[Row], budget_us: int) -> str:
    """Return the share of caller turns whose first sound came later than *budget_us*, or never."""
    turns = [row for row in rows if row.kind == "turn"]
    missed = sum(row.first_sound_us is None or row.first_sound_us > budget_us for row in turns)
    return f"{missed / len(turns):.1%}" if turns else "–"


def price(summary: Summary) -> str:
    """Return the price of a minute of call by the backend's own rates, – where it names none."""
    minutes = sum(call.length_us for call in summary.calls) / MINUTE_US
    return "–" if summary.usd is None or not minutes else f"{summary.usd / minutes:.5f}"


SIDES: Final = (("without", "-off", False), ("with speculation", "-on", True))
"""What each side is called, how its folder's name ends, and whether it speculates."""
ENDINGS: Final = tuple(ending for _, ending, _ in SIDES)
"""How the folders' names of the two sides end."""


def speculating(config: Config, *, on: bool) -> Config:
    """Return *config* with speculation on or off, whatever it says."""
    return msgspec.structs.replace(config, speculation=msgspec.structs.replace(config.speculation, on=on))


def both(plan: ReplayPlan) -> list[ReplayPlan]:
    """Return *plan* twice, without speculation and with it, each into a folder of its own."""
    return [
        replace(
            plan,
            folder=plan.folder.with_name(plan.folder.name + ending),
            config=speculating(plan.config, on=on),
        )
        for _, ending, on in SIDES
    ]


def compared(plans: Sequence[ReplayPlan], runs: Sequence[Run]) -> Comparison:
    """Return the comparison of the *runs* of *plans*, which are those of :func:`both`."""
    return Comparison(
        sides=tuple(
            Side(label=label, folder=plan.folder.name, summary=run.summary)
            for (label, _, _), plan, run in zip(SIDES, plans, runs, strict=True)
        )
    )
