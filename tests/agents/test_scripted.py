"""A scripted responder says what its table says, when its table says."""

from __future__ import annotations

import asyncio

import pytest
from laws import each

from turnbudget.agents.scripted import Rule, ScriptedResponder
from turnbudget.voice.call.ledger import Ledger
from turnbudget.voice.call.responder import Question
from turnbudget.voice.errors import ConfigError
from turnbudget.voice.time import clock
from turnbudget.voice.time.budget import Budget
from turnbudget.voice.time.clock import MS, SECOND
from turnbudget.voice.time.crew import Crew

TABLE = ScriptedResponder(
    [
        Rule(r"\b(checking|savings)\b", "Which amount?", 120 * MS),
        Rule("balance", "Ten dollars."),
        Rule("^yes", "Done."),
    ],
    Rule("", "Please say that again.", 30 * MS),
)


async def ask(said, table=TABLE, *, guess=False):
    within = Budget.of(SECOND)
    return await table.answer(
        Question(
            said=said, history=(), budget=within, notes=Ledger(0), crew=Crew(), sound_by=within, guess=guess
        )
    )


async def took(said, **how):
    began = clock.now()
    await ask(said, **how)
    return clock.now() - began


@each(
    ("said", "reply"),
    [
        ("to my Savings account", "Which amount?"),
        ("what is my BALANCE", "Ten dollars."),
        ("the balance of my savings", "Which amount?"),
        ("yes", "Done."),
        ("oh yes", "Please say that again."),
        ("unbalanced", "Ten dollars."),
        ("", "Please say that again."),
    ],
)
async def test_the_first_rule_that_matches_answers(said, reply):
    assert (await ask(said)).text == reply


async def test_a_reply_takes_the_delay_of_its_rule():
    for said, delay_us in (("savings", 120 * MS), ("balance", 0), ("well", 30 * MS)):
        assert await took(said) == delay_us


async def test_what_passed_since_a_guess_need_not_pass_again_for_the_same_words():
    """So what a head start is told to have saved, it has."""
    await ask("savings", guess=True)
    assert await took("Savings.") == 0
    assert await took("savings") == 120 * MS
    await ask("savings", guess=True)
    assert await took("my savings") == 120 * MS


async def test_a_guess_that_is_broken_off_saves_nothing_and_one_under_way_is_joined():
    guess = asyncio.ensure_future(ask("savings", guess=True))
    await clock.sleep(50 * MS)
    assert await took("savings") == 70 * MS
    await guess
    guess = asyncio.ensure_future(ask("savings", guess=True))
    await clock.sleep(50 * MS)
    guess.cancel()
    await asyncio.wait([guess])
    assert await took("savings") == 120 * MS


async def test_a_reply_says_who_chose_it_and_why():
    assert (await ask("balance")).because == "matches 'balance'"
    assert (await ask("well")).because == "no rule matches"
    assert (await ask("well")).by == "scripted"


async def test_a_rule_for_everything_is_still_a_rule():
    """The fallback is known by what it is, not by its pattern."""
    everything = Rule("", "Anything.")
    table = ScriptedResponder([everything], everything)
    assert (await ask("well", table)).text == "Anything."


def test_a_pattern_that_is_none_is_refused_in_one_line():
    with pytest.raises(ConfigError, match=r"responder\.rules: '\(' is no regular expression") as refusal:
        ScriptedResponder([Rule("(", "no")], Rule("", "yes"))
    assert "\n" not in str(refusal.value)
