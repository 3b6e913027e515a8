"""A remote seat: an agent in another process or machine, asked by MQTT 5 request and response.

A question is published for whichever worker is free, with the time left as its expiry, and its id as
correlation data; the answer comes back on a topic of our own. Whatever is not *the* answer to a question
still open is ignored and counted. A broker or worker that goes away costs this seat's opinion, never a turn.
"""

from __future__ import annotations

import asyncio
import secrets
from collections import Counter, OrderedDict
from typing import TYPE_CHECKING, Final, Literal, Self
from urllib.parse import unquote

from turnbudget.council.remote import wire
from turnbudget.council.remote.broker import answer_topic, ask_topic, status_topic, statuses
from turnbudget.council.remote.client import Letter
from turnbudget.council.remote.link import Link
from turnbudget.council.remote.roll import Roll
from turnbudget.voice.errors import ComponentError
from turnbudget.voice.time import clock
from turnbudget.voice.time.clock import SECOND
from turnbudget.voice.time.crew import Crew

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    from aiomqtt import Message

    from turnbudget.agents.agent import Context, Opinion
    from turnbudget.council.remote.broker import Broker
    from turnbudget.voice.time.budget import Budget

START_US: Final = 3 * SECOND
REMEMBERED: Final = 4_096
"""Questions of the past, by which a late answer is told from a foreign one."""

Ignored = Literal["late", "duplicate", "retained", "foreign", "oversized", "malformed", "outdated"]


class RemoteAgent:
    """The agent called *name* that some worker serves."""

    def __init__(self, name: str, requester: Requester) -> None:
        self.name = name
        self._requester = requester

    async def answer(self, utterance: str, context: Context, budget: Budget) -> Opinion | None:
        """Return the worker's opinion; raises ComponentError, in time, if none can be had."""
        found = await self._requester.ask(self.name, utterance, context, budget)
        if found.kind == "opinion":
            return found.opinion()
        if found.kind == "none":
            return None
        because = f": {found.because}" if found.because else ""
        raise ComponentError(f"the worker says {found.kind}{because}", where=f"seat {self.name}")


class Requester:
    """Our side of one broker, shared by every remote seat; ``async with Requester(broker) as requester``.

    With *required* a broker that cannot be reached at the start is a ComponentError; without, the calls go
    on without its seats until it is there.
    """

    def __init__(self, broker: Broker, *, required: bool = True) -> None:
        self.ignored: Counter[Ignored] = Counter()
        """What was heard and not taken, by why."""
        self._required = required
        self._me = secrets.token_hex(8)
        self._epoch = secrets.token_hex(4)
        self._answers = answer_topic(broker.prefix, self._me)
        self._prefix = broker.prefix
        self._link = Link(broker, "turnbudget", (self._answers, statuses(broker.prefix)), self)
        self._open: dict[bytes, tuple[str, asyncio.Future[wire.Answer]]] = {}
        self._past: OrderedDict[bytes, Ignored] = OrderedDict()
        self._roll = Roll()
        self._crew = Crew()

    async def __aenter__(self) -> Self:
        await self._crew.__aenter__()
        self._crew.create_task(self._link.run(), name="mqtt:requester")
        try:
            if self._required:
                await self._link.opened(clock.now() + START_US)
        except BaseException as error:
            await self._crew.__aexit__(type(error), error, error.__traceback__)
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        return await self._crew.__aexit__(kind, error, trace)

    @property
    def link(self) -> Link:
        """Return the connection: whether it is up, and what was its trouble."""
        return self._link

    def serving(self, seat: str) -> int:
        """Return how many workers are known to serve *seat*."""
        return self._roll.serving(seat, clock.now())

    async def ask(self, seat: str, utterance: str, context: Context, budget: Budget) -> wire.Answer:
        """Return what a worker says to a question; raises ComponentError if none does by the budget's end."""
        where = f"seat {seat}"
        if not self._link.up:
            raise ComponentError(f"no connection to the broker ({self._link.trouble})", where=where)
        if self._vacant(seat):
            raise ComponentError("none of its workers is left", where=where, remedy="start one")
        name, sent = secrets.token_bytes(12), clock.now()
        payload = wire.ask(
            seat, utterance, context, asker=self._epoch, sent_us=sent, left_us=budget.ends_us - sent
        )
        letter = Letter(
            ask_topic(self._prefix, seat),
            payload,
            budget.ends_us,
            correlation=name,
            answer_to=self._answers,
        )
        answered: asyncio.Future[wire.Answer] = asyncio.get_running_loop().create_future()
        self._open[name] = seat, answered
        try:
            if not self._link.send(letter):
                raise ComponentError("more questions than the link can send", where=where)
            with clock.beyond():
                async with clock.move_on_at(budget.ends_us):
                    return await answered
        finally:
            del self._open[name]
            self._remember(name, "duplicate" if answered.done() and not answered.cancelled() else "late")
        raise ComponentError("no answer before the deadline", where=where)

    def _vacant(self, seat: str) -> bool:
        # A skipping clock is ahead of workers that live by the wall, and would bury them all.
        return clock.kind() == "wall" and self._roll.vacant(seat, clock.now())

    def _remember(self, name: bytes, otherwise: Ignored) -> None:
        self._past[name] = otherwise
        if len(self._past) > REMEMBERED:
            self._past.popitem(last=False)

    def hear(self, message: Message) -> None:
        """Take an answer or a status, or count why not."""
        fault = self._answered(message) if message.topic.value == self._answers else self._noted(message)
        if fault:
            self.ignored[fault] += 1

    def _answered(self, message: Message) -> Ignored | None:
        if message.retain:
            return "retained"
        if len(message.payload) > wire.LIMIT_BYTES:
            return "oversized"
        name = getattr(message.properties, "CorrelationData", b"")
        if name not in self._open:
            return self._past.get(name, "foreign")
        _, answered = self._open[name]
        if answered.done():
            return "duplicate"
        try:
            found = wire.read_answer(message.payload)
        except wire.WireError:
            return "malformed"
        if found.kind == "late":
            # It was in time, so the worker reads our clock wrongly: let it begin anew.
            self._epoch = secrets.token_hex(4)
        answered.set_result(found)
        return None

    def _noted(self, message: Message) -> Ignored | None:
        *_, seat, _, worker = message.topic.value.split("/")
        if message.topic.value != status_topic(self._prefix, unquote(seat), unquote(worker)):
            return "foreign"
        try:
            status = wire.read_status(message.payload)
        except wire.WireError:
            return "malformed"
        seat = unquote(seat)
        if not self._roll.note(seat, unquote(worker), status, clock.now()):
            return "outdated"
        if self._vacant(seat):
            self._give_up("the last of its workers has gone", lambda asked: asked == seat)
        return None

    def lost(self, why: str) -> None:
        """Give up what is open: its answers would go to a connection that is no more."""
        self._roll.doubt()
        self._give_up(f"the connection was lost ({why})", lambda _: True)

    def _give_up(self, because: str, concerns: Callable[[str], bool]) -> None:
        gone = wire.Answer(wire.VERSION, "failed", because=because)
        for seat, answered in self._open.values():
            if concerns(seat) and not answered.done():
                answered.set_result(gone)

    def hello(self, session: int) -> None:
        """Say nothing: nobody waits for us."""

    def goodbye(self, session: int) -> None:
        """Say nothing."""
