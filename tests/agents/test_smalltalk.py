"""Small talk answers what belongs to no domain, and leaves all else alone."""

from __future__ import annotations

import random

import pytest
from laws import each

from turnbudget.agents.agent import Context
from turnbudget.agents.check import check_agent
from turnbudget.agents.smalltalk import Smalltalk
from turnbudget.agents.values.heard import plain
from turnbudget.voice.call.responder import Said
from turnbudget.voice.errors import ConfigError
from turnbudget.voice.time import clock
from turnbudget.voice.time.budget import Budget

ELSE = "Is there anything else I can help you with?"


async def say(text, last=ELSE, expects=""):
    context = Context(history=(Said("agent", last),), expects=expects)
    return await Smalltalk().answer(text, context, Budget(0))


@each(
    "text",
    [
        "no", "nope that's gonna be it thank you", "[noise] no that'll be it", "no thank you",
        "no that's all i needed help with today thank you so much for your help", "that's it goodbye",
        "um no that actually all i need for today thank you so much", "you too bye bye",
        "thank you no that was all thank you", "mmm i think that will be all thank you",
        "uh no i think that's all uh you've been very helpful", "Goodbye.", "bye", "nothing else",
    ],
)  # fmt: skip
async def test_a_caller_who_needs_no_more_is_let_go(text):
    opinion = await say(text)
    assert opinion.opening == "Thank you for calling. Have a great day."
    assert opinion.ends_call
    assert opinion.confidence >= 0.75


@each(
    ("text", "kind"),
    [
        ("hello", "greeting"),
        ("hi my name is mary smith", "greeting"),
        ("okay thank you so much", "thanks"),
        ("can you repeat that please", "repeat"),
        ("I'm sorry, what was that?", "repeat"),
        ("are you a robot", "robot"),
        ("Am I talking to a real person?", "robot"),
        ("hold on", "wait"),
        ("hello are you still there", "there"),
        ("yes please", "more"),
        ("alright", "okay"),
    ],
)
async def test_it_knows_what_is_meant(text, kind):
    assert (await say(text)).because == kind


@each(
    "text",
    [
        "hi my name is patricia brown i lost my debit card can you send me a new one",
        "no i also need a new checkbook", "yes i would like to transfer money", "what are your hours",
        "that's the wrong account", "", "[noise]",
    ],
)  # fmt: skip
async def test_a_caller_with_a_wish_is_none_of_its_matter(text):
    assert await say(text) is None


async def test_it_repeats_the_question_and_hands_on_what_is_expected():
    opinion = await say("what was that", last="What is your phone number?", expects="phone")
    assert (opinion.opening, opinion.expects) == ("What is your phone number?", "phone")


@each("text", ["no", "okay", "yes", "thank you", "savings"])
async def test_an_answer_to_another_agents_question_is_not_taken_away(text):
    assert await say(text, last="Is that right?", expects="confirm") is None


async def test_that_is_it_may_answer_a_question():
    assert (await say("that's it", last="Is that right?", expects="confirm")).confidence <= 0.5


async def test_its_words_can_be_others():
    agent = Smalltalk(says={"goodbye": "Cheerio."})
    opinion = await agent.answer("bye", Context(), Budget(0))
    assert opinion.opening == "Cheerio."


def test_a_kind_there_is_not_is_one_line():
    with pytest.raises(ConfigError, match="there is no small talk called 'joke'"):
        Smalltalk(says={"joke": "Knock knock."})


async def test_it_keeps_what_an_agent_promises():
    await check_agent(Smalltalk(), ("hello", "no", "bye", "what was that", "banana"))


@pytest.mark.clock("wall")
async def test_no_utterance_takes_it_long():
    words = (
        "okay thank you no that's all it is be actually great bye and please i need for today so much a lot"
    )
    chooser = random.Random(1)  # noqa: S311 - any words will do
    for _ in range(200):
        text = " ".join(chooser.choice(words.split()) for _ in range(60)) + " banana"
        began = clock.cpu()
        await say(text)
        assert clock.cpu() - began < 100_000
        plain.cache_clear()
