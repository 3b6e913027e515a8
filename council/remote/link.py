"""One connection to a broker, which comes back: whatever ends it, it is opened again, subscriptions and all.

Nothing is queued for a broker that is away, and nothing is sent twice: a question is worth nothing when its
turn is over. Messages are sent one by one, each on the wire before the next is prepared, so the first of a
hundred does not wait for the last; and they are heard where their bytes are read, so no flood on one topic
can push an answer out of a queue.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import secrets
import ssl
from typing import TYPE_CHECKING, Final

import aiomqtt
from paho.mqtt.subscribeoptions import SubscribeOptions

from turnbudget.council.remote.client import (
    check_client,
    check_loop,
    client_of,
    entered,
    publish,
    stands,
    until_lost,
)
from turnbudget.voice.errors import ComponentError, ConfigError
from turnbudget.voice.time import clock
from turnbudget.voice.time.clock import MS, SECOND
from turnbudget.voice.time.crew import Crew

if TYPE_CHECKING:
    from collections.abc import Sequence

    from turnbudget.council.remote.broker import Broker
    from turnbudget.council.remote.client import Correspondent, Letter

FIRST_US: Final = 100 * MS
LONGEST_US: Final = SECOND
"""Between attempts while the broker is away: it is found within 3 s of its return, patience included."""
BRIEF_US: Final = 5 * SECOND
BANISHED_US: Final = 16 * SECOND
"""Connections that last no longer than BRIEF_US are thrown out rather than lost: from the second in a row on
we come back under another id, later and later, to 4 attempts in 30 s."""
OUTBOX: Final = 1_000
TAKEN_OVER: Final = "another client came with our id"
REASONS: Final = {142: TAKEN_OVER, 128: "the broker closed the connection"}
"""MQTT 5 gives 142 (0x8E); mosquitto 2.0.11 gives nothing, which paho calls 128."""


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
