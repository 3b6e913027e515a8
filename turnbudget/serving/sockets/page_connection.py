"""A talk: the connection of one page, over however many sockets.

A socket is no call: when it drops the call is on hold, and a page that comes back with the call's key within
five seconds goes on where it was; after that the call ends as if the caller had hung up. Beside the sound the
page is told who has the floor, the words so far, and each turn's row.
"""

from __future__ import annotations

import asyncio
import secrets
from contextlib import suppress
from typing import TYPE_CHECKING, Final, Protocol

import aiohttp
from aiohttp import web

from turnbudget.serving.sockets.websocket import Outbox
from turnbudget.voice.lines.browser import Browser, pong
from turnbudget.voice.lines.wire import compact
from turnbudget.voice.time import clock
from turnbudget.voice.time.crew import Crew

if TYPE_CHECKING:
    from collections.abc import Callable

    from turnbudget.runs.records import Row
    from turnbudget.voice.call.call import Call
    from turnbudget.voice.lines.dialect import Message
    from turnbudget.voice.lines.telephone import TelephoneLine

RESUME_US: Final = 5 * clock.SECOND
"""How long a call waits for its page to come back (µs; 5 s)."""
FLUSH_US: Final = clock.SECOND
"""How long what is left to be written may take at the end (µs; 1 s)."""
STALL_US: Final = 2 * clock.SECOND
"""How long a page may not read (µs; 2 s)."""
BELIEVED_US: Final = clock.SECOND
"""How far from now a page may say that it hears our sound; what is further is not believed (µs; 1 s)."""
KEPT: Final = 100
"""Messages kept for a page that is away."""


class Peer(Protocol):
    """Who is at our end of a page's connection."""

    line: TelephoneLine
    """The line that the page's sound comes from."""

    def receive(self, message: Message) -> None:
        """Take one message of the page."""
        ...

    def lost(self) -> None:
        """Handle the loss of the page for good."""
        ...


class PageConnection:
    """One page's connection, over however many sockets. It is the connection's wire."""

    def __init__(self) -> None:
        self.key = secrets.token_urlsafe(24)
        """Who knows it may go on with the call; its page alone was told."""
        self.id = secrets.token_hex(8)
        """What the call is named before it has a name of ours."""
        self.dialect = Browser(self.id)
        self._outbox: Outbox | None = None
        self._kept: list[str] = []
        self._closed = asyncio.Event()
        self._arrived = asyncio.Event()
        self._arrivals: list[tuple[web.WebSocketResponse, asyncio.Event]] = []
        """Sockets on which the page has come back, and what each of them waits for."""
        self._calls: Callable[[], Call | None] = lambda: None
        self._shown: tuple[str, str] = ("", "")

    # --- the connection's wire ---------------------------------------------------------------------

    def write(self, message: Message) -> None:
        """Write *message*; while no socket is there sound is lost, all else waits."""
        if self._outbox:
            self._outbox.put(message)
        elif isinstance(message, str):
            self._kept = [*self._kept[1 - KEPT :], message]

    def close(self, refused: str = "") -> None:
        """Close behind what waits to be written; the page is told how it ended, or was *refused*."""
        if refused:
            self.abort(refused)
        elif not self._closed.is_set():
            call = self._calls()
            self.write(compact(event="over", because=call.ended if call else ""))
            self._closed.set()

    def abort(self, why: str) -> None:
        """Tell the page *why* not, and close."""
        if not self._closed.is_set():
            self.write(compact(event="refused", because=why))
            self._closed.set()

    # --- what the page shows -----------------------------------------------------------------------

    def follow(self, calls: Callable[[], Call | None]) -> None:
        """Show from now on who has the floor in the call that *calls* gives, once it does, and the words."""
        self._calls = calls

    def told(self, row: Row) -> None:
        """Show a turn's *row*, with its zero as a place in the page's own sound and on our clock."""
        if call := self._calls():
            zero_us = clock.Micros(call.epoch_us + row.speech_ended_call_us)
            self.write(compact(event="row", row=row, zero_at=call.ear.counted(zero_us), zero_us=zero_us))

    def _look(self) -> None:
        """Tell the page who has the floor and how the words read, if that has changed."""
        call = self._calls()
        if call is None or not hasattr(call, "ear"):  # it has not begun to run
            return
        stretch = call.ear.stretch
        if call.sounding_since_us is not None:
            state = "held" if call.mouth.held else "speaking"
        else:
            state = "hearing" if stretch else "listening" if call.settled else "thinking"
        shown = state, stretch.text if stretch else ""
        if shown != self._shown:
            self._shown = shown
            self.write(compact(event="state", state=state, partial=shown[1]))

    # --- sockets -----------------------------------------------------------------------------------

    async def run(self, peer: Peer, hello: Message, socket: web.WebSocketResponse) -> None:
        """Carry the connection to its end: it begins with *hello* on *socket*."""
        served = asyncio.Event()
        peer.receive(hello)
        async with Crew() as goodbyes:
            try:
                while True:
                    await self._serve(peer, socket)
                    closing = goodbyes.create_task(_close(socket, served), name="goodbye")
                    if self._closed.is_set():
                        await closing
                        return
                    coming = await self._come_back()
                    if coming is None:
                        return
                    socket, served = coming
            finally:
                peer.lost()
                self._release()

    async def resume(self, socket: web.WebSocketResponse) -> None:
        """Go on on *socket*, until that drops as well."""
        served = asyncio.Event()
        self._release()
        self._arrivals.append((socket, served))
        self._arrived.set()
        await served.wait()

    async def _come_back(self) -> tuple[web.WebSocketResponse, asyncio.Event] | None:
        """Return the socket on which the page comes back; ``None`` if it does not, or the call ends."""
        call = self._calls()
        if call:
            call.hold(on=True)
        async with Crew() as crew:
            watched = self._closed, self._arrived
            waiting = [crew.create_task(_set(event), name="page away") for event in watched]
            await clock.wait_until(waiting, clock.now() + RESUME_US, first=True)
        if self._closed.is_set() or not self._arrivals:
            return None
        if call:
            call.hold(on=False)  # a page that sleeps says so again
        self._arrived.clear()
        return self._arrivals.pop()

    def _release(self) -> None:
        """Let go of sockets that nobody will be served on."""
        for _, served in self._arrivals:
            served.set()
        self._arrivals.clear()

    async def _serve(self, peer: Peer, socket: web.WebSocketResponse) -> None:
        """Carry messages both ways until we close, *socket* drops, or another takes its place."""
        broken = asyncio.Event()
        outbox = Outbox(lambda message: send(socket, message), lambda _: broken.set(), STALL_US)
        welcome = compact(event="welcome", key=self.key, resume_ms=RESUME_US // clock.MS)
        kept, self._kept = self._kept, []
        for message in (welcome, *kept):
            outbox.put(message)
        self._outbox, self._shown = outbox, ("", "")
        async with Crew() as crew:
            writing = crew.create_task(outbox.run(), name="to the page")
            reading = crew.create_task(self._read(peer, socket), name="from the page")
            watched = self._closed, self._arrived, broken
            ends = [reading, *(crew.create_task(_set(event), name="end of a socket") for event in watched)]
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
            self._outbox = None
            outbox.end()
            await clock.wait_until([writing], clock.now() + FLUSH_US)

    async def _read(self, peer: Peer, socket: web.WebSocketResponse) -> None:
        """Take the page's messages until *socket* drops."""
        async for message in socket:
            if message.type not in {aiohttp.WSMsgType.TEXT, aiohttp.WSMsgType.BINARY}:
                return
            now = clock.now()
            if answer := pong(message.data, now):
                self.write(answer)
            else:
                self._take(peer, message.data, now)
                self._look()

    def _take(self, peer: Peer, message: Message, now: int) -> None:
        """Hand *message* over. An acknowledgement may overtake its sound or come late: its time counts."""
        before = peer.line.heard_us
        peer.receive(message)
        heard, played = peer.line.heard_us, self.dialect.played_us
        if heard is not None and heard != before and played is not None and abs(now - played) <= BELIEVED_US:
            peer.line.heard_us = heard - (now - played)


async def _close(socket: web.WebSocketResponse, served: asyncio.Event) -> None:
    """Close *socket*, which may be dead; the next one does not wait for that."""
    try:
        with suppress(ConnectionError, RuntimeError):
            await socket.close()
    finally:
        served.set()


async def _set(event: asyncio.Event) -> None:
    await event.wait()


async def send(socket: web.WebSocketResponse, message: Message) -> None:
    """Write *message* to *socket*; raises ConnectionError or RuntimeError if that is gone."""
    if isinstance(message, str):
        await socket.send_str(message)
    else:
        await socket.send_bytes(message)
