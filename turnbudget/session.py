"""One recorded call, replayed: it runs, and its rows and its sound go to disk while it does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import soundfile

from turnbudget.records import CallRecord
from turnbudget.rows import row, unheard
from voice import audio, clock
from voice.asr.wer import word_errors
from voice.call import Call
from voice.crew import Crew
from voice.errors import RunError
from voice.lines.recording import UNANSWERED_US, RecordedLine
from voice.reference import Reference

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from turnbudget.compose import Studio
    from turnbudget.conversation import Conversation
    from turnbudget.records import Row
    from turnbudget.runs import RunWriter
    from voice.asr.wer import WordErrors
    from voice.call import Entry
    from voice.lines.recording import Clip

FLUSH_US: Final = 2 * clock.SECOND
"""How often rows and sound go to disk: a long call is never held in memory, a cut one loses two seconds."""
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
        self._told = told
        self._rows: list[Row] = []
        self._written = 0
        self._heard: list[tuple[int, int]] = []
        line = RecordedLine(clips, self._reference, conversation.background())
        parts = studio.parts(line, self._reference, words=conversation.has_words)
        self._call = Call(parts, studio.manners, self._entry)
        line.follow(self._call)

    async def run(self) -> CallRecord:
        """Take the call to its end and return its record; a cancelled one is written as far as it came."""
        wav = self._writer.folder / f"{self._name}.wav"
        sound = await clock.offload(_open_wav, wav)
        try:
            async with Crew() as crew:
                call = crew.create_task(self._call.run(), name=f"call {self._name}")
                while not await clock.wait_until([call], clock.now() + FLUSH_US):
                    await self._flush(sound, clock.now() - SETTLED_US)
            self._add_unheard()
        finally:
            await self._flush(sound, clock.now())
            await clock.offload(sound.close)
        return CallRecord(
            call=self._name,
            source=self._conversation.source,
            length_us=clock.now() - self._call.epoch_us,
            turns=sum(row.kind == "turn" for row in self._rows),
            audio=wav.name,
            ended=self._call.ended or "broken off",
        )

    def word_errors(self) -> Iterator[WordErrors]:
        """Yield the word errors of each turn against the reference, where there is one."""
        if self._conversation.has_words:
            for written in self._rows:
                if written.reference is not None:
                    yield word_errors(written.reference, written.heard)

    def _entry(self, entry: Entry) -> None:
        """Take a turn's account as it ends."""
        if entry.utterance:
            self._heard.append((entry.utterance.began_us, entry.utterance.ended_us))
        self._add(
            row(
                self._name,
                entry,
                call_epoch_us=self._call.epoch_us,
                media_epoch_us=self._call.ear.epoch_us,
                reference=self._reference,
                has_words=self._conversation.has_words,
                budget_us=self._studio.manners.budget_us,
            )
        )

    def _add(self, written: Row) -> None:
        self._rows.append(written)
        self._told(written)

    def _add_unheard(self) -> None:
        """Give a row to every turn of the reference that no utterance touches: it was owed an answer."""
        call, epoch = self._call, self._call.ear.epoch_us
        for began, ended in self._reference.turns:
            if any(heard[0] < ended + epoch and heard[1] > began + epoch for heard in self._heard):
                continue
            shift = epoch - call.epoch_us
            words = [word for word in self._reference.words if began <= word.began_us < ended]
            self._add(
                unheard(
                    self._name,
                    max((written.turn for written in self._rows), default=0) + 1,
                    began_us=began + shift,
                    ended_us=ended + shift,
                    text=" ".join(word.text for word in words),
                    waited_us=UNANSWERED_US,
                    budget_us=self._studio.manners.budget_us,
                )
            )

    async def _flush(self, sound: soundfile.SoundFile, until_us: int) -> None:
        """Bring rows and sound to disk."""
        block = self._call.tape.take(until_us)
        rows, self._written = self._rows[self._written :], len(self._rows)
        await clock.offload(self._write, sound, block, rows)

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
        raise RunError(f"cannot be written ({error})", where=str(path)) from None
