"""A probed endpoint: its requests, its preset, how far to trust it; as a file, and in a terminal.

What too few requests cannot say is not said: the interval stands where the number would.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import msgspec
import numpy as np
from rich.box import SIMPLE_HEAD
from rich.console import Group
from rich.table import Table
from rich.text import Text

from agents.simulated.explain import constants
from agents.simulated.make import dump
from turnbudget.calibrate import ALONE, KINDS, judge, preset
from turnbudget.fit import percentile
from turnbudget.presets import ms
from voice.errors import RunError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from agents.simulated.remote import Remote
    from turnbudget.calibrate import Judged, Sample
    from turnbudget.fit import Percentile

@dataclass(frozen=True, slots=True)
class Probed:
    """An endpoint's measurements and what they say."""

    source: str
    remote: Remote
    samples: tuple[Sample, ...]
    notes: tuple[str, ...]
    """What is not in the preset, and why."""
    judged: tuple[Judged, ...]
    date: str
    lasted_us: int

    @property
    def answered(self) -> tuple[Sample, ...]:
        """Requests that had an answer."""
        return tuple(sample for sample in self.samples if sample.ttft_us is not None)

    @property
    def errors(self) -> tuple[float | None, float | None]:
        """Return the mean relative error of the held-out p50 and p95 over the kinds judged."""
        if not self.judged:
            return None, None
        p50, p95 = ([_off(pair) for pair in pairs] for pairs in self._pairs())
        return sum(p50) / len(p50), sum(p95) / len(p95)

    def _pairs(self) -> tuple[list[tuple[float, float]], list[tuple[float, float]]]:
        return [each.p50 for each in self.judged], [each.p95 for each in self.judged]

    def spread(self, percent: int) -> Percentile:
        """Return a percentile of the time to the first token of a request that runs alone, over all kinds."""
        return percentile([sample.total_us for sample in self.answered if sample.streams < ALONE], percent)


def _off(pair: tuple[float, float]) -> float:
    predicted, measured = pair
    return abs(predicted - measured) / measured


def probed(
    samples: Sequence[Sample], *, name: str, model: str, source: str, date: str | None, lasted_us: int
) -> Probed:
    """Return what *samples* say; raises ConfigError if they are too few."""
    remote, notes = preset(samples, name, model)
    judged = judge(samples)
    made = Probed(source, remote, tuple(samples), notes, judged, date or "virtual time", lasted_us)
    if not judged:
        return made
    p50, p95 = (round(100 * (error or 0)) for error in made.errors)
    note = f"probed with {len(samples)} requests; held-out error p50 {p50} %, p95 {p95} %"
    fields = {field: getattr(remote, field) for field in remote.__struct_fields__} | {"note": note}
    return Probed(source, Remote(**fields), made.samples, notes, judged, made.date, lasted_us)


def write(made: Probed, path: Path) -> None:
    """Write the preset to *path*, with where it comes from; raises RunError if it cannot be written."""
    p50, p95 = made.errors
    facts: dict[str, str | float] = {
        "n": len(made.samples),
        "answered": len(made.answered),
        "date": made.date,
        "region": "unknown",
        "minutes": round(made.lasted_us / 60e6, 1),
        "held_out": sum(each.n for each in made.judged),
    }
    if p50 is not None and p95 is not None:
        facts |= {"held_out_p50_error": round(p50, 4), "held_out_p95_error": round(p95, 4)}
    if made.notes:
        facts["notes"] = "; ".join(made.notes)
    try:
        path.write_text(dump(made.remote, source=made.source, as_of=made.date, probe=facts), "utf-8")
    except OSError as error:
        raise RunError(f"cannot be written ({error.strerror})", where=str(path)) from None


