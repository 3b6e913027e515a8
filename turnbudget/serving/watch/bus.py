"""Call events on MQTT: what happens to each call, in order, and what a supervisor may ask of this worker.

``PREFIX/SITE/calls/CALL/began``, ``…/turn``, ``…/transfer_requested`` (with a summary for whoever takes over)
and ``…/ended`` are told at QoS 1 and never retained. ``seq``
counts from 0 within a call: a reader drops what is not above the last it took, for after a break letters come
again, and knows by a gap that some were lost. Numbers and names only, unless texts are asked for; who called
is never told. ``PREFIX/SITE/workers/WORKER/status`` is retained; ``online`` is false when a worker has gone.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections import deque
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

import msgspec

from turnbudget.council.remote.broker import level
from turnbudget.council.remote.link import Letter, Link, publish
from turnbudget.serving.ending import handover, reason
from turnbudget.serving.events import CallBegan, CallEnded, TurnEnded, shown
from turnbudget.serving.watch.commands import Commands
from turnbudget.voice.time import clock
from turnbudget.voice.time.crew import Crew

if TYPE_CHECKING:
    from collections.abc import Sequence

    import aiomqtt
    from aiomqtt import Message

    from turnbudget.council.remote.broker import Broker
    from turnbudget.council.remote.link import Correspondent
    from turnbudget.runs.records import Row
    from turnbudget.serving.events import FloorEvent
    from turnbudget.serving.watch.commands import Supervised

SCHEMA: Final = 1
"""Version of the format of events."""
BEAT_US: Final = 5 * clock.SECOND
"""How often the worker tells how it is (µs; 5 s)."""
FLUSH_US: Final = 2 * clock.SECOND
"""How long the end of a worker waits for a broker that is away (µs; 2 s)."""
LARGEST: Final = 96 * 1024
"""Bytes of one event; brokers close the connection of who sends more than they take, often 128 or 256 KiB."""
MOST: Final = 5_000
"""Letters that wait for a broker: of 100 calls, what some five minutes bring."""
WINDOW: Final = 8
"""Letters on the wire at a time; the client warns of more than ten."""
TRIES: Final = 5
"""Connections that may break on one letter before it is given up: it may be what breaks them."""
log = logging.getLogger(__name__)


class DeliveringLink(Link):
    """A :class:`Link` for letters that must arrive; :meth:`send` is for those that need not."""

    def __init__(self, broker: Broker, name: str, topics: Sequence[str], user: Correspondent) -> None:
        super().__init__(broker, name, topics, user)
        self.dropped = 0
        """Letters that were given up for newer ones."""
        self._due: deque[Letter] = deque()
        self._tried: tuple[Letter | None, int] = None, 0
        self._ready = asyncio.Event()
        self._empty = asyncio.Event()
        self._empty.set()

    @property
    def due(self) -> int:
        """How many letters the broker has not acknowledged."""
        return len(self._due)

    def deliver(self, letter: Letter) -> None:
        """Have *letter* delivered behind those before it; never blocks."""
        if len(self._due) >= MOST:
            # Not from the front, where a window may be under way.
            del self._due[WINDOW]
            self.dropped += 1
        self._due.append(letter)
        self._empty.clear()
        self._ready.set()

    def send(self, letter: Letter) -> bool:
        """Send *letter* before those that are due, if there is a connection."""
        taken = super().send(letter)
        self._ready.set()
        return taken

    async def delivered(self, until_us: int) -> bool:
        """Wait until nothing is due, or until *until_us*; say which."""
        with clock.beyond():
            async with clock.move_on_at(until_us):
                await self._empty.wait()
        return not self._due

    async def forward(self, client: aiomqtt.Client) -> None:
        """Send what there is to send, for ever; raises MqttError."""
        while True:
            self._ready.clear()
            while not self._outbox.empty():
                await publish(client, self._outbox.get_nowait())
            if not self._due:
                self._empty.set()
                await self._ready.wait()
                continue
            await self._window(client)

    async def _window(self, client: aiomqtt.Client) -> None:
        """Put the first letters that are due on the wire, in order; forget those that are acknowledged."""
        before, tries = self._tried
        self._tried = self._due[0], tries + 1 if before is self._due[0] else 1
        if self._tried[1] > TRIES:
            self._due.popleft()
            self.dropped += 1
            return
        async with Crew() as crew:
            sending = [
                crew.create_task(publish(client, letter), name=f"mqtt:{letter.topic}")
                for letter in islice(self._due, WINDOW)
            ]
            with clock.beyond():
                for task in sending:
                    await task
                    self._due.popleft()


class Bus:
    """A watcher that tells a broker; ``worker`` is unique to this process."""

    def __init__(self, broker: Broker, supervised: Supervised, *, site: str, texts: bool = False) -> None:
        """Tell *broker* of the calls of *site*, with their *texts* redacted or without; obey its commands."""
        self.worker = secrets.token_hex(6)
        self._root = f"{broker.prefix}/{level(site)}"
        self._texts = texts
        self._supervised = supervised
        self._commands = Commands(supervised, self.worker)
        self._calls: dict[str, int] = {}
        """The number of the next event of each call that runs."""
        self._told = 0
        self._began = clock.label() or ""
        self._there = True
        """Whether the log, as far as it goes, has the broker within reach."""
        self.link = DeliveringLink(broker, f"turnbudget-{self.worker}", (self._command_topic,), self)

    async def run(self) -> None:
        """Keep the connection, and tell how we are, until cancelled."""
        async with Crew() as crew:
            crew.create_task(self.link.run(), name="mqtt: events")
            while True:
                await clock.sleep(BEAT_US)
                self.link.send(self._status(self.link.session, online=True))
                self._note()

    def _note(self) -> None:
        """Log that the broker has gone, or was never there, and that it is back."""
        link = self.link
        if link.up != self._there:
            self._there = link.up
            if link.up:
                log.info("events: %s is there again, %d wait", link.broker, link.due)
            else:
                log.warning("events: %s cannot be reached (%s)", link.broker, link.trouble or "no answer")

    async def flush(self) -> bool:
        """Wait a moment until the broker has everything; say whether it does."""
        return await self.link.delivered(clock.now() + FLUSH_US)

    # --- from the floor ----------------------------------------------------------------------------

    def __call__(self, event: FloorEvent) -> None:
        """Tell of *event*."""
        match event:
            case CallBegan(call, tenant, line):
                self._calls[call] = 0
                self._tell(call, "began", tenant=tenant, line=line, at=clock.label())
            case TurnEnded(call, tenant, row):
                self._tell(call, "turn", tenant=tenant, row=shown(row, texts=self._texts))
            case CallEnded():
                self._ended(event)
            case _:
                """A call that was not taken is none, and has no topic."""

    def _ended(self, ended: CallEnded) -> None:
        turns = [row for row in ended.rows if row.kind == "turn"]
        if ended.transfer:
            told = handover(ended.transfer, ended.rows, ended.slots)
            quiet = msgspec.structs.replace(told, lines=(), slots={}, because="")
            self._tell(
                ended.call,
                "transfer_requested",
                tenant=ended.tenant,
                handover=told if self._texts else quiet,
            )
        self._tell(
            ended.call,
            "ended",
            tenant=ended.tenant,
            reason=reason(ended.record.ended, ended.transfer),
            length_us=ended.record.length_us,
            turns=len(turns),
            in_time=sum(row.in_time for row in turns),
            disposition=ended.disposition,
            transferred=bool(ended.transfer),
        )
        self._calls.pop(ended.call, None)

    def _tell(self, call: str, event: str, **facts: object) -> None:
        if call not in self._calls:
            return  # it began before we were here
        body: dict[str, Any] = {
            "schema": SCHEMA,
            "id": f"{self.worker}-{self._told}",
            "call": call,
            "seq": self._calls[call],
            "event": event,
            "worker": self.worker,
            **facts,
        }
        self._told += 1
        self._calls[call] += 1
        payload = msgspec.json.encode(body)
        if len(payload) > LARGEST:
            payload = msgspec.json.encode(body | {"row": _short(body.get("row")), "shortened": True})
        self.link.deliver(Letter(f"{self._root}/calls/{level(call)}/{event}", payload, qos=1))

    # --- to and from the broker --------------------------------------------------------------------

    def hear(self, message: Message) -> None:
        """Obey a supervisor's command, once."""
        told = self._commands.take(message.payload, retained=bool(message.retain))
        if told is not None:
            topic = f"{self._root}/workers/{self.worker}/done"
            self.link.deliver(Letter(topic, msgspec.json.encode(told), qos=1))

    def lost(self, why: str) -> None:
        """Handle the loss of the broker; what is told meanwhile waits."""

    def hello(self, session: int) -> Letter:
        """Return the letter that says this worker is online."""
        return self._status(session, online=True)

    def goodbye(self, session: int) -> Letter:
        """Return the letter that says this worker has gone."""
        return self._status(session, online=False)

    @property
    def _command_topic(self) -> str:
        return f"{self._root}/commands"

    def _status(self, session: int, *, online: bool) -> Letter:
        body = {
            "schema": SCHEMA,
            "online": online,
            "began": self._began,
            "session": session,
            "beat_us": BEAT_US,
            "calls": self._supervised.calls() if online else 0,
            "draining": self._supervised.draining,
            "due": self.link.due if online else 0,
            "dropped": self.link.dropped if online else 0,
        }
        topic = f"{self._root}/workers/{self.worker}/status"
        return Letter(topic, msgspec.json.encode(body), retain=True, qos=1)


def _short(row: Row | None) -> Row | None:
    """Return *row* without what can be long."""
    if row is None:
        return None
    short = shown(row, texts=False)
    return msgspec.structs.replace(short, lanes=(), decisions=(), guesses=(), entries=row.entries)
