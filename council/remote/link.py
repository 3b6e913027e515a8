"""One connection to a broker, which comes back: whatever ends it, it is opened again, subscriptions and all.

Nothing is queued for a broker that is away, and nothing is sent twice: a question is worth nothing when its
turn is over. Messages are sent one by one, each on the wire before the next is prepared, so the first of a
hundred does not wait for the last; and they are heard where their bytes are read, so no flood on one topic
can push an answer out of a queue. Whatever reaches past aiomqtt's public names stands here, each time with
its reason.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
import random
import secrets
import socket
import ssl
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from typing import TYPE_CHECKING, Final, Protocol, cast

import aiomqtt
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties
from paho.mqtt.subscribeoptions import SubscribeOptions

from turnbudget.voice.errors import ComponentError, ConfigError, MissingEngine
from turnbudget.voice.time import clock
from turnbudget.voice.time.clock import MS, SECOND
from turnbudget.voice.time.crew import Crew

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Sequence

    from aiomqtt import Message

    from turnbudget.council.remote.broker import Broker


LOG: Final = logging.getLogger(__name__)
"""Takes the client's own complaints; ours go to whoever asked."""
LOG.addHandler(logging.NullHandler())
PATIENCE_S: Final = 2
"""How long any one answer of the broker's is waited for (seconds)."""
KEEPALIVE_S: Final = 5
"""How often the broker hears of us where there is nothing to say (seconds)."""
LARGEST_PACKET: Final = 1024 * 1024
"""The largest packet that the broker may send us (bytes; 1 MB); larger messages are counted."""
NODELAY: Final = (socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
"""Turns Nagle's algorithm off: with it, a round trip that is acknowledged waits 88 ms for a delayed ACK."""
QUICKACK: Final[int | None] = getattr(socket, "TCP_QUICKACK", None)
"""The same from the broker's side, whose option it is (mosquitto: ``set_tcp_nodelay true``), off by default:
of several messages at once the second waits 40 ms for our ACK. Linux lets us send that early, each time."""
FIRST_US: Final = 100 * MS
"""The first pause between attempts while the broker is away (µs; 100 ms)."""
LONGEST_US: Final = SECOND
"""The longest pause between attempts (µs; 1 s): a broker is found within 3 s of its return."""
BRIEF_US: Final = 5 * SECOND
"""The shortest connection that was lost and not thrown out (µs; 5 s)."""
BANISHED_US: Final = 16 * SECOND
"""Connections that last no longer than BRIEF_US are thrown out rather than lost: from the second in a row on
we come back under another id, later and later, to 4 attempts in 30 s."""
OUTBOX: Final = 1_000
"""How many messages may wait to be sent."""
TAKEN_OVER: Final = "another client came with our id"
"""Why we lost a connection to another client of our name."""
REASONS: Final = {142: TAKEN_OVER, 128: "the broker closed the connection"}
"""Why a connection ended: MQTT 5 gives 142; mosquitto 2.0.11 gives nothing, which paho calls 128."""


@dataclass(frozen=True, slots=True)
class Letter:
    """A message to send before *ends_us*, or not at all; ``None``: whenever."""

    topic: str
    """Where it is published."""
    payload: bytes
    """What it says."""
    ends_us: int | None = None
    """The instant after which it is not sent any more (µs); ``None`` if it always is."""
    retain: bool = False
    """Whether the broker keeps it for whoever subscribes later."""
    correlation: bytes = b""
    """The id of the question it asks or answers."""
    answer_to: str = ""
    """The topic on which an answer is expected ('' if none is)."""
    qos: int = 0
    """1: it is sent once the broker has said that it has it."""


class Correspondent(Protocol):
    """Whoever uses a link: what it says on the way in and out, and what it hears."""

    def hear(self, message: Message) -> None:
        """Take *message*; never raises, never waits."""
        ...

    def lost(self, why: str) -> None:
        """Know that the connection is gone."""
        ...

    def hello(self, session: int) -> Letter | None:
        """Return what to say once connected."""
        ...

    def goodbye(self, session: int) -> Letter | None:
        """Return what to say on leaving; the broker says it for us if we just vanish."""
        ...


class Link:
    """A connection that is kept by :meth:`run`; ``up`` while it stands, ``trouble`` says why it last fell."""

    def __init__(self, broker: Broker, name: str, topics: Sequence[str], user: Correspondent) -> None:
        self.broker = broker
        self.session = 0
        self.trouble = ""
        self.unsent = 0
        """Letters whose time was over before they could be sent."""
        self._client_id = _unique(name)
        self._name = name
        self._topics = [(topic, SubscribeOptions(qos=1, retainAsPublished=True)) for topic in topics]
        self._user = user
        self._outbox: asyncio.Queue[Letter] = asyncio.Queue(OUTBOX)
        self._opened = asyncio.Event()

    @property
    def up(self) -> bool:
        """Say whether we are connected and subscribed."""
        return self._opened.is_set()

    def send(self, letter: Letter) -> bool:
        """Send *letter* next; say whether there was a connection and room for it."""
        if not self.up or self._outbox.full():
            return False
        self._outbox.put_nowait(letter)
        return True

    async def opened(self, until_us: int) -> None:
        """Wait for the connection; raises ComponentError if there is none by *until_us*."""
        with clock.beyond():
            async with clock.move_on_at(until_us):
                await self._opened.wait()
        if not self.up:
            raise ComponentError(
                f"the broker cannot be reached ({self.trouble or 'no answer'})",
                where=str(self.broker),
                remedy="start it, or check the address, user and password",
            )

    async def run(self) -> None:
        """Keep the connection until cancelled."""
        check_client()
        check_loop()
        tls = await self._tls()
        away = brief = 0
        while True:
            began = clock.now()
            try:
                await self._connection(tls)
            except (aiomqtt.MqttError, OSError, ValueError) as error:
                self.trouble = _reason(error)
            if self.up:
                self._close()
                away, brief = 0, brief + 1 if clock.now() - began < BRIEF_US else 0
            else:
                away += 1
            if brief or self.trouble == TAKEN_OVER:
                self._client_id = _unique(self._name)
            await clock.sleep(_back_off(away, brief))

    async def _connection(self, tls: ssl.SSLContext | None) -> None:
        self.session += 1
        async with entered(self._client(tls)) as client, Crew() as crew:
            # First, for it is what notices that the broker has gone.
            crew.create_task(until_lost(client), name="mqtt:watch")
            with clock.beyond():
                codes = await client.subscribe(self._topics)
            if any(code.is_failure for code in codes if not isinstance(code, int)):
                raise aiomqtt.MqttError("the broker refuses our subscription")
            self._opened.set()
            if hello := self._user.hello(self.session):
                self.send(hello)
            await self._send_all(client)

    async def forward(self, client: aiomqtt.Client) -> None:
        """Send what there is to send, for ever; raises MqttError."""
        while True:
            letter = await self._outbox.get()
            if letter.ends_us is not None and clock.now() >= letter.ends_us:
                self.unsent += 1
                continue
            await publish(client, letter)

    async def _send_all(self, client: aiomqtt.Client) -> None:
        try:
            await self.forward(client)
        except asyncio.CancelledError:
            goodbye = self._user.goodbye(self.session)
            if goodbye and stands(client):
                with clock.beyond(), contextlib.suppress(aiomqtt.MqttError):
                    await publish(client, goodbye)
            raise

    def _close(self) -> None:
        self._opened.clear()
        while not self._outbox.empty():
            self._outbox.get_nowait()
            self.unsent += 1
        self._user.lost(self.trouble)

    def _client(self, tls: ssl.SSLContext | None) -> aiomqtt.Client:
        return client_of(self.broker, self._client_id, self._user, self._user.goodbye(self.session), tls)

    async def _tls(self) -> ssl.SSLContext | None:
        if not self.broker.tls:
            return None
        file = self.broker.ca_file or None
        try:
            return await clock.offload(lambda: ssl.create_default_context(cafile=file))
        except OSError as error:
            raise ConfigError(
                f"the authority {file} cannot be read ({error.strerror})", where=str(self.broker)
            ) from None


def _back_off(away: int, brief: int) -> int:
    """Return how long to wait after so many failures in a row, with chance so that not all come at once."""
    wait = min(LONGEST_US, FIRST_US << min(away, 5))
    if brief > 1:
        wait = min(BANISHED_US, SECOND << min(brief + 1, 4))
    return round(wait * random.uniform(0.75, 1))  # noqa: S311 - spreads a crowd, keeps no secret


def _unique(name: str) -> str:
    """Return a client id that no other process has: two with one id throw each other out for ever."""
    return f"{name[:40]}-{secrets.token_hex(6)}"


def _code(error: BaseException) -> int | None:
    found = getattr(error, "rc", None) or getattr(error.__cause__, "rc", None)
    return getattr(found, "value", found)


def _reason(error: BaseException) -> str:
    return REASONS.get(_code(error) or 0) or str(error.__cause__ or error) or type(error).__name__


def client_of(
    broker: Broker, name: str, user: Correspondent, goodbye: Letter | None, tls: ssl.SSLContext | None
) -> aiomqtt.Client:
    """Return a client of *broker*, called *name*, that hands what it hears to *user*."""
    properties = _properties(PacketTypes.CONNECT)
    properties.MaximumPacketSize = LARGEST_PACKET
    client = aiomqtt.Client(
        broker.host,
        broker.port,
        username=broker.user or None,
        password=broker.password.reveal() or None,
        identifier=name,
        logger=LOG,
        queue_type=_hearing(user, lambda: _acknowledge(client)),
        protocol=aiomqtt.ProtocolVersion.V5,
        will=aiomqtt.Will(goodbye.topic, goodbye.payload, goodbye.qos, goodbye.retain) if goodbye else None,
        timeout=PATIENCE_S,
        keepalive=KEEPALIVE_S,
        clean_start=True,
        properties=properties,
        tls_context=tls,
        socket_options=[NODELAY],
    )
    client._client.connect_timeout = PATIENCE_S  # noqa: SLF001 - aiomqtt does not hand it through
    return client


def _hearing(user: Correspondent, read: Callable[[], None]) -> type[asyncio.Queue[Message]]:
    class Hearing(asyncio.Queue[aiomqtt.Message]):
        """Where the client puts what it has read: straight through to whom it concerns."""

        def put_nowait(self, item: Message) -> None:
            read()
            user.hear(item)

    return cast("type[asyncio.Queue[Message]]", Hearing)


@asynccontextmanager
async def entered(client: aiomqtt.Client) -> AsyncGenerator[aiomqtt.Client, None]:
    """Open *client*, and close it, on the wall's time: the answers come from beyond the loop."""
    try:
        with clock.beyond():
            await client.__aenter__()
    except BaseException:
        # It leaves the socket of a broker that does not answer open, and a task beside it.
        client._client._reset_sockets()  # noqa: SLF001 - no public call closes a half-open connection
        raise
    try:
        yield client
    finally:
        with clock.beyond(), contextlib.suppress(aiomqtt.MqttError):
            await client.__aexit__(None, None, None)
        gone = client._disconnected  # noqa: SLF001 - else asyncio complains that nobody has looked at it
        if gone.done() and not gone.cancelled():
            gone.exception()


def _acknowledge(client: aiomqtt.Client) -> None:
    """Acknowledge what was read at once, where the system can: the broker may hold the next back for it."""
    link = client._client.socket()  # noqa: SLF001 - aiomqtt hands no socket out
    if QUICKACK is not None and isinstance(link, socket.socket):
        link.setsockopt(socket.IPPROTO_TCP, QUICKACK, 1)


def _properties(packet: int) -> Properties:
    return Properties(packet)  # type: ignore[no-untyped-call]


async def until_lost(client: aiomqtt.Client) -> None:
    """Wait until the connection is gone, and raise MqttError."""
    async for _ in client.messages:
        """None comes: they are heard where they are read."""


async def publish(client: aiomqtt.Client, letter: Letter) -> None:
    """Put *letter* on the wire; raises MqttError."""
    properties = _properties(PacketTypes.PUBLISH)
    if letter.ends_us is not None:
        left = max(1, letter.ends_us - clock.now())
        properties.MessageExpiryInterval = math.ceil(left / SECOND)
    if letter.correlation:
        properties.CorrelationData = letter.correlation
    if letter.answer_to:
        properties.ResponseTopic = letter.answer_to
    await client.publish(letter.topic, letter.payload, letter.qos, letter.retain, properties)


def stands(client: aiomqtt.Client) -> bool:
    """Say whether the connection of *client* stands."""
    return not client._disconnected.done()  # noqa: SLF001 - it has no public word for it


@cache
def check_client() -> None:
    """Refuse an aiomqtt that this file was not written for: 3.x loses messages between two reads."""
    found = version("aiomqtt")
    if not found.startswith("2."):
        raise MissingEngine(
            f"aiomqtt is {found}, and 2.5 is needed", remedy="type: pip install 'aiomqtt>=2.5,<3'"
        )


def check_loop() -> None:
    """Refuse a loop that cannot watch a socket: Windows' own default."""
    if type(asyncio.get_running_loop()).add_reader is asyncio.AbstractEventLoop.add_reader:
        raise ConfigError(
            "this event loop cannot watch sockets, which MQTT needs",
            remedy="run on turnbudget.voice.time.clock.run(...) or an asyncio.SelectorEventLoop",
        )
