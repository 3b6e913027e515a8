"""Events reach whoever listens in order and once each, over a broker's restart; commands are obeyed once."""

from __future__ import annotations

import contextlib
from dataclasses import replace

import msgspec
import pytest
from laws import each
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties
from sample_run import turn
from seated import Cable as SeatedCable
from seated import client as mqtt
from seated import needs_mosquitto, until
from watched import PRIVATE, began, ended, watched, whole_call

from turnbudget.council.remote.broker import broker_at
from turnbudget.serving.events import CallShed, TurnEnded
from turnbudget.serving.watch import bus as bus_file
from turnbudget.serving.watch import bus as courier_file
from turnbudget.serving.watch.bus import Bus
from turnbudget.serving.watch.commands import Commands
from turnbudget.testing.mosquitto import Mosquitto
from turnbudget.voice.time import clock
from turnbudget.voice.time.clock import MS, SECOND
from turnbudget.voice.time.crew import Crew

KEPT = "persistence true\npersistence_location {folder}/\nallow_anonymous true"


class Cable(SeatedCable):
    """One that can be cut, and lies ready again at once."""

    def cut(self):
        for writer in self._writers:
            writer.close()


class Floor:
    """Is told what to do."""

    def __init__(self, *calls):
        self.draining = False
        self.running = list(calls)
        self.told = []

    def calls(self):
        return len(self.running)

    def hang_up(self, call):
        self.told.append(f"hang up {call}")
        return call in self.running

    def drain(self):
        self.told.append("drain")
        self.draining = True


class Reader:
    """Listens as a consumer should: it drops what is not above the last it took of a call."""

    def __init__(self):
        self.calls = {}
        self.doubles = 0
        self.statuses = []
        self.done = []
        self.raw = []

    async def listen(self, broker, kept):
        """Listen for ever, through whatever becomes of the broker; the broker keeps what comes meanwhile."""
        while True:
            with contextlib.suppress(Exception):
                async with mqtt(
                    broker, identifier="reader", clean_start=False, properties=kept, timeout=1
                ) as other:
                    await other.subscribe("turnbudget/#", qos=1)
                    async for message in other.messages:
                        self.take(message)
            await clock.sleep(20 * MS)

    def take(self, message):
        topic, body = str(message.topic).split("/"), msgspec.json.decode(message.payload)
        self.raw.append((str(message.topic), message.payload, message.qos, message.retain))
        if topic[2] == "workers":
            (self.statuses if topic[-1] == "status" else self.done).append(body)
            return
        if topic[2] != "calls":
            return
        events = self.calls.setdefault(body["call"], [])
        if events and body["seq"] <= events[-1]["seq"]:
            self.doubles += 1
        else:
            events.append(body)


def session():
    """What makes a broker keep a reader's messages for a minute."""
    kept = Properties(PacketTypes.CONNECT)
    kept.SessionExpiryInterval = 60
    return kept


@contextlib.asynccontextmanager
async def told(local, floor, **settings):
    """A bus at the broker *local*, and a reader that is there before it."""
    reader = Reader()
    bus = Bus(local.broker, floor, site="harbour", **settings)
    async with Crew() as crew:
        crew.create_task(reader.listen(local.broker, session()), name="reader")
        running = crew.create_task(bus.run(), name="bus")
        await until(lambda: bool(reader.statuses))
        yield bus, reader, running


def steps(call, count):
    """Return what happens in a call of *count* turns."""
    turns = [turn(call=call, turn=number) for number in range(count)]
    return [began(call), *(TurnEnded(call, "bank", row) for row in turns), ended(call, turns)]


@needs_mosquitto
@pytest.mark.clock("wall")
async def test_a_broker_that_is_away_and_comes_back_is_in_the_log(monkeypatch, caplog):
    """Who writes a wrong address would see no event and no reason."""
    monkeypatch.setattr(bus_file, "BEAT_US", 50 * MS)
    caplog.set_level("INFO", bus_file.__name__)
    async with Mosquitto(KEPT) as local, Crew() as crew:
        await local.stop()
        crew.create_task(Bus(local.broker, Floor(), site="harbour").run(), name="bus")
        await until(lambda: "cannot be reached" in caplog.text)
        await local.start()
        await until(lambda: "is there again" in caplog.text)
    assert len(caplog.records) == 2


@needs_mosquitto
@pytest.mark.clock("wall")
@pytest.mark.parametrize("rest_ms", [0, 700])
async def test_a_broker_restart_in_the_middle_costs_no_event_and_no_order(rest_ms):
    """Letters of four calls are on the wire as it goes down, and more come while it is away."""
    async with Mosquitto(KEPT) as local, told(local, Floor()) as (bus, reader, _), Crew() as crew:
        calls = [steps(f"call-{number}", 50) for number in range(4)]
        flowing = [step for group in zip(*calls, strict=True) for step in group]

        async def happen():
            for event in flowing:
                bus(event)
                await clock.sleep(5 * MS)

        crew.create_task(happen(), name="happenings")
        await until(lambda: sum(map(len, reader.calls.values())) >= 60)
        await local.stop()
        await clock.sleep(rest_ms * MS)
        await local.start()
        await until(lambda: sum(map(len, reader.calls.values())) == 208, 15 * SECOND)
        assert await bus.flush()
        for call in (f"call-{number}" for number in range(4)):
            events = reader.calls[call]
            assert [event["seq"] for event in events] == list(range(52))
            assert [event["event"] for event in events] == ["began", *["turn"] * 50, "ended"]
            assert [event["row"]["turn"] for event in events[1:-1]] == list(range(50))
        assert bus.link.dropped == 0
        assert {(qos, kept) for topic, _, qos, kept in reader.raw if "/calls/" in topic} == {(1, False)}


@needs_mosquitto
@pytest.mark.clock("wall")
async def test_a_worker_that_vanishes_is_told_gone_by_its_last_will():
    """MQ-11: the status says when the worker began and over which of its connections it was told."""
    async with Mosquitto() as local, Crew() as crew:
        reader, cable = Reader(), Cable(local.broker)
        crew.create_task(reader.listen(local.broker, session()), name="reader")
        async with cable.laid() as port:
            bus = Bus(replace(local.broker, port=port), Floor("a"), site="harbour")
            running = crew.create_task(bus.run(), name="bus")
            await until(lambda: bool(reader.statuses))
            cable.cut()
            await until(lambda: len(reader.statuses) == 3)
            running.cancel()
            # By its goodbye; or by the broker, once a connection that died at this very moment is missed.
            await until(lambda: len(reader.statuses) >= 4, 15 * SECOND)
    told = [(one["online"], one["session"], one["calls"]) for one in reader.statuses]
    assert told == [(True, 1, 1), (False, 1, 0), (True, 2, 1), (False, 2, 0)]


@needs_mosquitto
@pytest.mark.clock("wall")
async def test_a_command_is_obeyed_once_whatever_is_delivered_twice():
    """MQ-02, and commands that a broker retained are old."""
    floor = Floor("a")
    async with Mosquitto() as local:
        async with mqtt(local.broker) as early:
            drain = msgspec.json.encode({"id": "0", "command": "drain"})
            await early.publish("turnbudget/harbour/commands", drain, qos=1, retain=True)
        async with told(local, floor) as (bus, reader, _), mqtt(local.broker) as supervisor:
            for told_id, command in (("1", "hang_up"), ("1", "hang_up"), ("2", "drain"), ("2", "drain")):
                payload = msgspec.json.encode({"id": told_id, "command": command, "call": "a"})
                await supervisor.publish("turnbudget/harbour/commands", payload, qos=1)
            await until(lambda: len(reader.done) == 4)
            assert floor.told == ["hang up a", "drain"]
            assert [(one["id"], one["outcome"], one["again"]) for one in reader.done] == [
                ("1", "done", False),
                ("1", "done", True),
                ("2", "done", False),
                ("2", "done", True),
            ]
            assert bus._commands.noted["retained"] == 1


@needs_mosquitto
@pytest.mark.clock("wall")
async def test_nothing_of_a_caller_is_in_topics_or_events():
    async with Mosquitto() as local, told(local, Floor()) as (_, reader, _), Crew():
        bus = Bus(local.broker, Floor(), site="harbour")
        for event in (*whole_call("c/+#"), CallShed("bank", "twilio", "concurrency", "full")):
            bus(event)
        letters = list(bus.link._due)
        assert {letter.topic.split("/")[3] for letter in letters} == {"c%2F%2B%23"}
        assert [letter.qos for letter in letters] == [1] * len(letters)
        assert not any(letter.retain for letter in letters)
        text = b"".join(letter.payload for letter in letters).decode()
        for private in (*PRIVATE, "15550100"):
            assert private not in text
        assert reader.statuses


def queued(bus):
    return [msgspec.json.decode(letter.payload) for letter in bus.link._due]


def made(**settings):
    return Bus(broker_at("mqtt://localhost"), Floor(), site="harbour", **settings)


async def test_a_broker_that_stays_away_costs_the_oldest_letters_and_they_are_counted(monkeypatch):
    """MQ-04: nothing is unbounded, and a reader sees the gap."""
    monkeypatch.setattr(courier_file, "MOST", 20)
    bus = made()
    for event in steps("a", 40):
        bus(event)
    assert bus.link.due == 20
    assert bus.link.dropped == 22
    assert queued(bus)[-1]["seq"] == 41


async def test_an_event_that_is_too_long_is_shortened_before_a_broker_sees_it(monkeypatch):
    """MQ-07: a broker closes the connection of who sends too much, and it would be sent again for ever."""
    monkeypatch.setattr(bus_file, "LARGEST", 2_000)
    bus = made(texts=True)
    bus(began("a"))
    bus(TurnEnded("a", "bank", turn(heard="na " * 1_000)))
    event = queued(bus)[-1]
    assert event["shortened"]
    assert event["row"]["entries"]
    assert len(bus.link._due[-1].payload) < 2_000


async def test_texts_are_told_where_they_are_asked_for():
    bus = made(texts=True)
    bus(began("a"))
    bus(TurnEnded("a", "bank", turn(heard="savings")))
    assert queued(bus)[-1]["row"]["heard"] == "savings"


@each(
    "payload",
    [
        b"",
        b"drain",
        b"\xff\xfe",
        b'{"id": "", "command": "drain"}',
        b'{"id": "1", "command": "reboot"}',
        b'{"id": "1", "command": "drain", "now": true}',
        b'{"id": "1", "command": "drain", "call": "' + b"a" * 5_000 + b'"}',
        None,
        3,
    ],
)
def test_what_is_no_command_is_counted_and_changes_nothing(payload):
    floor = Floor()
    commands = Commands(floor, "me")
    assert commands.take(payload) is None
    assert floor.told == []
    assert commands.noted == {"malformed": 1}


def test_a_command_for_another_worker_is_not_ours():
    floor = Floor("a")
    commands = Commands(floor, "me")
    assert commands.take(b'{"id": "1", "command": "drain", "worker": "you"}') is None
    assert commands.take(b'{"id": "2", "command": "hang_up", "call": "b"}') is None
    assert floor.told == ["hang up b"]
    assert commands.take(b'{"id": "3", "command": "drain", "worker": "me"}').outcome == "done"


@needs_mosquitto
@pytest.mark.clock("wall")
async def test_a_server_tells_and_obeys_over_its_broker(tmp_path):
    """A drain that the supervisor asks for ends the worker, and its last events are out before it goes."""
    async with Mosquitto() as local, Crew() as crew:
        reader = Reader()
        crew.create_task(reader.listen(local.broker, session()), name="reader")
        async with watched(tmp_path, broker=f"mqtt://127.0.0.1:{local.broker.port}") as (server, _):
            await until(lambda: bool(reader.statuses))
            for event in whole_call("a"):
                server.floor.tell(event)
            async with mqtt(local.broker) as supervisor:
                await supervisor.publish(
                    "turnbudget/main/commands", msgspec.json.encode({"id": "1", "command": "drain"}), qos=1
                )
            await until(lambda: server.floor.draining)
        await until(lambda: not reader.statuses[-1]["online"])
        assert reader.calls["a"][-1]["event"] == "ended"
        assert reader.done[0]["outcome"] == "done"
