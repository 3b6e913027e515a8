"""What the tests of whole calls in virtual time share: a floor without sockets, and carriers beside it."""

from __future__ import annotations

import contextlib
import dataclasses

from floors import QUICK, SAYS, open_tones

from turnbudget.runs.records import Engine
from turnbudget.serving.config import FloorConfig, ServeTable, TenantTable
from turnbudget.serving.connection import Connection
from turnbudget.serving.doors.door import Door, Guest
from turnbudget.serving.doors.once import OnceStore
from turnbudget.serving.doors.passes import Passes
from turnbudget.serving.doors.tenants import EngineSet, Tenants
from turnbudget.serving.events import CallEnded, TurnEnded
from turnbudget.serving.floor import Floor
from turnbudget.settings.answering import Answering
from turnbudget.testing.tones import tone_of
from turnbudget.voice.call.responder import Reply
from turnbudget.voice.time import clock
from turnbudget.voice.time.crew import Crew

LOUD = 300
LAST_US = 60 * clock.SECOND
"""No call here is as long."""


class Table:
    """A responder that answers words with what a table says: a text, or a whole reply."""

    name = "table"

    def __init__(self, replies, otherwise="Right."):
        self.replies, self.otherwise = replies, otherwise
        self.asked, self.facts = [], {}

    async def make_ready(self, history):
        """Have nothing to do."""

    async def answer(self, question):
        if not question.guess:
            self.asked.append(question.said)
        reply = self.replies.get(question.said, self.otherwise)
        return reply if isinstance(reply, Reply) else Reply(reply, "table")

    def know(self, facts):
        self.facts.update(facts)


def opener(responder):
    """Open a studio whose recogniser hears tones, and in which *responder* answers every call."""

    async def open_it(config):
        studio = await open_tones(config)
        await studio.answering.aclose()
        answering = Answering(Engine(job="responder", name="table", why="a test"), lambda: responder)
        return dataclasses.replace(studio, answering=answering)

    return open_it


@contextlib.asynccontextmanager
async def hall(responder, *, config=QUICK, serve=None, tenant=None):
    """A floor without sockets on the running clock, and what happens on it."""
    serve, table = serve or ServeTable(), tenant or TenantTable()
    studio = await opener(responder)(config)
    once = OnceStore()
    tenants = Tenants(
        FloorConfig(serve, {"default": table}), {"default": config}, {config: EngineSet(studio, None)}
    )
    happenings = []
    async with Crew() as crew:
        floor = Floor(serve, Door(serve, tenants, Passes(once)), crew, once=once, journal=None)
        floor.watch(happenings.append)
        yield floor, happenings
    await studio.aclose()


class Carried:
    """A call over *far* without a socket; *script* is what its caller does when, in µs of the call.

    What we send takes *lag_us* to be played; messages in which *deaf* stands never arrive.
    """

    def __init__(  # noqa: PLR0913 - what differs from call to call
        self, floor, dialect, far, script=(), *, lag_us=0, deaf=""
    ):
        self.far, self.began_us = far, clock.now()
        self.loud_us, self.closed_us = [], None
        self._script, self._lag_us, self._deaf = list(script), lag_us, deaf
        self._under_way = []
        self.connection = Connection(dialect, self, floor, Guest(trusted=True))

    def write(self, message):
        if not (self._deaf and self._deaf in str(message)):
            self._under_way.append((clock.now() + self._lag_us, message))

    def close(self, _=""):
        self.closed_us = clock.now()

    def abort(self, _):
        self.closed_us = clock.now()

    async def run(self):
        """Hold the call to its end; what was under way when we closed is played and counted."""
        while not self.far.closed and clock.now() - self.began_us < LAST_US:
            now = clock.now()
            while self._script and now - self.began_us >= self._script[0][0]:
                self._script.pop(0)[1](self.far)
            while self._under_way and self._under_way[0][0] <= now:
                self.far.receive(self._under_way.pop(0)[1], now)
            for message in self.far.advance(now):
                self.connection.receive(message)
            heard = self.far.playout.heard()
            if heard.size and abs(heard).max() >= LOUD:
                self.loud_us.append(now - self.began_us)
            if self.closed_us is not None:
                break
            await clock.sleep_until(self.far.next_us)
        self.connection.lost()
        return self


def presses(keys, at_us, apart_us=120_000):
    """*keys*, one after the other, as a part of a script."""
    return [
        (at_us + number * apart_us, lambda far, key=key: far.press(key)) for number, key in enumerate(keys)
    ]


def says(sentence, at_us):
    """A sentence as a part of a script."""
    return [(at_us, lambda far: far.say(tone_of(sentence, SAYS, far.rate)))]


def hangs_up(at_us):
    return [(at_us, lambda far: far.hang_up())]


def rows(happenings, kind="turn"):
    return [one.row for one in happenings if isinstance(one, TurnEnded) and one.row.kind == kind]


async def over(happenings):
    """The end of the only call, once it has come."""
    while not (found := [one for one in happenings if isinstance(one, CallEnded)]):
        await clock.sleep(20 * clock.MS)
    return found[0]
