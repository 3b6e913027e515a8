"""A probed endpoint: its requests, its preset, how far to trust it; as a file, and in a terminal.

What too few requests cannot say is not said: the interval stands where the number would.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.console import Group
from rich.table import Table
from rich.text import Text

from turnbudget.agents.simulated.endpoint import Remote
from turnbudget.agents.simulated.make import dump
from turnbudget.endpoints.calibrate import judge, preset
from turnbudget.endpoints.fit import percentile
from turnbudget.endpoints.presets import ms
from turnbudget.endpoints.samples import ALONE, KINDS, alone
from turnbudget.voice.errors import RunError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from rich.console import RenderableType

    from turnbudget.endpoints.calibrate import Judged
    from turnbudget.endpoints.fit import Percentile
    from turnbudget.endpoints.samples import Sample

TIMELESS: Final = "in virtual time"
PERCENTS: Final = (50, 95, 99)


@dataclass(frozen=True, slots=True)
class Probed:
    """An endpoint's measurements and what they say."""

    source: str
    """Which URL and which model."""
    remote: Remote
    samples: tuple[Sample, ...]
    notes: tuple[str, ...]
    """What is not in the preset, and why."""
    judged: tuple[Judged, ...]
    date: str
    lasted_us: int

    @property
    def answered(self) -> int:
        """How many requests had an answer."""
        return sum(each.ttft_us is not None for each in self.samples)

    @property
    def held_out(self) -> int:
        """How many answers the errors were measured on."""
        return sum(each.n for each in self.judged)

    @property
    def errors(self) -> tuple[float, float] | None:
        """The mean relative error of p50 and p95 over the kinds held out; ``None`` if there were too few."""
        if not self.judged:
            return None
        off = np.array([(_off(*each.p50), _off(*each.p95)) for each in self.judged])
        p50, p95 = off.mean(axis=0)
        return float(p50), float(p95)


def probed(samples: Sequence[Sample], *, name: str, model: str, source: str, date: str | None) -> Probed:
    """Return what *samples* say; raises ConfigError if they are too few."""
    remote, notes = preset(samples, name, model)
    instants = [each.began_us for each in samples]
    lasted_us = max(instants) - min(instants)
    return Probed(source, remote, tuple(samples), notes, judge(samples), date or TIMELESS, lasted_us)


def write(made: Probed, path: Path) -> None:
    """Write the preset to *path*, with where it comes from; raises RunError if it cannot be written."""
    facts: dict[str, str | float] = {
        "n": len(made.samples),
        "answered": made.answered,
        "date": made.date,
        "region": "unknown",
        "minutes": round(made.lasted_us / 60e6, 1),
        "held_out": made.held_out,
    }
    if made.errors:
        p50, p95 = made.errors
        facts |= {"held_out_p50_error": round(p50, 4), "held_out_p95_error": round(p95, 4)}
    if made.notes:
        facts["notes"] = "; ".join(made.notes)
    try:
        path.write_text(dump(made.remote, source=made.source, as_of=made.date, probe=facts), "utf-8")
    except OSError as error:
        raise RunError(f"cannot be written ({error.strerror})", where=str(path)) from None


def describe(made: Probed) -> Group:
    """Return what was measured, what it makes, how far to trust it, and what is missing, for a terminal."""
    parts: list[RenderableType] = [Text("\n".join(_headline(made))), _kinds(made)]
    if made.judged:
        parts.append(_foretold(made))
    if any(each.streams >= ALONE for each in made.samples):
        parts.append(_loads(made))
    parts += [_constants(made.remote), Text("\n".join(f"- {note}" for note in made.notes))]
    return Group(*parts)


def _headline(made: Probed) -> Iterator[str]:
    yield f"{made.source}: {made.answered} of {len(made.samples)} requests answered"
    yield f"measured {made.date}, within {made.lasted_us / 60e6:.1f} min; region unknown"
    if made.errors:
        p50, p95 = made.errors
        yield (
            f"fitted to the first 70 % of the time, it foretells the last 30 % ({made.held_out} answers) "
            f"with an error of {p50:.0%} at p50 and {p95:.0%} at p95"
        )
    else:
        yield "too few answers to hold some out: the error is unknown"
    firsts = [each.total_us for each in alone(made.samples)]
    found = [percentile(firsts, percent) for percent in PERCENTS]
    yield "time to first token, all kinds alone: " + ", ".join(_told(each) for each in found)


def _told(of: Percentile) -> str:
    """Return a percentile as words, or its interval and why there is no number."""
    between = f"{ms(of.low)}–{ms(of.high)}"
    if of.value is None:
        return f"p{of.percent} not told from {of.n} samples (it takes {of.needs}), somewhere in {between} ms"
    return f"p{of.percent} {ms(of.value)} ms ({between})"


def _kinds(made: Probed) -> Table:
    """Return what each kind took, and the server's own account of it."""
    table = _table("first token, ms", "n", "p50", "p95", "queue", "prefill")
    for kind in KINDS:
        of = [each for each in alone(made.samples) if each.kind == kind]
        if not of:
            continue
        firsts = [each.total_us for each in of]
        table.add_row(
            kind,
            str(len(of)),
            _short(percentile(firsts, 50)),
            _short(percentile(firsts, 95)),
            _median([each.queue_us for each in of]),
            _median([each.prefill_us for each in of]),
        )
    return table


def _foretold(made: Probed) -> Table:
    table = _table("held out, ms", "n", "p50 foretold", "measured", "p95 foretold", "measured")
    for each in made.judged:
        table.add_row(each.kind, str(each.n), *(ms(us) for us in (*each.p50, *each.p95)))
    return table


def _loads(made: Probed) -> Table:
    table = _table("at once", "n", "first token ms", "a token ms")
    for streams in sorted({each.streams for each in made.samples}):
        of = [each for each in made.samples if each.streams == streams and each.kind in {"cached", "load"}]
        table.add_row(
            str(streams),
            str(len(of)),
            _median([each.ttft_us for each in of]),
            _median([each.pace_us for each in of]),
        )
    return table


def _constants(remote: Remote) -> Table:
    table = _table("constant", "value")
    usual = Remote(name="", ttft_median_us=1)
    for field in remote.__struct_fields__:
        value = getattr(remote, field)
        if isinstance(value, int | float) and value != getattr(usual, field):
            table.add_row(field, f"{value:g}" if abs(value) < 1e6 else f"{value:.0f}")  # noqa: PLR2004 - as %g
    return table


def _short(of: Percentile) -> str:
    return f"{ms(of.low)}–{ms(of.high)}" if of.value is None else ms(of.value)


def _median(values: Sequence[float | None]) -> str:
    known = [value for value in values if value is not None]
    return ms(float(np.median(known))) if known else "–"


def _off(foretold: float, measured: float) -> float:
    return abs(foretold - measured) / max(1.0, measured)


def _table(first: str, *numbers: str) -> Table:
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    table.add_column(first)
    for name in numbers:
        table.add_column(name, justify="right", no_wrap=True)
    return table
