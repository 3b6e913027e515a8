"""The page's door: who may open its socket, how many at a time, and whose connection a socket goes on with.

A socket is for pages of this server alone (its ``Origin``), and says hello within five seconds or is closed.
What else it takes to be let in is said by whoever connects: a pass, a tenant, room for one more call.
"""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from typing import TYPE_CHECKING, Final, TypeAlias
from urllib.parse import urlsplit

import aiohttp
from aiohttp import web

from turnbudget.serving.refused import Refused
from turnbudget.serving.talk import Talk, send
from voice import clock
from voice.lines.browser import LONGEST, Hello, read_hello
from voice.lines.control import compact

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from turnbudget.serving.talk import Peer

HELLO_US: Final = 5 * clock.SECOND
"""How long an open socket may say nothing."""
BEAT_S: Final = 2.0
"""A page that does not answer a beat is gone, though its socket may not know."""
MOST: Final = 8
"""Sockets of one address at a time."""

Connect: TypeAlias = "Callable[[web.Request, Hello, Talk], Peer]"
"""Takes who asks, what they said first, and what to write to; raises Refused."""


class Talks:
    """Every page's connection."""

    def __init__(
        self,
        connect: Connect,
        *,
        origins: Collection[str] = (),
        most: int = MOST,
        address: Callable[[web.Request], str] = lambda request: request.remote or "",
    ) -> None:
        """Let *connect* take the calls of our own page, and of pages from *origins* (``https://…``).

        *most* sockets of one *address* at a time; behind a proxy *address* has to say whose they are.
        """
        self._connect = connect
        self._origins = origins
        self._most = most
        self._address = address
        self._sockets: Counter[str] = Counter()
        self._talks: dict[str, Talk] = {}

    async def talk(self, request: web.Request) -> web.WebSocketResponse:
        """Carry a call on the socket that *request* asks for; why there is none the page is told on it."""
        origin = request.headers.get("Origin", "")
        if origin not in self._origins and (not origin or urlsplit(origin).netloc != request.host):
            raise web.HTTPForbidden(text="This socket is for the page of this server.")
        socket = web.WebSocketResponse(heartbeat=BEAT_S, max_msg_size=LONGEST, compress=False)
        await socket.prepare(request)
        address = self._address(request)
        self._sockets[address] += 1
        try:
            await self._admit(request, socket, self._sockets[address])
        except Refused as refused:
            with suppress(ConnectionError, RuntimeError):
                await send(socket, compact(event="refused", because=str(refused)))
        finally:
            self._sockets[address] -= 1
            if not self._sockets[address]:
                del self._sockets[address]
        await socket.close()
        return socket

    async def _admit(self, request: web.Request, socket: web.WebSocketResponse, sockets: int) -> None:
        """Carry the connection to its end; raises Refused."""
        if sockets > self._most:
            raise Refused(f"{self._most} connections from one address are the most at a time")
        text = ""
        async with clock.move_on_at(clock.now() + HELLO_US):
            first = await socket.receive()
            text = first.data if first.type is aiohttp.WSMsgType.TEXT else ""
        hello = read_hello(text)
        if not isinstance(hello, Hello):
            raise Refused(hello.why)
        if hello.resume:
            if hello.resume not in self._talks:
                raise Refused("the call had ended before the connection was back")
            await self._talks[hello.resume].resume(socket)
            return
        talk = Talk()
        peer = self._connect(request, hello, talk)
        self._talks[talk.key] = talk
        try:
            await talk.run(peer, text, socket)
        finally:
            del self._talks[talk.key]
