"""A connection comes back by itself, later each time; what it leaves behind nobody waits for."""

from __future__ import annotations

import asyncio
import contextlib
import gc
from types import SimpleNamespace

import aiomqtt
import pytest

from turnbudget.agents.agent import Context
from turnbudget.council.remote import link as mqtt
from turnbudget.council.remote import wire
from turnbudget.council.remote.agent import RemoteAgent, Requester
from turnbudget.council.remote.broker import Broker
from turnbudget.council.remote.link import Letter, Link
from turnbudget.council.remote.serve import Worker
from turnbudget.voice.errors import ComponentError
from turnbudget.voice.time import clock
from turnbudget.voice.time.budget import Budget
from turnbudget.voice.time.clock import MS, SECOND
from turnbudget.voice.time.crew import Crew

NOWHERE = Broker("nowhere")


class User:
    """Remembers what it is told of its connection."""

    def __init__(self):
        self.losses = []

    def hear(self, message):
        """Hear nothing."""

    def lost(self, why):
        self.losses.append(why)

    def hello(self, session):
        """Say nothing."""

    def goodbye(self, session):
        """Say nothing."""


async def attempts(monkeypatch, lasts_us, until_us):
    """Run a link whose every connection is lost after *lasts_us* (``None``: it never stands).

    Returns when each was tried, in ms, under which ids, and what its user heard.
    """
    monkeypatch.setattr(mqtt.random, "uniform", max)
    user = User()
    link, began, tried, names = Link(NOWHERE, "seat", (), user), clock.now(), [], []

    async def connection(_):
        tried.append((clock.now() - began) // MS)
        names.append(link._client_id)
        if lasts_us is not None:
            link._opened.set()
            link.send(Letter("t", b"never sent"))
            await clock.sleep(lasts_us)
        raise aiomqtt.MqttError("gone")

    link._connection = connection
    async with Crew() as crew:
        running = crew.create_task(link.run(), name="link")
        await clock.sleep(until_us)
        running.cancel()
    return tried, len(set(names)), user.losses, link.unsent


async def test_a_broker_that_is_away_is_tried_later_each_time_and_each_second_in_the_end(monkeypatch):
    """Nobody is thrown out by anybody, so our id stays."""
    tried, ids, losses, _ = await attempts(monkeypatch, None, 6 * SECOND)
    assert tried == [0, 200, 600, 1_400, 2_400, 3_400, 4_400, 5_400]
    assert (ids, losses) == (1, [])


async def test_a_connection_that_lasted_and_was_lost_is_opened_again_at_once_under_its_id(monkeypatch):
    """What waited to be sent is dropped, and whoever uses the link knows each time."""
    tried, ids, losses, unsent = await attempts(monkeypatch, 5 * SECOND, 10_500 * MS)
    assert tried == [0, 5_100, 10_200]
    assert (ids, losses, unsent) == (1, ["gone", "gone"], 2)


async def test_connections_thrown_out_soon_come_under_other_ids_and_later_and_later(monkeypatch):
    tried, ids, _, _ = await attempts(monkeypatch, SECOND, 60 * SECOND)
    assert tried == [0, 1_100, 10_100, 27_100, 44_100]
    assert ids == 5


@pytest.mark.clock("wall")
async def test_the_broker_has_two_seconds_for_each_answer_and_hears_of_us_every_five():
    client = mqtt.client_of(NOWHERE, "a", User(), None, None)
    assert (client.timeout, client._client.connect_timeout, client._keepalive) == (2, 2, 5)


class Client:
    """A connection that does what it is told to on the way in, and has *gone* on the way out."""

    def __init__(self, gone, *, refuses=None):
        self._disconnected = gone
        self._refuses = refuses
        self.reset = 0
        self._client = SimpleNamespace(_reset_sockets=self._reset)

    def _reset(self):
        self.reset += 1

    async def __aenter__(self):
        if self._refuses:
            raise self._refuses
        return self

    async def __aexit__(self, *_):
        return None


async def test_a_connection_that_is_refused_is_not_used_and_leaves_no_socket():
    client = Client(asyncio.get_running_loop().create_future(), refuses=aiomqtt.MqttError("no"))
    used = []
    with pytest.raises(aiomqtt.MqttError, match=r"^no$"):
        async with mqtt.entered(client):
            used.append(1)
    assert (used, client.reset) == ([], 1)


async def test_why_a_connection_ended_is_not_complained_of_behind_it():
    """Nor is one that was cancelled an error on the way out."""
    complaints = []
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, context: complaints.append(context["message"]))
    gone, cancelled = loop.create_future(), loop.create_future()
    gone.set_exception(aiomqtt.MqttError("gone"))
    cancelled.cancel()
    for ended in (gone, cancelled):
        async with mqtt.entered(Client(ended)):
            pass
    del gone, ended
    gc.collect()
    assert complaints == []


async def test_a_question_that_is_open_when_the_connection_goes_is_given_up_at_once():
    """Its answer would go to a connection that is no more."""
    requester, began = Requester(NOWHERE), clock.now()
    requester.link._opened.set()
    async with Crew() as crew:
        asking = crew.create_task(requester.ask("bank", "hi", Context(), Budget.of(SECOND)), name="ask")
        await clock.sleep(100 * MS)
        requester.lost("gone")
        found = await asking
    assert (found.kind, found.because) == ("failed", "the connection was lost (gone)")
    assert clock.now() - began == 100 * MS


@pytest.mark.parametrize("kind", ["requester", "worker"])
async def test_the_broker_is_waited_for_three_seconds_at_the_start(kind):
    began, starts = clock.now(), []
    one = Requester(NOWHERE) if kind == "requester" else Worker(Idle(), NOWHERE, seat="idle")

    async def opened(until_us):
        starts.append(until_us - began)
        raise ComponentError("not there")

    one.link.run, one.link.opened = asyncio.Event().wait, opened
    with pytest.raises(ComponentError, match="not there"):
        await (one.__aenter__() if kind == "requester" else one.run())
    assert starts == [3 * SECOND]


class Idle:
    """Notes how long it is given, and has no opinion."""

    name = "idle"

    def __init__(self):
        self.given = []

    async def answer(self, utterance, context, budget):
        del utterance, context
        self.given.append(budget.ends_us - clock.now())


@contextlib.asynccontextmanager
async def working(*, up=True):
    """A worker that hears what it is handed; yields it, its agent, and the letters that it sends."""
    agent, sent = Idle(), []
    worker = Worker(agent, NOWHERE, seat="idle")
    if up:
        worker.link.send = lambda letter: sent.append(letter) or True
    async with worker._crew:
        yield worker, agent, sent


def question(name=b"1", left_us=300 * MS):
    payload = wire.ask("idle", "hi", Context(), asker="me", sent_us=clock.now(), left_us=left_us)
    properties = SimpleNamespace(CorrelationData=name, ResponseTopic="turnbudget/answer/me")
    return SimpleNamespace(retain=False, payload=payload, properties=properties)


async def test_a_worker_keeps_20_ms_of_the_asker_s_time_for_the_way_back():
    async with working() as (worker, agent, sent):
        worker.hear(question())
        await clock.sleep(MS)
        worker.hear(question(b"2", left_us=20 * MS))
    assert agent.given == [280 * MS]
    assert [(letter.correlation, wire.read_answer(letter.payload).kind) for letter in sent] == [
        (b"1", "none"),
        (b"2", "late"),
    ]


async def test_an_answer_that_finds_no_connection_is_counted():
    async with working(up=False) as (worker, _, _):
        worker.hear(question())
        await clock.sleep(MS)
    assert worker.noted == {"answered": 1, "unsent": 1}


async def test_a_remote_seat_without_a_connection_says_so_at_once():
    began = clock.now()
    with pytest.raises(ComponentError, match="no connection to the broker"):
        await RemoteAgent("bank", Requester(NOWHERE)).answer("hi", Context(), Budget.of(SECOND))
    assert clock.now() == began
