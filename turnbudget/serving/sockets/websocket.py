"""The carriers' WebSockets: which of them speaks what, read at once, written in order, and closed in the end.

``/twilio/ws/TOKEN`` and its kin, ``/asterisk/ws``, ``/vonage/ws``, ``/jambonz/ws``: the first of a path names
the carrier, the last is a token. Asterisk, whose dial string ends in a query, may send its token there;
carriers that strip queries put it in the path, or in what the call says of itself.

What waits to be written is bounded: a peer that reads nothing costs the messages of a few seconds, then its
socket. The peer is asked for a pong: one that sends but does not read never answers, a cut cable neither.
"""

from __future__ import annotations

import asyncio
import logging
import socket as sockets
from collections import deque
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Final

from aiohttp import WSMsgType, web

from turnbudget.serving.connection import Connection
from turnbudget.serving.doors.door import BUSY, Refused
from turnbudget.settings import engines
from turnbudget.voice.lines.chan_websocket import ChanWebsocket
from turnbudget.voice.lines.dialect import Dialect
from turnbudget.voice.lines.jambonz import Jambonz
from turnbudget.voice.lines.pcm_websocket import PcmWebsocket
from turnbudget.voice.lines.twilio import TwilioDialect
from turnbudget.voice.lines.twilio_messages import VENDORS
from turnbudget.voice.lines.vonage import Vonage
from turnbudget.voice.time import clock
from turnbudget.voice.time.crew import Crew

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from turnbudget.serving.doors.door import Guest
    from turnbudget.serving.floor import Floor
    from turnbudget.voice.lines.dialect import Message


LONGEST: Final = 262_144
"""Bytes of a message; a longer one costs the socket (close code 1009)."""
PROTOCOLS: Final = ("audio.jambonz.org", "audio.drachtio.org", "media")
"""Subprotocols that far sides ask for."""
BUFFER: Final = 16_384
"""Bytes that the kernel may hold for a peer: it must not hide for minutes that nobody reads."""
GOODBYE_S: Final = 1.0
"""How long the closing handshake is waited for (seconds)."""
MOST: Final = 1_000
"""Messages that wait for one socket: 20 s of 20 ms frames."""
SIGNED: Final = "twilio"
"""The carrier whose upgrades are signed."""
QUERIES: Final = "chan_websocket"
"""The dialect that says in the query whose call it is; the others say so once they are let in."""
log = logging.getLogger(__name__)


class Outbox:
    """Messages of one socket. :meth:`run` writes them until the end."""

    def __init__(
        self, write: Callable[[Message], Awaitable[None]], broken: Callable[[str], None], stall_us: int
    ) -> None:
        """Write with *write*; *broken* is told, once, why nothing more can be written."""
        self._write = write
        self._broken = broken
        self._stall_us = stall_us
        self._waiting: deque[Message] = deque()
        self._ready = asyncio.Event()
        self._moved_us = clock.now()
        """When the last message was taken by the socket, or nothing waited."""
        self._over = ""
        self._ending = False
        self.lost = 0
        """Messages that came after the end."""

    def put(self, message: Message) -> None:
        """Write *message* behind those that wait. Never blocks."""
        if self._over or self._ending:
            self.lost += 1
            if self.lost == 1 and self._over:
                log.info("not written, for %s", self._over)
            return
        if not self._waiting and not self._ready.is_set():
            self._moved_us = clock.now()
        self._waiting.append(message)
        self._ready.set()
        if len(self._waiting) > MOST:
            self._break("the peer reads too slowly")
        elif clock.now() - self._moved_us > self._stall_us:
            self._break("the peer does not read")

    def end(self) -> None:
        """Take no more; :meth:`run` ends behind what waits."""
        self._ending = True
        self._ready.set()

    def stop(self, why: str) -> None:
        """Write no more: the socket is gone, for the reason *why*."""
        self._over = self._over or why
        self._waiting.clear()
        self._ready.set()

    async def run(self) -> None:
        """Write what waits until the socket is to be closed or has broken."""
        while not self._over:
            while self._waiting:
                message = self._waiting.popleft()
                try:
                    await self._write(message)
                except (ConnectionError, RuntimeError) as error:
                    self._break(str(error) or type(error).__name__)
                    return
                self._moved_us = clock.now()
            if self._ending:
                return
            self._ready.clear()
            await self._ready.wait()

    def _break(self, why: str) -> None:
        self.stop(why)
        self._broken(why)


class WebSocketWire:
    """The writing side of one WebSocket."""

    def __init__(self, request: web.Request, socket: web.WebSocketResponse, stall_us: int) -> None:
        self._request = request
        self._socket = socket
        self.outbox = Outbox(self._send, self.abort, stall_us)
        self.why = ""
        """Why the socket was closed at once, if it was."""

    def write(self, message: Message) -> None:
        """Write *message* behind those that wait."""
        self.outbox.put(message)

    def close(self, refused: str = "") -> None:
        """Close the socket once what waits is written."""
        del refused
        self.outbox.end()

    def abort(self, why: str) -> None:
        """Close at once, without a handshake that the peer could refuse."""
        self.why = self.why or why
        self.outbox.stop(why)
        if self._request.transport:
            self._request.transport.abort()

    async def _send(self, message: Message) -> None:
        if isinstance(message, str):
            await self._socket.send_str(message)
        else:
            await self._socket.send_bytes(message)


class _Heart:
    """Pings, and the last pong."""

    def __init__(self, socket: web.WebSocketResponse, wire: WebSocketWire, stall_us: int) -> None:
        self.answered_us = clock.now()
        self._socket = socket
        self._wire = wire
        self._stall_us = stall_us

    async def beat(self) -> None:
        """Ping three times in the time that a peer may stall; close when none of them was answered."""
        while True:
            await clock.sleep(self._stall_us // 3)
            if clock.now() - self.answered_us > self._stall_us:
                self._wire.abort("the peer answers no ping")
                return
            with suppress(ConnectionError):
                async with clock.move_on_at(clock.now() + self._stall_us // 3):
                    await self._socket.ping()


def mount(app: web.Application, floor: Floor) -> None:
    """Add the carriers' sockets to *app*; raises ConfigError for an own one that cannot be made."""
    own = {name: partial(_own, spec) for name, spec in floor.serve.carriers.items()}
    for speaks in own.values():
        speaks()

    async def socket(request: web.Request) -> web.StreamResponse:
        carrier, token = request.match_info["carrier"], request.match_info.get("token", "")
        query = dict(request.query)
        dialect = own[carrier]() if carrier in own else dialect_of(carrier, "", query)
        guest = floor.door.guest(token or query.get("token", ""), request)
        guest.query = query
        try:
            if carrier == SIGNED:
                floor.door.check_upgrade(request, floor.door.tenants.named(guest.tenant))
            _let_in(floor, dialect, guest)
            return await attend(request, floor, dialect, guest)
        finally:
            floor.forget(guest)

    app.router.add_get("/{carrier}/ws", socket)
    app.router.add_get("/{carrier}/ws/{token}", socket)


def _own(spec: str) -> Dialect:
    """Return the dialect that somebody's own *spec* makes for one call; raises ConfigError."""
    made: Dialect = engines.make(spec, {}, where="serve.carriers", seam=Dialect)
    return made


def dialect_of(carrier: str, token: str, query: Mapping[str, str]) -> Dialect:
    """Return what *carrier* speaks on a socket opened with *token* and *query*; raises Refused."""
    match carrier:
        case "asterisk":
            return PcmWebsocket(
                ChanWebsocket({name: text for name, text in query.items() if name != "token"})
            )
        case "vonage":
            return PcmWebsocket(Vonage())
        case "jambonz":
            return PcmWebsocket(Jambonz())
    vendor = VENDORS.get(carrier)
    if vendor is None:
        raise Refused("a carrier that is not known", 404)
    return TwilioDialect(vendor, token=token)


def _let_in(floor: Floor, dialect: Dialect, guest: Guest) -> None:
    """Keep a place for *guest*, if whose call it will be is known and none was kept; raises Refused."""
    if floor.keeps(guest.place):
        return
    tenants = floor.door.tenants
    tenant = tenants.named(guest.tenant)
    if guest.trusted and dialect.name == QUERIES:
        tenant = tenants.on_this_machine(guest.query.get("tenant", ""), guest.query.get("called", ""))
    if tenant:
        guest.place = guest.place or f"socket {id(guest)}"
        verdict = floor.admit(tenant, dialect.name, guest.place)
        if verdict.mode is None:
            raise Refused(verdict.because, BUSY)
    elif floor.draining:
        raise Refused("draining", BUSY)


async def attend(
    request: web.Request,
    floor: Floor,
    dialect: Dialect,
    guest: Guest,
    *,
    protocols: Sequence[str] = PROTOCOLS,
) -> web.WebSocketResponse:
    """Let *guest*'s socket, opened with *request*, carry a call in *dialect* until either side ends it."""
    socket = web.WebSocketResponse(
        timeout=GOODBYE_S, autoping=False, max_msg_size=LONGEST, compress=False, protocols=protocols
    )
    try:
        await socket.prepare(request)
    except ValueError:
        raise Refused("an upgrade that cannot be read", 400) from None
    keep_small(request.transport, floor.serve.stall_ms)
    stall_us = floor.serve.stall_ms * clock.MS
    wire = WebSocketWire(request, socket, stall_us)
    connection = Connection(dialect, wire, floor, guest)
    heart = _Heart(socket, wire, stall_us)
    try:
        async with Crew() as crew:
            crew.create_task(heart.beat(), name="pings")
            writing = crew.create_task(wire.outbox.run(), name="outbox")
            reading = crew.create_task(_read(socket, connection, heart), name="socket")
            await asyncio.wait([writing, reading], return_when=asyncio.FIRST_COMPLETED)
    finally:
        wire.outbox.stop("the socket is closed")
        connection.lost(wire.why)
        if not wire.why:
            with suppress(ConnectionError):
                await socket.close()
    return socket


async def _read(socket: web.WebSocketResponse, connection: Connection, heart: _Heart) -> None:
    """Give *connection* what comes, until the socket is closed."""
    async for message in socket:
        match message.type:
            case WSMsgType.TEXT | WSMsgType.BINARY:
                connection.receive(message.data)
            case WSMsgType.PING:
                with suppress(ConnectionError):
                    await socket.pong(message.data)
            case WSMsgType.PONG:
                heart.answered_us = clock.now()
            case _:
                return


def keep_small(transport: asyncio.BaseTransport | None, stall_ms: int) -> None:
    """Let the kernel hold little of what a peer does not read, and give up what it does not acknowledge."""
    raw = transport.get_extra_info("socket") if transport else None
    if raw is not None:
        raw.setsockopt(sockets.SOL_SOCKET, sockets.SO_SNDBUF, BUFFER)
        if hasattr(sockets, "TCP_USER_TIMEOUT"):  # Linux; elsewhere a cut cable is noticed by the pings alone
            raw.setsockopt(sockets.IPPROTO_TCP, sockets.TCP_USER_TIMEOUT, stall_ms)
