"""The ports of a worker: HTTP and AudioSocket, shared with the others if there are any, and one of its own.

Whoever asks a shared port gets any worker; who has to ask each of them asks its own.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from aiohttp import web

from turnbudget.serving.doors.door import Guest
from turnbudget.serving.doors.doorstep import Doorstep
from turnbudget.serving.sockets.expected import ExpectedAudioSocket
from turnbudget.serving.sockets.tcp import AudioSocketWire
from turnbudget.voice.errors import RunError
from turnbudget.voice.time import clock

if TYPE_CHECKING:
    from collections.abc import Callable

    from turnbudget.serving.config import ServeTable
    from turnbudget.serving.floor import Floor

KEEP_ALIVE_S = 15.0
"""How long a connection without a request stays open between two."""
GOODBYE_S = 1.0


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
        self.doorstep = Doorstep(2 * serve.most_waiting, serve.start_ms * clock.MS)
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

        self.doorstep.enter(visitor, drop)
        return visitor

    def _asterisk(self) -> asyncio.BaseProtocol:
        """Return the protocol of one AudioSocket."""
        guest = Guest(trusted=self._floor.serve.local_audiosocket)
        dialect = ExpectedAudioSocket(self._floor, guest, self._floor.serve.audiosocket_rate)
        return AudioSocketWire(self._floor, dialect, guest)
