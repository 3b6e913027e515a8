"""AudioSocket over TCP: one stream a call, each message written at once and whole.

Asterisk says a UUID first, which is all it says of a call; who calls was told beforehand, or nobody but this
machine can reach us. There are no pings here: a cut cable is noticed by what is not acknowledged, a peer that
does not read once its own kernel's buffer is full, which may hold minutes; what waits here is bounded.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from turnbudget.serving.sockets.connection import Connection
from turnbudget.serving.sockets.websocket import keep_small
from turnbudget.voice.time import clock

if TYPE_CHECKING:
    from turnbudget.serving.doors.door import Guest
    from turnbudget.serving.floor import Floor
    from turnbudget.voice.lines.audiosocket import AudioSocket
    from turnbudget.voice.lines.dialect import Message

BACKLOG: Final = 16_384
"""Bytes that may wait here for Asterisk to read: a second of 8 kHz audio."""


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
        """Begin."""
        if isinstance(transport, asyncio.Transport):
            keep_small(transport, self._floor.serve.stall_ms)
            transport.set_write_buffer_limits(high=BACKLOG)
            self._transport = transport
            self._connection = Connection(self._dialect, self, self._floor, self._guest)

    def data_received(self, data: bytes) -> None:
        """Take a piece of the stream."""
        if self._connection:
            self._connection.receive(data)

    def connection_lost(self, exc: Exception | None) -> None:
        """Know that the stream is over; a reset is how a busy Asterisk hangs up, no answer is a cut cable."""
        self._transport = None
        if isinstance(exc, OSError) and not isinstance(exc, ConnectionError):
            self._why = self._why or f"the socket broke ({exc.strerror or type(exc).__name__})"
        if self._connection:
            self._connection.lost(self._why)

    def pause_writing(self) -> None:
        """Know that the peer does not read."""
        self._full_us = clock.now()

    def resume_writing(self) -> None:
        """Know that it reads again."""
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
        """Close at once."""
        self._why = self._why or why
        if self._transport:
            self._transport.abort()
