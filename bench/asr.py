"""Compare the recognisers that are here on recorded calls: word errors, delay of the final text, CPU.

Each caller utterance is cut out by the reference's timings with a margin of 0.3 s, fed at the pace of
speech, paused *tail* ms after its reference end, and its final text asked for at once: the delay is what
a caller would wait if the turn ended at the pause.

    python bench/asr.py ../shared/data/harper-valley [--tail 200] [--only moonshine]
"""

from __future__ import annotations

import argparse
import json
import os
import platform
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Final

import soundfile
import soxr

from turnbudget.voice.asr.choose import ENGINES, choose
from turnbudget.voice.asr.reference import WordErrors, word_errors
from turnbudget.voice.language.text import is_words
from turnbudget.voice.sound import audio
from turnbudget.voice.time import clock
from turnbudget.voice.time.budget import nearest_rank

if TYPE_CHECKING:
    from turnbudget.voice.asr.transcriber import Transcriber
    from turnbudget.voice.sound.audio import Int16

MARGIN_MS: Final = 300
LENGTHS_MS: Final = ((0, 1_000), (1_000, 2_000), (2_000, 4_000), (4_000, 9_000))


@dataclass(frozen=True, slots=True)
class Spoken:
    """One utterance: what was said, for how long, and its sound."""

    text: str
    length_ms: int
    sound: Int16


@dataclass(slots=True)
class Score:
    """What one engine did with all utterances."""

    errors: WordErrors = field(default_factory=WordErrors)
    empty: int = 0
    delays_us: list[tuple[int, int]] = field(default_factory=list)
    cpu_us: int = 0
    heard_us: int = 0
    final_us: int = 0


def utterances(folder: Path, tail_ms: int) -> list[Spoken]:
    """Return every caller utterance with words, cut out with 0.3 s before and *tail_ms* after it."""
    found = []
    for file in sorted((folder / "transcript").glob("*.json")):
        sound, rate = soundfile.read(folder / "audio" / "caller" / f"{file.stem}.wav", dtype="int16")
        sound = soxr.resample(sound, rate, audio.RATE)
        for segment in json.loads(file.read_text()):
            if segment["speaker_role"] == "caller" and is_words(segment["human_transcript"]):
                began = audio.samples(max(0, segment["start_ms"] - MARGIN_MS) * clock.MS)
                ended_ms = segment["start_ms"] + segment["duration_ms"]
                ended = audio.samples((ended_ms + tail_ms) * clock.MS)
                found.append(Spoken(segment["human_transcript"], segment["duration_ms"], sound[began:ended]))
    return found


async def score(transcriber: Transcriber, spoken: list[Spoken], *, show: bool) -> Score:
    """Have *transcriber* hear all that was *spoken*, at the pace of speech."""
    result = Score()
    await transcriber.warm()
    for one in spoken:
        before = clock.cpu()
        dictation = transcriber.begin(0, lambda: None)
        began = clock.now()
        for at in range(0, one.sound.size, audio.FRAME):
            frame = one.sound[at : at + audio.FRAME]
            await clock.sleep_until(began + audio.us(at + frame.size))
            dictation.feed(frame)
        asked = clock.now()
        dictation.pause()
        transcript = await dictation.final()
        delay = clock.now() - asked
        result.delays_us.append((one.length_ms, delay))
        result.final_us += delay
        result.cpu_us += clock.cpu() - before
        result.heard_us += audio.us(one.sound.size)
        errors = word_errors(one.text, transcript.text)
        result.errors += errors
        result.empty += not is_words(transcript.text)
        if show and errors.errors:
            print(f"  {errors.errors}  {one.text!r}  {transcript.text!r}")
    await transcriber.aclose()
    return result


def table(name: str, result: Score) -> None:
    """Print one engine's results, with n beside each."""
    errors = result.errors
    print(
        f"{name}: WER {errors.rate:.1%} of {errors.words} words in {len(result.delays_us)} utterances "
        f"({errors.substituted} substituted, {errors.deleted} deleted, {errors.inserted} inserted; "
        f"{result.empty} utterances empty)"
    )
    print(
        f"  CPU {result.cpu_us / result.heard_us:.2f} s per second of speech, partials included; "
        f"real-time factor of the final decode {result.final_us / result.heard_us:.3f}"
    )
    print(f"  {'final after pause':<18}{'n':>4}{'p50 ms':>8}{'p95 ms':>8}")
    for least, most in LENGTHS_MS:
        delays = sorted(delay for length, delay in result.delays_us if least <= length < most)
        if delays:
            low, high = (nearest_rank(delays, percent) / clock.MS for percent in (50, 95))
            label = f"{least // 1_000}-{most // 1_000} s"
            print(f"  {label:<18}{len(delays):>4}{low:>8.0f}{high:>8.0f}")


def machine() -> str:
    """Return what the numbers were measured on."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.is_file() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    cpu = names[0] if names else platform.processor() or platform.machine()
    packages = []
    for package in ("onnxruntime", "moonshine-cpp", "vosk"):
        try:
            packages.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            packages.append(f"no {package}")
    system = f"{platform.system()}, Python {platform.python_version()}"
    return f"{os.cpu_count()} × {cpu}; {system}; {', '.join(packages)}"


def main() -> None:
    """Score each engine that is here."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path, help="recorded calls in HarperValley layout")
    parser.add_argument("--tail", type=int, default=200, help="ms of sound after the speech (default 200)")
    parser.add_argument("--only", choices=list(ENGINES), help="one engine alone")
    parser.add_argument("--model", type=Path, help="a Vosk model's folder")
    parser.add_argument("--show", action="store_true", help="print each utterance with errors")
    given = parser.parse_args()
    spoken = utterances(given.folder, given.tail)
    print(f"{machine()}\nsilence after speech {given.tail} ms")
    for name, missing in ENGINES.items():
        if given.only not in (None, name):
            continue
        if (lacks := missing()) and not (name == "vosk" and given.model):
            print(f"{name}: not here; type {lacks}")
            continue
        transcriber, _ = choose(name, model=given.model)
        table(name, clock.run(score(transcriber, spoken, show=given.show), "skip"))


if __name__ == "__main__":
    main()
