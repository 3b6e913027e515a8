"""The journal of a worker: rows and records of its calls, on disk within two seconds, whatever becomes of it.

A run folder like any other, and ``calls.jsonl`` in it, a line as each call ends. A disk that refuses costs
what could not be written, never a call; it is tried again as long as there is room to remember.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections import deque
from typing import TYPE_CHECKING, Final

import msgspec

from turnbudget.records import Row
from turnbudget.runs import RunWriter
from voice import clock
from voice.errors import LedgerError, RunError

if TYPE_CHECKING:
    from pathlib import Path

    from turnbudget.records import CallRecord
    from turnbudget.summary import Header

CALLS: Final = "calls.jsonl"
FLUSH_US: Final = 2 * clock.SECOND
REMEMBERED: Final = 10_000
"""Rows and records that wait for a disk; the oldest are lost first."""
DRAWN: Final = 20_000
"""Rows that make a page at the end; more would take minutes to draw."""
log = logging.getLogger(__name__)


class Journal:
    """What is written of the calls of one worker."""

    def __init__(self, folder: Path) -> None:
        """Begin in *folder*, which must not exist; raises RunError."""
        self.writer = RunWriter(folder)
        self.rows = 0
        """Rows that were given to be written."""
        self.lost = 0
        self._due: deque[Row | CallRecord] = deque()
        self._hurry = asyncio.Event()
        self._writing = threading.Lock()  # who was cancelled while writing may still write
        self._refused = False

    @property
    def folder(self) -> Path:
        """Where it is."""
        return self.writer.folder

    def row(self, row: Row) -> None:
        """Have *row* written."""
        self._add(row)

    def record(self, record: CallRecord) -> None:
        """Have *record* of a call that has ended written at once."""
        self._add(record)
        self._hurry.set()

    async def run(self) -> None:
        """Write for ever."""
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
        if self.rows <= DRAWN:
            self.writer.finish(header)
        self.writer.close()

    def _add(self, what: Row | CallRecord) -> None:
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
                        self._record(what)
                except LedgerError as error:
                    log.error("%s", error)  # noqa: TRY400 - a false account is worse than none: it is not tried again
                except RunError as error:
                    self._due.appendleft(what)
                    return str(error)
        return ""

    def _record(self, record: CallRecord) -> None:
        """Write *record* as the next line, whole or not at all."""
        place, line = self.folder / CALLS, msgspec.json.encode(record) + b"\n"
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
