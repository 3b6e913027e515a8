"""What agents say is known before they say it, wherever it holds no caller's data."""

from __future__ import annotations

import pytest

from turnbudget.agents.agent import PERSON, Context, Foresees
from turnbudget.agents.backends.scripted import ScriptedBackend, says
from turnbudget.agents.faq import Faq, Passage
from turnbudget.agents.handoff import Handoff
from turnbudget.agents.llm import Llm
from turnbudget.agents.lookup import Lookup
from turnbudget.agents.smalltalk import Smalltalk
from turnbudget.voice.call.responder import Said
from turnbudget.voice.time.budget import Budget

ELSE = "Is there anything else I can help you with?"


class Nothing:
    """A source that has nothing."""

    async def find(self, values):
        del values


def lookup(say):
    return Lookup("hours", Nothing(), trigger=["hours"], say=say)


def faq():
    return Faq("faq", [Passage("Open?", "Nine to five. Not on Sundays."), Passage("Fees?", "None.")])


def heard(*lines, expects=""):
    return Context(history=tuple(Said("agent", line) for line in lines), expects=expects)


@pytest.mark.parametrize("agent", [Smalltalk(), Handoff(), lookup("We are open."), faq()])
def test_whoever_has_fixed_sentences_foresees_them(agent):
    assert isinstance(agent, Foresees)
    assert agent.fixed()


def test_an_llm_foresees_nothing():
    assert not isinstance(Llm("llm", ScriptedBackend(says("Hello."))), Foresees)


def test_small_talk_is_fixed_but_for_names_and_repetitions():
    """CA-03: no caller's name is in what is rendered for all."""
    fixed = Smalltalk(says={"okay": ""}).fixed()
    assert {"Thank you for calling. Have a great day.", "Hello. How can I help you?"} <= set(fixed)
    assert all(text and "{" not in text for text in fixed)


@pytest.mark.parametrize(
    ("context", "openings"),
    [
        (Context(), ("Hello. How can I help you?",)),
        (heard("Which day?"), ("Which day?",)),
        (
            heard("It is done.", ELSE),
            (
                "Thank you for calling. Have a great day.",
                "What else can I help you with?",
                f"You're welcome. {ELSE}",
                ELSE,
            ),
        ),
    ],
)
def test_small_talk_foresees_the_end_of_a_call_and_the_question_once_more(context, openings):
    assert Smalltalk().next_openings(context) == openings


async def test_what_small_talk_foresees_is_what_it_says():
    context = heard(ELSE)
    openings = Smalltalk().next_openings(context)
    for said in ("no thank you", "yes please", "thank you", "what was that"):
        assert (await Smalltalk().answer(said, context, Budget(0))).opening in openings


def test_a_handoff_foresees_its_announcement_once_a_person_was_offered():
    agent = Handoff(say="A moment.", sorry="Sorry.")
    assert agent.fixed() == ("A moment.", "Sorry.")
    assert agent.next_openings(heard("Shall I connect you?", expects=PERSON)) == ("A moment.",)
    assert agent.next_openings(heard("Which day?", expects="day")) == ()


def test_a_look_up_has_fixed_what_has_no_field_in_it():
    failing = ("I could not find anything on that.", "I'm sorry, I can't look that up right now.")
    assert lookup("We are open.").fixed() == ("We are open.", *failing)
    assert lookup("Open from {opens}.").fixed() == failing


def test_a_faq_has_fixed_every_sentence_the_first_ones_first():
    assert faq().fixed() == ("Nine to five.", "None.", "Not on Sundays.")
    assert faq().next_openings(Context()) == ()
