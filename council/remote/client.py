"""One connection by aiomqtt: how we set it up, and each thing about it that has to be known.

Whatever reaches past aiomqtt's public names stands here, each time with its reason.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
import socket
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from typing import TYPE_CHECKING, Final, Protocol, cast

import aiomqtt
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

from turnbudget.voice.errors import ConfigError, MissingEngine
from turnbudget.voice.time import clock
from turnbudget.voice.time.clock import SECOND

if TYPE_CHECKING:
    import ssl
    from collections.abc import AsyncGenerator, Callable

    from aiomqtt import Message

    from turnbudget.council.remote.broker import Broker

LOG: Final = logging.getLogger(__name__)
LOG.addHandler(logging.NullHandler())  # the client's own complaints; ours go to whoever asked

PATIENCE_S: Final = 2
"""For any one answer of the broker's."""
KEEPALIVE_S: Final = 5
LARGEST_PACKET: Final = 1024 * 1024
"""What the broker may send us at all; what is merely too big for a message of ours is counted instead."""
NODELAY: Final = (socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
"""Without it an acknowledged round trip waits 88 ms for Nagle's algorithm and a delayed ACK."""
QUICKACK: Final[int | None] = getattr(socket, "TCP_QUICKACK", None)
"""The same from the broker's side, whose option it is (mosquitto: ``set_tcp_nodelay true``), off by default:
of several messages at once the second waits 40 ms for our ACK. Linux lets us send that early, each time."""


@dataclass(frozen=True, slots=True)
class Letter:
    """A message to send before *ends_us*, or not at all; ``None``: whenever."""

    topic: str
    payload: bytes
    ends_us: int | None = None
    retain: bool = False
    correlation: bytes = b""
    answer_to: str = ""
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
