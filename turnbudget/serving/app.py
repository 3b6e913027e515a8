"""The HTTP face of a worker: health, reload, the carriers, what others mount, and the ports it listens on.

Who is refused hears a word, not a reason: reasons are in the log, which holds no path, for paths hold tokens.
Workers share a port for HTTP and one for AudioSocket, and whoever asks there gets any of them; who has to ask
each worker asks on a port of its own.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Final, TypeAlias

from aiohttp import web

from turnbudget.serving.doors.door import Guest, PendingSockets, Refused
from turnbudget.serving.sockets import audiosocket, twilio, websocket
from turnbudget.serving.sockets.audiosocket import AudioSocketWire, ExpectedAudioSocket
from turnbudget.voice.errors import RunError, TurnbudgetError
from turnbudget.voice.time import clock

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from aiohttp.typedefs import Middleware

    from turnbudget.serving.config import ServeTable
    from turnbudget.serving.floor import Floor

Mount: TypeAlias = "Callable[[web.Application, Floor], None]"
"""Adds routes of a floor to the application."""
Handler: TypeAlias = "Callable[[web.Request], Awaitable[web.StreamResponse]]"
"""Answers one request."""
LARGEST: Final = 65_536
"""Bytes of a request's body."""
WORDS: Final = {
    400: "bad request",
    401: "who are you",
    403: "refused",
    404: "not found",
    409: "conflict",
    503: "busy",
}
"""What a refused request is told, by its HTTP status: nothing of the reason."""
KEEP_ALIVE_S = 15.0
"""How long a connection stays open between two requests (seconds)."""
GOODBYE_S = 1.0
"""How long requests that are under way may take at the end (seconds)."""
log = logging.getLogger(__name__)


class Listening:
    """What listens."""

    def __init__(self, floor: Floor, serve: ServeTable, *, shared: bool, number: int = 1) -> None:
        """Listen for *floor*, worker *number*, where *serve* says; *shared* with other workers."""
        self._floor = floor
        self._serve = serve
        self._shared = shared
        self._number = number
        self._runner: web.AppRunner | None = None
        self._servers: list[asyncio.Server] = []
        self.pending = PendingSockets(2 * serve.most_waiting, serve.start_ms * clock.MS)
        """Connections that have not sent a request."""
        self.port = 0
        self.audiosocket_port = 0
        self.ops_port = 0

    async def open(self, app: web.Application) -> None:
        """Begin to listen; raises RunError if a port cannot be had."""
        serve = self._serve
        runner = web.AppRunner(
            app, access_log=None, keepalive_timeout=KEEP_ALIVE_S, shutdown_timeout=GOODBYE_S
        )
        await runner.setup()
        self._runner = runner
        self.port = await self._listen(self._visitor, serve.host, serve.port)
        if serve.audiosocket_port is not None:
            host = serve.audiosocket_host
            self.audiosocket_port = await self._listen(self._asterisk, host, serve.audiosocket_port)
        if serve.ops_port is not None:
            own = serve.ops_port and serve.ops_port + self._number
            self.ops_port = await self._listen(self._visitor, serve.host, own, alone=True)

    async def close(self) -> None:
        """Listen no more, and close what is open."""
        for server in self._servers:
            server.close()
        if self._runner:
            await self._runner.cleanup()

    async def _listen(
        self, factory: Callable[[], asyncio.BaseProtocol], host: str, port: int, *, alone: bool = False
    ) -> int:
        loop = asyncio.get_running_loop()
        shared = (self._shared and not alone) or None
        try:
            server = await loop.create_server(factory, host, port, reuse_port=shared)
        except OSError as error:
            raise RunError(
                f"cannot listen on port {port} ({error.strerror})", where=host, remedy="choose another"
            ) from None
        self._servers.append(server)
        return int(server.sockets[0].getsockname()[1])

    def _visitor(self) -> asyncio.BaseProtocol:
        """Return the protocol of one HTTP connection, which has to send a request soon."""
        assert self._runner is not None and self._runner.server is not None  # noqa: S101, PT018 - it was set up
        visitor = self._runner.server()

        def drop(_: str) -> None:
            if visitor.transport:
                visitor.transport.abort()

        self.pending.enter(visitor, drop)
        return visitor

    def _asterisk(self) -> asyncio.BaseProtocol:
        """Return the protocol of one AudioSocket."""
        guest = Guest(trusted=self._floor.serve.local_audiosocket)
        dialect = ExpectedAudioSocket(self._floor, guest, self._floor.serve.audiosocket_rate)
        return AudioSocketWire(self._floor, dialect, guest)


def make_app(
    floor: Floor, pending: PendingSockets, reload: Callable[[], Awaitable[str]], mounts: Sequence[Mount] = ()
) -> web.Application:
    """Return the application of *floor* and *mounts*; who sends a request leaves the *pending*."""
    app = web.Application(client_max_size=LARGEST, middlewares=[_gate(floor, pending)])

    async def health(_: web.Request) -> web.Response:
        return web.json_response({"state": floor.state, "calls": len(floor.calls)})

    async def ready(_: web.Request) -> web.Response:
        return web.json_response({"state": floor.state}, status=503 if floor.draining else 200)

    async def read_again(request: web.Request) -> web.Response:
        floor.door.check_operator(request)
        return web.Response(text=f"{await reload()}\n")

    app.router.add_get("/healthz", health)
    app.router.add_get("/readyz", ready)
    app.router.add_post("/reload", read_again)
    for mount in (twilio.mount, audiosocket.mount, *mounts, websocket.mount):
        mount(app, floor)
    return app


def _gate(floor: Floor, pending: PendingSockets) -> Middleware:
    """Return what stands before every request: bounds on its time, and words for refusals."""

    @web.middleware
    async def gate(request: web.Request, handler: Handler) -> web.StreamResponse:
        pending.leave(request.protocol)
        try:
            await _read_body(request, floor.serve.start_ms * clock.MS)
            return await handler(request)
        except Refused as refused:
            log.warning("%s: refused, %s", _route(request), refused)
            return web.Response(status=refused.status, text=WORDS.get(refused.status, "refused") + "\n")
        except TurnbudgetError as error:
            log.error("%s: %s", _route(request), error)  # noqa: TRY400 - one line is all it needs
            return web.Response(status=409, text=f"{error}\n" if _is_operators(request) else "failed\n")

    return gate


async def _read_body(request: web.Request, patience_us: int) -> None:
    """Read the body, if there is one, within *patience_us*: no handler waits for it then, or fails at it."""
    if not request.body_exists:
        return
    if request.content_type.startswith("multipart/"):
        raise Refused("a body in parts", 400)
    try:
        async with clock.move_on_at(clock.now() + patience_us) as scope:
            await request.read()
            await request.post()  # a form is kept as it is read
    except (web.RequestPayloadError, LookupError, ValueError):
        raise Refused("a body that cannot be read", 400) from None
    if scope.expired():
        raise Refused("a body that did not come", 400)


def _route(request: web.Request) -> str:
    """Return the route of *request* as it was declared: without what stands in its place of a token."""
    resource = request.match_info.route.resource
    return resource.canonical if resource else "no such page"


def _is_operators(request: web.Request) -> bool:
    return _route(request) == "/reload"
