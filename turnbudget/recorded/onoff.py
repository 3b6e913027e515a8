"""Speculation off and on: the same recordings twice, all else the same."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import msgspec

from turnbudget.runs.records import Comparison, Side

if TYPE_CHECKING:
    from collections.abc import Sequence

    from turnbudget.recorded.replay import ReplayPlan
    from turnbudget.runs.folder import Run
    from turnbudget.settings.config import Config

SIDES: Final = (("without", "-off", False), ("with speculation", "-on", True))
"""What each side is called, how its folder's name ends, and whether it speculates."""
ENDINGS: Final = tuple(ending for _, ending, _ in SIDES)


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
