"""How the numbers of a run are written: rounded so that nothing flatters, and n beside each share.

Wrong hits and hits are always written together, the wrong ones first. Runs beside each other are one table:
each measure on every side.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from turnbudget.runs.records import Share

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from turnbudget.runs.records import CallRecord, Comparison, Spread, Summary

SHORT_US: Final = 10_000
"""Below 10 ms a tenth of a millisecond is worth saying."""


def ms(us: int | None) -> str:
    """Return *us* as milliseconds, rounded up: what missed a budget never reads as if it had kept it."""
    if us is None:
        return "–"
    if 0 < us < SHORT_US and us % 1_000:
        return f"{-(-us // 100) / 10:.1f} ms"
    return f"{-(-us // 1_000):,} ms".replace("-", "−")


def cpu(us: int) -> str:
    """Return *us* of CPU as milliseconds; of 0 nobody knows whether it was measured."""
    return ms(us or None)


def percent(share: Share) -> str:
    """Return *share* in percent, rounded down: 1,999 of 2,000 is not 100 %."""
    return f"{share.count * 1_000 // share.of / 10:.1f} %" if share.of else "–"


def good(share: Share) -> str:
    """Return a *share* of what is wanted, with its n."""
    return f"{percent(share)} ({share.count} of {share.of})"


def bad(share: Share) -> str:
    """Return a *share* of what is not wanted, rounded up: 1 of 2,000 is not 0 %."""
    rate = f"{-(-share.count * 1_000 // share.of) / 10:.1f} %" if share.of else "–"
    return f"{rate} ({share.count} of {share.of})"


def spread(values: Spread) -> str:
    """Return the percentiles of *values* with their n."""
    if not values.n:
        return "– (n 0)"
    ranks = (("p50", values.p50_us), ("p90", values.p90_us), ("p95", values.p95_us), ("p99", values.p99_us))
    return "  ".join(f"{name} {ms(us)}" for name, us in ranks) + f"  (n {values.n})"


def tasks(calls: Iterable[CallRecord]) -> tuple[Share, Share]:
    """Return how many tasks and how many slots of *calls* were right, of those where that is known."""
    known = [call.task for call in calls if call.task]
    right = sum(task.found == task.wanted for task in known)
    slots, held = sum(task.slots for task in known), sum(task.slots_right for task in known)
    return _share(right, len(known)), _share(held, slots)


def _share(count: int, of: int) -> Share:
    return Share(count=count, of=of, share=count / of if of else None)


def headline(summary: Summary) -> Iterator[str]:
    """Yield the numbers of a run a line each, the share of all caller turns in time first."""
    inside, early = summary.in_time, summary.superseded_early.count
    budget = ms(summary.budget_us)
    if inside.of:
        share = percent(inside)
        yield f"{share} of all caller turns sounded within {budget} ({inside.count} of {inside.of})"
    else:
        yield "no caller turns"
    if summary.not_replayed:
        yield f"  not replayed  {_dropped(summary.calls)}"
    if backchannels := sum(call.backchannels for call in summary.calls):
        yield f"  backchannels  {backchannels} recorded over the agent, who spoke on: no turns"
    if early:
        yield f"  {early} of the others: the caller took the turn back inside the budget, before any sound"
    yield f"  first answer within 200 ms  {good(summary.under_200)}"
    yield f"  first answer within {budget}  {good(summary.answered_in_time)}"
    if summary.partial_texts.count:
        yield f"  taken on a partial text  {bad(summary.partial_texts)}: the final one came too late"
    unknown = summary.turns - summary.false_cuts.of
    cuts = bad(summary.false_cuts) + (
        f", unknown in {unknown} (no agent in the recording)" if unknown else ""
    )
    yield f"  false cuts  {cuts}"
    yield f"  wrong hits  {bad(summary.wrong_hits)}, hits  {good(summary.hits)}"
    yield from _ahead(summary)
    yield f"  first sound   {spread(summary.first_sound)}"
    yield f"  first answer  {spread(summary.first_answer)}"
    for name, counts in (("outcomes", summary.outcomes), ("end of speech by", summary.ended_by)):
        yield f"  {name}  " + (", ".join(f"{what} {n}" for what, n in counts.items() if n) or "–")
    yield f"  beside the path  saved {ms(summary.saved_us)}, wasted {ms(summary.wasted_us)}"
    yield f"  ledger and tape  {checks(summary)}"
    if summary.wer is not None:
        yield f"  word errors  {summary.wer.rate * 100:.1f} % of {summary.wer.words:,} words"
    right, slots = tasks(summary.calls)
    if right.of:
        yield f"  tasks  {right.count} of {right.of} right, slots {slots.count} of {slots.of}"
    if summary.usd is not None:
        yield f"  LLM price  {summary.usd:.4f} $ by the backend's own rates"


def _dropped(calls: Sequence[CallRecord]) -> str:
    """Return how many recorded turns no row stands for, and why their calls had ended before them."""
    why = Counter[str]()
    for call in calls:
        why[call.ended] += call.not_replayed
    reasons = "; ".join(f"{reason}: {count}" for reason, count in why.items() if count)
    recorded = sum(call.recorded for call in calls)
    return f"{sum(why.values())} of {recorded} recorded caller turns ({reasons})"


def checks(summary: Summary) -> str:
    """Return how far the accounts are from what they are held to."""
    held = summary.checks
    if not held.witnessed.of:
        return "–"
    read = f"n {held.witnessed.count} of {held.witnessed.of}"
    return f"{ms(held.apart_us)} apart at most ({read}), unaccounted {ms(held.unaccounted_us)} at most"


def _ahead(summary: Summary) -> Iterator[str]:
    """Yield what the guesses came to, and what they cost."""
    if not summary.speculation:
        yield "  speculation  off"
        return
    made = summary.guesses
    starts, foreseen = (f"{share.count} of {share.of}" for share in (made.head_starts, made.foreseen))
    yield f"  head starts kept  {starts}, answers foreseen  {foreseen}"
    yield f"  work ahead  saved {ms(made.saved_us)}, on guesses not used {ms(made.unused_us)}"
    yield f"  CPU of renders not used  {cpu(made.unused_cpu_us)} (finished renders; thinking is not measured)"


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
    budget = ms(summary.budget_us)
    made = summary.guesses
    yield "caller turns", f"{summary.turns:,}"
    yield "answer within 200 ms", good(summary.under_200)
    yield f"answer within {budget}", good(summary.answered_in_time)
    yield f"sound within {budget}", good(summary.in_time)
    yield "answer p50/p95/p99, ms", _spread(summary.first_answer)
    yield "false cuts", bad(summary.false_cuts)
    yield "wrong hits, of hits", bad(summary.wrong_hits)
    yield "hits", good(summary.hits)
    yield "work ahead, taken up", ms(made.saved_us)
    yield "work ahead, not used", ms(made.unused_us)
    yield "CPU of renders not used", cpu(made.unused_cpu_us)
    yield (
        "word errors",
        f"{summary.wer.rate * 100:.1f} % ({summary.wer.words:,} words)" if summary.wer else "–",
    )
    for name, share in zip(("tasks right", "slots right"), tasks(summary.calls), strict=True):
        yield name, good(share)


def _spread(spread: Spread) -> str:
    ranks = (spread.p50_us, spread.p95_us, spread.p99_us)
    return " / ".join(ms(us).removesuffix(" ms") for us in ranks) + f" (n {spread.n})"
