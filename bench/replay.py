"""What a replay costs: ``python bench/replay.py [RECORDINGS]``.

Virtual: calls a second, CPU of a turn and of 30 s of call, with scripted engines, disk included. Skip: how
many seconds of call a second of real engines takes. RECORDINGS is a folder in HarperValley layout; without
it a call of tones is replayed in virtual time, and the demo's call with real engines.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Final

import soundfile
from facts import facts

from turnbudget.recorded.demo import LINES, render_call
from turnbudget.recorded.replay import ReplayPlan, replay
from turnbudget.runs.terminal import Progress
from turnbudget.settings.config import Config
from turnbudget.voice.errors import TurnbudgetError
from turnbudget.voice.sound import audio
from turnbudget.voice.time import clock
from turnbudget.voice.time.budget import nearest_rank
from turnbudget.voice.time.clock import MS, SECOND
from turnbudget.voice.tts.scripted import tone

if TYPE_CHECKING:
    from collections.abc import Callable

    from turnbudget.runs.folder import Run

CALLS: Final = 40
WORD_MS: Final = 250
PAUSE_MS: Final = 700
SHARE: Final = 30 * SECOND


@dataclass(frozen=True, slots=True)
class Cost:
    """What a run took (µs): CPU of each call, ascending; all of it by the wall, and by the CPU."""

    run: Run
    calls_us: list[int]
    took_us: int
    cpu_us: int

    @property
    def length_us(self) -> int:
        """How long the calls lasted."""
        return sum(call.length_us for call in self.run.summary.calls)


def call_of_tones(folder: Path, count: int) -> Path:
    """Write *count* calls with the words of the demo, each word a tone, in HarperValley layout."""
    at, segments, caller = PAUSE_MS, [], [audio.silence(audio.samples(PAUSE_MS * MS))]
    for who, text in LINES:
        words = len(text.split())
        times = {"offset_ms": at, "start_ms": at, "duration_ms": words * WORD_MS}
        offsets = [word * WORD_MS for word in range(words)]
        segments.append(
            {"speaker_role": who, "human_transcript": text, **times}
            | {"word_offsets_ms": offsets, "word_durations_ms": [WORD_MS] * words}
        )
        length, pause = (audio.samples(us * MS) for us in (words * WORD_MS, PAUSE_MS))
        caller += [tone(length) if who == "caller" else audio.silence(length), audio.silence(pause)]
        at += words * WORD_MS + PAUSE_MS
    for part in ("audio/caller", "transcript"):
        (folder / part).mkdir(parents=True)
    for number in range(count):
        soundfile.write(folder / "audio" / "caller" / f"{number:03}.wav", audio.join(caller), audio.RATE)
        (folder / "transcript" / f"{number:03}.json").write_text(json.dumps(segments))
    return folder


async def measured(source: Path, folder: Path, wall: Callable[[], int]) -> Cost:
    """Replay *source* into *folder* on the running clock, and read the *wall*; loading is not counted."""
    marks: list[tuple[int, int]] = []

    def mark(*_: object) -> None:
        marks.append((wall(), clock.cpu()))

    run = await replay(ReplayPlan((source,), folder, Config()), Progress(calls=mark, call_done=mark))
    calls = sorted(after[1] - before[1] for before, after in pairwise(marks))
    return Cost(run, calls, marks[-1][0] - marks[0][0], marks[-1][1] - marks[0][1])


async def cost(source: Path, folder: Path, kind: clock.Kind) -> Cost:
    """Return what a replay on another clock takes, read off this one's wall."""
    pulse = clock.pulse()
    wall = pulse.read if pulse else clock.now
    return await clock.offload(lambda: clock.run(measured(source, folder, wall), kind))


def virtual(source: Path, place: Path) -> None:
    """Print what calls cost without engines."""
    clock.run(cost(source, place / "warm", "virtual"))
    found = clock.run(cost(source, place / "virtual", "virtual"))
    count, turns = len(found.calls_us), found.run.summary.turns
    median, worst = nearest_rank(found.calls_us, 50) / MS, found.calls_us[-1] / MS
    each = found.length_us / count / SECOND
    print(f"virtual: {count} calls of {each:.1f} s, {turns} turns; reading, writing and rows included")
    print(f"  {count * SECOND / found.took_us:8.1f} calls per second")
    print(f"  {found.cpu_us / turns:8.0f} µs of CPU a turn, the listening included")
    print(f"  {found.cpu_us * SHARE / found.length_us / MS:8.1f} ms of CPU for 30 s of call")
    print(f"  {median:8.1f} ms of CPU a call p50, {worst:.1f} ms worst")


def skip(source: Path, place: Path) -> None:
    """Print how fast calls run with real engines."""
    found = clock.run(cost(source, place / "skip", "skip"))
    engines = ", ".join(f"{engine.job} {engine.name}" for engine in found.run.summary.engines)
    print(f"skip: {found.run.summary.turns} turns in {found.length_us / SECOND:.1f} s of call; {engines}")
    print(f"  {found.took_us / found.length_us:8.3f} s for a second of call: the real-time factor")
    print(f"  {found.cpu_us / found.length_us:8.3f} s of CPU for a second of call, the voice's process apart")


def main() -> None:
    """Print what a replay costs here."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("recordings", nargs="?", type=Path, help="recorded calls in HarperValley layout")
    given = parser.parse_args()
    print(facts())
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        virtual(given.recordings or call_of_tones(place / "tones", CALLS), place)
        try:
            skip(given.recordings or clock.run(render_call(Config(), place, lambda _: None)), place)
        except TurnbudgetError as error:
            print(f"skip: {error}")


if __name__ == "__main__":
    main()
