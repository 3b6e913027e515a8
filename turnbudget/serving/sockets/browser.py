"""The page's door: who gets the page, who may open its socket, and which call a socket goes on with.

The page carries a pass for one call. Where only this machine reaches us anybody on it gets one; elsewhere it
is given for tenants alone whose ``lines`` name ``browser``. A socket is for pages of this server (its
``Origin``), says hello soon or is closed, and is one of a few of its address. The page asks nothing of any
other place: no script, style, image or socket that is not of this server.
"""

from __future__ import annotations

import html
import mimetypes
from collections import Counter
from contextlib import suppress
from typing import TYPE_CHECKING, Final, TypeAlias
from urllib.parse import urlsplit

import aiohttp
from aiohttp import web

from turnbudget.pages import read
from turnbudget.serving.config import is_of_the_internet
from turnbudget.serving.connection import Connection
from turnbudget.serving.doors.door import Refused, from_outside
from turnbudget.serving.events import CallBegan, CallEnded, TurnEnded
from turnbudget.serving.sockets.page_connection import PageConnection, send
from turnbudget.voice.lines.browser import LONGEST, Hello, read_hello
from turnbudget.voice.lines.wire import compact

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from turnbudget.serving.doors.door import PendingSockets
    from turnbudget.serving.doors.tenants import Tenant
    from turnbudget.serving.events import FloorEvent
    from turnbudget.serving.floor import Floor
    from turnbudget.serving.sockets.page_connection import Peer

KIND: Final = "browser"
"""What the line is called."""
BEAT_S: Final = 2.0
"""How often a page is pinged, which is gone if it does not answer (seconds)."""
GOODBYE_S: Final = 1.0
"""How long the closing handshake is waited for (seconds)."""
MOST: Final = 8
"""Sockets of one address at a time."""
Connect: TypeAlias = "Callable[[web.Request, Hello, PageConnection], Peer]"
"""Takes who asks, what they said first, and what to write to; raises Refused."""
PAGE: Final = "talk.html"
"""The page with the talk button."""
ASSETS: Final = frozenset(
    {
        *("common.css", "turn.css", "talk.css"),
        *("common.js", "talk.js", "talk-line.js", "talk-turn.js", "talk-waterfall.js", "talk-worklet.js"),
    }
)
"""The files that the page asks for."""
TOKEN: Final = "{{token}}"  # noqa: S105 - the place of one
"""Where the page's pass goes."""
POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; "
    "connect-src 'self' ws://{host} wss://{host}; "  # Safari's 'self' is no WebSocket
    "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""What the page may load and connect to."""
HEADERS: Final = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
"""Headers of the page and its files."""


class PageConnections:
    """Every page's connection."""

    def __init__(  # noqa: PLR0913 - who may come in, and how many
        self,
        connect: Connect,
        pending: PendingSockets,
        *,
        origins: Collection[str] = (),
        most: int = MOST,
        alone: bool = True,
        address: Callable[[web.Request], str],
    ) -> None:
        """Let *connect* take the calls of our own page, and of pages from *origins* (``https://…``).

        Until it has said hello a socket waits on the *pending*. There are at most *most* of one *address* at
        a time, and as many again that go on with a call; behind a proxy *address* has to say whose they are.
        Unless we are *alone*, a call that we do not know may be another worker's.
        """
        self._connect = connect
        self._doorstep = pending
        self._origins = origins
        self._most = most
        self._alone = alone
        self._address = address
        self._sockets: Counter[str] = Counter()
        self._talks: dict[str, PageConnection] = {}

    async def talk(self, request: web.Request) -> web.WebSocketResponse:
        """Carry a call on the socket that *request* asks for; why there is none the page is told on it."""
        origin = request.headers.get("Origin", "")
        if origin not in self._origins and (not origin or origin.partition("://")[2] != request.host):
            raise web.HTTPForbidden(text="This socket is for the page of this server.")
        socket = web.WebSocketResponse(
            timeout=GOODBYE_S, heartbeat=BEAT_S, max_msg_size=LONGEST, compress=False
        )
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
        crowded = Refused(f"{self._most} connections from one address are the most at a time")
        if sockets > 2 * self._most:  # a page may be back before we know that its socket has dropped
            raise crowded

        def drop(_: str) -> None:
            if request.transport:
                request.transport.abort()

        self._doorstep.enter(socket, drop)
        try:
            first = await socket.receive()
        finally:
            self._doorstep.leave(socket)
        text = first.data if first.type is aiohttp.WSMsgType.TEXT else ""
        hello = read_hello(text)
        if not isinstance(hello, Hello):
            raise Refused(hello.why)
        if hello.resume:
            if talk := self._talks.get(hello.resume):
                await talk.resume(socket)
            elif self._alone:
                raise Refused("the call had ended before the connection was back")
            else:
                with suppress(ConnectionError, RuntimeError):
                    await send(socket, compact(event="elsewhere"))
            return
        if sockets > self._most:
            raise crowded
        talk = PageConnection()
        peer = self._connect(request, hello, talk)
        self._talks[talk.key] = talk
        try:
            await talk.run(peer, text, socket)
        finally:
            del self._talks[talk.key]

    def of(self, call: str) -> PageConnection | None:
        """Return the connection whose call is named *call* by its dialect."""
        return next((talk for talk in self._talks.values() if talk.id == call), None)


class _Showing:
    """Tells each page of its own call, and nothing of others."""

    def __init__(self, floor: Floor, talks: PageConnections) -> None:
        self._floor = floor
        self._talks = talks
        self._shown: dict[str, PageConnection] = {}

    def __call__(self, event: FloorEvent) -> None:
        match event:
            case CallBegan(call=name, info=info) if talk := self._talks.of(info.call):
                running = self._floor.calls[name]
                talk.follow(lambda: running.call)
                self._shown[name] = talk
            case TurnEnded(call=name, row=row) if name in self._shown:
                self._shown[name].told(row)
            case CallEnded(call=name):
                self._shown.pop(name, None)
            case _:
                pass


def mount(app: web.Application, floor: Floor) -> None:
    """Add the page, its files and its socket to *app*."""

    def connect(request: web.Request, hello: Hello, talk: PageConnection) -> Connection:
        return Connection(talk.dialect, talk, floor, floor.door.guest(hello.token, request))

    async def home(request: web.Request) -> web.Response:
        token, _ = floor.door.passes.issue(_tenant(floor, request).name)
        return page(token, public.netloc or request.host)

    public = urlsplit(floor.serve.public)
    origins = (f"{public.scheme}://{public.netloc}",) if public.netloc else ()
    talks = PageConnections(
        connect,
        floor.pending,
        origins=origins,
        alone=floor.workers == 1,
        address=_whose if public.netloc else _own,
    )
    floor.watch(_Showing(floor, talks))
    app.router.add_get("/", home)
    app.router.add_get("/page/{name}", asset)
    app.router.add_get("/talk", talks.talk)


def page(token: str, host: str) -> web.Response:
    """Return the page for a browser that asked *host*; *token* lets its one call in."""
    text = read(PAGE).replace(TOKEN, html.escape(token))
    headers = HEADERS | {
        "Content-Security-Policy": POLICY.format(host=host if _is_plain(host) else ""),
        "Permissions-Policy": "microphone=(self), camera=(), geolocation=()",
        "Cache-Control": "no-store",
    }
    return web.Response(text=text, content_type="text/html", headers=headers)


async def asset(request: web.Request) -> web.Response:
    """Return one of the page's own files, by its name in the path (``/page/{name}``); raises HTTPNotFound."""
    name = request.match_info["name"]
    if name not in ASSETS:
        raise web.HTTPNotFound
    kind, _ = mimetypes.guess_type(name)
    return web.Response(
        text=read(name), content_type=kind or "text/plain", headers=HEADERS | {"Cache-Control": "no-cache"}
    )


def _tenant(floor: Floor, request: web.Request) -> Tenant:
    """Return whose page *request* asks for (``?tenant=``, or the usual); raises Refused if it has none."""
    tenant = floor.door.tenants.on_this_machine(request.query.get("tenant", ""), "")
    if tenant is None:
        raise Refused("a tenant that is not known", 404)
    if not floor.serve.local and KIND not in tenant.table.lines:
        raise Refused(f"no page outside this machine: this tenant's lines do not name {KIND!r}")
    if floor.serve.local and from_outside(request):
        raise Refused("not of this machine")
    return tenant


def _own(request: web.Request) -> str:
    """Return the address that *request* comes from."""
    return request.remote or ""


def _whose(request: web.Request) -> str:
    """Return the address that the proxy in front of us says *request* comes from, if it is a proxy's."""
    told = ",".join(request.headers.getall("X-Forwarded-For", ())).rpartition(",")[2].strip()
    return told if told and not is_of_the_internet(_own(request)) else _own(request)


def _is_plain(host: str) -> bool:
    """Say whether *host* is an address and a port, and nothing that a policy could be made to say."""
    return bool(host) and all(sign.isalnum() or sign in ".-:[]" for sign in host)
