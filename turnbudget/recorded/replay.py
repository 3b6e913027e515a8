"""Replay: recorded callers call us, one after another, and every turn leaves a row.

Rows and sound go to disk as the calls run; at the end come the summary and what is drawn from it. Ctrl-C
ends the running call and leaves a valid, truncated run.
"""

from __future__ import annotations

import asyncio
import gc
from dataclasses import dataclass
from typing import TYPE_CHECKING

from turnbudget.recorded import sources
from turnbudget.recorded.conversation import TURN_SILENCE_US
from turnbudget.recorded.script import clips_of
from turnbudget.recorded.session import Session
from turnbudget.recorded.tracks import Reading
from turnbudget.runs.folder import RunWriter, take_away
from turnbudget.runs.names import call_name, legible
from turnbudget.runs.progress import Progress
from turnbudget.runs.records import WordErrors
from turnbudget.runs.summary import Header
from turnbudget.runs.versions import versions
from turnbudget.settings.compose import open_studio
from turnbudget.settings.engines import detector, vad_maker
from turnbudget.voice.asr import reference
from turnbudget.voice.asr.reference import Reference
from turnbudget.voice.errors import RunError, TurnbudgetError, UsageError
from turnbudget.voice.time import clock
from turnbudget.voice.time.watch import settle, watch

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from turnbudget.recorded.conversation import Conversation, Pacing
    from turnbudget.recorded.script import Event
    from turnbudget.recorded.sources import Source
    from turnbudget.runs.folder import Run
    from turnbudget.runs.records import CallRecord
    from turnbudget.settings.compose import Studio
    from turnbudget.settings.config import Config
    from turnbudget.voice.hearing.vad import Vad
    from turnbudget.voice.lines.recording import Clip


@dataclass(frozen=True, slots=True)
class ReplayPlan:
    """What to replay, how, and where to."""

    paths: tuple[Path, ...]
    folder: Path
    config: Config
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
        self._errors = reference.WordErrors()
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


def _rate(errors: reference.WordErrors) -> WordErrors | None:
    if errors.rate is None:
        return None
    return WordErrors(
        rate=round(errors.rate, 4),
        words=errors.words,
        substituted=errors.substituted,
        deleted=errors.deleted,
        inserted=errors.inserted,
    )
