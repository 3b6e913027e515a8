"""A remote seat answers like a local one; what happens to broker, worker or link costs its opinion only."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import subprocess
import sys
from pathlib import Path

import aiomqtt
import pytest
from paho.mqtt.subscribeoptions import SubscribeOptions
from seated import Echo, Says, client, marked, needs_mosquitto, served, until

from turnbudget.agents.agent import Action, Context, Opinion
from turnbudget.council.convene import Seat
from turnbudget.council.council import Council
from turnbudget.council.remote import link, wire
from turnbudget.council.remote import link as mqtt
from turnbudget.council.remote.agent import RemoteAgent, Requester
from turnbudget.council.remote.broker import Broker, answer_topic, ask_topic, status_topic
from turnbudget.testing.mosquitto import Mosquitto
from turnbudget.voice.call.ledger import Ledger
from turnbudget.voice.call.responder import Question, Said
from turnbudget.voice.errors import ComponentError, ConfigError, Defect
from turnbudget.voice.time import clock
from turnbudget.voice.time.budget import Budget
from turnbudget.voice.time.clock import MS, SECOND
from turnbudget.voice.time.crew import Crew

HALF = 500 * MS


async def say(requester, seat="echo", utterance="hi", us=HALF):
    return await RemoteAgent(seat, requester).answer(utterance, Context(), Budget.of(us))


async def none_in_time(requester, **asked):
    """Say why there is no opinion; the budget is kept whatever the reason."""
    us = asked.setdefault("us", 100 * MS)
    began = clock.now()
    with pytest.raises(ComponentError) as caught:
        await say(requester, **asked)
    assert clock.now() - began < us + 50 * MS
    return str(caught.value)


@needs_mosquitto
@pytest.mark.parametrize("kind", ["wall", "skip"])
def test_a_remote_seat_answers_like_a_local_one(kind):
    async def play():
        given = Opinion("Paid.", 0.75, "sure", action=Action("pay", {"to": "Ann"}), state={"n": [1]})
        agent = Says(given)
        context = Context((Said("caller", "hi"),), {"a": "b"}, {"echo": {"n": []}}, "echo", "amount")
        async with (
            Mosquitto() as local,
            served(agent, local.broker),
            Requester(local.broker) as requester,
        ):
            found = await RemoteAgent("echo", requester).answer("pay Ann", context, Budget.of(HALF))
            assert agent.asked == ["pay Ann"]
            assert (found.opening, found.confidence, found.because) == ("Paid.", 0.75, "sure")
            assert (found.action, found.state) == (given.action, given.state)
            agent.what = None
            assert await say(requester) is None

    clock.run(play(), kind)


@needs_mosquitto
@pytest.mark.clock("wall")
async def test_after_a_broker_s_restart_every_seat_answers_again():
    """MQ-01: the subscriptions are renewed, and in the gap nobody waits."""
    names = ("balance", "transfer", "hours")
    async with Mosquitto() as local, contextlib.AsyncExitStack() as stack:
        for name in names:
            await stack.enter_async_context(served(Echo(name), local.broker))
        requester = await stack.enter_async_context(Requester(local.broker))
        await local.stop()
        await until(lambda: not requester.link.up)
        assert "no connection" in await none_in_time(requester, seat="balance")
        await local.start()
        back = clock.now()
        await until(lambda: requester.link.up and all(requester.serving(name) for name in names))
        for name in names:
            while True:
                with contextlib.suppress(ComponentError):
                    assert (await say(requester, name)).opening == "You said hi."
                    break
        assert clock.now() - back < 3 * SECOND


@needs_mosquitto
@pytest.mark.clock("wall")
async def test_what_is_not_the_answer_to_an_open_question_is_ignored_and_counted():
    """MQ-06: a late reply goes to nobody else's question."""
    agent = Echo(delay_us=60 * MS)
    async with Mosquitto() as local, served(agent, local.broker), Requester(local.broker) as requester:
        async with client(local.broker) as other, Crew() as crew:
            to, good = requester._answers, wire.answer(Opinion("Spoofed.", 1.0))
            asking = crew.create_task(say(requester), name="ask")
            await until(lambda: requester._open)
            (name,) = requester._open
            here = marked(CorrelationData=name)
            await other.publish(to, good, properties=marked(CorrelationData=b"nobody's"))
            await other.publish(to, good)
            await other.publish(to, good, retain=True, properties=here)
            await other.publish(to, b"x" * 70_000, properties=here)
            await other.publish(to, b"{}", properties=here)
            assert (await asking).opening == "You said hi."
            await other.publish(to, good, properties=here)
            await until(lambda: requester.ignored["duplicate"])
            hurried = crew.create_task(say(requester, us=SECOND), name="hurried")
            await until(lambda: requester._open)
            (name,) = requester._open
            hurried.cancel()
            assert (await say(requester, utterance="again")).opening == "You said again."
            await other.publish(to, good, properties=marked(CorrelationData=name))
            await until(lambda: requester.ignored["late"] == 2)
        assert requester.ignored == {
            "foreign": 2,
            "retained": 1,
            "oversized": 1,
            "malformed": 1,
            "duplicate": 1,
            "late": 2,
        }


@needs_mosquitto
@pytest.mark.clock("wall")
async def test_a_flood_of_statuses_pushes_no_answer_out():
    """MQ-06: they are heard where they are read; there is no queue to be pushed out of."""
    async with Mosquitto() as local, served(Echo(), local.broker), Requester(local.broker) as requester:
        async with client(local.broker) as other:
            statuses = status_topic(local.broker.prefix, "other", "w")
            online = wire.status(online=True, started="", session=1, beat_us=SECOND)
            for _ in range(500):
                await other.publish(statuses, online)
            began = clock.now()
            found = await say(requester, us=2 * SECOND)
            assert found.opening == "You said hi."
            assert clock.now() - began < HALF
        assert not requester.ignored


@pytest.mark.clock("wall")
async def test_an_answer_in_the_middle_of_a_thousand_statuses_reaches_its_waiter_at_once():
    """MQ-06: at that message, not after the rest of them."""
    requester = Requester(Broker("nowhere"))
    waiting = asyncio.get_running_loop().create_future()
    requester._open[b"1"] = "echo", waiting
    status = aiomqtt.Message(
        status_topic("turnbudget", "a", "w"),
        wire.status(online=True, started="", session=1, beat_us=0),
        0,
        False,  # noqa: FBT003 - the library's own order
        1,
        None,
    )
    answer = aiomqtt.Message(
        requester._answers,
        wire.answer(None),
        0,
        False,  # noqa: FBT003 - the library's own order
        1,
        marked(CorrelationData=b"1"),
    )
    for message in (*[status] * 500, answer):
        requester.hear(message)
    assert waiting.done()


@needs_mosquitto
@pytest.mark.clock("wall")
async def test_too_big_a_question_is_refused_and_the_others_go_on():
    """MQ-07: it is never sent, so the broker never closes, and nothing is sent again."""
    async with (
        Mosquitto("allow_anonymous true\nmax_packet_size 131072") as local,
        served(Echo(), local.broker),
        Requester(local.broker) as requester,
    ):
        assert "more than the 65536" in await none_in_time(requester, utterance="x" * 131_073)
        assert (await say(requester)).opening == "You said hi."
        assert requester.link.session == 1


@needs_mosquitto
@pytest.mark.clock("wall")
async def test_one_that_comes_with_our_id_does_not_start_a_war():
    """MQ-09: we take another id, and say why."""
    async with Mosquitto() as local, served(Echo(), local.broker), Requester(local.broker) as requester:
        ours = requester.link._client_id
        async with client(local.broker, identifier=ours):
            await until(lambda: requester.link.trouble)
            assert requester.link.trouble == "the broker closed the connection"
            await until(lambda: requester.link.up and requester.link.session == 2)
        assert requester.link._client_id != ours
        await until(lambda: requester.serving("echo"))
        assert (await say(requester)).opening == "You said hi."
        assert requester.link.session == 2


def worker_process(broker, agent="Echo"):
    code = f"from turnbudget.commands.agents import run_seat; run_seat('seated:{agent}', '{broker}')"
    here = Path(sys.modules["seated"].__file__).parent
    return subprocess.Popen([sys.executable, "-c", code], cwd=here)  # noqa: S603 - our own code


@needs_mosquitto
@pytest.mark.clock("wall")
async def test_workers_that_are_killed_take_no_share_with_them():
    """MQ-10: sessions are clean, so nothing is stored for the dead. MQ-11: their wills say so at once."""
    agent = Echo()
    async with Mosquitto() as local, Requester(local.broker) as requester:
        async with served(agent, local.broker):
            doomed = [worker_process(local.broker) for _ in range(2)]
            try:
                await until(lambda: requester.serving("echo") == 3, 20 * SECOND)
                for _ in range(9):
                    assert (await say(requester)).opening == "You said hi."
                assert len(agent.asked) == 3
            finally:
                for process in doomed:
                    process.send_signal(signal.SIGKILL)
                    await clock.offload(process.wait)
            await until(lambda: requester.serving("echo") == 1)
            for _ in range(30):
                assert (await say(requester)).opening == "You said hi."
            assert len(agent.asked) == 33
        await until(lambda: not requester.serving("echo"))
        assert "none of its workers is left" in await none_in_time(requester)


@needs_mosquitto
@pytest.mark.clock("wall")
async def test_a_will_that_comes_late_buries_nobody():
    """MQ-11: it is of an earlier session."""
    async with (
        Mosquitto() as local,
        Requester(local.broker) as requester,
        served(Echo(), local.broker) as worker,
        client(local.broker) as other,
    ):
        await until(lambda: requester.serving("echo") == 1)
        will = wire.status(online=False, started=worker._started, session=0, beat_us=0)
        await other.publish(status_topic("turnbudget", "echo", worker.name), will, retain=True)
        await until(lambda: requester.ignored["outdated"])
        assert requester.serving("echo") == 1
        assert (await say(requester)).opening == "You said hi."


@needs_mosquitto
@pytest.mark.clock("wall")
async def test_of_a_hundred_questions_at_once_each_is_on_the_wire_before_the_next_is_prepared(monkeypatch):
    """MQ-14: the first does not wait for the last."""
    waiting = []
    publish = link.publish

    async def watched(to, letter):
        waiting.append(len(to._client._out_packet))
        await publish(to, letter)
        waiting.append(len(to._client._out_packet))

    monkeypatch.setattr(link, "publish", watched)
    async with (
        Mosquitto() as local,
        Requester(local.broker) as requester,
        client(local.broker) as other,
        Crew() as crew,
    ):
        await other.subscribe(ask_topic(local.broker.prefix, "echo"))
        for number in range(100):
            crew.create_task(say(requester, us=2 * SECOND), name=f"ask {number}")
        await anext(other.messages)
    assert set(waiting) == {0}


class Deprived(asyncio.SelectorEventLoop):
    """A loop that cannot watch sockets, as Windows' own."""

    add_reader = asyncio.AbstractEventLoop.add_reader


def test_a_loop_that_cannot_watch_sockets_is_told_of_in_one_line():
    """MQ-13: Windows' default loop."""

    async def play():
        async with Requester(Broker("127.0.0.1", 1)):
            pass

    with (
        pytest.raises(ConfigError, match="cannot watch sockets"),
        asyncio.Runner(loop_factory=Deprived) as runner,
    ):
        runner.run(play())


@pytest.mark.parametrize("loop", [clock.WallLoop, clock.SkipLoop])
def test_our_own_loops_can_on_every_system(loop):
    """MQ-13: they are selector loops, on Windows too."""
    assert issubclass(loop, asyncio.SelectorEventLoop)


async def test_in_virtual_time_there_is_no_broker():
    with pytest.raises(Defect, match="a thread takes real time"):
        async with Requester(Broker("127.0.0.1", 1)):
            pass


def test_an_aiomqtt_of_another_kind_is_refused(monkeypatch):
    """MQ-05: its alpha loses messages that arrive between two reads."""
    monkeypatch.setattr(mqtt, "version", lambda _: "3.0.0a1")
    with pytest.raises(ComponentError, match=r"aiomqtt is 3\.0\.0a1"):
        mqtt.check_client.__wrapped__()


@pytest.mark.clock("wall")
async def test_a_broker_that_is_not_there_is_an_error_if_it_is_required(monkeypatch):
    monkeypatch.setattr("turnbudget.council.remote.agent.START_US", 100 * MS)
    with pytest.raises(ComponentError, match=r"cannot be reached .*refused"):
        async with Requester(Broker("127.0.0.1", 1)):
            pass


@needs_mosquitto
@pytest.mark.clock("wall")
async def test_or_is_joined_when_it_comes():
    local = Mosquitto()
    async with Requester(local.broker, required=False) as requester:
        assert "no connection to the broker" in await none_in_time(requester)
        async with local, served(Echo(), local.broker):
            await until(lambda: requester.link.up)
            assert (await say(requester)).opening == "You said hi."


@pytest.mark.clock("wall")
async def test_a_broker_that_says_nothing_is_left_again(monkeypatch):
    monkeypatch.setattr("turnbudget.council.remote.link.PATIENCE_S", 0.05)
    monkeypatch.setattr("turnbudget.council.remote.agent.START_US", 300 * MS)
    callers = []
    server = await asyncio.start_server(lambda _, writer: callers.append(writer), "127.0.0.1", 0)
    async with server:
        with pytest.raises(ComponentError, match="cannot be reached"):
            async with Requester(Broker("127.0.0.1", server.sockets[0].getsockname()[1])):
                pass
        assert len(callers) > 1
        for writer in callers:
            writer.close()
            await writer.wait_closed()


@needs_mosquitto
@pytest.mark.clock("wall")
async def test_a_seat_whose_name_would_match_others_reaches_its_own_worker_only():
    names = ("+", "#", "bank/+", "bank", "$SYS", "naïve")
    async with Mosquitto() as local, contextlib.AsyncExitStack() as stack:
        agents = {name: Echo(name) for name in names}
        for agent in agents.values():
            await stack.enter_async_context(served(agent, local.broker))
        requester = await stack.enter_async_context(Requester(local.broker))
        for name in names:
            assert (await say(requester, name, name)).opening == f"You said {name}."
        assert all(agent.asked == [name] for name, agent in agents.items())
        assert answer_topic("turnbudget", "+") == "turnbudget/answer/%2B"


@needs_mosquitto
@pytest.mark.clock("wall")
async def test_a_question_that_its_worker_took_to_the_grave_is_given_up_at_once():
    """MQ-11: the last will says that nobody is left to answer it."""
    async with Mosquitto() as local, Requester(local.broker) as requester, Crew() as crew:
        process = worker_process(local.broker, "Deaf")
        try:
            await until(lambda: requester.serving("echo"), 20 * SECOND)
            asking = crew.create_task(none_in_time(requester, us=5 * SECOND), name="ask")
            await until(lambda: requester._open)
        finally:
            process.send_signal(signal.SIGKILL)
            await clock.offload(process.wait)
        began = clock.now()
        assert "the last of its workers has gone" in await asking
        assert clock.now() - began < SECOND


class Payer(Echo):
    """Proposes to pay what it is told to."""

    async def answer(self, utterance, context, budget):  # noqa: ARG002 - the seam's
        self.asked.append(utterance)
        return Opinion("I paid {result}.", 0.95, action=Action("pay", {"amount": utterance}))


@pytest.mark.quiet
@needs_mosquitto
@pytest.mark.clock("wall")
async def test_in_all_troubles_no_turn_is_lost_and_no_action_doubled():
    """MQ-01, MQ-02, MQ-10: workers die, the broker restarts, every message is doubled or retained."""
    paid, outcomes, history = [], [], []

    async def pay(arguments, _):
        paid.append(arguments["amount"])
        return arguments["amount"]

    async with Mosquitto() as local, contextlib.AsyncExitStack() as stack:
        requester = await stack.enter_async_context(Requester(local.broker))
        crew = await stack.enter_async_context(Crew())
        crew.create_task(again(local.broker), name="again")
        names = [f"payer {number}" for number in range(5)]
        workers = [await stack.enter_async_context(served(Payer(name), local.broker)) for name in names]
        seats = [Seat(RemoteAgent(name, requester), rank=1) for name in names]
        court = Council([*seats, Seat(Says(Opinion("Later.", 0.6)))], "call", {"pay": pay})
        for number in range(150):
            if number == 40:
                workers[0].link.send = lambda _: False  # it hears, and is never heard again
            if number == 80:
                crew.create_task(restarted(local), name="restart")
            if number == 120:
                await until(lambda: all(requester.serving(name) for name in names[1:]))
            began = clock.now()
            budget, sound_by = Budget.of(800 * MS), Budget.of(100 * MS)
            question = Question(
                said=str(number),
                history=tuple(history),
                budget=budget,
                notes=Ledger(began),
                crew=crew,
                sound_by=sound_by,
            )
            reply = await court.answer(question)
            assert clock.now() - began < 850 * MS
            outcomes.append(reply.text)
            history += [Said("caller", str(number)), Said("agent", reply.text)]
    assert len(outcomes) == 150
    assert len(paid) == len(set(paid)) == sum(text.startswith("I paid") for text in outcomes)
    assert {"Later."} < set(outcomes)
    assert outcomes[-1] == "I paid 149."


async def restarted(local):
    await local.stop()
    await local.start()


async def again(broker):
    """Send every question and answer a second time, every other one retained."""
    once = SubscribeOptions(noLocal=True)
    while True:
        with contextlib.suppress(aiomqtt.MqttError):
            async with client(broker) as other:
                await other.subscribe([("turnbudget/seat/+/ask", once), ("turnbudget/answer/+", once)])
                retain = False
                async for message in other.messages:
                    retain = not retain
                    await other.publish(
                        message.topic.value, message.payload, retain=retain, properties=message.properties
                    )
        await clock.sleep(20 * MS)
