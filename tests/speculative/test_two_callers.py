"""Callers at once, with the same sentence and data of their own: nobody ever hears another's."""

from __future__ import annotations

from itertools import combinations
from random import Random

from guessing import BOUNDS
from voices import shelved, speech

from turnbudget.speculative.prepare import Ranks
from turnbudget.speculative.speculation import Speculation
from turnbudget.voice.call.ledger import Ledger
from turnbudget.voice.call.responder import Question, Reply
from turnbudget.voice.sound import audio
from turnbudget.voice.time import clock
from turnbudget.voice.time.budget import Budget
from turnbudget.voice.time.clock import MS, SECOND
from turnbudget.voice.time.crew import Crew

ASKED = "what is my balance"
AT_ONCE = 64
PAIRS = len(list(combinations(range(AT_ONCE), 2)))
INTERLEAVINGS = 100_000
"""Each two of those who call at once are one, in a random order of their steps."""
FORESEEN = "Is there anything else?"


def told(number):
    return f"You have {number} euros."


SOUNDS = {text: speech(text) for text in (FORESEEN, *map(told, range(AT_ONCE)))}


class Voice:
    """A voice that costs nothing."""

    name, voice = "instant", "tone"

    async def render(self, text, budget=None):
        del budget
        return SOUNDS[text]


class Caller:
    """A caller with a balance, and every step of a call in which it is asked for."""

    name = "caller"

    def __init__(self, number, shared, crew, ranks):
        self.balance = number
        self.others = [told((number + step) % AT_ONCE) for step in (1, 7, 13)]
        self.crew = crew
        self.shelf = shared.for_call()
        self.ahead = Speculation(self, self.shelf, bounds=BOUNDS, ranks=ranks)
        self.ahead.begin(crew)
        self.heard = None
        self.steps = [
            self.speaks,
            self.pauses,
            self.goes_on,
            self.pauses,
            self.nothing,
            self.settles,
            self.hears,
            self.ahead.hang_up,
        ]

    async def make_ready(self, history):
        """Have nothing to make ready."""

    def fixed(self):
        return (FORESEEN,)

    def foreseen(self):
        return (FORESEEN,)

    async def answer(self, question):
        del question
        return Reply(told(self.balance), "caller", completeness="whole")

    def speaks(self):
        self.ahead.listening(())

    def pauses(self):
        budget, draft = Budget.of(SECOND), Ledger(clock.now())
        self.ahead.paused(
            Question(
                said=ASKED,
                history=(),
                budget=budget,
                notes=draft,
                crew=self.crew,
                sound_by=budget,
                guess=True,
            ),
            draft,
            lambda *_: None,
            audio.silence(0),
        )

    def goes_on(self):
        self.ahead.went_on()

    def nothing(self):
        """Wait."""

    def settles(self):
        self.ahead.settle(ASKED, Ledger(clock.now()))

    def hears(self):
        self.heard = self.ahead.opening(told(self.balance))
        assert not any(self.shelf.find(text) for text in self.others)


async def test_no_caller_hears_of_another():
    """CA-03: 10⁵ random interleavings of two calls on one shelf."""
    random, ready, turns = Random(5), 0, 0  # noqa: S311 - no secret hangs on it
    async with shelved(Voice()) as shared, Crew() as crew:
        for _ in range(-(-INTERLEAVINGS // PAIRS)):
            ranks = Ranks()
            callers = [Caller(number, shared, crew, ranks) for number in range(AT_ONCE)]
            order = [caller for caller in callers for _ in caller.steps]
            random.shuffle(order)
            for caller in order:
                caller.steps.pop(0)()
                if random.randrange(2):
                    await clock.sleep(random.choice((0, 0, MS)))
            turns += len(callers)
            for caller in callers:
                assert not caller.shelf.has(told(caller.balance))
                if caller.heard:
                    assert caller.heard[0].text == told(caller.balance)
                    ready += 1
            assert [entry.text for entry in shared.entries()] == []
        await clock.sleep(SECOND)
        assert len(crew) == 0
    assert ready > turns / 2
