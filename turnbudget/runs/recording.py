"""A call as it is written down while it runs, replayed or live: its rows and its sound, on disk within 2 s.

Without the caller's consent no sound goes to disk. While the recording is paused both sides are written as
silence, and the record says from when to when, and why.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Self

import numpy as np
import soundfile

from turnbudget.voice.errors import RunError
from turnbudget.voice.sound import audio
from turnbudget.voice.time import clock
from turnbudget.voice.time.crew import Crew

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence
    from concurrent.futures import Executor
    from pathlib import Path

    from turnbudget.runs.folder import RunWriter
    from turnbudget.runs.records import Row
    from turnbudget.voice.call.call import Call
    from turnbudget.voice.sound.audio import Int16

LOOK_US: Final = 100 * clock.MS
"""How often it is checked whether the caller is asked for something sensitive (µs; 100 ms)."""
NO_CONSENT: Final = "no consent yet"
"""Reason of the pause that lasts until the caller consents."""
MOST: Final = 1_000
"""Pauses that one call may have; a call with more stays paused."""


@dataclass(frozen=True, slots=True)
class Pause:
    """A stretch without a recording, in µs of the call; ``ended_us`` is ``None`` while it lasts."""

    began_us: int
    ended_us: int | None
    because: str


class Recording:
    """One call's recording, on the running clock."""

    def __init__(self, *, consent: bool = True) -> None:
        self._consent: bool | None = consent or None
        self._epoch_us = clock.now()
        self._pauses: list[Pause] = []

    @property
    def consent(self) -> bool:
        """Whether sound may be written."""
        return bool(self._consent)

    @property
    def refused(self) -> bool:
        """Whether the caller has refused, for good."""
        return self._consent is False

    @property
    def paused(self) -> bool:
        """Whether it is paused."""
        return bool(self._pauses) and self._pauses[-1].ended_us is None

    @property
    def pauses(self) -> tuple[Pause, ...]:
        """Every stretch that was left out, in order."""
        return tuple(self._pauses)

    def begin(self, epoch_us: int) -> None:
        """Know that the call's clock begins at *epoch_us*: everything here counts from it."""
        self._epoch_us = epoch_us

    def allow(self) -> None:
        """Record from now on, unless the caller has refused; what was before stays silent."""
        if self._consent is None:
            if now := self._now():
                self._pauses.insert(0, Pause(0, now, NO_CONSENT))
            self._consent = True

    def refuse(self) -> None:
        """Keep no sound of this call, for good; what was written is removed."""
        self._consent = False

    def pause(self, because: str = "asked for") -> None:
        """Write silence from now on."""
        if not self.paused:
            self._pauses.append(Pause(self._now(), None, because))

    def resume(self) -> None:
        """Write sound again, from now on."""
        if self.paused and len(self._pauses) < MOST:
            last = self._pauses[-1]
            self._pauses[-1] = Pause(last.began_us, self._now(), last.because)

    def muted(self, block: Int16, place: int) -> Int16:
        """Return *block*, whose first sample is the call's sample *place*, silent where it was paused."""
        begins, ends = audio.us(place), audio.us(place + len(block))
        for pause in self._pauses:
            until = ends if pause.ended_us is None else pause.ended_us
            if pause.began_us < ends and until > begins:
                block[
                    max(0, audio.samples(pause.began_us) - place) : max(0, audio.samples(until) - place)
                ] = 0
        return block

    def over(self, began_us: int, ended_us: int) -> bool:
        """Say whether it was paused at any time from *began_us* to *ended_us* of the call."""
        return any(
            pause.began_us < ended_us and (pause.ended_us is None or pause.ended_us > began_us)
            for pause in self._pauses
            if pause.because != NO_CONSENT
        )

    def notes(self) -> tuple[str, ...]:
        """Return what the record says of it."""
        return tuple(
            f"recording paused {_s(pause.began_us)} to {_s(pause.ended_us) if pause.ended_us else 'the end'}:"
            f" {pause.because}"
            for pause in self._pauses
        )

    async def mind(self, expects: Callable[[], str], sensitive: Collection[str]) -> None:
        """Pause, for ever, whenever what the caller is asked for (*expects*) is *sensitive*."""
        asked = ""
        while True:
            now = expects()
            if now != asked and now in sensitive:
                self.pause(f"asked for {now}")
            elif now != asked and asked in sensitive:
                self.resume()
            asked = now
            await clock.sleep(LOOK_US)

    def _now(self) -> int:
        return clock.now() - self._epoch_us


def _s(us: int) -> str:
    return f"{us / clock.SECOND:.1f} s"


FLUSH_US: Final = 2 * clock.SECOND
"""How often rows and sound go to disk: a long call is never held in memory, a cut one loses two seconds."""
SETTLED_US: Final = clock.SECOND
"""The tape's last second may still be written to."""
log = logging.getLogger(__name__)


class Written:
    """What is written down of *call*; without a *writer* no row is, each is only *told*.

    With a *writer* its sound is kept beside the rows, and a disk that refuses ends the call. In the folder
    *sound* it is kept alone, and a disk that refuses costs what follows of it.
    """

    def __init__(  # noqa: PLR0913 - whose call, where it goes, and who is told
        self,
        call: Call,
        writer: RunWriter | None,
        *,
        name: str,
        told: Callable[[Row], None],
        recording: Recording | None = None,
        sound: Path | None = None,
    ) -> None:
        """Write with *writer*; of the sound as much as *recording* allows, all of it without one."""
        self.length_us = 0
        """How long the call was, once it is over."""
        self.turns = 0
        """Its rows that are turns."""
        self._call = call
        self._writer = writer
        self._name = name
        self._told = told
        self._due: list[Row] = []
        self._recording = recording
        place = writer.folder if writer else sound
        self._sound = Sound(place / f"{name}.wav") if place else None
        self._lost = ""
        """Why no more sound is kept; '' while it is."""

    @property
    def audio(self) -> str:
        """The name of the call's sound in the run folder; '' if none was kept."""
        return self._sound.name if self._sound else ""

    @property
    def notes(self) -> tuple[str, ...]:
        """What was odd about the writing."""
        return (f"recording broken off: {self._lost}",) if self._lost else ()

    def add(self, row: Row) -> None:
        """Tell *row*, and have it written."""
        self.turns += row.kind == "turn"
        if self._writer:
            self._due.append(row)
        self._told(row)

    async def run(self, over: Callable[[], None] = lambda: None) -> None:
        """Take the call to its end, where *over* may add rows; if cancelled, it is written so far."""
        if self._sound:
            await self._on_disk(self._sound, over)
            return
        try:
            await self._call.run()
            over()
        finally:
            self.length_us = clock.now() - self._call.epoch_us

    async def _on_disk(self, sound: Sound, over: Callable[[], None]) -> None:
        if self._allowed:
            with self._bearing(sound):
                await clock.offload(sound.open)
        with sound, ThreadPoolExecutor(1, "disk") as disk:
            try:
                async with Crew() as crew:
                    call = crew.create_task(self._call.run(), name=f"call {self._name}")
                    while not await clock.wait_until([call], clock.now() + FLUSH_US):
                        await self._flush(sound, clock.now() - SETTLED_US, disk)
                over()
            finally:
                self.length_us = clock.now() - self._call.epoch_us
                await self._flush(sound, clock.now(), disk)

    @contextlib.contextmanager
    def _bearing(self, sound: Sound) -> Iterator[None]:
        """Give up the rest of *sound*, if it is kept alone, when the disk refuses it."""
        try:
            yield
        except RunError as error:
            if self._writer:
                raise
            self._lost = self._lost or error.what
            log.error("%s", error)  # noqa: TRY400 - one line is all it needs
            sound.close()

    @property
    def _allowed(self) -> bool:
        """Whether sound may be kept."""
        return self._recording is None or self._recording.consent

    async def _flush(self, sound: Sound, until_us: int, disk: Executor) -> None:
        """Bring rows and sound to disk; begun, it ends, even if the call is broken off meanwhile."""
        block = self._call.tape.take(until_us)
        if self._recording:
            block = self._recording.muted(block, sound.place)
        rows, self._due = self._due, []
        keep = sound.write if self._allowed and not self._lost else sound.skip
        refused = self._recording is not None and self._recording.refused
        steps = (keep, block, rows, self._writer, sound.remove if refused else None)
        with self._bearing(sound):
            await asyncio.shield(clock.offload(_write, *steps, executor=disk))


class Sound:
    """A call's stereo file at *path*, made once there is something that may be kept."""

    def __init__(self, path: Path) -> None:
        self.place = 0
        """So many samples have passed, kept or not."""
        self._path = path
        self._file: soundfile.SoundFile | None = None
        self._removed = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Write no more; what was written stays."""
        if self._file:
            with contextlib.suppress(soundfile.LibsndfileError):
                self._file.close()

    @property
    def name(self) -> str:
        """What it is called; '' if there is none."""
        return self._path.name if self._file and not self._removed else ""

    def open(self) -> None:
        """Make the file; raises RunError."""
        try:
            self._file = soundfile.SoundFile(
                str(self._path), "w", samplerate=audio.RATE, channels=2, subtype="PCM_16"
            )
        except (OSError, soundfile.LibsndfileError) as error:
            remedy = "choose a place that can be written"
            raise RunError(f"cannot be written ({error})", where=str(self._path), remedy=remedy) from None

    def write(self, block: audio.Int16) -> None:
        """Write *block*, behind silence where something was skipped; raises RunError."""
        if self._file is None:
            self.open()
        file = self._file
        try:
            while file and (missing := self.place - file.frames):
                file.write(np.zeros((min(missing, audio.RATE), 2), np.int16))
            if file:
                file.write(block)
        except (OSError, soundfile.LibsndfileError) as error:
            remedy = "free some space"
            raise RunError(f"cannot be written ({error})", where=str(self._path), remedy=remedy) from None
        self.place += len(block)

    def skip(self, block: audio.Int16) -> None:
        """Know of *block*, and keep nothing of it."""
        self.place += len(block)

    def remove(self) -> None:
        """Keep nothing of what was written."""
        self._removed = True
        if self._file:
            self._file.close()
        self._path.unlink(missing_ok=True)


def _write(
    keep: Callable[[audio.Int16], None],
    block: audio.Int16,
    rows: Sequence[Row],
    writer: RunWriter | None,
    remove: Callable[[], None] | None,
) -> None:
    for row in rows:
        if writer:
            writer.append(row)
    keep(block)
    if remove:
        remove()
