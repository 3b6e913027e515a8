"""A running call: its line, the studio that answers it, and what is told and written of it.

It knows the floor that it stands on as a :class:`CallHost`: where it is told of, written down and forgotten.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from functools import partial
from typing import TYPE_CHECKING, Final, Protocol

from turnbudget.live.call import CallPolicy, LiveCall
from turnbudget.redaction.redacted import Redaction
from turnbudget.runs.recording import Recording
from turnbudget.runs.records import CallRecord
from turnbudget.serving.events import CallBegan, CallEnded, TurnEnded
from turnbudget.voice.errors import TurnbudgetError
from turnbudget.voice.time import clock
from turnbudget.voice.time.crew import Crew

if TYPE_CHECKING:
    from turnbudget.runs.records import Row
    from turnbudget.serving.admission import FirstSoundForecast, Mode
    from turnbudget.serving.after.crm import Crm
    from turnbudget.serving.config import ServeTable
    from turnbudget.serving.connection import Connection
    from turnbudget.serving.doors.tenants import Tenant
    from turnbudget.serving.events import FloorEvent
    from turnbudget.serving.journal import Journal
    from turnbudget.voice.call.call import Call
    from turnbudget.voice.lines.dialect import CallInfo

MOST_ROWS: Final = 2_000
"""Rows of one call that are handed to watchers at its end: the last of them."""
MOST_EARLY: Final = 32
"""Keys that are kept until the call has begun."""
ASK_AFTER: Final = frozenset({"twilio", "audiosocket"})
"""Lines whose far side asks, when we have hung up, where the caller goes."""
PARTING_US: Final = 1_200 * clock.MS
"""Silence behind our goodbye after which we hang up (µs; 1.2 s): the line is free 2 s after our last word."""
LAST_WORD_US: Final = 500 * clock.MS
"""How long the line stays open when the far side has played our last word (µs; 500 ms)."""
UNPLAYED_US: Final = 5 * clock.SECOND
"""How long the far side may take to tell that it has played our last word (µs; 5 s)."""
LOOK_US: Final = 20 * clock.MS
"""How often it is looked whether our last word was played (µs; 20 ms)."""
log = logging.getLogger(__name__)


class CallHost(Protocol):
    """What a running call stands on: in the server the floor."""

    serve: ServeTable
    """The settings of the server."""
    crm: Crm | None
    """Asks tenants' servers who calls, if there is one."""
    journal: Journal | None
    """Where rows and records are written, if anywhere."""
    forecast: FirstSoundForecast
    """Takes each turn's first sound."""

    def tell(self, event: FloorEvent) -> None:
        """Tell every watcher of *event*."""
        ...

    def send_on(self, call: str, target: str) -> None:
        """Tell the far side, when it asks, that its *call* goes on to *target*; '' is nowhere."""
        ...

    def ended(self, running: Running) -> None:
        """Forget a call that is over."""
        ...


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
        home: CallHost,
    ) -> None:
        self.name = name
        self.tenant = tenant
        self.mode: Mode = mode
        self.info = info
        self.kind = connection.kind
        self.line = connection.line
        self.began_us = clock.now()
        self.task: asyncio.Task[None] | None = None
        self.transfer = ""
        """Where the caller is sent when the call ends."""
        self.disposition = ""
        """What came of the call, if that was said; '' leaves it to the tenant's rules."""
        self._connection = connection
        self._home = home
        self._rows: deque[Row] = deque(maxlen=MOST_ROWS)
        self._turns = 0
        self._early: list[str] = []
        self.live: LiveCall | None = None
        """The call as it is measured and written down; ``None`` until it has begun."""
        tenant.engines.calls += 1  # now, or new settings might close them before the call has begun

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

    def press(self, key: str) -> None:
        """Handle a *key* that the caller pressed; before the call has begun some are kept for it."""
        if self.call:
            self.call.press(key)
        elif len(self._early) < MOST_EARLY:
            self._early.append(key)

    def hold(self, *, on: bool) -> None:
        """Handle hold and unhold."""
        if self.call:
            self.call.hold(on=on)

    def end(self, reason: str) -> None:
        """End the call for a *reason*, as soon as its row is written."""
        self.line.hang_up(reason)

    async def run(self) -> None:
        """Take the call to its end; whatever happens to it, its record is told and its place is free."""
        home, engines = self._home, self.tenant.engines
        self.task = asyncio.current_task()
        home.tell(
            CallBegan(
                call=self.name,
                tenant=self.tenant.name,
                line=self.kind,
                info=self.info,
                at_us=self.began_us,
            )
        )
        log.info("%s: call %s of %s began (%s)", self.kind, self.name, self.tenant.name, self.mode)
        record = None
        try:
            async with Crew() as crew:
                if self.line.keeps_alive:
                    crew.create_task(self.line.keep_alive(), name="silence")
                self.live = live = self._answered()
                for key in self._early:
                    live.call.press(key)
                record = await live.run()
                await self._play_out(live.call)
        except TurnbudgetError as error:
            log.error("call %s: %s", self.name, error)  # noqa: TRY400 - one line is all it needs
        except Exception:
            log.exception("call %s failed", self.name)
        finally:
            engines.calls -= 1
            self._close(record or self._broken())
            await engines.close_if_left()

    def _answered(self) -> LiveCall:
        home, table = self._home, self.tenant.table
        knows = home.crm and table.crm.url and self.info.caller
        policy = CallPolicy(
            Recording(consent=table.records),
            Redaction(on=home.serve.redact),
            partial(home.crm.facts, table.crm, self.info, self.tenant.name) if home.crm and knows else None,
            table.sensitive,
        )
        return LiveCall(
            self.line,
            self.tenant.engines.of(self.mode),
            None,
            name=self.name,
            told=self._told,
            source=self.kind,
            policy=policy,
            sound=home.journal.folder if home.journal and table.records else None,
            transfers=self.kind in ASK_AFTER,
            parting_us=PARTING_US,
        )

    async def _play_out(self, call: Call) -> None:
        """Wait until the far side has played our last word, and a moment more; not for ever."""
        line, until_us = self.line, clock.now() + UNPLAYED_US
        while not line.over and clock.now() < until_us:
            quiet_us = max(line.played_us, call.quiet_since_us)
            if not line.unplayed and clock.now() >= quiet_us + LAST_WORD_US:
                return
            await clock.sleep(LOOK_US)

    def _told(self, row: Row) -> None:
        """Hand a row to the forecast, the journal and the watchers."""
        self._turns += row.kind == "turn"
        self._rows.append(row)
        home = self._home
        home.forecast.turn(row, self.mode)
        if home.journal:
            home.journal.row(row)
        home.tell(TurnEnded(self.name, self.tenant.name, row))

    def _close(self, record: CallRecord) -> None:
        home, live = self._home, self.live
        self.transfer = self.transfer or (live.call.transfer if live else "")
        home.send_on(self.info.call, self.transfer)  # before the line is free: the far side asks at once
        self._connection.finish()
        home.ended(self)
        if home.journal:
            home.journal.record(record)
        log.info("%s: call %s ended, %s", self.kind, self.name, record.ended)
        home.tell(
            CallEnded(
                call=self.name,
                tenant=self.tenant.name,
                record=record,
                rows=tuple(self._rows),
                disposition=self.disposition,
                transfer=self.transfer,
                slots=live.slots if live else {},
                pauses=live.recording.pauses if live else (),
            )
        )

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
