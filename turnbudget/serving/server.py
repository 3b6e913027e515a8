"""One worker's server, from its settings to its last call: it opens studios, listens, reloads, drains.

New settings that cannot be used cost one line; the old ones stay. Calls that run keep what they began with.
"""

from __future__ import annotations

import asyncio
import logging
import signal
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from turnbudget.live.call import live_header
from turnbudget.runs.names import fresh_folder
from turnbudget.serving.after.aftercall import AfterCall
from turnbudget.serving.after.crm import Crm
from turnbudget.serving.after.webhooks import HttpPost, Webhooks
from turnbudget.serving.app import Listening, make_app
from turnbudget.serving.config import load
from turnbudget.serving.doors.door import Door
from turnbudget.serving.doors.once import OnceStore
from turnbudget.serving.doors.passes import Passes
from turnbudget.serving.doors.tenants import EnginePool, Tenants
from turnbudget.serving.floor import Floor
from turnbudget.serving.journal import Journal
from turnbudget.serving.recovery import Recovery
from turnbudget.settings.compose import open_studio
from turnbudget.voice.errors import TurnbudgetError
from turnbudget.voice.time import clock
from turnbudget.voice.time.crew import Crew

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from turnbudget.serving.app import Mount
    from turnbudget.serving.config import Agents, FloorConfig, ServeTable, WebhookTable
    from turnbudget.serving.doors.tenants import Opener
    from turnbudget.serving.ending import DispositionRule

FOLDER: Final = "serve"
"""What the run folder of a worker begins with."""
LASTING: Final = (
    *("host", "port", "ops_port", "audiosocket_host", "audiosocket_port", "most_waiting", "drain_ms"),
    *("out", "site", "broker", "otlp", "texts"),
)
"""Settings of ``[serve]`` that a worker keeps from its start to its end."""
AFTER_US: Final = 5 * clock.SECOND
"""How long what follows the last calls may take (µs; 5 s)."""
log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Worker:
    """Which of how many workers this is, and what they share."""

    number: int = 1
    """Which worker this is, from 1 on."""
    of: int = 1
    """How many workers there are."""
    secret: bytes = b""
    """Signs the passes of all of them."""
    notes: Path | None = None
    """Where facts that may be used once are shared; ``None``: nobody shares them."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Where the settings are: the floor's file, and the agent's where the floor names no tenants."""

    floor: Path | None = None
    """The file of the floor's settings."""
    agent: Path | None = None
    """The file of the agent's settings, where the floor names no tenants."""
    serve: Callable[[ServeTable], ServeTable] = lambda table: table
    """What the command line changes in them."""


class Server:
    """One worker."""

    def __init__(
        self,
        settings: Settings,
        *,
        worker: Worker | None = None,
        opener: Opener = open_studio,
        mounts: Callable[[Server, ServeTable], Sequence[Mount]] = lambda _server, _serve: (),
    ) -> None:
        """Serve by *settings*; *mounts* are asked, once they are read, what to mount beside the lines."""
        self._settings = settings
        self._worker = worker or Worker()
        self._pool = EnginePool(opener)
        self._mounts = mounts
        self._stopping = asyncio.Event()
        self._hurried = asyncio.Event()
        self._reloading = asyncio.Lock()
        self.open = asyncio.Event()
        """Set once calls can come."""
        self.floor: Floor
        self.listening: Listening

    async def run(self) -> None:
        """Serve until :meth:`stop`; raises TurnbudgetError if it cannot begin."""
        floor_config, agents = await self._load()
        serve = floor_config.serve
        engine_sets = await self._pool.open(agents.values())
        journal = await clock.offload(_begin_journal, Path(serve.out), self._worker.number)
        began, post, crm = clock.label(), HttpPost(), Crm()
        once = await clock.offload(OnceStore, self._worker.notes)
        try:
            await self._pool.use(engine_sets)
            async with Crew() as crew:
                worker = self._worker
                door = Door(serve, Tenants(floor_config, agents, engine_sets), Passes(once, worker.secret))
                self.floor = Floor(serve, door, crew, once=once, journal=journal, crm=crm, workers=worker.of)
                self.listening = Listening(
                    self.floor, serve, shared=worker.of > 1, number=self._worker.number
                )
                webhooks = Webhooks(Path(serve.out) / "webhooks", self._hook, post)
                after = AfterCall(journal.folder, crew, webhooks, rules=self._rules)
                follow = partial(AfterCall, crew=crew, webhooks=webhooks)
                recovery = Recovery(Path(serve.out), follow, rules=self._rules)
                self.floor.watch(journal)
                self.floor.watch(after)
                crew.create_task(self.floor.forecast.beat(), name="loop lag")
                crew.create_task(journal.run(), name="journal")
                crew.create_task(webhooks.run(), name="webhooks")
                recovering = crew.create_task(recovery.run(), name="recovery")
                await self._serve(serve)
                until_us = clock.now() + AFTER_US
                await after.finished(until_us)
                await clock.wait_until([recovering], until_us)
            await journal.flush()
            studio = next(iter(engine_sets.values())).studio
            header = live_header(studio, (), name=journal.folder.name, began=began)
            await clock.offload(journal.finish, header)
        finally:
            await clock.offload(journal.close if self.open.is_set() else journal.take_away)
            await self._pool.aclose()
            await post.aclose()
            await crm.aclose()
            await clock.offload(once.close)

    def _hook(self, tenant: str) -> WebhookTable | None:
        found = self.floor.door.tenants.named(tenant)
        return found.table.webhook if found else None

    def _rules(self, tenant: str) -> Sequence[DispositionRule]:
        found = self.floor.door.tenants.named(tenant)
        return found.table.dispositions if found else ()

    async def _serve(self, serve: ServeTable) -> None:
        """Listen until the end, and drain."""
        app = make_app(self.floor, self.listening.pending, self.reload, self._mounts(self, serve))
        try:
            await self.listening.open(app)
            self.open.set()
            ports = f"port {self.listening.port}"
            if serve.audiosocket_port is not None:
                ports += f", AudioSocket on {self.listening.audiosocket_port}"
            if serve.ops_port is not None:
                ports += f", this worker alone on {self.listening.ops_port}"
            log.info("worker %d of %d is open: %s", self._worker.number, self._worker.of, ports)
            await self._stopping.wait()
            await self._drain(serve.drain_ms * clock.MS)
        finally:
            await self.listening.close()

    async def _drain(self, patience_us: int) -> None:
        """Let calls end for *patience_us*, or until somebody is in a hurry."""
        async with asyncio.TaskGroup() as group:
            hurry = group.create_task(self._hurried.wait(), name="hurry")
            draining = group.create_task(self.floor.drain(clock.now() + patience_us), name="drain")
            await asyncio.wait([hurry, draining], return_when=asyncio.FIRST_COMPLETED)
            if not draining.done():
                draining.cancel()
                await self.floor.drain(clock.now())
            hurry.cancel()

    def stop(self) -> None:
        """Drain and end; told a second time, without waiting for calls."""
        if self._stopping.is_set():
            self._hurried.set()
        self._stopping.set()

    async def reload(self) -> str:
        """Read the settings again, for new calls; say what came of it. Raises TurnbudgetError: the old stay.

        Those of :data:`LASTING` stay in any case: who is asked for a token goes by where we really listen.
        """
        async with self._reloading:
            floor_config, agents = await self._load()
            engine_sets = await self._pool.open(agents.values())
            self.floor.door.tenants = Tenants(floor_config, agents, engine_sets)
            new = floor_config.serve
            lasting = {name: getattr(self.floor.serve, name) for name in LASTING}
            waiting = [f"serve.{name}" for name, value in lasting.items() if getattr(new, name) != value]
            self.floor.door.serve = self.floor.serve = msgspec.structs.replace(new, **lasting)
            await self._pool.use(engine_sets)
        told = f"{len(agents)} tenants" + (f"; for {', '.join(waiting)} start again" if waiting else "")
        log.info("settings read again: %s", told)
        return told

    async def follow_signals(self) -> None:
        """Obey SIGTERM and Ctrl-C (drain), and SIGHUP (reload), for ever."""
        loop, again = asyncio.get_running_loop(), asyncio.Event()
        loop.add_signal_handler(signal.SIGTERM, self.stop)
        loop.add_signal_handler(signal.SIGINT, self.stop)
        loop.add_signal_handler(signal.SIGHUP, again.set)
        while True:
            await again.wait()
            again.clear()
            try:
                await self.reload()
            except TurnbudgetError as error:
                log.error("settings not taken: %s", error)  # noqa: TRY400 - one line is all it needs
            except Exception:
                log.exception("settings not taken")  # whatever an engine raises ends no call

    async def _load(self) -> tuple[FloorConfig, Agents]:
        floor_config, agents = await clock.offload(load, self._settings.floor, self._settings.agent)
        serve = self._settings.serve(floor_config.serve)
        return msgspec.structs.replace(floor_config, serve=serve), agents


def _begin_journal(out: Path, number: int) -> Journal:
    """Return the journal of worker *number*, in a folder of its own below *out*."""
    return Journal(fresh_folder(out, FOLDER if number == 1 else f"{FOLDER}-worker-{number}"))
