"""A running call: its line, the studio that answers it, and what is told and written of it."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from typing import TYPE_CHECKING

from turnbudget.live import LiveCall
from turnbudget.records import CallRecord
from turnbudget.serving.events import CallBegan, CallEnded, TurnEnded
from voice import clock
from voice.crew import Crew
from voice.errors import TurnbudgetError

if TYPE_CHECKING:
    from turnbudget.records import Row
    from turnbudget.serving.doors.tenants import Tenant
    from turnbudget.serving.floor import Floor
    from turnbudget.serving.outlook import Mode
    from turnbudget.serving.sockets.connection import Connection
    from voice.call import Call
    from voice.lines.dialect import CallInfo

MOST_ROWS = 2_000
"""Rows of one call that are handed to watchers at its end: the last of them."""
log = logging.getLogger(__name__)


class Running:
    """One call of *tenant*, in a *mode*, on a *connection* that may be replaced by another."""

    def __init__(  # noqa: PLR0913 - whose call, how, and where
        self,
        name: str,
        tenant: Tenant,
        *,
        mode: Mode,
        info: CallInfo,
        connection: Connection,
        floor: Floor,
    ) -> None:
        self.name = name
        self.tenant = tenant
        self.mode = mode
        self.info = info
        self.kind = connection.kind
        self.line = connection.line
        self.began_us = clock.now()
        self.task: asyncio.Task[None] | None = None
        self.transfer = ""
        """Where the caller is sent when the call ends."""
        self.disposition = ""
        self._connection = connection
        self._floor = floor
        self._rows: deque[Row] = deque(maxlen=MOST_ROWS)
        self._turns = 0
        self.live: LiveCall | None = None
        """The call as it is measured and written down; ``None`` until it has begun."""

    @property
    def call(self) -> Call | None:
        """The call itself, to look at."""
        return self.live.call if self.live else None

    @property
    def lives(self) -> bool:
        """Whether the far side is still there."""
        return not self.line.over

    def move_to(self, connection: Connection) -> None:
        """Go on over *connection*; the one before is closed."""
        before, self._connection = self._connection, connection
        self.line.take_over(connection.dialect, connection.wire.write, connection.told)
        connection.line = self.line
        before.replace()

    def end(self, reason: str) -> None:
        """End the call for a *reason*, as soon as its row is written."""
        self.line.hang_up(reason)

    async def run(self) -> None:
        """Take the call to its end; whatever happens to it, its record is told and its place is free."""
        floor, room = self._floor, self.tenant.room
        self.task = asyncio.current_task()
        room.calls += 1
        floor.tell(CallBegan(self.name, self.tenant.name, self.kind, self.info, self.began_us))
        log.info("%s: call %s of %s began (%s)", self.kind, self.name, self.tenant.name, self.mode)
        record = None
        try:
            async with Crew() as crew:
                if self.line.keeps_alive:
                    crew.create_task(self.line.keep_alive(), name="silence")
                self.live = self._answered()
                record = await self.live.run()
        except TurnbudgetError as error:
            log.error("call %s: %s", self.name, error)  # noqa: TRY400 - one line is all it needs
        except Exception:
            log.exception("call %s failed", self.name)
        finally:
            room.calls -= 1
            self._close(record or self._broken())
            await room.close_if_left()

    def _answered(self) -> LiveCall:
        journal, records = self._floor.journal, self.tenant.table.records
        writer = journal.writer if journal and records else None
        studio = self.tenant.room.of(self.mode)
        return LiveCall(self.line, studio, writer, name=self.name, told=self._told, source=self.kind)

    def _told(self, row: Row) -> None:
        """Let everybody know of a row; without consent to a recording it is written here."""
        self._turns += row.kind == "turn"
        self._rows.append(row)
        floor = self._floor
        floor.outlook.turn(row, self.mode)
        if floor.journal and not self.tenant.table.records:
            floor.journal.row(row)
        floor.tell(TurnEnded(self.name, self.tenant.name, row))

    def _close(self, record: CallRecord) -> None:
        floor = self._floor
        self._connection.finish()
        floor.ended(self)
        if self.transfer:
            floor.once.put(f"after {self.info.call}", self.transfer)
        if floor.journal:
            floor.journal.record(record)
        log.info("%s: call %s ended, %s", self.kind, self.name, record.ended)
        rows = tuple(self._rows)
        floor.tell(CallEnded(self.name, self.tenant.name, record, rows, self.disposition, self.transfer))

    def _broken(self) -> CallRecord:
        """Return the record of a call that failed before it could give its own."""
        return CallRecord(
            call=self.name,
            source=self.kind,
            length_us=clock.now() - self.began_us,
            turns=self._turns,
            audio="",
            ended="broken off: we failed",
        )
