"""One recorded call, replayed: it runs, and its rows and its sound go to disk while it does."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Final

import soundfile

from turnbudget.names import legible
from turnbudget.records import CallRecord, TaskRecord
from turnbudget.rows import row, unheard
from turnbudget.wanted import TASKS, same
from voice import audio, clock
from voice.asr.wer import word_errors
from voice.call import Call
from voice.crew import Crew
from voice.errors import RunError
from voice.lines.recording import UNANSWERED_US, RecordedLine
from voice.reference import Reference

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from concurrent.futures import Executor
    from pathlib import Path

    from turnbudget.compose import Studio
    from turnbudget.recorded.conversation import Conversation
    from turnbudget.records import Row
    from turnbudget.runs import RunWriter
    from voice.asr.wer import WordErrors
    from voice.lines.recording import Clip
    from voice.parts import Entry

FLUSH_US: Final = 2 * clock.SECOND
"""How often rows and sound go to disk: a long call is never held in memory, a cut one loses two seconds."""
TAKEN: Final = "reply of "
"""How a turn's decision begins that names who spoke."""
SETTLED_US: Final = clock.SECOND
"""The tape's last second may still be written to."""


class Session:
    """One conversation as a call, and everything about it that is written down."""

    def __init__(  # noqa: PLR0913 - whose call, with what, and where it goes
        self,
        conversation: Conversation,
        clips: Sequence[Clip],
        studio: Studio,
        writer: RunWriter,
        *,
        name: str,
        told: Callable[[Row], None],
    ) -> None:
        """Prepare the call *name* of *conversation*, whose caller plays *clips*; each row is *told*."""
        self._conversation = conversation
        self._reference = Reference()
        self._studio = studio
        self._writer = writer
        self._name = name
        self._audio = f"{name}.wav"
        self._length_us = 0
        self._told = told
        self._rows: list[Row] = []
        self._written = 0
        self._heard: list[tuple[int, int]] = []
        self._unheard: dict[tuple[int, int], str] = {}
        self._missed = ""
        line = RecordedLine(clips, self._reference, conversation.background())
        parts = studio.parts(line, self._reference, words=conversation.has_words)
        self._responder = parts.responder
        self._call = Call(parts, studio.manners, self._entry)
        line.follow(self._call)

    async def run(self) -> None:
        """Take the call to its end; one that is cancelled is written as far as it came."""
        sound = await clock.offload(_open_wav, self._writer.folder / self._audio)
        with sound, ThreadPoolExecutor(1, "disk") as disk:
            try:
                async with Crew() as crew:
                    call = crew.create_task(self._call.run(), name=f"call {self._name}")
                    while not await clock.wait_until([call], clock.now() + FLUSH_US):
                        await self._flush(sound, clock.now() - SETTLED_US, disk)
                self._add_unheard()
            finally:
                self._length_us = clock.now() - self._call.epoch_us
                await self._flush(sound, clock.now(), disk)

    def record(self) -> CallRecord:
        """Return what there is to say of the call, ended or broken off."""
        return CallRecord(
            call=self._name,
            source=legible(self._conversation.source),
            length_us=self._length_us,
            turns=sum(row.kind == "turn" for row in self._rows),
            audio=self._audio,
            ended=self._call.ended or "broken off",
            notes=tuple(map(legible, self._conversation.notes)),
            task=self._task(),
        )

    def _task(self) -> TaskRecord | None:
        """Return what the council made of what the caller wanted, where the metadata say what that was."""
        wanted, known = self._conversation.wanted, getattr(self._responder, "known", None)
        if wanted is None or known is None:
            return None
        takers = (decision.took for row in self._rows for decision in row.decisions)
        tasks = [took.removeprefix(TAKEN) for took in takers if took.startswith(TAKEN)]
        got = {slot: known.slots.get(slot, "") for slot in wanted.slots}
        return TaskRecord(
            wanted=wanted.task,
            found=next((task for task in reversed(tasks) if task in TASKS), ""),
            slots=len(got),
            slots_right=sum(same(slot, right, got[slot]) for slot, right in wanted.slots.items()),
            got=got,
        )

    def word_errors(self) -> Iterator[WordErrors]:
        """Yield the word errors of each turn against the reference, where there is one."""
        if self._conversation.has_words:
            yield word_errors(self._missed, "")
            for written in self._rows:
                if written.reference is not None:
                    yield word_errors(written.reference, written.heard)

    def _entry(self, entry: Entry) -> None:
        """Take a turn's account as it ends."""
        if entry.utterance:
            self._pass_over(entry.utterance.began_us - self._call.ear.epoch_us)
            self._heard.append((entry.utterance.began_us, entry.utterance.ended_us))
        self._add(
            row(
                self._name,
                entry,
                call_epoch_us=self._call.epoch_us,
                media_epoch_us=self._call.ear.epoch_us,
                reference=self._reference,
                has_words=self._conversation.has_words,
                budget_us=self._studio.budget_us,
            )
        )

    def _add(self, written: Row) -> None:
        self._rows.append(written)
        self._told(written)

    def _pass_over(self, until_us: int) -> None:
        """Take the words of turns that ended by *until_us* (media time) and that no utterance touches.

        They are nobody's any more: an utterance that comes later is not to blame for them.
        """
        epoch = self._call.ear.epoch_us
        for began, ended in self._reference.turns:
            touched = any(heard[0] < ended + epoch and heard[1] > began + epoch for heard in self._heard)
            if ended <= until_us and not touched and (began, ended) not in self._unheard:
                self._unheard[began, ended] = self._reference.take(ended)

    def _add_unheard(self) -> None:
        """Give a row to every turn of the recording that no utterance touched: it was owed an answer."""
        call, epoch = self._call, self._call.ear.epoch_us
        self._pass_over(clock.now() - epoch)
        shift = epoch - call.epoch_us
        for (began, ended), text in self._unheard.items():
            self._add(
                unheard(
                    self._name,
                    max((written.turn for written in self._rows), default=0) + 1,
                    began_us=began + shift,
                    ended_us=ended + shift,
                    text=text if self._conversation.has_words else None,
                    waited_us=UNANSWERED_US,
                    budget_us=self._studio.budget_us,
                )
            )
        self._missed = self._reference.take(clock.now() - epoch)

    async def _flush(self, sound: soundfile.SoundFile, until_us: int, disk: Executor) -> None:
        """Bring rows and sound to disk; begun, it ends, even if the call is broken off meanwhile."""
        block = self._call.tape.take(until_us)
        rows, self._written = self._rows[self._written :], len(self._rows)
        await asyncio.shield(clock.offload(self._write, sound, block, rows, executor=disk))

    def _write(self, sound: soundfile.SoundFile, block: audio.Int16, rows: Sequence[Row]) -> None:
        for written in rows:
            self._writer.append(written)
        try:
            sound.write(block)
        except (OSError, soundfile.LibsndfileError) as error:
            raise RunError(
                f"cannot be written ({error})", where=sound.name, remedy="free some space"
            ) from None


def _open_wav(path: Path) -> soundfile.SoundFile:
    try:
        return soundfile.SoundFile(str(path), "w", samplerate=audio.RATE, channels=2, subtype="PCM_16")
    except (OSError, soundfile.LibsndfileError) as error:
        raise RunError(
            f"cannot be written ({error})", where=str(path), remedy="choose a place that can be written"
        ) from None
