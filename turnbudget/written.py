"""A call as it is written down while it runs, replayed or live: rows and sound, on disk within two seconds."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Final

import soundfile

from voice import audio, clock
from voice.crew import Crew
from voice.errors import RunError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from concurrent.futures import Executor
    from pathlib import Path

    from turnbudget.records import Row
    from turnbudget.runs import RunWriter
    from voice.call import Call

FLUSH_US: Final = 2 * clock.SECOND
"""How often rows and sound go to disk: a long call is never held in memory, a cut one loses two seconds."""
SETTLED_US: Final = clock.SECOND
"""The tape's last second may still be written to."""


class Written:
    """What is written down of *call*; without a *writer* nothing is, and each row is only *told*."""

    def __init__(
        self, call: Call, writer: RunWriter | None, *, name: str, told: Callable[[Row], None]
    ) -> None:
        self.audio = f"{name}.wav" if writer else ""
        """The name of the call's sound in the run folder."""
        self.length_us = 0
        """How long the call was, once it is over."""
        self.turns = 0
        """Its rows that are turns."""
        self._call = call
        self._writer = writer
        self._name = name
        self._told = told
        self._due: list[Row] = []

    def add(self, row: Row) -> None:
        """Tell *row*, and have it written."""
        self.turns += row.kind == "turn"
        if self._writer:
            self._due.append(row)
        self._told(row)

    async def run(self, over: Callable[[], None] = lambda: None) -> None:
        """Take the call to its end, where *over* may add rows; if cancelled, it is written so far."""
        if self._writer:
            await self._on_disk(self._writer, over)
            return
        try:
            await self._call.run()
            over()
        finally:
            self.length_us = clock.now() - self._call.epoch_us

    async def _on_disk(self, writer: RunWriter, over: Callable[[], None]) -> None:
        sound = await clock.offload(_open_wav, writer.folder / self.audio)
        with sound, ThreadPoolExecutor(1, "disk") as disk:
            try:
                async with Crew() as crew:
                    call = crew.create_task(self._call.run(), name=f"call {self._name}")
                    while not await clock.wait_until([call], clock.now() + FLUSH_US):
                        await self._flush(writer, sound, clock.now() - SETTLED_US, disk)
                over()
            finally:
                self.length_us = clock.now() - self._call.epoch_us
                await self._flush(writer, sound, clock.now(), disk)

    async def _flush(
        self, writer: RunWriter, sound: soundfile.SoundFile, until_us: int, disk: Executor
    ) -> None:
        """Bring rows and sound to disk; begun, it ends, even if the call is broken off meanwhile."""
        block = self._call.tape.take(until_us)
        rows, self._due = self._due, []
        await asyncio.shield(clock.offload(_write, writer, sound, block, rows, executor=disk))


def _write(writer: RunWriter, sound: soundfile.SoundFile, block: audio.Int16, rows: Sequence[Row]) -> None:
    for row in rows:
        writer.append(row)
    try:
        sound.write(block)
    except (OSError, soundfile.LibsndfileError) as error:
        raise RunError(f"cannot be written ({error})", where=sound.name, remedy="free some space") from None


def _open_wav(path: Path) -> soundfile.SoundFile:
    try:
        return soundfile.SoundFile(str(path), "w", samplerate=audio.RATE, channels=2, subtype="PCM_16")
    except (OSError, soundfile.LibsndfileError) as error:
        raise RunError(
            f"cannot be written ({error})", where=str(path), remedy="choose a place that can be written"
        ) from None
