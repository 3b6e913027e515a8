"""A panel of agents that say what the test says, when the test says; and a council to hear them."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass, field

from turnbudget.agents.agent import Opinion
from turnbudget.council.convene import Seat
from turnbudget.council.council import Council
from turnbudget.voice.call.ledger import Ledger
from turnbudget.voice.call.responder import Question, Said
from turnbudget.voice.time import clock
from turnbudget.voice.time.budget import Budget
from turnbudget.voice.time.clock import MS, SECOND
from turnbudget.voice.time.crew import Crew

EVER = 10_000 * SECOND
FIRST_US, LAST_US = 500 * MS, 3 * SECOND


@dataclass
class Says:
    """An agent that gives one thing, *after_us* from the question: an opinion, a text, an error, a call."""

    name: str
    what: object = None
    confidence: float = 0.9
    after_us: int = 0
    asked: list = field(default_factory=list)

    async def answer(self, utterance, context, budget):
        self.asked.append((utterance, context, budget))
        if self.after_us:
            await clock.sleep(self.after_us)
        what = self.what(utterance, context) if callable(self.what) else self.what
        if isinstance(what, BaseException):
            raise what
        return Opinion(what, self.confidence, "as told") if isinstance(what, str) else what


class Stubborn:
    """An agent that swallows every cancellation, and answers long after anybody listens."""

    def __init__(self, name="stubborn", until_us=EVER):
        self.name = name
        self._until_us = until_us

    async def answer(self, *_):
        until = clock.now() + self._until_us
        while clock.now() < until:
            with contextlib.suppress(asyncio.CancelledError):
                await clock.sleep_until(until)
        return Opinion("At last.", 1.0)


class Cleaning:
    """An agent that needs a second to clear away after it is cancelled."""

    name = "cleaning"

    async def answer(self, *_):
        try:
            await clock.sleep(EVER)
        finally:
            await clock.sleep(1 * SECOND)


class Stream:
    """A rest that is under way and knows whether it was closed."""

    def __init__(self):
        self.closed = False

    async def pieces(self):
        try:
            yield "One."
            yield "Two."
        finally:
            self.closed = True


def sleeper(name="sleeper"):
    return Says(name, "Never said.", after_us=EVER)


def seats(*agents, **more):
    """A seat each, in order."""
    return [agent if isinstance(agent, Seat) else Seat(agent, **more) for agent in agents]


def council(*agents, **more):
    return Council(seats(*agents), call=more.pop("call", "call-1"), **more)


@dataclass
class Table:
    """A council, a crew for its work, and the history as the caller heard it."""

    council: Council
    crew: Crew
    history: list = field(default_factory=list)
    ledger: Ledger = None

    def question(self, said, *, first_us=FIRST_US, last_us=LAST_US, **more):
        self.ledger = Ledger(clock.now())
        return Question(
            said=said,
            history=tuple(self.history),
            budget=Budget.of(last_us),
            notes=self.ledger,
            crew=self.crew,
            sound_by=Budget.of(first_us),
            **more,
        )

    async def ask(self, said="hello", **more):
        """Ask, and hear nothing of the reply."""
        return await self.council.answer(self.question(said, **more))

    async def talk(self, said="hello", **more):
        """Ask, and hear the reply whole."""
        reply = await self.ask(said, **more)
        rest = [text async for text in reply.rest]
        self.history += [Said("caller", said), Said("agent", " ".join((reply.text, *rest)))]
        return reply

    @property
    def lanes(self):
        """How each seat's lane ended."""
        return {lane.name.partition(":")[2]: lane.outcome for lane in self.ledger.lanes}

    @property
    def took(self):
        return [decision.took for decision in self.ledger.decisions]


@contextlib.asynccontextmanager
async def table(*agents, **more):
    """A council in a call that lasts as long as the block."""
    async with Crew() as crew:
        yield Table(council(*agents, **more), crew)
