"""The worker's side of a remote seat: one agent, its questions from a broker, its answers back.

Any number of workers share a seat's questions. Each question is worked on once, whatever is delivered twice;
never after its deadline; and not at all when all slots are taken, which the asker is told at once. An agent
that raises, sleeps on or swallows its cancellation costs its own answer, and its slot until it ends.
"""

from __future__ import annotations

import contextlib
import secrets
from collections import Counter, OrderedDict
from typing import TYPE_CHECKING, Any, Final, Literal

from turnbudget.council.remote import wire
from turnbudget.council.remote.broker import shared, status_topic
from turnbudget.council.remote.link import Letter, Link
from turnbudget.voice.time import clock
from turnbudget.voice.time.budget import Budget
from turnbudget.voice.time.clock import MS, SECOND
from turnbudget.voice.time.crew import Crew

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

    from aiomqtt import Message

    from turnbudget.agents.agent import Agent
    from turnbudget.council.remote.broker import Broker
    from turnbudget.council.remote.wire import Ask


RETURN_US: Final = 20 * MS
"""Time kept for the way back (µs; 20 ms): of a hundred one has taken 6 ms on a busy machine."""
BEAT_US: Final = 2 * SECOND
"""How often a worker says that it serves (µs; 2 s)."""
SLOTS: Final = 32
"""How many questions a worker answers at once."""
START_US: Final = 3 * SECOND
"""How long the broker is waited for at the start (µs; 3 s)."""
REMEMBERED: Final = 1_024
"""How many questions are remembered, by which one that is delivered twice is known."""
LONGEST_NAME: Final = 64
"""How long a question's id may be (bytes)."""
LONGEST_REASON: Final = 200
"""How much of an error is told (characters)."""
DRIFT: Final = 5_000
"""In how many parts of time clocks drift apart by one: 200 ppm, twice what two poor ones do."""
SENDERS: Final = 1_000
"""How many senders' most punctual messages are remembered."""

Noted = Literal[
    "answered", "busy", "late", "slow", "failed", "duplicate", "retained", "foreign", "malformed", "unsent"
]


async def serve(  # noqa: PLR0913 - settings, each by its name
    agent: Agent,
    broker: Broker,
    *,
    seat: str = "",
    slots: int = SLOTS,
    beat_us: int = BEAT_US,
    required: bool = True,
    tell: Callable[[str], None] = lambda _: None,
) -> None:
    """Serve *agent* as *seat* (by default its own name) until cancelled; raises ComponentError.

    With *required* a broker that cannot be reached at the start is an error; without, it is waited for.
    """
    worker = Worker(agent, broker, seat=seat or agent.name, slots=slots, beat_us=beat_us, tell=tell)
    await worker.run(required=required)


class Worker:
    """One worker: what it does is counted in ``noted``."""

    def __init__(  # noqa: PLR0913 - settings, each by its name
        self,
        agent: Agent,
        broker: Broker,
        *,
        seat: str,
        slots: int = SLOTS,
        beat_us: int = BEAT_US,
        tell: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.noted: Counter[Noted] = Counter()
        self.name = secrets.token_hex(6)
        self.link = Link(broker, f"turnbudget-{seat}", (shared(broker.prefix, seat),), self)
        self._agent = agent
        self._seat = seat
        self._slots = slots
        self._beat_us = beat_us
        self._tell = tell
        self._broker = broker
        self._started = clock.label() or ""
        self._lateness = Lateness()
        self._answers: OrderedDict[bytes, bytes | None] = OrderedDict()
        self._busy: set[asyncio.Task[None]] = set()
        self._crew = Crew()

    async def run(self, *, required: bool = True) -> None:
        """Serve until cancelled."""
        async with self._crew as crew:
            crew.create_task(self.link.run(), name=f"mqtt:{self._seat}")
            if required:
                await self.link.opened(clock.now() + START_US)
            while True:
                await clock.sleep(self._beat_us)
                self.link.send(self._status(self.link.session, online=True))

    def hear(self, message: Message) -> None:
        """Take a question on, or say at once why not."""
        properties: Any = message.properties
        name = getattr(properties, "CorrelationData", b"")
        to = getattr(properties, "ResponseTopic", "")
        if message.retain:
            self.noted["retained"] += 1
        elif not 0 < len(name) <= LONGEST_NAME or not to.startswith(f"{self._broker.prefix}/answer/"):
            self.noted["foreign"] += 1
        elif name in self._answers:
            self.noted["duplicate"] += 1
            if earlier := self._answers[name]:
                self._send(name, to, earlier, clock.now() + SECOND)
        else:
            self._take(name, to, message.payload)

    def _take(self, name: bytes, to: str, payload: bytes) -> None:
        now = clock.now()
        try:
            ask = wire.read_ask(payload)
        except wire.WireError as error:
            self.noted["malformed"] += 1
            self._send(name, to, wire.refusal("failed", _brief(error)), now + SECOND)
            return
        ends = now + ask.left_us - self._lateness.of(ask.asker, ask.sent_us, now) - RETURN_US
        if ends <= now:
            self._refuse(name, to, "late")
        elif len(self._busy) >= self._slots:
            self._refuse(name, to, "busy")
        else:
            self._answers[name] = None
            if len(self._answers) > REMEMBERED:
                self._answers.popitem(last=False)
            self._crew.create_task(self._answer(name, to, ask, Budget(ends)), name=f"answer:{self._seat}")

    def _refuse(self, name: bytes, to: str, kind: Literal["late", "busy"]) -> None:
        self.noted[kind] += 1
        self._send(name, to, wire.refusal(kind), clock.now() + SECOND)

    async def _answer(self, name: bytes, to: str, ask: Ask, budget: Budget) -> None:
        work = _Work(self._agent, ask, budget)
        task = self._crew.create_task(work.run(), name=f"agent:{self._seat}")
        self._busy.add(task)
        task.add_done_callback(self._busy.discard)
        ended = await clock.wait_until([task], budget.ends_us)
        task.cancel()
        if work.failed or not work.answer:
            self.noted["failed" if ended else "slow"] += 1
            because = work.failed or ("it gave up" if ended else "it took longer than its budget")
            answer = wire.refusal("failed", because)
        else:
            self.noted["answered"] += 1
            answer = work.answer
        if name in self._answers:
            self._answers[name] = answer
        self._send(name, to, answer, budget.ends_us + RETURN_US)

    def _send(self, name: bytes, to: str, payload: bytes, ends_us: int) -> None:
        if not self.link.send(Letter(to, payload, ends_us, correlation=name)):
            self.noted["unsent"] += 1

    def _status(self, session: int, *, online: bool) -> Letter:
        payload = wire.status(online=online, started=self._started, session=session, beat_us=self._beat_us)
        return Letter(status_topic(self._broker.prefix, self._seat, self.name), payload, retain=True)

    def hello(self, session: int) -> Letter:
        """Say that we serve."""
        self._tell(f"serving {self._seat} at {self._broker}")
        return self._status(session, online=True)

    def goodbye(self, session: int) -> Letter:
        """Say that we serve no more."""
        return self._status(session, online=False)

    def lost(self, why: str) -> None:
        """Tell the person who started us."""
        self._tell(f"lost {self._broker} ({why}); trying again")


class _Work:
    """One question on its way to an answer; ``answer`` is what could be sent by now."""

    def __init__(self, agent: Agent, ask: Ask, budget: Budget) -> None:
        self.answer = b""
        self.failed = ""
        self._agent = agent
        self._ask = ask
        self._budget = budget

    async def run(self) -> None:
        """Ask the agent, and gather its text as it comes; never raises."""
        ask = self._ask
        try:
            opinion = await self._agent.answer(ask.utterance, ask.context(self._agent.name), self._budget)
            self.answer = wire.answer(opinion)
            if opinion is None:
                return
            rest = ""
            async with contextlib.aclosing(opinion.rest) as sentences:
                async for text in sentences:
                    rest = f"{rest} {text.strip()}"
                    self.answer = wire.answer(opinion, rest)
        except Exception as error:  # noqa: BLE001 - whatever an agent raises costs its own answer only
            self.failed = _brief(error)


def _brief(error: Exception) -> str:
    text = f"{type(error).__name__}: {error}"[:LONGEST_REASON]
    return text.encode("utf-8", "replace").decode()


class Lateness:
    """How late a message is, told without a common clock; of senders the last thousand are remembered.

    Each sender stamps its messages with its own clock. Arrival less stamp is the clocks' difference plus the
    journey; the least of it seen so far is a punctual journey, and what exceeds that is how long this one was
    held up. Clocks drift apart, so the least seen is trusted a little less with every second.
    """

    def __init__(self) -> None:
        self._least: OrderedDict[str, tuple[int, int]] = OrderedDict()

    def of(self, sender: str, sent_us: int, now_us: int) -> int:
        """Return by how many µs a message is later than the most punctual one of its sender."""
        gap = now_us - sent_us
        least, since = self._least.pop(sender, (gap, now_us))
        punctual = least + (now_us - since) // DRIFT
        self._least[sender] = (gap, now_us) if gap <= punctual else (least, since)
        if len(self._least) > SENDERS:
            self._least.popitem(last=False)
        return max(0, gap - punctual)
