"""One call's work ahead of its turns, driven step by step: what is asked, and how long a pause is to last."""

from __future__ import annotations

import asyncio
import contextlib

from voices import Voice, shelved

from turnbudget.speculative.prepare import Ranks
from turnbudget.speculative.speculation import Speculation
from turnbudget.voice.call.ledger import Ledger
from turnbudget.voice.call.responder import Question, Reply, Said
from turnbudget.voice.hearing.endpoint import Endpointing
from turnbudget.voice.sound import audio
from turnbudget.voice.time import clock
from turnbudget.voice.time.budget import Budget
from turnbudget.voice.time.clock import MS, SECOND
from turnbudget.voice.time.crew import Crew

BOUNDS = Endpointing()
QUICK, USUAL, LONG = BOUNDS.settled_us, BOUNDS.silence_us, BOUNDS.most_us


class Answers:
    """A responder that gives to the n-th question the n-th of *given*: a text, a reply, an error, a call.

    The last stays. A text is a settled reply.
    """

    name = "answers"

    def __init__(self, *given, foresees=(), delay_us=0):
        self.given = given or ("Yes, it is.",)
        self.foresees = tuple(foresees)
        self.delay_us = delay_us
        self.asked = []
        self.cancelled = 0

    async def make_ready(self, history):
        """Have nothing to make ready."""

    def fixed(self):
        return ()

    def foreseen(self):
        return self.foresees

    async def answer(self, question):
        what = self.given[min(len(self.asked), len(self.given) - 1)]
        self.asked.append(question.said)
        try:
            await clock.sleep(self.delay_us)
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        if callable(what):
            what = await what()
        if isinstance(what, Exception):
            raise what
        return Reply(what, "answers", completeness="whole") if isinstance(what, str) else what


class Talk:
    """A call as a Speculation is told of it."""

    def __init__(self, speculation, crew, shelf, voice):
        self.speculation = speculation
        self.crew = crew
        self.shelf = shelf
        self.voice = voice
        self.history = []
        self.waits = []
        """What each pause was told to last, with its number."""
        self.pauses = 0
        self.zero_us = 0
        self.sound = audio.silence(0)

    def listening(self):
        self.speculation.listening(tuple(self.history))

    async def pause(self, said, us=200 * MS, *, parting=False, zero_us=None):
        """Pause after *said* for *us*."""
        self.pauses += 1
        number, self.zero_us = self.pauses, clock.now() if zero_us is None else zero_us
        draft, budget = Ledger(self.zero_us), Budget.of(5 * SECOND)
        question = Question(
            said=said,
            history=tuple(self.history),
            budget=budget,
            notes=draft,
            crew=self.crew,
            sound_by=budget,
            guess=True,
            parting=parting,
        )

        def wait(silence_us, rule):
            self.waits.append((number, silence_us, rule))

        self.speculation.paused(question, draft, wait, self.sound)
        await clock.sleep(us)

    async def say(self, said, us=200 * MS):
        """Say *said*, and be done after a pause of *us*; return the turn's ledger."""
        self.listening()
        await self.pause(said, us)
        return self.settle(said)

    def settle(self, said):
        ledger = Ledger(self.zero_us)
        self.speculation.settle(said, ledger)
        return ledger

    def match(self, said):
        budget = Budget.of(SECOND)
        ledger = Ledger(clock.now())
        return self.speculation.match(
            Question(
                said=said,
                history=tuple(self.history),
                budget=budget,
                notes=ledger,
                crew=self.crew,
                sound_by=budget,
            )
        )

    def hear(self, caller, agent):
        self.history += [Said("caller", caller), Said("agent", agent)]

    def silences(self, pause):
        """How long *pause* was told to last, one after the other."""
        return [us for number, us, _ in self.waits if number == pause]


@contextlib.asynccontextmanager
async def talking(responder, *, voice=None, bank=None, ranks=None, second=None):
    """A call, until the block ends."""
    voice = voice or Voice()
    async with shelved(voice) as shared, Crew() as crew:
        shelf = shared.for_call()
        speculation = Speculation(
            responder, shelf, bounds=BOUNDS, ranks=ranks or Ranks(), bank=bank, second=second
        )
        speculation.begin(crew)
        yield Talk(speculation, crew, shelf, voice)
        speculation.hang_up()
