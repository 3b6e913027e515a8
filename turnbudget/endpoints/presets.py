"""Presets in a terminal and in a file: all in a table, one with its constants, one that a probe has made.

What a probe's requests are too few to say is not said: the interval stands where the number would.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.console import Group
from rich.table import Table
from rich.text import Text

from turnbudget.agents.simulated import physics
from turnbudget.agents.simulated.endpoint import Remote
from turnbudget.agents.simulated.explain import constants, explain, total
from turnbudget.agents.simulated.hardware import Instance
from turnbudget.agents.simulated.make import dump
from turnbudget.endpoints.calibrate import judge, preset
from turnbudget.endpoints.fit import percentile
from turnbudget.endpoints.samples import ALONE, KINDS, alone
from turnbudget.voice.errors import RunError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from rich.console import RenderableType

    from turnbudget.agents.simulated.explain import Term
    from turnbudget.agents.simulated.presets import Preset
    from turnbudget.endpoints.calibrate import Judged
    from turnbudget.endpoints.fit import Percentile
    from turnbudget.endpoints.samples import Sample

UNKNOWN: Final = "–"
"""What is shown for a number that is not known."""


def overview(presets: Iterable[Preset]) -> Table:
    """Return all *presets* with what they come to: median TTFT, tokens a second alone, price, origin."""
    table = _table("preset", ">TTFT", ">tok/s", ">$/Mtok out", ">accuracy", "what")
    for each in presets:
        per_second, price = _speed(each)
        table.add_row(
            each.name,
            ms(total(explain(each))),
            f"{per_second:.0f}" if per_second else UNKNOWN,
            UNKNOWN if price is None else f"{price:.2f}",
            UNKNOWN if each.accuracy is None else f"{each.accuracy:.0%} (yours)",
            Text(each.note),
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


TIMELESS: Final = "in virtual time"
"""Date of a probe that ran in virtual time."""
PERCENTS: Final = (50, 95, 99)
"""Percentiles that are shown of a probe."""


@dataclass(frozen=True, slots=True, kw_only=True)
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
    return Probed(
        source=source,
        remote=remote,
        samples=tuple(samples),
        notes=notes,
        judged=judge(samples),
        date=date or TIMELESS,
        lasted_us=lasted_us,
    )


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
    table = _figures("first token, ms", "n", "p50", "p95", "queue", "prefill")
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
    table = _figures("held out, ms", "n", "p50 foretold", "measured", "p95 foretold", "measured")
    for each in made.judged:
        table.add_row(each.kind, str(each.n), *(ms(us) for us in (*each.p50, *each.p95)))
    return table


def _loads(made: Probed) -> Table:
    table = _figures("at once", "n", "first token ms", "a token ms")
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
    table = _figures("constant", "value")
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


def _figures(first: str, *numbers: str) -> Table:
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    table.add_column(first)
    for name in numbers:
        table.add_column(name, justify="right", no_wrap=True)
    return table
