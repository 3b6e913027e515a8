"""Everything that watches a floor, put in its place: metrics, board, traces, events on a broker.

What each of them needs to run is begun with the server and ended behind its last call.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from turnbudget.council.remote.broker import broker_at
from turnbudget.serving.doors.login import Login
from turnbudget.serving.watch.board import Board, BoardServer
from turnbudget.serving.watch.bus import Bus
from turnbudget.serving.watch.metrics import Metrics
from turnbudget.serving.watch.tracing import Tracing, otlp
from turnbudget.voice.time import clock

if TYPE_CHECKING:
    from collections.abc import Callable

    from aiohttp import web

    from turnbudget.serving.floor import Floor


@dataclass(frozen=True, slots=True)
class Watched:
    """A floor as a supervisor sees it; *stop* drains and ends the worker."""

    floor: Floor
    """The floor whose calls they are."""
    stop: Callable[[], None]
    """Drains the worker."""

    @property
    def draining(self) -> bool:
        """Whether no calls are taken any more."""
        return self.floor.draining

    def calls(self) -> int:
        """Return how many calls run."""
        return len(self.floor.calls)

    def hang_up(self, call: str) -> bool:
        """End *call*, if it is one of this floor's."""
        running = self.floor.calls.get(call)
        if running is None:
            return False
        running.end("the supervisor hung up")
        return True

    def drain(self) -> None:
        """Take no more calls, and end behind the last."""
        self.stop()


@dataclass(frozen=True, slots=True)
class Watching:
    """Which watchers there are; :meth:`mount` sets them on a floor.

    ``broker`` and ``otlp`` are URLs, '' for none; ``secret`` is what the workers of a server share; ``stop``
    is what a supervisor's ``drain`` does.
    """

    stop: Callable[[], None]
    """Drains the worker."""
    secret: bytes = b""
    """Signs operators' cookies; workers share it."""
    worker: str = "1"
    """Which worker this is."""
    site: str = "main"
    """The name of this place in call events."""
    broker: str = ""
    """The MQTT broker that call events go to; '' is none."""
    otlp: str = ""
    """The address that traces go to; '' is none."""
    texts: bool = False
    """Those who watch see what was said, redacted."""

    def mount(self, app: web.Application, floor: Floor) -> None:
        """Watch *floor*, and show it in *app*; raises ConfigError or MissingEngine."""
        login = Login(floor.door, self.secret)
        metrics = Metrics(
            lambda name: floor.door.tenants.named(name) is not None, lambda: floor.forecast.lag_us
        )
        board = Board(texts=self.texts)
        viewing = BoardServer(board, login.check, lambda: self._state(floor))
        floor.watch(metrics)
        floor.watch(board)
        app.router.add_routes([*login.routes(), *metrics.routes(login.check), *viewing.routes()])

        async def close_board(_: web.Application) -> None:
            viewing.close()

        app.on_shutdown.append(close_board)
        if self.broker:
            self._tell(app, floor)
        if self.otlp:
            self._trace(app, floor)

    def _tell(self, app: web.Application, floor: Floor) -> None:
        bus = Bus(broker_at(self.broker), Watched(floor, self.stop), site=self.site, texts=self.texts)
        floor.watch(bus)
        floor.crew.create_task(bus.run(), name="events")

        async def flush(_: web.Application) -> None:
            await bus.flush()

        app.on_cleanup.append(flush)

    def _trace(self, app: web.Application, floor: Floor) -> None:
        tracing = Tracing(otlp(self.otlp), worker=f"{self.site}-{self.worker}", texts=self.texts)
        floor.watch(tracing)

        async def close(_: web.Application) -> None:
            await clock.offload(tracing.close)

        app.on_cleanup.append(close)

    def _state(self, floor: Floor) -> dict[str, Any]:
        return {
            "site": self.site,
            "worker": self.worker,
            "state": floor.state,
            "lag_us": floor.forecast.lag_us,
            "texts": self.texts,
        }
