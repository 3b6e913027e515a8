"""Settled are words that answer what was asked, or wish for something, and are whole: no more need come."""

from __future__ import annotations

import pytest
from laws import each

from turnbudget.agents.agent import PERSON, Context
from turnbudget.agents.chat import AgentChat
from turnbudget.agents.faq import Faq, Passage
from turnbudget.agents.filling import wishes
from turnbudget.agents.form import Form
from turnbudget.agents.handoff import Handoff
from turnbudget.agents.lookup import Lookup
from turnbudget.agents.slot import Slot
from turnbudget.agents.smalltalk import Smalltalk
from turnbudget.voice.call.responder import Said
from turnbudget.voice.time.budget import Budget
from turnbudget.voice.time.clock import SECOND

ACCOUNTS = {"checking": (), "savings": ("saving",)}
AMOUNT = Slot(name="amount", type="amount", ask="How much?")
SOURCE = Slot(name="source", type="choice", choices=ACCOUNTS, cues=("from",), ask="From where?")
TARGET = Slot(name="target", type="choice", choices=ACCOUNTS, cues=("to", "into"), ask="To where?")
CARD = Slot(name="card", type="choice", choices=("debit", "credit"), ask="Which card?")
DAY = Slot(name="day", type="date", ask="Which day?")
TIME = Slot(name="time", type="time", ask="What time?")
PHONE = Slot(name="phone", type="phone", ask="What is your number?")
COMPANY = Slot(name="company", type="text", choices=("Fossil Gas",), ask="Which company?")
ADDRESS = Slot(name="address", type="address", choices=("Harper Valley",), ask="Which address?")
NAME = Slot(name="name", type="spelled", ask="Your name, letter by letter?")

FORMS = {
    "transfer": ([AMOUNT, SOURCE, TARGET], [r"\btransfer\b"]),
    "card": ([CARD], [r"\blost\b.*\bcard\b", r"\bnew card\b"]),
    "appointment": ([DAY, TIME], [r"\bappointment\b"]),
    "password": ([PHONE], [r"\bpassword\b"]),
    "bill": ([COMPANY, ADDRESS, AMOUNT], [r"\bpay\b.*\bbill\b"]),
    "checks": ([ADDRESS], [r"\bchecks\b"]),
    "spelled": ([NAME], [r"\bspell\b"]),
    "sure": ([AMOUNT], [r"\bpay\b"]),
}
ELSE = "Is there anything else I can help you with?"


class Particular(Form):
    """A form that moves nothing from an account to itself."""

    def objection(self, values):
        same = values.get("source") and values.get("source") == values.get("target")
        return ("target", "That is the same account.") if same else None


def form(name):
    slots, trigger = FORMS[name]
    confirm = "{amount}, right?" if name == "sure" else ""
    return Particular(name, slots, trigger=trigger, action=name, done="Done.", confirm=confirm)


SETTLED = [
    ("transfer", ["i would like to transfer money between my accounts"]),
    ("transfer", ["Hi, my name is Robert Johnson. I would like to transfer money between my accounts."]),
    ("transfer", ["transfer 50 dollars from checking to savings"]),
    ("transfer", ["i want to transfer money", "$135."]),
    ("transfer", ["i want to transfer money", "Ah, the amount is one hundred and thirty-five dollars."]),
    ("transfer", ["i want to transfer money", "one hundred please"]),
    ("transfer", ["i want to transfer 50 dollars", "My checking account."]),
    ("transfer", ["i want to transfer 50 dollars", "Savings,"]),
    ("transfer", ["i want to transfer 50 dollars", "from checking to savings"]),
    ("transfer", ["i want to transfer 50 dollars", "checking, sorry, savings"]),
    ("transfer", ["i want to transfer 50 dollars", "savings", "to my checking account"]),
    ("password", ["reset my password", "I would like to reset my password."]),  # the wish once more
    ("card", ["i lost my debit card can you send me a new one"]),
    ("card", ["I need a new card.", "it's my credit card"]),
    ("appointment", ["I'd like to make an appointment.", "Monday."]),
    ("appointment", ["i'd like an appointment", "uh that'd be tuesday please"]),
    ("appointment", ["i'd like an appointment", "monday", "11 a.m."]),
    ("appointment", ["i'd like an appointment", "monday", "11:30"]),
    ("appointment", ["i'd like an appointment on monday at eleven please"]),
    ("appointment", ["i'd like an appointment", "june 3", "noon"]),
    ("password", ["reset my password", "7-1-5-1-3-9-0-7-8-7"]),
    ("password", ["reset my password", "seven one five", "one three nine", "zero seven eight seven"]),
    ("bill", ["i have to pay a bill", "the company is fossil gas"]),
    ("checks", ["i need checks", "552 Main St., Harper Valley, CA 41912."]),
    ("checks", ["i need checks", "552 main street", "harper valley california", "four one nine one two"]),
    ("sure", ["i want to pay", "50 dollars", "yes"]),
    ("sure", ["i want to pay", "50 dollars", "Yes, that's right."]),
    ("sure", ["i want to pay", "50 dollars", "no"]),
    ("sure", ["i want to pay", "50 dollars", "no, 60 dollars"]),
]  # fmt: skip
OPEN = [
    ("transfer", ["i would like to transfer"]),
    ("transfer", ["i would like to transfer some"]),
    ("transfer", ["transfer 50"]),
    ("transfer", ["i want to transfer money from my checking account"]),  # "to my savings account"
    ("transfer", ["i want to transfer money", "one hundred"]),
    ("transfer", ["i want to transfer money", "one the amount"]),
    ("transfer", ["i want to transfer money", "the amount is"]),
    ("transfer", ["i want to transfer money", "135 dollars and"]),
    ("transfer", ["i want to transfer money", "banana"]),
    ("transfer", ["i want to transfer money", "from checking"]),
    ("transfer", ["i want to transfer 50 dollars", "from my checking account"]),
    ("transfer", ["i want to transfer 50 dollars", "my savings um"]),
    ("transfer", ["i want to transfer 50 dollars", "checking or"]),
    ("transfer", ["i want to transfer 50 dollars", "checking or,"]),
    ("transfer", ["i want to transfer 50 dollars", "checking no"]),
    ("transfer", ["i want to transfer 50 dollars", "not my checking account"]),
    ("transfer", ["i want to transfer 50 dollars", "savings", "savings"]),  # refused, and asked again
    ("card", ["i lost my debit card"]),  # a story: its wish comes next
    ("card", ["can you help me i lost my debit card"]),
    ("card", ["i lost my debit card can you send me a"]),
    ("appointment", ["i'd like an appointment", "monday", "eleven"]),
    ("appointment", ["i'd like an appointment", "monday", "eleven a"]),
    ("appointment", ["i'd like an appointment", "june twenty"]),
    ("password", ["reset my password my number is seven one five"]),
    ("password", ["reset my password", "seven one five"]),
    ("password", ["reset my password", "715-1390"]),
    ("bill", ["i have to pay a bill", "the company is acme"]),
    ("checks", ["i need checks", "001 main street"]),
    ("checks", ["i need checks", "zero zero one main that's m a i n"]),
    ("spelled", ["can you spell it", "s m y"]),
    ("sure", ["i want to pay", "50 dollars", "yes but"]),
    ("sure", ["i want to pay", "50 dollars", "maybe"]),
    ("sure", ["i want to pay", "50 dollars", "no", "the amount"]),
    ("sure", ["i want to pay", "never mind"]),
    ("transfer", ["transfer 5 dollars from checking to savings", "from checking to savings"]),  # said again
]  # fmt: skip


async def last(name, turns):
    trial = AgentChat(form(name))
    return [await trial.say(turn) for turn in turns][-1]


@each(("name", "turns"), SETTLED)
async def test_a_whole_answer_or_wish_is_settled(name, turns):
    assert (await last(name, turns)).completeness == "whole"


@each(("name", "turns"), OPEN)
async def test_whoever_may_go_on_is_not(name, turns):
    """VAD-01, VAD-02: parts, hesitations and stories are waited for."""
    opinion = await last(name, turns)
    assert opinion is None or opinion.completeness != "whole"


async def test_a_trigger_taken_back_is_not():
    found = await last("card", ["i lost my card i'm sorry i would like a loan"])
    assert found.completeness != "whole"


@each(
    ("words", "wish"),
    [
        ("i need to check my balance", True),
        ("reset my password", True),
        ("my savings balance please", True),
        ("what are your branch hours", True),
        ("i was wondering if you could help me with a bill", True),
        ("i lost my card and would like a new one", True),
        ("i lost my card", False),
        ("somebody stole my card", False),
        ("can you help me", False),
        ("i have a question about my card", False),
        ("i'm calling because of my card", False),
        ("my card is broken", False),
    ],
)
def test_a_wish_is_no_story(words, wish):
    assert wishes(words) is wish


@each(
    ("text", "settled"),
    [
        ("no thank you", True),
        ("No, thank you.", True),
        ("you too bye bye", True),
        ("no that'll be all thank you very much", True),
        ("no that's all that i need for today thank you very much for your help", True),
        ("uh no i think that's all uh you've been very helpful thank you", True),
        ("that's all have a great day", True),
        ("bye", True),
        ("can you repeat that please", True),
        ("I'm sorry, what was that?", True),
        ("no", False),
        ("nope", False),
        ("no that was going to be it", False),
        ("no that's all the help i needed today", False),
        ("no thank you that's it", False),
        ("thank you no that was all", False),
        ("no thank you and", False),
        ("you too", False),
        ("okay thank you very much", False),
        ("okay", False),
        ("alright", False),
        ("hello", False),
        ("hi my name is mary smith", False),
        ("yes", False),
        ("i'm sorry", False),
        ("hold on", False),
    ],
)
async def test_small_talk_is_settled_by_a_real_goodbye_or_a_request_to_repeat(text, settled):
    context = Context(history=(Said("agent", ELSE),))
    assert ((await Smalltalk().answer(text, context, Budget(0))).completeness == "whole") is settled


@each(
    ("text", "expects", "settled"),
    [
        ("can i talk to a real person", "", True),
        ("I want to speak to someone, um", "", False),
        ("yes", PERSON, True),
        ("yes but", PERSON, False),
        ("this is ridiculous", "", False),
    ],
)
async def test_a_person_asked_for_is_settled_and_anger_is_not(text, expects, settled):
    assert (
        (await Handoff().answer(text, Context(expects=expects), Budget(0))).completeness == "whole"
    ) is settled


class Nothing:
    """A source that has nothing."""

    async def find(self, values):
        del values


@pytest.mark.parametrize(
    ("text", "settled"),
    [("what are your hours", True), ("what are your hours on", False), ("the order is 604", False)],
)
async def test_a_look_up_is_settled_unless_it_ends_openly(text, settled):
    agent = Lookup("hours", Nothing(), trigger=[r"\bhours\b", r"\border\b"], say="{opens}")
    assert ((await agent.answer(text, Context(), Budget.of(SECOND))).completeness == "whole") is settled


@each(
    ("text", "settled"),
    [
        ("what are the opening hours", True),
        ("Opening hours?", True),
        ("your opening hours", False),
        ("what are the opening hours of the", False),
        ("what are the opening hours of the giraffe house in the zoo", False),
    ],
)
async def test_a_clear_whole_question_is_settled(text, settled):
    agent = Faq("faq", [Passage("What are your opening hours?", "Nine to five."), Passage("Fees?", "None.")])
    opinion = await agent.answer(text, Context(), Budget(0))
    assert bool(opinion and opinion.completeness == "whole") is settled
