"""Talk for half an hour in real time, and see whether anything grows: ``python bench/soak.py --minutes 30``.

A scripted caller (three sentences of the voice that is here, over and over) talks to real engines through a
simulated sound card whose two clocks run 100 parts in a million fast and slow against ours, as bad cards do.
Measured every ten seconds: memory of this process and of its workers, tasks, gaps; of every turn its first
sound. Memory is read from /proc, so it needs Linux.
"""

from __future__ import annotations

import asyncio
import itertools
from pathlib import Path
from typing import TYPE_CHECKING

import click
import numpy as np
from facts import facts

from turnbudget.live.call import LiveCall
from turnbudget.runs.readings import ms
from turnbudget.runs.summary import spread
from turnbudget.settings.compose import open_studio, render_phrase
from turnbudget.settings.config import load
from turnbudget.settings.engines import open_voice
from turnbudget.voice.lines.card import Person, SimulatedCard
from turnbudget.voice.lines.microphone import Microphone
from turnbudget.voice.time import clock
from turnbudget.voice.time.clock import SECOND
from turnbudget.voice.time.crew import Crew
from turnbudget.voice.time.watch import settle

if TYPE_CHECKING:
    from turnbudget.runs.records import Row
    from turnbudget.voice.sound.audio import Int16

SAYINGS = (
    "I would like to check my account balance.",
    "My savings account please.",
    "Can you tell me when the branch is open?",
)
EVERY_US = 10 * SECOND
PPM = 100
SETTLED = 1 / 3
"""Memory is looked at from here on: caches fill at first."""
PAGE = 4_096


def memory() -> int:
    """Return the resident bytes of this process and of its children."""
    family = [Path("/proc/self")]
    for children in Path("/proc/self/task").glob("*/children"):
        family += [Path("/proc") / child for child in children.read_text().split()]
    return sum(int((one / "statm").read_text().split()[1]) * PAGE for one in family if one.exists())


def slope(samples: list[tuple[int, int]]) -> float:
    """Return by how much the second number of *samples* grows in a minute of the first (µs)."""
    if len(samples) < 2:  # noqa: PLR2004 - a line needs two points
        return 0.0
    times, values = np.array(samples, float).T
    return float(np.polyfit(times / (60 * SECOND), values, 1)[0])


async def sayings(config: Path | None) -> list[Int16]:
    """Return what the caller says, as sound."""
    voice, _ = open_voice(load(config), "wall")
    try:
        await voice.warm()
        return [(await render_phrase(voice, text)).samples for text in SAYINGS]
    finally:
        await voice.aclose()


async def soak(minutes: float, config: Path | None) -> None:
    """Have the call, and print what it came to."""
    person = Person(itertools.cycle(await sayings(config)))
    line = Microphone(SimulatedCard(person, mic_ppm=PPM, speaker_ppm=-PPM))
    studio = await open_studio(load(config))
    rows: list[Row] = []
    sizes: list[tuple[int, int]] = []
    tasks: list[int] = []
    try:
        call = LiveCall(line, studio, None, name="soak", told=rows.append, partial=lambda _: None)
        settle()
        async with Crew() as crew:
            calling = crew.create_task(call.run(), name="call")
            began = clock.now()
            print(f"{'minute':>7}{'MB':>9}{'tasks':>7}{'turns':>7}   first sound p50 / p95 of the last ten")
            while not calling.done() and clock.now() < began + minutes * 60 * SECOND:
                await clock.wait_until([calling], clock.now() + EVERY_US)
                at = clock.now() - began
                sizes.append((at, memory()))
                tasks.append(len(asyncio.all_tasks()))
                print(progress(at, sizes[-1][1], tasks[-1], rows), flush=True)
            line.hang_up("the time is over")
            record = await calling
    finally:
        await studio.aclose()
    turns = [row for row in rows if row.kind == "turn"]
    third = len(turns) // 3 or 1
    late = sizes[int(len(sizes) * SETTLED) :]
    print(f"ended: {record.ended}; {len(turns)} turns of {person.said} sayings")
    print(f"in time {sum(row.in_time for row in turns)} of {len(turns)}")
    for name, those in (("first third", turns[:third]), ("last third", turns[-third:])):
        found = spread(row.first_sound_us for row in those)
        print(f"first sound, {name}: p50 {ms(found.p50_us)}, p95 {ms(found.p95_us)} (n {found.n})")
    print(
        f"memory, last two thirds: {slope(late) / 1e6:+.2f} MB a minute; tasks {min(tasks)} to {max(tasks)}"
    )
    for note in record.notes:
        print(f"note: {note}")


def progress(at: int, size: int, tasks: int, rows: list[Row]) -> str:
    """Return a line on where it stands."""
    turns = [row for row in rows if row.kind == "turn"]
    found = spread(row.first_sound_us for row in turns[-10:])
    times = f"{ms(found.p50_us)} / {ms(found.p95_us)}"
    return f"{at / 60 / SECOND:7.1f}{size / 1e6:9.1f}{tasks:7}{len(turns):7}   {times}"


@click.command()
@click.option("--minutes", type=click.FloatRange(min=0.1), default=30.0, show_default=True)
@click.option("--config", type=click.Path(path_type=Path), help="Settings; by default the default ones.")
def main(minutes: float, config: Path | None) -> None:
    """Talk for so many MINUTES."""
    print(facts())
    clock.run(soak(minutes, config), "wall")


if __name__ == "__main__":
    main()
