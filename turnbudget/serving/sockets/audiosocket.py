"""AudioSocket: one TCP stream a call, and who calls on it, told beforehand under the call's UUID.

``PUT /audiosocket/UUID`` (or POST, as Asterisk's ``CURL`` does) with ``caller``, ``called`` and ``tenant``;
its answer says whether the call is taken. ``GET /audiosocket/UUID/after`` says where the caller goes when we
have hung up, or nothing. The stream itself says a UUID first, which is all it says of a call; without what
was told beforehand it is taken only where nobody but this machine can reach us.

There are no pings here: a cut cable is noticed by what is not acknowledged, a peer that does not read once
its own kernel's buffer is full, which may hold minutes; what waits here is bounded.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Final
from uuid import UUID

import msgspec
from aiohttp import web

from turnbudget.serving.connection import Connection
from turnbudget.serving.doors.door import BUSY, Refused
from turnbudget.serving.sockets.websocket import keep_small
from turnbudget.voice.lines.audiosocket import AudioSocket
from turnbudget.voice.lines.dialect import Started
from turnbudget.voice.time import clock

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from turnbudget.serving.doors.door import Guest
    from turnbudget.serving.floor import Floor
    from turnbudget.voice.lines.dialect import Inbound, Message

KIND: Final = "audiosocket"
"""What the line is called."""
BACKLOG: Final = 16_384
"""Bytes that may wait here for Asterisk to read: a second of 8 kHz audio."""


class Expected(msgspec.Struct, frozen=True):
    """Who calls, and under what a place is kept for the call."""

    tenant: str
    """Whose call it will be."""
    place: str
    """Under what a place is kept for it."""
    caller: str = ""
    """The number that calls."""
    called: str = ""
    """The number that is called."""


class ExpectedAudioSocket(AudioSocket):
    """An AudioSocket whose start says what was told of the call beforehand."""

    def __init__(self, floor: Floor, guest: Guest, rate: int = 8_000) -> None:
        super().__init__(rate)
        self._floor = floor
        self._guest = guest

    def receive(self, message: Message) -> Sequence[Inbound]:
        """Return what a piece of the stream means."""
        return [
            self._with_all(event) if isinstance(event, Started) else event
            for event in super().receive(message)
        ]

    def _with_all(self, started: Started) -> Started:
        told = self._floor.once.take(f"expected {started.info.call}")
        if told is None:
            return started
        expected = msgspec.json.decode(told, type=Expected)
        self._guest.tenant, self._guest.place = expected.tenant, expected.place
        return Started(replace(started.info, caller=expected.caller, called=expected.called))


class AudioSocketWire(asyncio.Protocol):
    """One TCP connection, both ways."""

    def __init__(self, floor: Floor, dialect: AudioSocket, guest: Guest) -> None:
        self._floor = floor
        self._dialect = dialect
        self._guest = guest
        self._transport: asyncio.Transport | None = None
        self._connection: Connection | None = None
        self._full_us: int | None = None
        """Since when the peer has not read enough."""
        self._why = ""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin a connection on the socket that was opened."""
        if isinstance(transport, asyncio.Transport):
            keep_small(transport, self._floor.serve.stall_ms)
            transport.set_write_buffer_limits(high=BACKLOG)
            self._transport = transport
            self._connection = Connection(self._dialect, self, self._floor, self._guest)

    def data_received(self, data: bytes) -> None:
        """Read a piece of the stream."""
        if self._connection:
            self._connection.receive(data)

    def connection_lost(self, exc: Exception | None) -> None:
        """Handle the end of the stream; a reset is how a busy Asterisk hangs up, no answer is a cut cable."""
        self._transport = None
        if isinstance(exc, OSError) and not isinstance(exc, ConnectionError):
            self._why = self._why or f"the socket broke ({exc.strerror or type(exc).__name__})"
        if self._connection:
            self._connection.lost(self._why)

    def pause_writing(self) -> None:
        """Note since when the peer does not read."""
        self._full_us = clock.now()

    def resume_writing(self) -> None:
        """Note that the peer reads again."""
        self._full_us = None

    def write(self, message: Message) -> None:
        """Write *message*, whole, unless the peer has not read for too long."""
        if self._transport is None or self._transport.is_closing():
            return
        self._transport.write(message if isinstance(message, bytes) else message.encode())
        stall_us = self._floor.serve.stall_ms * clock.MS
        if self._full_us is not None and clock.now() - self._full_us > stall_us:
            self.abort("the peer does not read")

    def close(self, refused: str = "") -> None:
        """Close behind what waits, but not for ever."""
        del refused
        transport = self._transport
        if transport:
            transport.close()
            clock.call_at(clock.now() + clock.SECOND, transport.abort)

    def abort(self, why: str) -> None:
        """Close the socket at once, for the reason *why*."""
        self._why = self._why or why
        if self._transport:
            self._transport.abort()


def mount(app: web.Application, floor: Floor) -> None:
    """Add the requests to *app*."""

    async def expect(request: web.Request) -> web.Response:
        call = _uuid(request)
        told = await _fields(request)
        guest = floor.door.caller_of(request)
        tenants = floor.door.tenants
        name, called = told.get("tenant", ""), told.get("called", "")
        tenant = tenants.named(guest.tenant) if guest.tenant else tenants.on_this_machine(name, called)
        if tenant is None or (name and name != tenant.name):
            raise Refused("a tenant that is not known", 404)
        expected = Expected(tenant.name, f"uuid {call}", told.get("caller", "")[:100], called[:100])
        if not floor.once.put(f"expected {call}", msgspec.json.encode(expected).decode()):
            raise Refused("a call that is expected already", 409)
        verdict = floor.admit(tenant, KIND, expected.place)
        if verdict.mode is None:
            floor.once.take(f"expected {call}")
            return web.Response(status=BUSY, text="refused\n")
        return web.Response(status=201, text="taken\n")

    async def after(request: web.Request) -> web.Response:
        floor.door.caller_of(request)
        return web.Response(text=floor.once.look(f"after {_uuid(request)}") or "")

    app.router.add_put("/audiosocket/{uuid}", expect)
    app.router.add_post("/audiosocket/{uuid}", expect)
    app.router.add_get("/audiosocket/{uuid}/after", after)


def _uuid(request: web.Request) -> str:
    try:
        return str(UUID(request.match_info["uuid"]))
    except ValueError:
        raise Refused("no UUID", 400) from None


async def _fields(request: web.Request) -> Mapping[str, str]:
    """Return what is said of the call, as JSON or as a form."""
    if request.content_type != "application/json":
        return {name: text for name, text in (await request.post()).items() if isinstance(text, str)}
    try:
        return msgspec.json.decode(await request.read(), type=dict[str, str])
    except msgspec.DecodeError:
        raise Refused("no JSON object of texts", 400) from None
