"""What a remote seat adds to a turn, and what it does not cost: ``python bench/mqtt.py``.

A hundred workers, each an agent that answers at once, on a connection of its own to a real mosquitto; the
asker has one. *Alone*: one question after another, which is what MQTT adds to one seat. *Together*: all
hundred asked at once, which is what a council of a hundred remote seats waits for; there the CPU of one
Python process counts, or of two with the workers apart. *Troubled*: a thousand turns of a council of those
hundred and one local seat, while a worker is killed, the broker restarted, and messages are doubled and
retained; a turn is lost if it has no reply, an action doubled if it ran twice for one turn.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
import subprocess
import sys
from collections import Counter
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import aiomqtt
import click
from facts import facts
from paho.mqtt.subscribeoptions import SubscribeOptions

from turnbudget.agents.agent import Action, Context, Opinion
from turnbudget.council.convene import Seat
from turnbudget.council.council import Council
from turnbudget.council.remote.agent import RemoteAgent, Requester
from turnbudget.council.remote.broker import broker_at
from turnbudget.council.remote.link import NODELAY
from turnbudget.council.remote.serve import serve
from turnbudget.testing.mosquitto import Mosquitto
from turnbudget.voice.call.ledger import Ledger
from turnbudget.voice.call.responder import Question, Said
from turnbudget.voice.time import clock
from turnbudget.voice.time.budget import Budget, nearest_rank
from turnbudget.voice.time.clock import MS, SECOND
from turnbudget.voice.time.crew import Crew

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from turnbudget.council.remote.broker import Broker

WORKERS = 100
QUESTIONS = 1_000
KILLED, RESTARTED, DOUBLED = 250, 500, range(600, 700)
SOUND_US, PATIENCE_US = 500 * MS, 800 * MS
APART = "--workers-apart"


class Teller:
    """Answers at once: with an opinion if it is named, else that it is not its matter."""

    def __init__(self, name: str) -> None:
        self.name = name

    async def answer(self, utterance: str, *_: object) -> Opinion | None:
        """Return an opinion that proposes the action asked for."""
        whose, _, number = utterance.partition(" ")
        if whose not in (self.name, "all"):
            return None
        return Opinion(f"{self.name} did {{result}}.", 0.95, action=Action("do", {"turn": number}))


class Fallback:
    """The local seat: it always has something to say, and is never sure."""

    name = "local"

    async def answer(self, *_: object) -> Opinion:
        """Return what to say when nobody else has."""
        return Opinion("I can take a message.", 0.6)


def names() -> list[str]:
    """Return the seats' names."""
    return [f"teller-{number}" for number in range(WORKERS)]


async def serve_all(broker: Broker, seats: list[str]) -> None:
    """Serve *seats* until cancelled."""
    async with asyncio.TaskGroup() as crew:
        for name in seats:
            crew.create_task(serve(Teller(name), broker))


@asynccontextmanager
async def apart(broker: Broker, *seats: str) -> AsyncGenerator[subprocess.Popen[bytes], None]:
    """Serve *seats* from another process while the block lasts."""
    command = [sys.executable, __file__, APART, str(broker), *seats]
    process = await clock.offload(subprocess.Popen, command)
    try:
        yield process
    finally:
        process.kill()
        await clock.offload(process.wait)


@asynccontextmanager
async def within(broker: Broker, *seats: str) -> AsyncGenerator[None, None]:
    """Serve *seats* in this process while the block lasts."""
    async with Crew() as crew:
        crew.create_task(serve_all(broker, list(seats)), name="workers")
        yield


async def all_there(requester: Requester, seats: list[str]) -> None:
    """Wait until all *seats* are served."""
    while not all(requester.serving(name) for name in seats):
        await clock.sleep(10 * MS)


async def asked(requester: Requester, name: str, utterance: str) -> int:
    """Ask, and return how long the opinion took (µs)."""
    began = clock.now()
    await RemoteAgent(name, requester).answer(utterance, Context(), Budget.of(5 * SECOND))
    return clock.now() - began


async def quiet(requester: Requester) -> tuple[list[int], list[int], list[int]]:
    """Return, ascending: the times alone, those of every one of a hundred together, and of the hundredth."""
    every = names()
    alone = [await asked(requester, every[n % WORKERS], "all 1") for n in range(QUESTIONS)]
    together, last = [], []
    for _ in range(QUESTIONS):
        async with asyncio.TaskGroup() as crew:
            tasks = [crew.create_task(asked(requester, name, "all 1")) for name in every]
        times = [task.result() for task in tasks]
        together += times
        last.append(max(times))
    return sorted(alone), sorted(together), sorted(last)


async def directly() -> list[int]:
    """Return the times of the same agents asked without MQTT, ascending."""
    times = []
    for name in names() * (QUESTIONS // WORKERS):
        began = clock.now()
        await Teller(name).answer("all 1", Context(), Budget.of(SECOND))
        times.append(clock.now() - began)
    return sorted(times)


async def double(broker: Broker, on: asyncio.Event, count: Counter[str]) -> None:
    """While *on*, send every fourth message there is again, every eighth of all retained."""
    options = SubscribeOptions(noLocal=True)
    while True:
        with contextlib.suppress(aiomqtt.MqttError):
            five = aiomqtt.ProtocolVersion.V5
            other = aiomqtt.Client(broker.host, broker.port, protocol=five, socket_options=[NODELAY])
            async with other:
                topics = [(f"{broker.prefix}/{what}", options) for what in ("seat/+/ask", "answer/+")]
                await other.subscribe(topics)
                async for message in other.messages:
                    count["seen"] += 1
                    if not on.is_set() or count["seen"] % 4:
                        continue
                    retain = not count["seen"] % 8
                    count["retained" if retain else "doubled"] += 1
                    sent = message.properties
                    await other.publish(message.topic.value, message.payload, retain=retain, properties=sent)
        await clock.sleep(100 * MS)


async def troubled(local: Mosquitto) -> None:
    """Run the turns, make the trouble, and print what came of it."""
    ran: Counter[str] = Counter()
    sent: Counter[str] = Counter()
    by: Counter[str] = Counter()

    async def do(arguments: dict[str, str], _: str) -> str:
        ran[arguments["turn"]] += 1
        return arguments["turn"]

    first, *others = names()
    doubling, times, lost = asyncio.Event(), [], 0
    async with (
        apart(local.broker, first) as doomed,
        apart(local.broker, *others),
        Requester(local.broker) as requester,
        Crew() as crew,
    ):
        await all_there(requester, names())
        crew.create_task(double(local.broker, doubling, sent), name="double")
        seats = [Seat(RemoteAgent(name, requester), rank=1) for name in names()]
        council = Council([*seats, Seat(Fallback())], "bench", {"do": do})
        history: list[Said] = []
        for number in range(QUESTIONS):
            if number == KILLED:
                doomed.send_signal(signal.SIGKILL)
            if number == RESTARTED:
                crew.create_task(restart(local), name="restart")
            if number == DOUBLED.start:
                await all_there(requester, others)
            if number in (DOUBLED.start, DOUBLED.stop):
                (doubling.set if number in DOUBLED else doubling.clear)()
            began = clock.now()
            said = f"{names()[number % WORKERS]} {number}"
            budget, sound = Budget.of(PATIENCE_US), Budget.of(SOUND_US)
            question = Question(
                said=said,
                history=tuple(history[-20:]),
                budget=budget,
                notes=Ledger(began),
                crew=crew,
                sound_by=sound,
            )
            reply = await council.answer(question)
            times.append(clock.now() - began)
            lost += reply is None
            by["local" if reply and reply.by == "local" else "remote"] += 1
            history += [Said("caller", said), Said("agent", reply.text if reply else "")]
    over = sum(time > PATIENCE_US + 5 * MS for time in times)
    again = sum(count > 1 for count in ran.values())
    print(
        f"troubled: {QUESTIONS} turns, {lost} lost, {over} over {PATIENCE_US // MS} ms; "
        f"{len(ran)} actions, {again} of them doubled"
    )
    print(f"          answered by a remote seat {by['remote']}, by the local one {by['local']}")
    print(f"          sent again {sent['doubled']}, and retained {sent['retained']}; {row(sorted(times))}")
    print(f"          ignored by the asker: {dict(requester.ignored)}")


async def restart(local: Mosquitto) -> None:
    """Stop the broker, and start it half a second later."""
    await local.stop()
    await clock.sleep(500 * MS)
    await local.start()


def row(times: list[int]) -> str:
    """Return percentiles of *times* (µs, ascending)."""
    p50, p99 = (nearest_rank(times, percent) / 1_000 for percent in (50, 99))
    return f"p50 {p50:.2f} ms, p99 {p99:.2f} ms, worst {times[-1] / 1_000:.2f} ms"


async def measure() -> None:
    """Print everything."""
    alike = await directly()
    print(f"directly:                       {row(alike)}")
    for where, workers in (("in the asker's process", within), ("in another process", apart)):
        async with (
            Mosquitto() as local,
            workers(local.broker, *names()),
            Requester(local.broker) as requester,
        ):
            await all_there(requester, names())
            alone, together, last = await quiet(requester)
        print(f"workers {where}")
        print(f"  alone, each of {len(alone):6}:        {row(alone)}")
        print(f"  together, each of {len(together):6}:    {row(together)}")
        print(f"  together, last of {WORKERS}, {len(last):4} ×: {row(last)}")
        ratio = nearest_rank(together, 50) / nearest_rank(alone, 50)
        print(
            f"  {WORKERS} at once take {ratio:.1f} times as long as one (p50); one seat's share of that is "
            f"{nearest_rank(last, 50) / WORKERS / 1_000:.3f} ms"
        )
    async with Mosquitto() as local:
        await troubled(local)


@click.command()
def main() -> None:
    """Print the machine, and what was measured on it."""
    print(facts())
    print(f"{WORKERS} workers, {QUESTIONS} questions; mosquitto on this machine, QoS 0, TCP_NODELAY")
    clock.run(measure())


if __name__ == "__main__":
    if sys.argv[1:2] == [APART]:
        clock.run(serve_all(broker_at(sys.argv[2]), sys.argv[3:]))
    else:
        main()
