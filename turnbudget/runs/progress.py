"""How far the work has come: a bar on a terminal, a line for each thing begun where there is none."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Self

from rich import progress

if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.console import Console

    from turnbudget.runs.records import Row


@dataclass(slots=True)
class Progress:
    """Who is told how far a run has come; by itself it tells nobody."""

    doing: Callable[[str], None] = field(default=lambda _: None)
    calls: Callable[[int], None] = field(default=lambda _: None)
    row: Callable[[Row], None] = field(default=lambda _: None)
    call_done: Callable[[], None] = field(default=lambda: None)


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
        if self._bar.disable:
            self._console.print(what, markup=False, highlight=False, soft_wrap=True)
