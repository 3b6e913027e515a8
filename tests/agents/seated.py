"""For the tests of remote seats: agents good and bad, workers that serve them, a link that can be cut."""

from __future__ import annotations

import asyncio
import contextlib
from contextlib import asynccontextmanager

import aiomqtt
import pytest
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

from turnbudget.agents.agent import Opinion
from turnbudget.council.remote.link import NODELAY
from turnbudget.council.remote.serve import Worker
from turnbudget.testing import mosquitto
from turnbudget.voice.time import clock
from turnbudget.voice.time.clock import MS, SECOND
from turnbudget.voice.time.crew import Crew

needs_mosquitto = pytest.mark.skipif(not mosquitto.found(), reason="mosquitto is not installed")


class Echo:
    """Says what it was asked, after a delay, and keeps count."""

    def __init__(self, name="echo", delay_us=0):
        self.name = name
        self.delay_us = delay_us
        self.asked = []
        self.contexts = []

    async def answer(self, utterance, context, budget):  # noqa: ARG002 - the seam's
        self.asked.append(utterance)
        self.contexts.append(context)
        if self.delay_us:
            await clock.sleep(self.delay_us)
        return Opinion(f"You said {utterance}.", 0.9)


class Deaf(Echo):
    """Swallows its cancellation until *over* is set."""

    def __init__(self):
        super().__init__()
        self.over = asyncio.Event()

    async def answer(self, utterance, context, budget):  # noqa: ARG002 - the seam's
        self.asked.append(utterance)
        while not self.over.is_set():
            with contextlib.suppress(asyncio.CancelledError):
                await self.over.wait()


class Says(Echo):
    """Returns or raises *what*."""

    def __init__(self, what):
        super().__init__()
        self.what = what

    async def answer(self, utterance, context, budget):  # noqa: ARG002 - the seam's
        self.asked.append(utterance)
        if isinstance(self.what, BaseException):
            raise self.what
        return self.what


@asynccontextmanager
async def served(agent, broker, *, opens=True, **settings):
    """Serve *agent*, and stop with the block."""
    worker = Worker(agent, broker, seat=agent.name, **settings)
    async with Crew() as crew:
        crew.create_task(worker.run(), name="worker")
        if opens:
            await worker.link.opened(clock.now() + 3 * SECOND)
        yield worker


async def until(holds, within_us=3 * SECOND):
    """Wait until *holds()*, on the wall's time."""
    ends = clock.now() + within_us
    with clock.beyond():
        while not holds():
            assert clock.now() < ends, "it never came to hold"
            await clock.sleep(MS)


def client(broker, **settings):
    """Return a client that is none of ours."""
    five = aiomqtt.ProtocolVersion.V5
    other = aiomqtt.Client(broker.host, broker.port, protocol=five, socket_options=[NODELAY], **settings)
    other.pending_calls_threshold = 1_000  # it warns of more
    return other


def marked(**properties):
    """Return the properties of a message."""
    found = Properties(PacketTypes.PUBLISH)
    for name, value in properties.items():
        setattr(found, name, value)
    return found


class Cable:
    """Lies between a client and its broker; what the broker sends can be held back, then come at once."""

    def __init__(self, broker):
        self._broker = broker
        self._held = None
        self._writers = []

    @asynccontextmanager
    async def laid(self):
        """Lay it; yields its port."""
        self._crew = Crew()
        async with self._crew:
            server = await asyncio.start_server(self._plugged, "127.0.0.1", 0)
            yield server.sockets[0].getsockname()[1]
            server.close()
            for writer in self._writers:
                writer.close()

    async def _plugged(self, reader, writer):
        there, back = await asyncio.open_connection(self._broker.host, self._broker.port)
        self._writers += [writer, back]
        self._client = writer
        self._crew.create_task(self._carry(reader, back, back.write), name="up")
        self._crew.create_task(self._carry(there, writer, self._down), name="down")

    async def _carry(self, reader, writer, take):
        with contextlib.suppress(ConnectionError):
            while data := await reader.read(65536):
                take(data)
        writer.close()

    def _down(self, data):
        if self._held is None:
            self._client.write(data)
        else:
            self._held += data

    @property
    def held(self):
        """Return how many bytes are held back."""
        return len(self._held or b"")

    def hold(self):
        """Hold back what comes from the broker from now on."""
        self._held = b""

    def release(self):
        """Let it all go, in one write."""
        data, self._held = self._held, None
        self._client.write(data)
