"""A worker works on each question once, in time or not at all, and outlives whatever its agent does."""

from __future__ import annotations

import contextlib
import shutil
import subprocess
from collections import Counter
from dataclasses import replace

import pytest
from seated import Cable, Deaf, Echo, Says, client, marked, needs_mosquitto, served, until

from turnbudget.agents.agent import Context, Opinion
from turnbudget.agents.backends.backend import Secret
from turnbudget.council.remote import wire
from turnbudget.council.remote.agent import RemoteAgent, Requester
from turnbudget.council.remote.broker import ask_topic, broker_at, status_topic
from turnbudget.council.remote.serve import serve
from turnbudget.testing.mosquitto import Mosquitto
from turnbudget.voice.errors import ComponentError, ConfigError
from turnbudget.voice.time import clock
from turnbudget.voice.time.budget import Budget
from turnbudget.voice.time.clock import MS, SECOND
from turnbudget.voice.time.crew import Crew

TO = "turnbudget/answer/test"


async def say(requester, utterance="hi", us=500 * MS):
    return await RemoteAgent("echo", requester).answer(utterance, Context(), Budget.of(us))


async def refused(requester, utterance="hi", us=500 * MS):
    with pytest.raises(ComponentError) as caught:
        await say(requester, utterance, us)
    return str(caught.value)


async def outcome(requester):
    try:
        return (await say(requester)).opening
    except ComponentError as error:
        return str(error).split("says ")[-1]


@contextlib.asynccontextmanager
async def asker(broker):
    """Ask by hand, and collect what is answered."""
    async with client(broker) as other, Crew() as crew:
        answers = []

        async def listen():
            async for message in other.messages:
                found = wire.read_answer(message.payload)
                answers.append((message.properties.CorrelationData, found))

        async def ask(name, utterance="hi", left_us=SECOND, qos=1, **properties):
            payload = wire.ask("echo", utterance, Context(), asker="me", sent_us=clock.now(), left_us=left_us)
            await other.publish(
                ask_topic(broker.prefix, "echo"),
                payload,
                qos=qos,
                properties=marked(**{"CorrelationData": name, "ResponseTopic": TO} | properties),
            )

        await other.subscribe(TO, qos=1)
        crew.create_task(listen(), name="listen")
        yield other, ask, answers


@needs_mosquitto
@pytest.mark.clock("wall")
async def test_a_question_delivered_twice_is_worked_on_once():
    """MQ-02: whatever its dup flag says; the second time it is answered from memory."""
    agent = Echo(delay_us=20 * MS)
    async with (
        Mosquitto() as local,
        served(agent, local.broker) as worker,
        asker(local.broker) as (_, ask, answers),
    ):
        await ask(b"1")
        await ask(b"1")
        await until(lambda: len(answers) == 1)
        await ask(b"1")
        await until(lambda: len(answers) == 2)
        assert agent.asked == ["hi"]
        assert answers[0] == answers[1]
        assert worker.noted == {"answered": 1, "duplicate": 2}


@pytest.mark.quiet
@needs_mosquitto
@pytest.mark.clock("wall")
async def test_a_burst_beyond_its_slots_is_answered_busy():
    """MQ-04: nobody waits for a question that was dropped in silence."""
    agent = Echo(delay_us=50 * MS)
    async with (
        Mosquitto() as local,
        served(agent, local.broker, slots=10) as worker,
        asker(local.broker) as (_, ask, answers),
        Requester(local.broker) as requester,
        Crew() as crew,
    ):
        for number in range(500):
            crew.create_task(ask(str(number).encode(), left_us=20 * SECOND), name=f"burst {number}")
        await until(lambda: len(answers) == 500, 20 * SECOND)
        kinds = Counter(answer.kind for _, answer in answers)
        assert kinds["opinion"] == len(agent.asked) == worker.noted["answered"]
        assert kinds["busy"] == worker.noted["busy"] > 0
        assert kinds.total() == 500
        began = clock.now()
        asking = [crew.create_task(outcome(requester), name=f"ask {number}") for number in range(20)]
        assert Counter([await task for task in asking]) == {"You said hi.": 10, "busy": 10}
        assert clock.now() - began < 500 * MS


@needs_mosquitto
@pytest.mark.quiet
@pytest.mark.clock("wall")
async def test_five_questions_in_one_segment_are_five_answers():
    """MQ-05: nothing is lost between two reads."""
    agent = Echo(delay_us=MS)
    async with Mosquitto() as local, asker(local.broker) as (_, ask, answers):
        cable = Cable(local.broker)
        async with cable.laid() as port, served(agent, replace(local.broker, port=port)):
            cable.hold()
            for number in range(5):
                await ask(str(number).encode())
            size = len(wire.ask("echo", "hi", Context(), asker="me", sent_us=10**12, left_us=SECOND))
            await until(lambda: cable.held >= 5 * size)
            cable.release()
            await until(lambda: len(answers) == 5)
    assert len(agent.asked) == 5


@needs_mosquitto
@pytest.mark.clock("wall")
async def test_questions_held_up_by_a_cut_link_are_dropped_if_their_turn_is_over():
    """MQ-12: no common clock is needed to know; those still in time are served."""
    agent = Echo()
    async with Mosquitto() as local, asker(local.broker) as (_, ask, answers):
        cable = Cable(local.broker)
        async with cable.laid() as port, served(agent, replace(local.broker, port=port)) as worker:
            await ask(b"first")
            await until(lambda: answers)
            cable.hold()
            for number in range(10):
                await ask(str(number).encode(), "over", left_us=60 * MS)
            await ask(b"live", "live", left_us=20 * SECOND)
            ends = clock.now() + 80 * MS
            await until(lambda: clock.now() > ends)
            cable.release()
            await until(lambda: len(answers) == 12)
            assert agent.asked == ["hi", "live"]
            assert worker.noted == {"answered": 2, "late": 10}


@needs_mosquitto
@pytest.mark.clock("wall")
async def test_an_asker_whose_clock_is_misread_begins_anew():
    """MQ-12: a machine that slept seems late for ever, until its first refusal."""
    async with (
        Mosquitto() as local,
        served(Echo(), local.broker) as worker,
        Requester(local.broker) as requester,
    ):
        await say(requester)
        ((asker_, (least, since)),) = worker._lateness._least.items()
        worker._lateness._least[asker_] = (least - 20 * SECOND, since)
        assert "says late" in await refused(requester)
        assert (await say(requester)).opening == "You said hi."


@needs_mosquitto
@pytest.mark.clock("wall")
async def test_what_is_no_question_is_counted_and_costs_nothing():
    agent = Echo()
    async with (
        Mosquitto() as local,
        served(agent, local.broker) as worker,
        asker(local.broker) as (other, ask, answers),
    ):
        topic = ask_topic(local.broker.prefix, "echo")
        here = {"CorrelationData": b"1", "ResponseTopic": TO}
        await other.publish(topic, b"hello")
        await other.publish(topic, b"hello", retain=True, properties=marked(**here))
        await ask(b"2", ResponseTopic="someone/else/s/topic")
        await ask(b"x" * 65)
        await other.publish(topic, b"hello", properties=marked(**here))
        await until(lambda: answers)
        assert (answers[0][1].kind, worker.noted) == ("failed", {"foreign": 3, "retained": 1, "malformed": 1})
        await ask(b"3")
        await until(lambda: len(answers) == 2)
        assert agent.asked == ["hi"]


NONSENSE = {
    "raises": (ValueError("no such account \ud800"), "ValueError: no such account ?"),
    "is no opinion": ("hello", "str is no opinion"),
    "is surer than sure": (Opinion("a", 2.0), "WireError"),
    "has a state that is no JSON": (Opinion("a", 0.5, state=object()), "WireError"),
    "is too big": (Opinion("x" * 131_073, 0.5), "more than the 65536"),
}


@needs_mosquitto
@pytest.mark.clock("wall")
@pytest.mark.parametrize(("what", "said"), NONSENSE.values(), ids=NONSENSE)
async def test_an_agent_s_nonsense_costs_that_answer_only(what, said):
    """MQ-07: an answer too big is not sent either."""
    agent = Says(what)
    async with (
        Mosquitto() as local,
        served(agent, local.broker) as worker,
        Requester(local.broker) as requester,
    ):
        assert said in await refused(requester)
        agent.what = Opinion("Hello.", 0.5)
        assert (await say(requester)).opening == "Hello."
        assert (worker.link.session, requester.link.session) == (1, 1)


@needs_mosquitto
@pytest.mark.clock("wall")
async def test_an_agent_that_swallows_its_cancellation_keeps_its_slot_and_nothing_else():
    agent = Deaf()
    async with (
        Mosquitto() as local,
        served(agent, local.broker, slots=1) as worker,
        Requester(local.broker) as requester,
    ):
        began = clock.now()
        await refused(requester, us=50 * MS)
        assert clock.now() - began < 100 * MS
        await until(lambda: worker.noted["slow"] == 1)
        assert "says busy" in await refused(requester)
        agent.over.set()
        await until(lambda: not worker._busy)


async def sentences(*texts, pause_us=0):
    for text in texts:
        if pause_us:
            await clock.sleep(pause_us)
        yield text


@needs_mosquitto
@pytest.mark.clock("wall")
async def test_a_served_agent_s_whole_text_travels_or_what_there_is_of_it_in_time():
    agent = Says(Opinion("One.", 0.5, rest=sentences("Two.", "Three.")))
    async with Mosquitto() as local, served(agent, local.broker), Requester(local.broker) as requester:
        assert (await say(requester)).opening == "One. Two. Three."
        agent.what = Opinion("One.", 0.5, rest=sentences("Two.", "Never.", pause_us=150 * MS))
        assert (await say(requester, us=250 * MS)).opening == "One. Two."


@needs_mosquitto
@pytest.mark.clock("wall")
async def test_a_worker_that_leaves_says_so():
    """MQ-11: a graceful exit sends no will."""
    async with (
        Mosquitto() as local,
        Requester(local.broker) as requester,
        client(local.broker) as other,
    ):
        async with served(Echo(), local.broker) as worker:
            await until(lambda: requester.serving("echo") == 1)
            name = worker.name
        await until(lambda: requester.serving("echo") == 0)
        await other.subscribe(status_topic("turnbudget", "echo", name))
        kept = await anext(other.messages)
        assert kept.retain
        assert not wire.read_status(kept.payload).online


@needs_mosquitto
@pytest.mark.clock("wall")
async def test_a_worker_behind_a_dead_link_is_missed_by_its_heartbeat():
    """MQ-11: the broker believes it alive, and no will comes."""
    async with (
        Mosquitto() as local,
        Requester(local.broker) as requester,
        served(Echo(), local.broker, beat_us=50 * MS) as worker,
    ):
        await until(lambda: requester.serving("echo") == 1)
        ends = clock.now() + 200 * MS
        await until(lambda: clock.now() > ends)
        assert requester.serving("echo") == 1
        worker.link.send = lambda _: True
        await until(lambda: requester.serving("echo") == 0)


@needs_mosquitto
@pytest.mark.clock("wall")
async def test_two_workers_of_one_configuration_share_and_never_meet():
    """MQ-09: their ids differ, so neither throws the other out."""
    first, second = Echo(), Echo()
    async with (
        Mosquitto() as local,
        served(first, local.broker) as one,
        served(second, local.broker) as two,
        Requester(local.broker) as requester,
    ):
        for _ in range(20):
            await say(requester)
        assert (len(first.asked), len(second.asked)) == (10, 10)
        assert (one.link.session, two.link.session) == (1, 1)
        assert one.link._client_id != two.link._client_id


@pytest.mark.clock("wall")
async def test_an_unreachable_broker_is_an_error_of_one_line(monkeypatch, nowhere):
    monkeypatch.setattr("turnbudget.council.remote.serve.START_US", 100 * MS)
    with pytest.raises(ComponentError, match=f"mqtt://{nowhere}: the broker cannot be reached"):
        await serve(Echo(), broker_at(f"mqtt://{nowhere}"))


@needs_mosquitto
@pytest.mark.clock("wall")
async def test_user_and_password_are_shown_and_a_wrong_one_is_named(monkeypatch):
    monkeypatch.setattr("turnbudget.council.remote.agent.START_US", 500 * MS)
    local = Mosquitto("allow_anonymous false\npassword_file {folder}/passwords")
    tool = shutil.which("mosquitto_passwd") or pytest.skip("mosquitto_passwd is not installed")
    subprocess.run(  # noqa: ASYNC221, S603 - a test's own set-up
        [tool, "-b", "-c", str(local.folder / "passwords"), "ann", "right"], check=True, capture_output=True
    )
    async with local:
        good = replace(local.broker, user="ann", password=Secret("right"))
        async with served(Echo(), good), Requester(good) as requester:
            assert (await say(requester)).opening == "You said hi."
        with pytest.raises(ComponentError, match=r"(?i)not authori[sz]ed|bad user") as caught:
            async with Requester(replace(good, password=Secret("wrong"))):
                pass
        assert "wrong" not in str(caught.value)


@needs_mosquitto
@pytest.mark.clock("wall")
@pytest.mark.filterwarnings(
    "ignore:.*SSLSocket:pytest.PytestUnraisableExceptionWarning"
)  # paho drops it open
async def test_tls_is_spoken_and_a_stranger_s_certificate_refused(monkeypatch, tmp_path):
    monkeypatch.setattr("turnbudget.council.remote.agent.START_US", 500 * MS)
    tool = shutil.which("openssl") or pytest.skip("openssl is not installed")
    subprocess.run(  # noqa: ASYNC221, S603 - a test's own set-up
        f"{tool} req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=localhost "
        f"-addext subjectAltName=IP:127.0.0.1 -keyout {tmp_path / 'key'} -out {tmp_path / 'cert'}".split(),
        check=True,
        capture_output=True,
    )
    settings = f"allow_anonymous true\ncertfile {tmp_path / 'cert'}\nkeyfile {tmp_path / 'key'}"
    async with Mosquitto(settings) as local:
        known = broker_at(f"mqtts://127.0.0.1:{local.broker.port}?ca={tmp_path / 'cert'}")
        async with served(Echo(), known), Requester(known) as requester:
            assert (await say(requester)).opening == "You said hi."
        with pytest.raises(ComponentError, match=r"(?i)certificate verify failed"):
            async with Requester(replace(known, ca_file="")):
                pass


@pytest.mark.clock("wall")
async def test_an_authority_that_is_not_there_is_named():
    with pytest.raises(ConfigError, match=r"/nowhere\.pem"):
        async with Requester(broker_at("mqtts://127.0.0.1:1?ca=/nowhere.pem")):
            pass
