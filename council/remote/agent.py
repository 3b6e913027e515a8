"""A remote seat: an agent in another process or machine, asked by MQTT 5 request and response.

A question is published for whichever worker is free, with the time left as its expiry, and its id as
correlation data; the answer comes back on a topic of our own. Whatever is not *the* answer to a question
still open is ignored and counted. A broker or worker that goes away costs this seat's opinion, never a turn.
"""

from __future__ import annotations

import asyncio
import secrets
from collections import Counter, OrderedDict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Literal, Self
from urllib.parse import unquote

from turnbudget.council.remote import wire
from turnbudget.council.remote.broker import answer_topic, ask_topic, status_topic, statuses
from turnbudget.council.remote.link import Letter, Link
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
    from turnbudget.council.remote.wire import Status
    from turnbudget.voice.time.budget import Budget


START_US: Final = 3 * SECOND
"""How long the broker is waited for at the start (µs; 3 s)."""
REMEMBERED: Final = 4_096
"""How many questions of the past are remembered, by which a late answer is told from a foreign one."""
BEATS: Final = 3
"""After how many of its own heartbeats without a sign a worker is taken for dead."""
LONG_AGO: Final = -(10**18)
"""An instant before any other (µs)."""
WORKERS: Final = 10_000
"""How many workers are remembered at most: anybody the broker lets in can make them up."""

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
        self._presence = Presence()
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
        return self._presence.serving(seat, clock.now())

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
        return clock.kind() == "wall" and self._presence.vacant(seat, clock.now())

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
        if not self._presence.note(seat, unquote(worker), status, clock.now()):
            return "outdated"
        if self._vacant(seat):
            self._give_up("the last of its workers has gone", lambda asked: asked == seat)
        return None

    def lost(self, why: str) -> None:
        """Give up what is open: its answers would go to a connection that is no more."""
        self._presence.doubt()
        self._give_up(f"the connection was lost ({why})", lambda _: True)

    def _give_up(self, because: str, concerns: Callable[[str], bool]) -> None:
        gone = wire.Answer(v=wire.VERSION, kind="failed", because=because)
        for seat, answered in self._open.values():
            if concerns(seat) and not answered.done():
                answered.set_result(gone)

    def hello(self, session: int) -> None:
        """Say nothing: nobody waits for us."""

    def goodbye(self, session: int) -> None:
        """Say nothing."""


@dataclass(frozen=True, slots=True)
class _Sign:
    status: Status
    at_us: int

    def age(self) -> tuple[str, int]:
        return self.status.started, self.status.session


class Presence:
    """Who serves which seat, by what workers say of themselves and by how long ago they said it.

    A broker's word is not enough: the last will of a dead connection can arrive long after its worker is
    back, or never. So a status says from which start and session it is, and of one worker only the latest
    counts; and a worker that has been silent for three of its own heartbeats is taken for dead.
    """

    def __init__(self) -> None:
        self._signs: dict[str, dict[str, _Sign]] = {}
        self._known = 0

    def note(self, seat: str, worker: str, status: Status, now_us: int) -> bool:
        """Take down *status*; say whether it counts, which one of an earlier session does not."""
        sign, before = _Sign(status, now_us), self._signs.get(seat, {}).get(worker)
        if before and sign.age() < before.age():
            return False
        if not before:
            if self._known >= WORKERS:
                self.forget_gone(now_us)
            if self._known >= WORKERS:
                return False
            self._known += 1
        self._signs.setdefault(seat, {})[worker] = sign
        return True

    def serving(self, seat: str, now_us: int) -> int:
        """Return how many workers serve *seat*."""
        return sum(_lives(sign, now_us) for sign in self._signs.get(seat, {}).values())

    def vacant(self, seat: str, now_us: int) -> bool:
        """Say whether *seat* had workers and now has none; of a seat never heard of nothing is known."""
        return bool(self._signs.get(seat)) and not self.serving(seat, now_us)

    def doubt(self) -> None:
        """Believe nobody until the next sign of life: our own connection was gone, and perhaps theirs."""
        for workers in self._signs.values():
            workers.update({name: replace(sign, at_us=LONG_AGO) for name, sign in workers.items()})

    def forget_gone(self, now_us: int) -> None:
        """Forget all workers that serve no more."""
        for seat, workers in self._signs.items():
            self._signs[seat] = {name: sign for name, sign in workers.items() if _lives(sign, now_us)}
        self._known = sum(map(len, self._signs.values()))


def _lives(sign: _Sign, now_us: int) -> bool:
    beat = sign.status.beat_us
    return sign.status.online and (not beat or now_us - sign.at_us <= BEATS * beat)
