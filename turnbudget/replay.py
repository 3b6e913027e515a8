"""Replay: recorded callers call us, one after another, and every turn leaves a row.

Rows and sound go to disk as the calls run; at the end come the summary and what is drawn from it. Ctrl-C
ends the running call and leaves a valid, truncated run.
"""

from __future__ import annotations

import asyncio
import gc
import platform
from dataclasses import dataclass, field
from importlib import metadata
from typing import TYPE_CHECKING, Final

from turnbudget import sources
from turnbudget.compose import detector, make_vad, open_studio
from turnbudget.records import WordErrors
from turnbudget.runs import RunWriter
from turnbudget.script import clips_of
from turnbudget.session import Session
from turnbudget.summary import Header
from voice import clock
from voice.asr import wer
from voice.errors import RunError, UsageError
from voice.reference import Reference
from voice.watch import watch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from turnbudget.compose import Studio
    from turnbudget.config import Config
    from turnbudget.conversation import Conversation, Pacing
    from turnbudget.records import CallRecord, Row
    from turnbudget.runs import Run
    from turnbudget.script import Event
    from voice.vad import Vad

MEASURED_WITH: Final = ("turnbudget", "numpy", "onnxruntime", "soundfile", "soxr", "vosk", "pyttsx3")
"""Distributions whose versions a summary names."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What to replay, how, and where to."""

    paths: tuple[Path, ...]
    folder: Path
    config: Config
    pacing: Pacing = "gated"
    caller_channel: int = 0
    rate: int | None = None
    events: tuple[Event, ...] = ()
    force: bool = False


@dataclass(slots=True)
class Progress:
    """Who is told how far a run has come; by itself it tells nobody."""

    doing: Callable[[str], None] = field(default=lambda _: None)
    calls: Callable[[int], None] = field(default=lambda _: None)
    row: Callable[[Row], None] = field(default=lambda _: None)
    call_done: Callable[[], None] = field(default=lambda: None)


async def replay(plan: Plan, progress: Progress | None = None) -> Run:
    """Replay everything in *plan* on the running clock and return the run; raises TurnbudgetError."""
    progress = progress or Progress()
    with watch():
        studio = await open_studio(plan.config, progress.doing)
        try:
            writer = await clock.offload(lambda: RunWriter(plan.folder, force=plan.force))
            with writer:
                return await _replay(plan, progress, studio, writer)
        finally:
            await studio.aclose()


async def _replay(plan: Plan, progress: Progress, studio: Studio, writer: RunWriter) -> Run:
    began = clock.label()
    calls: list[CallRecord] = []
    faults: list[str] = []
    errors = wer.WordErrors()
    truncated = False
    gc.collect()
    gc.freeze()  # what is loaded stays: no collection need look at it again (MET-11)
    try:
        found = await clock.offload(sources.listing, plan.paths)
        progress.calls(len(found))
        for path in found:
            conversation = await clock.offload(_open, plan, path)
            if isinstance(conversation, UsageError):
                faults.append(str(conversation))
            else:
                name = _free_name(conversation.name, calls)
                progress.doing(name)
                clips = clips_of(conversation, plan.pacing, plan.events)
                session = Session(conversation, clips, studio, writer, name=name, told=progress.row)
                calls.append(await session.run())
                errors = sum(session.word_errors(), errors)
            progress.call_done()
    except asyncio.CancelledError:
        _forgive()
        truncated = True
    finally:
        gc.unfreeze()
    if faults and not calls and not truncated:
        raise (
            UsageError(faults[0])
            if len(faults) == 1
            else UsageError(f"none of {len(faults)} inputs can be replayed: {'; '.join(faults)}")
        )
    header = Header(
        name=plan.folder.name,
        clock=clock.kind(),
        pacing=plan.pacing,
        began=began,
        seed=0,
        versions=_versions(),
        engines=studio.engines,
        budget_us=studio.manners.budget_us,
        calls=tuple(calls),
        wer=_rate(errors),
        faults=tuple(faults),
        truncated=truncated,
    )
    return await clock.offload(writer.finish, header)


def _open(plan: Plan, path: Path | UsageError) -> Conversation | UsageError:
    """Read the conversation at *path*, or return the fault that keeps it from being one."""
    if isinstance(path, UsageError):
        return path
    # A reading detector works beside the clock, so the real one serves in virtual time as well.
    name, _ = detector(plan.config.vad.engine, "wall", words=False)

    def vad() -> Vad:
        return make_vad(name, Reference())

    try:
        return sources.open_conversation(path, sources.Reading(plan.caller_channel, plan.rate, vad))
    except UsageError as fault:
        return fault


def _free_name(name: str, calls: Iterable[CallRecord]) -> str:
    """Return *name*, numbered if a call before had it."""
    taken = {call.call for call in calls}
    number, free = 1, name
    while free in taken:
        number += 1
        free = f"{name}-{number}"
    return free


def _forgive() -> None:
    """Take back the cancellation of Ctrl-C, so that the run can be finished."""
    task = asyncio.current_task()
    if task:
        task.uncancel()


def _rate(errors: wer.WordErrors) -> WordErrors | None:
    if errors.rate is None:
        return None
    return WordErrors(
        rate=round(errors.rate, 4),
        words=errors.words,
        substituted=errors.substituted,
        deleted=errors.deleted,
        inserted=errors.inserted,
    )


def _versions() -> dict[str, str]:
    found = {"python": platform.python_version()}
    for name in MEASURED_WITH:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def fresh_folder(parent: Path, name: str) -> Path:
    """Return a folder below *parent* that does not exist yet, called *name* or *name* with a number."""
    number, folder = 1, parent / name
    while folder.exists():
        number += 1
        folder = parent / f"{name}-{number}"
    return folder


def default_name(paths: Iterable[Path]) -> str:
    """Return what a run of *paths* is called by default: after the first of them."""
    first = next(iter(paths), None)
    if first is None:
        raise RunError("there is nothing to replay", remedy="name recordings or a folder")
    return first.resolve().stem or "run"
