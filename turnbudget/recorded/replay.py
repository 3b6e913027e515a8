"""Replay: recorded callers call us, one after another, and every turn leaves a row.

Rows and sound go to disk as the calls run; at the end come the summary and what is drawn from it. Ctrl-C
ends the running call and leaves a valid, truncated run.
"""

from __future__ import annotations

import asyncio
import gc
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Final

from turnbudget.recorded import sources
from turnbudget.recorded.conversation import SHORTEST_US, TURN_SILENCE_US
from turnbudget.recorded.script import clips_of
from turnbudget.recorded.tracks import Reading
from turnbudget.recorded.wanted import TASKS, same
from turnbudget.runs import records
from turnbudget.runs.folder import RunWriter, take_away
from turnbudget.runs.names import call_name, legible
from turnbudget.runs.recording import Written
from turnbudget.runs.records import CallRecord, TaskRecord, versions
from turnbudget.runs.rows import row, unheard
from turnbudget.runs.summary import Header
from turnbudget.runs.terminal import Progress
from turnbudget.settings.compose import open_studio
from turnbudget.settings.engines import detector, vad_maker
from turnbudget.voice.asr.reference import Reference, WordErrors, word_errors
from turnbudget.voice.call.call import Call
from turnbudget.voice.errors import RunError, TurnbudgetError, UsageError
from turnbudget.voice.lines.recording import UNANSWERED_US, RecordedLine
from turnbudget.voice.time import clock
from turnbudget.voice.time.watch import settle, watch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from turnbudget.recorded.conversation import Conversation, Pacing
    from turnbudget.recorded.script import Event
    from turnbudget.recorded.sources import Source
    from turnbudget.runs.folder import Run
    from turnbudget.runs.records import Row
    from turnbudget.settings.compose import Studio
    from turnbudget.settings.config import Config
    from turnbudget.voice.call.parts import CallRow
    from turnbudget.voice.hearing.events import Utterance
    from turnbudget.voice.hearing.vad import Vad
    from turnbudget.voice.lines.recording import Clip


@dataclass(frozen=True, slots=True)
class ReplayPlan:
    """What to replay, how, and where to."""

    paths: tuple[Path, ...]
    folder: Path
    config: Config
    _: KW_ONLY
    pacing: Pacing = "gated"
    caller_channel: int | None = None
    rate: int | None = None
    turn_silence_us: int = TURN_SILENCE_US
    events: tuple[Event, ...] = ()
    force: bool = False


async def replay(plan: ReplayPlan, progress: Progress | None = None) -> Run:
    """Replay everything in *plan* on the running clock and return the run; raises TurnbudgetError.

    What cannot be replayed is a fault of the run. Raised is what leaves nothing to report, and what breaks
    the run off (a disk that refuses), after what was measured until then has been written.
    """
    progress = progress or Progress()
    found = await clock.offload(sources.listing, plan.paths)
    faults = [str(fault) for fault in found if isinstance(fault, UsageError)]
    _some_left(found, faults)
    writer = await clock.offload(lambda: RunWriter(plan.folder, force=plan.force))
    replaying = Replaying(plan, progress, writer)
    try:
        with writer, watch():
            return await replaying.run(found)
    except BaseException:
        if not replaying.calls:
            await clock.offload(take_away, plan.folder)
        raise


class Replaying:
    """A run on its way: which calls it has had, and what could not be replayed."""

    def __init__(self, plan: ReplayPlan, progress: Progress, writer: RunWriter) -> None:
        self.calls: list[CallRecord] = []
        self._plan = plan
        self._progress = progress
        self._writer = writer
        self._names: set[str] = set()
        self._faults: list[str] = []
        self._errors = WordErrors()
        self._broken: TurnbudgetError | None = None
        self._truncated = False

    async def run(self, found: Sequence[Source | UsageError]) -> Run:
        """Replay what was *found*, write the summary and what is drawn from it."""
        began = clock.label()
        studio = await open_studio(self._plan.config, self._progress.doing)
        try:
            await self._all(found, studio)
            header = Header(
                name=legible(self._plan.folder.name),
                clock=clock.kind(),
                pacing=self._plan.pacing,
                began=began,
                seed=0,
                versions=versions(),
                engines=studio.engines,
                budget_us=studio.budget_us,
                speculation=self._plan.config.speculates,
                calls=tuple(self.calls),
                wer=_rate(self._errors),
                usd=studio.answering.usd(),
                faults=tuple(map(legible, self._faults)),
                truncated=self._truncated,
            )
        finally:
            await studio.aclose()
        try:
            run = await clock.offload(self._writer.finish, header)
        except RunError as error:
            raise self._broken or error from None
        if self._broken:
            raise self._broken
        return run

    async def _all(self, found: Sequence[Source | UsageError], studio: Studio) -> None:
        settle()
        self._progress.calls(len(found))
        try:
            for path in found:
                await self._one(path, studio)
                self._progress.call_done()
        except TurnbudgetError as error:
            self._broken, self._truncated = error, True
            self._faults.append(str(error))
        except asyncio.CancelledError:
            _forgive()
            self._truncated = True
        finally:
            gc.unfreeze()
        if not self._truncated:
            _some_left(self.calls, self._faults)

    async def _one(self, path: Source | UsageError, studio: Studio) -> None:
        try:
            conversation, clips = await clock.offload(_open, self._plan, path)
            name = call_name(conversation.name, self._names)
            session = Session(conversation, clips, studio, self._writer, name=name, told=self._progress.row)
        except UsageError as fault:
            fault.where = fault.where or str(path)
            self._faults.append(str(fault))
            return
        self._names.add(name.casefold())
        self._progress.doing(name)
        try:
            await session.run()
        finally:
            self.calls.append(session.record())
            self._errors = sum(session.word_errors(), self._errors)
            del session, conversation, clips
            gc.collect()  # between two calls, so that none falls due in one


def _some_left(left: Sequence[object], faults: Sequence[str]) -> None:
    """Raise the *faults* as one if they are all there is."""
    if any(not isinstance(one, UsageError) for one in left):
        return
    if len(faults) == 1:
        raise UsageError(faults[0])
    raise UsageError(f"none of {len(faults)} inputs can be replayed: {'; '.join(faults)}")


def _open(plan: ReplayPlan, path: Source | UsageError) -> tuple[Conversation, list[Clip]]:
    """Read the conversation at *path*, and what its caller plays; raises UsageError."""
    if isinstance(path, UsageError):
        raise path
    # A reading detector works beside the clock, so the real one serves in virtual time as well; one that
    # plays a script has nothing to play where it is needed.
    wanted = plan.config.vad
    name, _ = detector("auto" if wanted.engine == "scripted" else wanted.engine, "wall", words=False)
    make = vad_maker(name, wanted)

    def vad() -> Vad:
        return make(Reference())

    conversation = sources.open_conversation(
        path, Reading(plan.caller_channel, plan.rate, vad, plan.turn_silence_us)
    )
    return conversation, clips_of(conversation, plan.pacing, plan.events)


def _forgive() -> None:
    """Take back the cancellation of Ctrl-C, so that the run can be finished."""
    task = asyncio.current_task()
    if task:
        task.uncancel()


def _rate(errors: WordErrors) -> records.WordErrors | None:
    if errors.rate is None:
        return None
    return records.WordErrors(
        rate=round(errors.rate, 4),
        words=errors.words,
        substituted=errors.substituted,
        deleted=errors.deleted,
        inserted=errors.inserted,
    )


TAKEN: Final = "reply of "
"""How a turn's decision begins that names who spoke."""


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
        self._name = name
        self._rows: list[Row] = []
        self._heard: list[tuple[int, int]] = []
        self._unheard: dict[tuple[int, int], str] = {}
        self._missed = ""
        self._recorded = sum(len(clip.turns) for clip in clips)
        self._replayed = 0
        self._wordless: list[tuple[int, int]] = []
        """Sounds in which nobody found a word, and which were too short to ask about."""
        self._overheard: list[Utterance] = []
        """What needed no answer, so has no row, until its words are taken..."""
        self._rowless: list[tuple[str, str]] = []
        """...as what was said and what was heard of it."""
        line = RecordedLine(clips, self._reference, conversation.background())
        parts = studio.parts(line, self._reference, words=conversation.has_words)
        self._responder = parts.responder
        self._call = Call(
            parts,
            studio.call_settings,
            self._entry,
            overheard=self._overheard.append,
            awaited=lambda: line.has_more or self._speaks_on(),
        )
        line.follow(self._call)
        self._written = Written(self._call, writer, name=name, told=told)

    async def run(self) -> None:
        """Take the call to its end; one that is cancelled is written as far as it came."""
        await self._written.run(self._add_unheard)

    def record(self) -> CallRecord:
        """Return what there is to say of the call, ended or broken off."""
        return CallRecord(
            call=self._name,
            source=legible(self._conversation.source),
            length_us=self._written.length_us,
            turns=self._written.turns,
            audio=self._written.audio,
            ended=self._call.ended or "broken off",
            recorded=self._recorded - len(self._clicks()),
            backchannels=len(self._conversation.backchannels),
            not_replayed=self._recorded - self._replayed,
            notes=tuple(map(legible, (*self._conversation.notes, *self._short()))),
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
            for said, heard in self._rowless:
                yield word_errors(said, heard)
            for turn in self._rows:
                if turn.reference is not None:
                    yield word_errors(turn.reference, turn.heard)

    def _entry(self, entry: CallRow) -> None:
        """Take a turn's account as it ends."""
        if entry.utterance:
            self._take_rowless(entry.utterance.began_us)
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
                has_agent=not self._conversation.one_sided,
                budget_us=self._studio.budget_us,
            )
        )

    def _take_rowless(self, until_us: int) -> None:
        """Take the words of what needed no answer and ended by *until_us*: no row behind it has them.

        Only then, for the row of the turn that it was said over comes later than it.
        """
        epoch = self._call.ear.epoch_us
        while self._overheard and self._overheard[0].ended_us <= until_us:
            utterance = self._overheard.pop(0)
            if not utterance.text:
                self._wordless.append((utterance.began_us, utterance.ended_us))
                continue
            self._pass_over(utterance.began_us - epoch)
            self._heard.append((utterance.began_us, utterance.ended_us))
            self._rowless.append((self._reference.take(utterance.ended_us - epoch), utterance.text))

    def _add(self, new: Row) -> None:
        self._rows.append(new)
        self._written.add(new)

    def _pass_over(self, until_us: int) -> None:
        """Take the words of turns that ended by *until_us* (media time) and that no utterance touches.

        They are nobody's any more: an utterance that comes later is not to blame for them.
        """
        for began, ended in self._reference.turns:
            touched = self._is_touched(began, ended, self._heard)
            if ended <= until_us and not touched and (began, ended) not in self._unheard:
                self._unheard[began, ended] = self._reference.take(ended)

    def _speaks_on(self) -> bool:
        """Say whether a turn of the recording that has begun to play has not ended."""
        now = clock.now() - self._call.ear.epoch_us
        return any(ended > now for _, ended in self._reference.turns)

    def _is_touched(self, began: int, ended: int, sounds: Sequence[tuple[int, int]]) -> bool:
        """Say whether one of *sounds* (loop's time) overlaps the turn of *began* to *ended* (media time)."""
        epoch = self._call.ear.epoch_us
        return any(sound[0] < ended + epoch and sound[1] > began + epoch for sound in sounds)

    def _is_over(self, began: int, ended: int) -> bool:
        """Say whether the turn from *began* to *ended* (media time) was played, or at least heard."""
        epoch = self._call.ear.epoch_us
        return ended + epoch <= clock.now() or self._is_touched(began, ended, self._heard)

    def _clicks(self) -> set[tuple[int, int]]:
        """Return the turns that a detector alone found, that are short, and in which nobody found a word."""
        if self._conversation.has_words:
            return set()
        return {
            (began, ended)
            for began, ended in self._unheard
            if ended - began < SHORTEST_US and self._is_touched(began, ended, self._wordless)
        }

    def _short(self) -> Iterator[str]:
        """Yield what is to be said of sounds that were taken for no turn."""
        if clicks := len(self._clicks()):
            what = "1 sound" if clicks == 1 else f"{clicks} sounds"
            yield f"{what} under {SHORTEST_US // clock.MS} ms without a word: no turn"

    def _add_unheard(self) -> None:
        """Give a row to every turn of the recording that no utterance touched: it was owed an answer."""
        call, epoch = self._call, self._call.ear.epoch_us
        self._take_rowless(clock.now())
        self._pass_over(clock.now() - epoch)
        shift = epoch - call.epoch_us
        self._replayed = sum(self._is_over(began, ended) for began, ended in self._reference.turns)
        clicks = self._clicks()
        for (began, ended), text in self._unheard.items():
            if (began, ended) in clicks:
                continue
            self._add(
                unheard(
                    self._name,
                    max((before.turn for before in self._rows), default=0) + 1,
                    began_us=began + shift,
                    ended_us=ended + shift,
                    text=text if self._conversation.has_words else None,
                    waited_us=UNANSWERED_US,
                    budget_us=self._studio.budget_us,
                )
            )
        self._missed = self._reference.take(clock.now() - epoch)
