"""The kit finds what an agent does not keep, and finds nothing in one that keeps it all."""

from __future__ import annotations

import asyncio
import threading

import pytest
from laws import each

from turnbudget.agents.agent import Action, Opinion
from turnbudget.agents.check import check_agent, proven
from turnbudget.voice.errors import BrokenPromise
from turnbudget.voice.time import clock
from turnbudget.voice.time.clock import MS, SECOND


class Good:
    name = "good"

    async def answer(self, utterance, context, budget):
        del context
        async with clock.move_on_at(budget.share(100 * MS).ends_us):
            await clock.sleep(100 * MS - 1)
            return Opinion("Hello.", 0.5) if utterance else None
        return None


class Sleeper(Good):
    async def answer(self, utterance, context, budget):
        del utterance, context, budget
        await asyncio.get_running_loop().create_future()


class Deaf(Good):
    async def answer(self, utterance, context, budget):
        del utterance, context, budget
        for _ in range(5):
            try:
                await clock.sleep(10 * MS)
            except asyncio.CancelledError:
                continue
        return Opinion("Hello.", 0.5)


class Blocker(Good):
    async def answer(self, utterance, context, budget):
        del utterance, context, budget
        threading.Event().wait(0.08)
        return Opinion("Hello.", 0.5)


class Counter(Good):
    said = 0

    async def answer(self, utterance, context, budget):
        del utterance, context, budget
        self.said += 1
        return Opinion(f"Hello number {self.said}.", 0.5)


class Writer(Good):
    async def answer(self, utterance, context, budget):
        del budget
        context.slots["last"] = utterance


class Overrunner(Good):
    async def answer(self, utterance, context, budget):
        del utterance, context, budget
        await clock.sleep(2 * SECOND)


class Raiser(Good):
    async def answer(self, utterance, context, budget):
        raise ValueError(utterance, context, budget)


class Nonsense(Good):
    def __init__(self, given):
        self.given = given

    async def answer(self, utterance, context, budget):
        del utterance, context, budget
        return self.given


class Seer(Good):
    """Foresees what it is told to."""

    def __init__(self, fixed=(), openings=()):
        self.told = fixed
        self.openings = openings

    def fixed(self):
        return self.told

    def next_openings(self, context):
        del context
        return self.openings


class Blind(Seer):
    def next_openings(self, context):
        raise LookupError(context)


async def test_what_foresees_well_breaks_nothing():
    await check_agent(Seer(("Hello.",), ("What else?",)))


async def test_what_raises_while_it_foresees_is_found():
    with pytest.raises(BrokenPromise, match="next_openings raises LookupError"):
        await check_agent(Blind())


async def test_a_good_agent_breaks_nothing():
    await check_agent(Good())


@each(
    ("agent", "broken"),
    [
        (Sleeper(), "it does not keep to its budget"),
        (Deaf(), "it does not end when it is cancelled"),
        (Blocker(), "it holds the loop longer than"),
        (Counter(), "it is not pure"),
        (Writer(), "it raises TypeError"),
        (Overrunner(), "it goes on although no time is left"),
        (Raiser(), "it raises ValueError"),
        (Nonsense("hello"), "it gives str, no Opinion"),
        (Nonsense(Opinion("...", 0.5)), "it says nothing"),
        (Nonsense(Opinion("Hello.", 2)), "its confidence is 2"),
        (Nonsense(Opinion("It is {result}.", 0.5)), "{result} without an action"),
        (Nonsense(Opinion("Hello.", 0.5, slots={"a": 1})), "a text of it is none"),
        (Nonsense(Opinion("Hello.", 0.5, completeness=None)), "its completeness is none"),
        (Nonsense(Opinion("Hello.", 0.5, action=Action("a", meanwhile=None))), "a text of it is none"),
        (
            Nonsense(Opinion("Hello.", 0.5, action=Action("a", meanwhile="{result}!"))),
            "it speaks of a {result} before there is one",
        ),
        (Seer(fixed=["Hello."]), "fixed gives no tuple of texts"),
        (Seer(fixed=("Hello, {name}.",)), "fixed has a text with a hole in it"),
        (Seer(openings=("",)), "next_openings has a text with a hole in it, or an empty one"),
        (Seer(openings=None), "next_openings gives no tuple of texts"),
    ],
    ids=lambda each: getattr(type(each), "__name__", ""),
)
async def test_what_is_broken_is_found(agent, broken):
    with pytest.raises(BrokenPromise) as caught:
        await check_agent(agent, ("hello",))
    assert any(broken in each for each in caught.value.promises), caught.value


@each(
    ("agent", "why"),
    [
        (Good, "Good is a class: make one of it"),
        (object(), "object has no name"),
        (type("A", (), {"name": "a"})(), "A has no `async def answer(utterance, context, budget)`"),
        (type("A", (), {"name": "a", "answer": lambda *_: None})(), "A has no `async def answer"),
        ("agent", "str has no name"),
    ],
)
async def test_what_is_no_agent_is_said_to_be_none(agent, why):
    assert proven(agent).startswith(why)
    with pytest.raises(BrokenPromise) as caught:
        await check_agent(agent)
    assert caught.value.promises == (proven(agent),)


def test_an_answer_with_other_arguments_is_no_agents():
    class Other:
        name = "other"

        async def answer(self, utterance):
            del utterance

    assert proven(Other()) == "Other.answer does not take (utterance, context, budget)"
