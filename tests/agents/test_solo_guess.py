"""An LLM asked on a guess: its stream is kept for the turn about the same words, and for no other."""

from __future__ import annotations

import contextlib

import pytest

from turnbudget.agents.backends.backend import BackendError
from turnbudget.agents.backends.scripted import ScriptedBackend, fails, says
from turnbudget.agents.llm import LlmResponder
from turnbudget.voice.call.ledger import Ledger
from turnbudget.voice.call.responder import Question, Said
from turnbudget.voice.time import clock
from turnbudget.voice.time.budget import Budget
from turnbudget.voice.time.clock import MS, SECOND
from turnbudget.voice.time.crew import Crew

ONE = says("It is ten. Anything else?")
OTHER = says("It is two. Anything else?")


class Asked:
    """An LLM on its own, asked question after question."""

    def __init__(self, crew, *scripts):
        self.crew = crew
        self.backend = ScriptedBackend(*scripts)
        self.responder = LlmResponder(self.backend)

    async def ask(self, said, *history, guess=False, last_us=5 * SECOND):
        budget = Budget.of(last_us)
        lines = tuple(Said("agent", text) for text in history)
        question = Question(
            said=said,
            history=lines,
            budget=budget,
            notes=Ledger(clock.now()),
            crew=self.crew,
            sound_by=budget,
            guess=guess,
        )
        reply = await self.responder.answer(question)
        async with contextlib.aclosing(reply.rest) as rest:
            return " ".join([reply.text, *[text async for text in rest]])


@contextlib.asynccontextmanager
async def asked(*scripts):
    async with Crew() as crew:
        asked = Asked(crew, *scripts)
        yield asked
    assert asked.backend.busy == 0


@pytest.mark.parametrize("said", ["what is my balance", "What's my balance?"])
async def test_the_same_words_are_asked_once(said):
    """TURN-08: a guess reads the first sentence alone; the turn gets it all."""
    async with asked(ONE, OTHER) as one:
        assert await one.ask("what is my balance", guess=True) == "It is ten."
        assert await one.ask(said) == "It is ten. Anything else?"
        assert len(one.backend.asked) == 1


@pytest.mark.parametrize(
    ("said", "history"), [("what is my balance on friday", ()), ("what is my balance", ("Hello.",))]
)
async def test_other_words_or_another_history_are_asked_anew(said, history):
    """TURN-08, CA-04."""
    async with asked(ONE, OTHER) as one:
        await one.ask("what is my balance", guess=True)
        assert await one.ask(said, *history) == "It is two. Anything else?"


async def test_what_was_taken_once_is_not_said_again():
    async with asked(ONE, OTHER) as one:
        await one.ask("and now", guess=True)
        await one.ask("and now")
        assert await one.ask("and now") == "It is two. Anything else?"


async def test_a_guess_that_failed_is_tried_once_more():
    async with asked(fails("HTTP 503", status=503), ONE) as one:
        with pytest.raises(BackendError):
            await one.ask("what is my balance", guess=True)
        assert await one.ask("what is my balance") == "It is ten. Anything else?"


async def test_a_guess_that_fails_once_the_turn_has_joined_it_is_tried_once_more():
    async with asked(fails("HTTP 503", status=503, after_us=200 * MS), ONE) as one:
        guess = one.crew.create_task(failing(one), name="guess")
        await clock.sleep(100 * MS)
        assert await one.ask("what is my balance") == "It is ten. Anything else?"
        assert await guess


async def failing(one):
    """Say whether a guess fails."""
    try:
        await one.ask("what is my balance", guess=True)
    except BackendError:
        return True
    return False


async def test_a_guess_that_is_given_up_closes_its_stream_at_once():
    async with asked(says("Late.", first_us=2 * SECOND)) as one:
        guess = one.crew.create_task(one.ask("what is", guess=True), name="guess")
        await clock.sleep(100 * MS)
        assert one.backend.busy == 1
        guess.cancel()
        await clock.sleep(MS)
        assert one.backend.busy == 0
