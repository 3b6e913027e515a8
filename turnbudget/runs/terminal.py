"""A run in a terminal: how far it has come; then a waterfall a turn on one axis, its stages, the headline.

It reads the same without colour, at 80 columns and where only ASCII can be written: a stage is a letter
before it is a colour, and what people said is shown without anything that could steer a terminal.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING, Final, Self

from rich import progress
from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from turnbudget.runs import readings
from turnbudget.runs.readings import ms
from turnbudget.runs.records import told, verdicts
from turnbudget.runs.summary import STAGES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from rich.console import ConsoleOptions, RenderResult

    from turnbudget.runs.folder import Run
    from turnbudget.runs.records import Row, Summary


LETTERS: Final[dict[str, str]] = dict(zip(STAGES, "ETMCHSD!?", strict=True))
"""The letter of each stage in a waterfall."""
COLOURS: Final[dict[str, str]] = dict(
    zip(
        STAGES,
        ("#a3abb8", "#56b4e9", "#f0e442", "#3d9bd6", "#cc79a7", "#1fb389", "#e69f00", "#ffffff", "#77777a"),
        strict=True,
    )
)
"""The colours of Okabe & Ito, which people with any colour vision can tell apart; the page's, too."""
ASCII: Final = str.maketrans(
    {"│": "|", "┊": ":", "─": "-", "●": "o", "◆": "*", "›": ">", "–": "-", "…": "~", "→": ">", "·": ",",
     "“": '"', "”": '"', "‘": "'", "’": "'", "µ": "u", "\u00a0": " "}
)  # fmt: skip
"""What is written for a sign that a terminal cannot show."""
MARGIN: Final = 4
"""Columns before a waterfall."""
BEYOND: Final = 1.25
"""Length of the axis of a waterfall (budgets); a longer turn runs off it, and its number says how far."""

NARROWEST: Final = 24
"""Width below which nothing is made narrower (columns)."""
WIDTH: Final = 80
"""Width of a run that is written as plain text (columns)."""


class Lines:
    """Lines of text made for the width at hand, written in ASCII where nothing else can be."""

    def __init__(self, make: Callable[[int, bool], Iterable[Text]], width: int | None = None) -> None:
        self._make = make
        self._width = width

    def __str__(self) -> str:
        """Return the lines without colour, 80 columns wide unless another width was asked for."""
        width = max(NARROWEST, self._width or WIDTH)
        return "\n".join(line.plain.rstrip() for line in self._make(width, False))  # noqa: FBT003 - as it is asked

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the lines for the width there is, and whether there is colour."""
        width = max(NARROWEST, min(self._width or options.max_width, options.max_width))
        coloured = console.color_system is not None and not console.no_color
        for line in self._make(width, coloured):
            line.rstrip()
            yield _ascii(line) if options.ascii_only else line


def waterfall(row: Row, width: int | None = None) -> Lines:
    """Return two lines for *row*: what was said and how it went, and where its milliseconds went.

    ``str()`` of it is plain text, as wide as *width* (80 columns if not given); a rich console shows colours.
    """
    return Lines(
        lambda room, coloured: (_head(row, room), _bar(row, room - MARGIN, coloured=coloured)), width
    )


def guessed(row: Row, verdict: str | None) -> Lines:
    """Return a line on what was guessed of *row*; *verdict*: see :func:`turnbudget.runs.records.verdicts`."""

    def line(room: int, _: bool) -> Iterable[Text]:  # noqa: FBT001 - as Lines calls it
        text = Text(" " * MARGIN).append(_plain(_guessed(row, verdict)), "bold red" if verdict else "dim")
        text.truncate(room, overflow="ellipsis")
        yield text

    return Lines(line)


def axis(budget_us: int, width: int | None = None) -> Lines:
    """Return the axis that the waterfalls below it share."""
    return Lines(lambda room, _: (_ruler(budget_us, room - MARGIN),), width)


def key(stages: Iterable[str]) -> Lines:
    """Return what the letters and marks of a waterfall mean."""
    stages = tuple(stages)
    return Lines(lambda room, coloured: _key(stages, room, coloured=coloured))


def stage_table(summary: Summary) -> Table:
    """Return the stages with what they cost: n, p50, p95, total and share."""
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("stage", no_wrap=True)
    for name in ("n", "p50", "p95", "total", "share"):
        table.add_column(name, justify="right", no_wrap=True)
    for stage in summary.stages:
        table.add_row(
            Text(_plain(stage.stage)),
            str(stage.n),
            ms(stage.p50_us),
            ms(stage.p95_us),
            ms(stage.total_us),
            f"{stage.share:.1%}".replace("%", " %"),
        )
    return table


def headline(summary: Summary) -> Lines:
    """Return the numbers of a run, the share of all caller turns in time first, n beside each."""
    return Lines(
        lambda _, __: (Text(line, style="bold" if first else "") for first, line in _numbers(summary))
    )


def show(run: Run, console: Console | None = None) -> None:
    """Print the whole run: waterfalls by call, stages, headline, faults."""
    console = console or Console()
    summary, rows = run
    notes = {record.call: record.notes for record in summary.calls}
    judged = zip(rows, verdicts(rows), strict=True)
    for call, of_call in groupby(judged, lambda pair: pair[0].call):
        console.print()
        console.print(_lines(f"call {_plain(call)}", style="bold"))
        for note in notes.get(call, ()):
            console.print(_lines(f"note: {_plain(note)}", style="dim"))
        console.print(axis(summary.budget_us))
        for row, verdict in of_call:
            console.print(waterfall(row))
            if row.guesses or verdict:
                console.print(guessed(row, verdict))
    if rows:
        console.print()
        console.print(key(stage.stage for stage in summary.stages))
    if summary.stages:
        console.print(stage_table(summary))
    console.print(headline(summary))
    for fault in summary.faults:
        console.print(_lines(f"fault: {_plain(fault)}"))


def _head(row: Row, width: int) -> Text:
    text = _told(row, width)
    text.truncate(width, overflow="ellipsis")
    return text


def _told(row: Row, width: int) -> Text:
    number = f"{row.turn:>3} " if row.kind == "turn" else "  · "
    text = Text(number, style="bold")
    late = row.kind == "turn" and not row.in_time
    text.append(f"{row.outcome:<10} ", "bold red" if late else "bold")
    text.append(f"{ms(row.first_sound_us):>8}  ", "red" if late else "")
    if row.first_answer_us != row.first_sound_us:
        text.append(f"answer {ms(row.first_answer_us)}  ")
    room = width - text.cell_len
    heard, said = _plain(row.heard), _plain(row.said)
    if row.kind != "turn":
        return text.append(_short(f"{row.kind}: {said}", room), "dim")
    if not said:
        return text.append(_short(heard or "(no words)", room))
    heard = _short(heard or "(no words)", max(room // 2 - 2, room - 3 - cell_len(said)))
    return text.append(heard).append(" → ", "dim").append(_short(said, room - 3 - cell_len(heard)), "dim")


def _bar(row: Row, width: int, *, coloured: bool) -> Text:
    """Draw the entries on the axis: a cell belongs to the stage that holds its end."""
    cells = _Cells(row.budget_us, width)
    line = [(" ", "")] * width
    for column, sign, style in cells.grid():
        line[column] = (sign, style)
    at, last = 0, ""
    for entry in row.entries:
        began, at = at, at + entry.us
        for column in range(cells.column(began), cells.column(at)):
            sign = _letter(entry.stage) if not coloured or entry.stage != last else " "
            line[column], last = (sign, _style(entry.stage) if coloured else ""), entry.stage
    line[cells.column(row.budget_us)] = ("│", "bold")
    if row.closed_us > cells.end_us:
        line[-1] = ("›", "bold")
    for instant, sign in ((row.first_sound_us, "●"), (row.first_answer_us, "◆")):
        if instant is not None and instant <= cells.end_us:
            line[cells.column(instant)] = (sign, "bold")
    text = Text(" " * MARGIN)
    for sign, style in line:
        text.append(sign, style)
    return text


def _ruler(budget_us: int, width: int) -> Text:
    cells = _Cells(budget_us, width)
    line = [" "] * (width + len("800 ms"))
    for instant, label in ((0, "0"), (200_000, "200"), (budget_us, f"{budget_us // 1_000} ms")):
        start = cells.column(instant)
        line[start : start + len(label)] = label
    return Text(" " * MARGIN + "".join(line).rstrip(), style="dim")


class _Cells:
    """The columns of an axis that runs from the last voiced sample to beyond the budget."""

    def __init__(self, budget_us: int, width: int) -> None:
        self.budget_us = budget_us
        self.end_us = round(budget_us * BEYOND) or 1
        self._last = max(1, width) - 1

    def column(self, instant: int) -> int:
        """Return the column of *instant*; what missed the budget stands right of its line."""
        column = min(self._last, max(0, instant) * self._last // self.end_us)
        limit = self.budget_us * self._last // self.end_us
        return min(self._last, limit + 1) if instant > self.budget_us and column <= limit else column

    def grid(self) -> Iterable[tuple[int, str, str]]:
        """Return the lines that every turn is read against."""
        fast = ((200_000, "┊", "dim"),) if self.budget_us > 200_000 else ()  # noqa: PLR2004 - the tick's own value
        return [(self.column(at), sign, style) for at, sign, style in (*fast, (self.budget_us, "│", "bold"))]


def _numbers(summary: Summary) -> Iterable[tuple[bool, str]]:
    """Yield the lines of the headline, and whether each is one of weight."""
    lines = tuple(readings.headline(summary))
    yield from ((line is lines[0], line) for line in lines)
    for engine in summary.engines:
        yield False, f"  {_plain(engine.job)}  {_plain(engine.name)} ({_plain(engine.why)})"
    yield False, f"  clock {summary.clock}, pacing {summary.pacing}, seed {summary.seed}"
    if summary.truncated:
        yield True, "the run was ended before its end; the numbers are of the turns up to there"


def _guessed(row: Row, verdict: str | None) -> str:
    """Return whether *row* was a hit, and what was guessed of it, in one line."""
    line = told(row, verdict)
    outcomes = [guess.outcome for guess in row.guesses]
    kept, foreseen = outcomes.count("kept"), outcomes.count("said") + outcomes.count("not said")
    if begun := kept + outcomes.count("dropped"):
        line += f", {kept} of {begun} head starts kept"
    said = next((guess for guess in row.guesses if guess.outcome == "said"), None)
    if said:
        line += ", foreseen" if said.odds is None else f", foreseen at {said.odds:.2f}"
    elif foreseen:
        line += f", none of {foreseen} foreseen came"
    unused = sum(guess.wasted_us for guess in row.guesses)
    return line + (f", {ms(unused)} of work unused" if unused else "")


def _letter(stage: str) -> str:
    return LETTERS.get(stage, "+")


def _style(stage: str) -> str:
    return f"#101216 on {COLOURS.get(stage, '#bbbbbb')}"


def _key(stages: Iterable[str], room: int, *, coloured: bool) -> Iterable[Text]:
    """Yield the letters of *stages*, as many on a line as there is room for, then the marks."""
    line = Text(" " * MARGIN)
    for stage in stages:
        name = _plain(stage)
        if line.cell_len + cell_len(name) + len(" E   ") > room:
            yield line
            line = Text(" " * MARGIN)
        line.append(f" {_letter(stage)} ", _style(stage) if coloured else "bold").append(f" {name}  ")
    yield line
    yield Text(f"{' ' * MARGIN} ● first sound  ◆ first answer  │ budget  › goes on", style="dim")


def _lines(line: str, style: str = "") -> Lines:
    return Lines(lambda _, __: (Text(line, style),))


def _plain(text: str) -> str:
    """Return *text* on one line, without control or direction characters."""
    return " ".join("".join(sign if sign.isprintable() else " " for sign in text).split())


def _short(text: str, room: int) -> str:
    shortened = Text(text)
    shortened.truncate(max(1, room), overflow="ellipsis")
    return str(shortened)


def _ascii(line: Text) -> Text:
    """Return *line* in ASCII, sign for sign, so that its colours stay where they are."""
    line = line.copy()
    line.plain = line.plain.translate(ASCII).replace("−", "-").encode("ascii", "replace").decode()
    return line


@dataclass(slots=True)
class Progress:
    """Who is told how far a run has come; by itself it tells nobody."""

    doing: Callable[[str], None] = field(default=lambda _: None)
    calls: Callable[[int], None] = field(default=lambda _: None)
    row: Callable[[Row], None] = field(default=lambda _: None)
    call_done: Callable[[], None] = field(default=lambda: None)


COUNT: Final = re.compile(r" \(\d+/\d+\)$| \d+ \w+ \d+$")
"""How far a step has come, at the end of what is told of it."""


class Bar:
    """A progress bar on *console*."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._bar = progress.Progress(
            progress.SpinnerColumn(),
            progress.TextColumn("{task.description}", markup=False),
            progress.BarColumn(),
            progress.MofNCompleteColumn(),
            progress.TimeElapsedColumn(),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        self._task = self._bar.add_task("starting", total=None)
        self._said = ""
        """What was last printed where there is no terminal, without its count."""

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def steps(self, done: int, total: int, what: str) -> None:
        """Show that *done* of *total* steps are done, the running one being *what*."""
        self._say(f"{what} ({done}/{total})")
        self._bar.update(self._task, completed=done, total=total, description=what)

    def doing(self, what: str) -> None:
        """Show what is being done."""
        self._say(what)
        self._bar.update(self._task, description=what)

    def progress(self) -> Progress:
        """Return what a replay tells its progress to."""
        bar, task = self._bar, self._task
        return Progress(
            doing=self.doing,
            calls=lambda total: bar.update(task, total=total, completed=0),
            row=lambda row: bar.update(task, description=f"{row.call}, turn {row.turn}: {row.outcome}"),
            call_done=lambda: bar.advance(task),
        )

    def _say(self, what: str) -> None:
        """Print *what* where there is no terminal, once for all steps that differ in their count alone."""
        kind = COUNT.sub("", what)
        if self._bar.disable and kind != self._said:
            self._said = kind
            self._console.print(what, markup=False, highlight=False, soft_wrap=True)
