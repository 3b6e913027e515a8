"""What a person sees while they talk: how loud they are, their words as they come, each turn as it ends.

On a terminal the last lines are alive and turns scroll up above them; elsewhere there are plain lines, one a
turn. Everything is drawn by threads of its own: a terminal that is slow must not hold up a call.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Final, Self

from rich.live import Live
from rich.text import Text

from turnbudget.runs import readings
from turnbudget.runs.records import Share
from turnbudget.runs.summary import spread
from turnbudget.runs.terminal import axis, waterfall

if TYPE_CHECKING:
    from rich.console import Console

    from turnbudget.runs.records import Row
    from turnbudget.voice.lines.microphone import Microphone

REFRESH: Final = 8
"""How often the live lines are drawn (times a second)."""
CELLS: Final = 24
"""Width of the level meter (characters)."""
QUIETEST_DB: Final = -60.0
"""Level at which the meter is empty (dBFS)."""
ADVICE: Final = (
    "the microphone hears our own voice: use a headset, or pip install 'turnbudget[aec]' to have it cancelled"
)
"""What is said once when the microphone hears our own voice."""


class Screen:
    """What is shown of one call on *console*."""

    def __init__(self, console: Console, budget_us: int) -> None:
        self._console = console
        self._budget_us = budget_us
        self._printer = ThreadPoolExecutor(1, "screen")
        self._line: Microphone | None = None
        self._push_to_talk = False
        self._text = ""
        self._doing = "starting"
        self._sounds: list[int | None] = []
        self._in_time = 0
        self._advised = False
        self._live = Live(
            console=console, get_renderable=self._alive, refresh_per_second=REFRESH, transient=True
        )

    def __enter__(self) -> Self:
        if self._console.is_terminal:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._printer.shutdown()
        self._live.stop()

    def doing(self, what: str) -> None:
        """Show what is being made ready."""
        self._doing = what
        if not self._console.is_terminal:
            self._say(what)

    def ready(self, line: Microphone, echo: str, *, push_to_talk: bool) -> None:
        """Show that the call has begun on *line*."""
        self._line, self._push_to_talk = line, push_to_talk
        self._say(f"echo of our voice: {echo}")
        self._say("speak when you like; Ctrl-C hangs up")
        self._printer.submit(self._console.print, axis(self._budget_us))

    def partial(self, text: str) -> None:
        """Show the caller's words so far."""
        self._text = text

    def row(self, row: Row) -> None:
        """Show a turn that has ended, and the numbers so far."""
        self._printer.submit(self._console.print, waterfall(row))
        if row.kind == "turn":
            self._sounds.append(row.first_sound_us)
            self._in_time += row.in_time
            if not self._console.is_terminal:
                self._say(f"    {self.numbers()}")
        if self._line and self._line.hears_itself and not self._advised:
            self._advised = True
            self._say(ADVICE)

    def numbers(self) -> str:
        """Return the share of turns in time and the percentiles so far."""
        of = len(self._sounds)
        share = Share(count=self._in_time, of=of, share=self._in_time / of if of else None)
        sounds = spread(self._sounds)
        percentiles = f"first sound p50 {readings.ms(sounds.p50_us)}, p95 {readings.ms(sounds.p95_us)}"
        return f"in time {readings.good(share)}  {percentiles} (n {sounds.n})"

    def _say(self, what: str) -> None:
        self._printer.submit(self._console.print, what, markup=False, highlight=False, soft_wrap=True)

    def _alive(self) -> Text:
        """Return the lines that change: level and words, and the numbers so far."""
        if self._line is None:
            return Text(f"{self._doing} …", style="dim")
        text = Text(self._meter(self._line), style="green" if self._line.open_mic else "dim")
        text.append(f"  {self._text or self._hint(self._line)}\n", style="" if self._text else "dim")
        text.append(self.numbers(), style="bold")
        text.truncate(2 * self._console.width, overflow="ellipsis")
        return text

    def _hint(self, line: Microphone) -> str:
        if not self._push_to_talk:
            return "listening"
        return "speak; the space bar ends it" if line.open_mic else "press the space bar to speak"

    def _meter(self, line: Microphone) -> str:
        """Return the level as a bar from −60 dBFS to full scale."""
        cells = round(CELLS * (1 - max(QUIETEST_DB, line.level_db) / QUIETEST_DB))
        full, empty = ("#", ".") if self._console.options.ascii_only else ("█", "·")
        return f"{full * cells}{empty * (CELLS - cells)} {line.level_db:4.0f} dB"
