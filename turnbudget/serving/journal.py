"""The journal of a worker: rows and records of its calls, on disk within two seconds, whatever becomes of it.

A run folder like any other; in ``begun.jsonl`` is a line as each call begins, in ``calls.jsonl`` one as it
ends. A disk that refuses costs what could not be written, never a call; it is tried again as long as there is
room to remember. A worker holds its folder by a lock that goes with its process: a folder that nobody holds,
and where calls stand as begun, is a dead worker's (:mod:`turnbudget.serving.recovery`).
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
from collections import deque
from typing import TYPE_CHECKING, Final

import msgspec

from turnbudget.runs.folder import RunWriter, take_away
from turnbudget.runs.names import legible
from turnbudget.runs.records import Record, Row
from turnbudget.serving.events import CallBegan
from turnbudget.voice.database import Hold
from turnbudget.voice.errors import LedgerError, RunError
from turnbudget.voice.time import clock

if TYPE_CHECKING:
    from pathlib import Path

    from turnbudget.runs.records import CallRecord
    from turnbudget.runs.summary import Header
    from turnbudget.serving.events import FloorEvent

BEGUN: Final = "begun.jsonl"
"""One line for each call that has begun; gone once every call in it has its record."""
CALLS: Final = "calls.jsonl"
"""One line for each call that has ended."""
HOLDER: Final = ".worker"
"""The file whose lock its worker holds; it stays, for removing it might part two who wait for it."""
FLUSH_US: Final = 2 * clock.SECOND
"""How long a row may wait before it is written (µs; 2 s)."""
REMEMBERED: Final = 10_000
"""Lines that wait for a disk; the oldest are lost first."""
DRAWN: Final = 5_000
"""Most rows that pages are drawn of at the end: they take 3 s and 300 MB, and a drain has 10 s for all."""
log = logging.getLogger(__name__)


class BegunCall(Record, frozen=True, kw_only=True):
    """A call that was taken, and what nobody could say of it later."""

    call: str
    """What the call is named here."""
    tenant: str
    """Whose call it is."""
    line: str
    """What it came over."""
    began: str | None
    """Calendar time, as a label only; ``None`` in virtual time."""
    caller: str = ""
    """The number that called."""
    called: str = ""
    """The number that was called."""
    session: str = ""
    """The carrier's id of the call."""


class Journal:
    """What is written of the calls of one worker; a watcher of their beginnings."""

    def __init__(self, folder: Path) -> None:
        """Begin in *folder*, which must not exist; raises RunError."""
        self.writer = RunWriter(folder)
        self._hold = Hold(folder / HOLDER)
        if not self._hold.take():
            log.warning("%s cannot be locked: who dies here leaves calls without a record", folder)
        self.rows = 0
        """Lines that were given to be written."""
        self.lost = 0
        self._due: deque[BegunCall | Row | CallRecord] = deque()
        self._hurry = asyncio.Event()
        self._writing = threading.Lock()  # who was cancelled while writing may still write
        self._refused = False

    @property
    def folder(self) -> Path:
        """The run folder that it is written to."""
        return self.writer.folder

    def __call__(self, event: FloorEvent) -> None:
        """Have it noted at once that a call begins."""
        if isinstance(event, CallBegan):
            info = event.info
            begun = BegunCall(
                call=event.call,
                tenant=event.tenant,
                line=event.line,
                began=clock.label(),
                caller=legible(info.caller),
                called=legible(info.called),
                session=legible(info.call),
            )
            self._add(begun)
            self._hurry.set()

    def row(self, row: Row) -> None:
        """Have *row* written within two seconds."""
        self._add(row)

    def record(self, record: CallRecord) -> None:
        """Have *record* of a call that has ended written at once."""
        self._add(record)
        self._hurry.set()

    async def run(self) -> None:
        """Write what is due, every two seconds and whenever there is a hurry, for ever."""
        while True:
            async with clock.move_on_at(clock.now() + FLUSH_US):
                await self._hurry.wait()
            self._hurry.clear()
            await self.flush()

    async def flush(self) -> None:
        """Write what is due, behind what is being written; begun, it ends, whoever waits for it."""
        if not self._due and not self._writing.locked():
            return
        fault = await asyncio.shield(clock.offload(self._write))
        if fault and not self._refused:
            log.error("%s", fault)
        self._refused = bool(fault)

    def finish(self, header: Header) -> None:
        """Write the run's summary and its pages, unless it is too long; blocks."""
        if not self._due and not self.lost:
            with contextlib.suppress(OSError):
                (self.folder / BEGUN).unlink()
        if self.rows <= DRAWN:
            self.writer.finish(header)
        self.writer.close()

    def close(self) -> None:
        """Let go of the folder, behind what is being written; blocks."""
        with self._writing:
            self._hold.close()

    def take_away(self) -> None:
        """Let go of a folder that no call has been in, and remove it; blocks."""
        self.close()
        self.writer.close()
        with contextlib.suppress(OSError):
            (self.folder / HOLDER).unlink()
        take_away(self.folder)

    def _add(self, what: BegunCall | Row | CallRecord) -> None:
        self.rows += 1
        if len(self._due) >= REMEMBERED:
            self._due.popleft()
            self.lost += 1
        self._due.append(what)

    def _write(self) -> str:
        """Write what is due until the disk refuses; return what it said."""
        with self._writing:
            while self._due:
                what = self._due.popleft()
                try:
                    if isinstance(what, Row):
                        self.writer.append(what)
                    else:
                        add_line(self.folder / (BEGUN if isinstance(what, BegunCall) else CALLS), what)
                except LedgerError as error:
                    log.error("%s", error)  # noqa: TRY400 - a false account is worse than none: it is not tried again
                except RunError as error:
                    self._due.appendleft(what)
                    return str(error)
        return ""


def add_line(place: Path, record: BegunCall | CallRecord) -> None:
    """Write *record* as the next line at *place*, whole or not at all; blocks, raises RunError."""
    line = msgspec.json.encode(record) + b"\n"
    try:
        with place.open("ab", buffering=0) as file:
            whole = file.tell()
            written = file.write(line)
            if written != len(line):
                file.truncate(whole)
    except OSError as error:
        raise RunError(f"cannot be written ({error.strerror})", where=str(place)) from error
    if written != len(line):
        raise RunError("the disk is full", where=str(place))
