"""What a reply on the shelf costs, and what one costs that is not: ``python bench/shelf.py [ENTRIES]``.

The replies are as long as the ones a voice renders (two seconds), so 10,000 of them are 640 MB on disk; they
lie in a folder that is removed in the end. Start and look-up are shown with memory for a tenth of them,
which is what a shelf has by default, and with memory for all. The clock is the wall.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click
from facts import facts

from turnbudget.speculative.shelf.pieces import Key
from turnbudget.speculative.shelf.shelf import Shelf
from turnbudget.speculative.shelf.store import Store
from turnbudget.voice.errors import MissingEngine
from turnbudget.voice.sound import audio
from turnbudget.voice.time import clock
from turnbudget.voice.time.budget import nearest_rank
from turnbudget.voice.time.clock import MS, SECOND
from turnbudget.voice.tts.choose import choose
from turnbudget.voice.tts.scripted import ScriptedSynthesizer, tone
from turnbudget.voice.tts.synthesizer import Speech

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from turnbudget.voice.tts.synthesizer import Synthesizer

ENTRIES: Final = 10_000
DEFAULT: Final = 64 << 20
ALL: Final = 4 << 30
LONG: Final = audio.samples(2 * SECOND)
RENDERS: Final = 30
SENTENCE: Final = "Your appointment with number {} is on Friday at noon."


def resident() -> int:
    """Return the memory this process has in RAM, in bytes."""
    pages = Path("/proc/self/statm").read_text("utf-8").split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


def fill(store: Store, voice: Synthesizer, texts: Sequence[str]) -> None:
    """Put a reply for each of *texts* on the disk."""
    sound = tone(LONG)
    onset = audio.first_audible(sound) or 0
    for text in texts:
        store.write(
            Key(text, voice.name, voice.voice),
            Speech(text=text, samples=sound, onset=onset, voice=voice.voice),
            "",
        )


def each(ask: Callable[[str], object], texts: Sequence[str]) -> float:
    """Return what asking takes a text, in microseconds, at the mean over all of *texts*."""
    began = clock.now()
    for text in texts:
        ask(text)
    return (clock.now() - began) / len(texts)


async def start(store: Store, voice: Synthesizer, texts: Sequence[str], most_bytes: int) -> None:
    """Print what a start with *most_bytes* of memory takes, and what is found then."""
    shelf = Shelf(voice, most_bytes=most_bytes, store=store)
    before, began, cpu = resident(), clock.now(), clock.cpu()
    await shelf.open()
    took, cpu = clock.now() - began, clock.cpu() - cpu
    held, size = shelf.statistics()
    print(
        f"start, memory for {most_bytes >> 20:,} MB: {took / MS:.0f} ms ({cpu / MS:.0f} ms of CPU);"
        f" {held:,} of"
        f" {len(shelf.entries()):,} held in {size >> 20} MB, the process grew by"
        f" {resident() - before >> 20} MB"
    )
    here = [text for text in texts if shelf.holds(text)]
    away = [text for text in texts if not shelf.holds(text)]
    plain = {Key(text, voice.name, voice.voice): text for text in here}
    bare = each(lambda text: plain.get(Key(text, voice.name, voice.voice)), here)
    hit, miss = each(shelf.find, here), each(shelf.find, [f"{text} No." for text in here])
    part = each(shelf.opening, [f"{text} And then, as you know, we close." for text in here])
    print(
        f"  look-up among {held:,}: hit {hit:.2f} µs, miss {miss:.2f} µs, beginning of a text {part:.2f} µs;"
        f" a dict with the same keys {bare:.2f} µs: {hit / bare:.1f} times"
    )
    if away:
        began = clock.now()
        for text in away[:RENDERS]:
            await shelf.fetch(text)
        print(f"  fetched from the disk: {(clock.now() - began) / RENDERS:.0f} µs a reply")
    await shelf.aclose()


async def rendering() -> None:
    """Print what a reply takes to be ready with a real voice, from the shelf and without it."""
    try:
        voice, why = choose()
    except MissingEngine as missing:
        print(f"no comparison with rendering: {missing}")
        return
    shelf = Shelf(voice)
    texts = [SENTENCE.format(number) for number in range(RENDERS)]
    ready: list[int] = []
    try:
        await voice.warm()
        for text in texts:
            began = clock.now()
            await voice.render(text)
            ready.append(clock.now() - began)
            await shelf.keep(text)
    finally:
        await shelf.aclose()
        await voice.aclose()
    found = each(shelf.find, [entry.text for entry in shelf.entries()] * 100)
    p50, p95 = nearest_rank(sorted(ready), 50), nearest_rank(sorted(ready), 95)
    print(f"{why}\n  ready by rendering: p50 {p50:,} µs, p95 {p95:,} µs (n {RENDERS})")
    print(f"  ready from the shelf: {found:.2f} µs, {p50 / found:,.0f} times sooner")


@click.command()
@click.argument("count", metavar="[ENTRIES]", type=click.IntRange(1), default=ENTRIES)
def main(count: int) -> None:
    """Print start, look-up, memory, and rendering beside them."""
    print(facts())
    voice = ScriptedSynthesizer()
    texts = [SENTENCE.format(number) for number in range(count)]
    with tempfile.TemporaryDirectory() as place:
        store = Store(Path(place) / "shelf", most_bytes=ALL, most_entries=2 * count)
        clock.run(filled(store, voice, texts))
        for most_bytes in (DEFAULT, ALL):
            clock.run(start(store, voice, texts, most_bytes))
    clock.run(rendering())


async def filled(store: Store, voice: Synthesizer, texts: Sequence[str]) -> None:
    """Print what it takes to write *texts*."""
    began = clock.now()
    await clock.offload(fill, store, voice, texts)
    print(f"{len(texts):,} replies of 2 s written: {(clock.now() - began) / len(texts):.0f} µs a reply")


if __name__ == "__main__":
    main()
