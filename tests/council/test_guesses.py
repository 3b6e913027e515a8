"""A hearing begun on a guess: taken up by the turn it fits, by no other, and closed if by none."""

from __future__ import annotations

import pytest
from laws import each
from panel import LAST_US, Says, table

from turnbudget.agents.agent import Action, Opinion
from turnbudget.council.council import Council
from turnbudget.voice.call.responder import Said
from turnbudget.voice.time import clock
from turnbudget.voice.time.clock import MS, SECOND


class Streaming:
    """A rest that is still streaming, and counts how often it is open."""

    def __init__(self):
        self.open = 0

    def opinion(self, said="Ten dollars.", **more):
        self.open += 1
        return Opinion(said, 0.9, rest=self.rest(), **more)

    async def rest(self):
        try:
            yield "And two."
        finally:
            self.open -= 1


def streams(streaming, after_us=0):
    """An agent whose opinion streams on."""

    class Agent(Says):
        async def answer(self, utterance, context, budget):
            await super().answer(utterance, context, budget)
            opinion = streaming.opinion()
            await anext(opinion.rest)
            return opinion

    return Agent("llm", None, after_us=after_us)


@pytest.mark.parametrize("said", ["move it to savings", "Move it to savings.", "move it, um, to savings"])
async def test_a_turn_about_the_same_words_asks_nobody_again(said):
    """TURN-08."""
    form = Says("form", "To which account?")
    async with table(form) as call:
        await call.ask("move it to savings", guess=True)
        assert (await call.talk(said)).text == "To which account?"
        assert len(form.asked) == 1


@pytest.mark.parametrize("said", ["move it to my savings", "don't move it to savings", "move it"])
async def test_a_turn_about_other_words_does(said):
    """TURN-08, CA-01."""
    form = Says("form", lambda said, _: f"You said {said}.")
    async with table(form) as call:
        await call.ask("move it to savings", guess=True)
        assert (await call.talk(said)).text == f"You said {said}."
        assert len(form.asked) == 2


async def test_the_same_words_at_another_place_of_the_dialogue_are_asked_about_again():
    """CA-04: "yes" on a guess, and "yes" after something else was said."""
    form = Says("form", lambda _, context: f"Yes to {context.history[-1].text}")
    async with table(form) as call:
        call.history = [Said("agent", "booking?")]
        await call.ask("yes", guess=True)
        call.history = [Said("agent", "cancelling?")]
        assert (await call.talk("yes")).text == "Yes to cancelling?"


async def test_a_turn_joins_a_hearing_that_is_under_way():
    slow = Says("slow", "Here I am.", after_us=300 * MS)
    async with table(slow) as call:
        guess = call.crew.create_task(call.ask("hello", guess=True), name="guess")
        await clock.sleep(200 * MS)
        began = clock.now()
        assert (await call.ask("hello")).text == "Here I am."
        assert clock.now() - began == 100 * MS
        assert len(slow.asked) == 1
        assert (await guess).text == "Here I am."


async def test_the_turn_waits_for_it_no_longer_than_it_has():
    async with table(Says("slow", "Never.", after_us=100 * SECOND)) as call:
        guess = call.crew.create_task(call.ask("hello", guess=True, last_us=50 * SECOND), name="guess")
        await clock.sleep(10 * MS)
        began = clock.now()
        assert await call.ask("hello") is None
        assert clock.now() - began == LAST_US
        guess.cancel()


async def test_seats_that_failed_on_a_guess_are_asked_once_more():
    given = [OSError("no network"), "Here I am."]
    agent = Says("llm", lambda *_: given.pop(0))
    async with table(agent) as call:
        assert await call.ask("hello", guess=True) is None
        assert (await call.ask("hello")).text == "Here I am."


async def test_a_later_guess_drops_the_one_before():
    slow = Says("slow", "Here I am.", after_us=300 * MS)
    async with table(slow) as call:
        first = call.crew.create_task(call.ask("move", guess=True), name="guess")
        await clock.sleep(100 * MS)
        assert (await call.ask("move it", guess=True)).text == "Here I am."
        assert first.cancelled()


async def test_a_guess_that_is_given_up_leaves_nobody_at_work():
    async with table(Says("slow", "Here I am.", after_us=SECOND)) as call:
        guess = call.crew.create_task(call.ask("move", guess=True), name="guess")
        await clock.sleep(100 * MS)
        guess.cancel()
        await clock.sleep(MS)
        assert len(call.crew) == 0


@each("after_us", [0, 300 * MS])
@each("way", ["other words", "another guess", "hang-up"])
def test_whatever_nobody_takes_up_is_closed(way, after_us):
    streaming = Streaming()

    async def play():
        async with table(streams(streaming, after_us)) as call:
            guess = call.crew.create_task(call.ask("move", guess=True), name="guess")
            await clock.sleep(400 * MS)
            assert guess.done()
            assert streaming.open == 1
            if way == "other words":
                await call.talk("move it")
            if way == "another guess":
                await call.ask("move it", guess=True)
                await clock.sleep(0)
                assert streaming.open == 1
        assert streaming.open == 0

    clock.run(play(), "virtual")


async def test_a_turn_that_is_broken_off_while_it_joins_leaves_nothing_open():
    streaming = Streaming()
    async with table(streams(streaming, 300 * MS)) as call:
        call.crew.create_task(call.ask("move", guess=True), name="guess")
        await clock.sleep(100 * MS)
        turn = call.crew.create_task(call.ask("move"), name="turn")
        await clock.sleep(100 * MS)
        turn.cancel()
        await clock.sleep(SECOND)
        assert streaming.open == 0
        assert len(call.crew) == 0


@pytest.mark.parametrize("said", ["hello", "hello again"])
async def test_a_defect_in_choosing_costs_the_guess_and_not_the_call(monkeypatch, said):
    async with table(Says("a", "Yes.")) as call:
        with monkeypatch.context() as patch:
            patch.setattr(Council, "_rule", lambda *_: 1 / 0)
            with pytest.raises(ZeroDivisionError):
                await call.ask("hello", guess=True)
        assert (await call.ask(said)).text == "Yes."


# --- what a guess tells -----------------------------------------------------------------------------


@each(
    ("opinion", "completeness", "acts", "text"),
    [
        (Opinion("Which?", 0.9, completeness="whole"), "whole", False, "Which?"),
        (Opinion("Which?", 0.9), "unknown", False, "Which?"),
        (Opinion("Which?", 0.2, completeness="whole"), "unknown", False, "Which?"),
        (Opinion("And then?", 0.9, completeness="part"), "part", False, "And then?"),
        (Opinion("Done.", 0.9, completeness="whole", action=Action("do")), "whole", True, "Done."),
        (
            Opinion("Done.", 0.9, completeness="whole", action=Action("do", meanwhile="Alright, Friday.")),
            "whole",
            False,
            "Alright, Friday.",
        ),
    ],
)
async def test_a_guess_tells_what_the_turn_would_say(opinion, completeness, acts, text):
    async with table(Says("form", opinion)) as call:
        guess = await call.ask("hello", guess=True)
        assert (guess.text, guess.completeness, guess.acts) == (text, completeness, acts)
        assert [piece async for piece in guess.rest] == []
