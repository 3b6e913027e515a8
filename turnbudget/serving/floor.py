"""The floor: every call that runs in this worker, who may come, who watches, and how it closes.

A place is kept from the moment a call is let in until it begins, so a thousand that ask in one second are
judged one behind the other. Watchers cost nobody anything: what one of them raises is logged once.
"""

from __future__ import annotations

import logging
import secrets
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from turnbudget.serving.admission import Admission, FirstSoundForecast, Load, judge
from turnbudget.serving.doors.door import BUSY, PendingSockets, Refused
from turnbudget.serving.events import CallShed
from turnbudget.serving.running import Running
from turnbudget.voice.time import clock

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Mapping

    from turnbudget.serving.admission import Mode
    from turnbudget.serving.after.crm import Crm
    from turnbudget.serving.config import ServeTable
    from turnbudget.serving.connection import Connection
    from turnbudget.serving.doors.door import Door, Guest
    from turnbudget.serving.doors.once import OnceStore
    from turnbudget.serving.doors.tenants import Tenant
    from turnbudget.serving.events import FloorEvent, Watcher
    from turnbudget.serving.journal import Journal
    from turnbudget.voice.lines.dialect import CallInfo
    from turnbudget.voice.time.crew import Crew

State: TypeAlias = Literal["open", "light", "full", "draining"]
"""What would become of one more call: answered in full, answered light, refused, or refused for good."""
KEPT_US: Final = 15 * clock.SECOND
"""How long a place is kept for a call that was let in and has not come (µs; 15 s)."""
ASKED_US: Final = 3 * clock.SECOND
"""How long after a call's end a far side may ask where its caller goes (µs; 3 s)."""
LOOK_US: Final = 50 * clock.MS
"""How often it is looked whether anybody is still owed something (µs; 50 ms)."""
log = logging.getLogger(__name__)


class Floor:
    """The calls of one worker."""

    def __init__(  # noqa: PLR0913 - what a floor stands on
        self,
        serve: ServeTable,
        door: Door,
        crew: Crew,
        *,
        once: OnceStore,
        journal: Journal | None,
        crm: Crm | None = None,
        workers: int = 1,
    ) -> None:
        """Take calls in through *door*, *workers* floors sharing the limits; their tasks are the *crew*'s.

        *crm* asks tenants' servers who calls.
        """
        self.serve = serve
        self.door = door
        self.once = once
        self.journal = journal
        self.crm = crm
        self.crew = crew
        self.forecast = FirstSoundForecast()
        self.pending = PendingSockets(serve.most_waiting, serve.start_ms * clock.MS)
        self.draining = False
        self.workers = workers
        self._calls: dict[str, Running] = {}
        self._places: dict[str, tuple[Tenant, Mode, asyncio.TimerHandle]] = {}
        self._asked_by_us = 0
        """By when whoever was sent on will have asked where to."""
        self._watchers: list[Watcher] = []
        self._faulty: set[int] = set()

    @property
    def calls(self) -> Mapping[str, Running]:
        """The calls that run, by their names, oldest first."""
        return self._calls

    @property
    def state(self) -> State:
        """What would become of one more call of the usual tenant."""
        if self.draining:
            return "draining"
        tenant = self.door.tenants.usual or next(iter(self.door.tenants))
        mode = judge(self._load(tenant)).mode
        return "open" if mode == "full" else mode or "full"

    def watch(self, watcher: Watcher) -> None:
        """Let *watcher* know of everything that happens from now on."""
        self._watchers.append(watcher)

    def tell(self, event: FloorEvent) -> None:
        """Let every watcher know of *event*."""
        for watcher in self._watchers:
            try:
                watcher(event)
            except Exception:
                if id(watcher) not in self._faulty:
                    self._faulty.add(id(watcher))
                    log.exception("a watcher failed; it is told on, and further faults of it are not logged")

    # --- who may come ------------------------------------------------------------------------------

    def admit(self, tenant: Tenant, kind: str, place: str) -> Admission:
        """Keep a *place* for a call of *tenant* over a line of *kind*; what becomes of it, and why."""
        if not tenant.takes(kind):
            verdict = Admission(None, "line", f"this tenant takes no calls over {kind}")
        else:
            verdict = judge(self._load(tenant))
        if verdict.mode:
            timer = clock.call_at(clock.now() + KEPT_US, lambda: self.give_up(place))
            self._places[place] = tenant, verdict.mode, timer
        if verdict.because:
            degraded = verdict.mode is not None
            self.tell(CallShed(tenant.name, kind, verdict.rule, verdict.because, degraded=degraded))
            log.info("%s: a call %s, %s", kind, "degraded" if verdict.mode else "refused", verdict.because)
        return verdict

    def keeps(self, place: str) -> bool:
        """Say whether *place* is kept."""
        return place in self._places

    def give_up(self, place: str) -> None:
        """Give up *place*, if it is kept."""
        found = self._places.pop(place, None)
        if found:
            found[2].cancel()

    def forget(self, guest: Guest) -> None:
        """Give up the place that is kept for *guest*: its call has begun or never will."""
        self.give_up(guest.place)

    def _load(self, tenant: Tenant) -> Load:
        engines = tenant.engines
        own = sum(call.tenant.name == tenant.name for call in self._calls.values())
        own += sum(kept.name == tenant.name for kept, _, _ in self._places.values())
        return Load(
            calls=len(self._calls) + len(self._places),
            most=self._share(self.serve.most_calls),
            tenant_calls=own,
            tenant_most=self._share(tenant.table.most_calls),
            budget_us=engines.studio.budget_us,
            full=self.forecast.predict(engines.studio),
            light=self.forecast.predict(engines.light, "light") if engines.light else None,
            draining=self.draining,
        )

    def _share(self, most: int) -> int:
        """Return this worker's part of a limit."""
        return -(-most // self.workers)

    # --- calls -------------------------------------------------------------------------------------

    def begin(self, connection: Connection, info: CallInfo) -> Running:
        """Begin the call that *connection* carries, or go on with it; raises Refused."""
        tenant = self.door.tenant_of(connection.guest, info)
        if going := self._going(tenant, info):
            self.give_up(connection.guest.place)
            log.info("%s: another stream takes call %s over", connection.kind, going.name)
            going.move_to(connection)
            return going
        place = connection.guest.place
        if place not in self._places:
            place = place or secrets.token_hex(8)
            verdict = self.admit(tenant, connection.kind, place)
            if verdict.mode is None:
                raise Refused(verdict.because, BUSY)
        _, mode, _ = self._places[place]
        self.give_up(place)
        running = Running(
            secrets.token_hex(8), tenant, mode=mode, info=info, connection=connection, home=self
        )
        self._calls[running.name] = running
        self.crew.create_task(running.run(), name=f"call {running.name}")
        return running

    def send_on(self, call: str, target: str) -> None:
        """Have the far side told, when it asks, that its *call* goes on to *target*; '' is nowhere."""
        self.once.take(f"after {call}")  # where a call before it went that had the same id
        if target:
            self.once.put(f"after {call}", target)
            self._asked_by_us = clock.now() + ASKED_US

    def ended(self, running: Running) -> None:
        """Forget a call that is over."""
        self._calls.pop(running.name, None)

    def _going(self, tenant: Tenant, info: CallInfo) -> Running | None:
        """Return the call of *tenant* that runs under the carrier's id of *info*, if it has one."""
        for call in self._calls.values() if info.call else ():
            if (call.tenant.name, call.info.call) == (tenant.name, info.call) and call.lives:
                return call
        return None

    # --- closing -----------------------------------------------------------------------------------

    async def drain(self, until_us: int) -> None:
        """Let no more calls in, wait for those that were until *until_us*, and end those that are left."""
        self.draining = True
        log.info("draining: %d calls", len(self._calls))
        while self._owes() and clock.now() < until_us:
            await clock.sleep(min(LOOK_US, until_us - clock.now()))
        for call in list(self._calls.values()):
            call.end("the server is going down")
        tasks = [call.task for call in self._calls.values() if call.task]
        await clock.wait_until(tasks, clock.now() + 2 * clock.SECOND)

    def _owes(self) -> bool:
        """Say whether a call runs, was promised a place, or may still ask where its caller goes."""
        return bool(self._calls or self._places) or clock.now() < self._asked_by_us
