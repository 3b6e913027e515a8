"""A form asks for what is missing, takes what it is given, and proposes; it keeps nothing itself."""

from __future__ import annotations

import json
import re

import pytest
from laws import each

from turnbudget.agents.agent import Context
from turnbudget.agents.chat import AgentChat
from turnbudget.agents.check import check_agent
from turnbudget.agents.form import Form
from turnbudget.agents.slot import Slot
from turnbudget.voice.errors import ConfigError
from turnbudget.voice.time.budget import Budget

LOST, PUZZLED, SURE, TAKEN_BACK = 0.2, 0.35, 0.95, 0.5

ACCOUNTS = {"checking": (), "savings": ("saving",)}
AMOUNT = Slot(name="amount", type="amount", ask="How much?")
SOURCE = Slot(name="source", type="choice", choices=ACCOUNTS, cues=("from", "out of"), ask="From where?")
TARGET = Slot(name="target", type="choice", choices=ACCOUNTS, cues=("to", "into"), ask="To where?")
PHONE = Slot(name="phone", type="phone", ask="What is your phone number?")
COMPANY = Slot(name="company", type="text", choices=("fossil gas",), ask="Which company?")
ADDRESS = Slot(name="address", type="address", choices=("Harper Valley",), ask="Which address?")


class Transfer(Form):
    """Money does not move from an account to itself."""

    def objection(self, values):
        if values.get("source") and values.get("source") == values.get("target"):
            return "target", "That is the same account."
        return None


def transfer(**more):
    settings = {
        "trigger": [r"\btransfer\b", r"\bmove\b"],
        "begin": "Sure.",
        "confirm": "{amount} from {source} to {target}, right?",
        "done": "Moved {amount}. {result}",
        "action": "transfer",
    }
    return Transfer("transfer", [AMOUNT, SOURCE, TARGET], **(settings | more))


def bill():
    return Form("bill", [COMPANY, ADDRESS, AMOUNT], trigger=[r"\bpay\b"], done="Paid {amount} to {company}.")


async def talk(form, *turns):
    """Say *turns*; return what came of each: what was said, or None."""
    trial = AgentChat(form)
    opinions = [await trial.say(turn) for turn in turns]
    return opinions, [opinion and opinion.opening for opinion in opinions]


async def test_it_asks_for_one_thing_at_a_time_and_acts_when_told_to():
    opinions, said = await talk(
        transfer(),
        "hi my name is robert johnson i would like to transfer money between my accounts",
        "uh the amount is one hundred and thirty five dollars",
        "savings",
        "checking",
        "yes",
    )
    assert said == [
        "Sure. How much?",
        "From where?",
        "To where?",
        "135 dollars from savings to checking, right?",
        "Moved 135 dollars. {result}",
    ]
    assert [opinion.action for opinion in opinions[:-1]] == [None] * 4
    assert opinions[-1].action.name == "transfer"
    assert opinions[-1].action.arguments == {"amount": "135", "source": "savings", "target": "checking"}


@each(
    "text",
    [
        "transfer 135 dollars from savings to checking",
        "Transfer $135 to my checking account, from savings.",
        "i want to move one hundred and thirty five dollars out of my savings into my checking account",
        "transfer 135 dollars from checking sorry savings to checking",
        "transfer 200 no actually 135 dollars from savings to checking",
        "transfer 135 from savings to savings i mean checking",
    ],
)
async def test_several_slots_are_filled_at_once(text):
    opinions, _ = await talk(transfer(), text)
    assert opinions[0].slots == {"amount": "135", "source": "savings", "target": "checking"}
    assert opinions[0].expects == "confirm"


@each(
    ("correction", "slots"),
    [
        ("no, 300", ("300", "savings", "checking")),
        ("Actually, three hundred.", ("300", "savings", "checking")),
        ("no the amount is 300 dollars", ("300", "savings", "checking")),
        ("yes but from checking to savings", ("135", "checking", "savings")),
        ("no from checking to savings", ("135", "checking", "savings")),
    ],
)
async def test_a_correction_changes_what_it_means_and_is_confirmed_anew(correction, slots):
    opinions, said = await talk(transfer(), "transfer 135 dollars from savings to checking", correction)
    assert tuple(opinions[1].slots[name] for name in ("amount", "source", "target")) == slots
    assert said[1].endswith("right?")
    assert opinions[1].action is None


async def test_a_correction_of_an_earlier_answer_is_acknowledged_and_the_question_put_again():
    _, said = await talk(transfer(), "transfer 50 dollars", "savings", "no, checking", "savings")
    assert said[2:] == ["Okay, checking. To where?", "50 dollars from checking to savings, right?"]


async def test_a_plain_no_asks_what_to_change():
    opinions, said = await talk(
        transfer(), "transfer 50 dollars from savings to checking", "no", "the amount", "80 dollars", "yes"
    )
    assert said[1] == "What should I change?"
    assert opinions[2].confidence == PUZZLED
    assert said[3:] == ["80 dollars from savings to checking, right?", "Moved 80 dollars. {result}"]


async def test_saying_the_same_again_confirms():
    opinions, _ = await talk(
        transfer(), "transfer 50 dollars from savings to checking", "from my savings account to checking"
    )
    assert opinions[1].action is not None


async def test_an_objection_takes_the_slot_back():
    opinions, said = await talk(transfer(), "transfer 50 dollars from savings to savings")
    assert said == ["That is the same account. To where?"]
    assert opinions[0].expects == "target"
    assert "target" not in opinions[0].slots


async def test_what_is_not_its_matter_is_none():
    opinions, _ = await talk(transfer(), "what are your hours", "yes", "135 dollars", "", "[noise]")
    assert opinions == [None] * 5


async def test_an_answer_it_does_not_understand_is_asked_again_ever_less_sure():
    opinions, said = await talk(transfer(), "transfer", "banana", "banana", "banana")
    assert said[1] == "Sorry, I didn't get that. How much?"
    assert [opinion.confidence for opinion in opinions[1:]] == [PUZZLED, PUZZLED, LOST]
    assert opinions[3].state["misses"] == 3


async def test_a_caller_may_leave():
    opinions, said = await talk(transfer(), "transfer money", "never mind", "fifty dollars")
    assert said[1].startswith("Okay, I have left that.")
    assert opinions[2] is None


async def test_a_trigger_taken_back_is_half_sure():
    form = Form("balance", [SOURCE], trigger=[r"\baccount\b"])
    opinions, _ = await talk(
        form, "i would like to check my account or i'm sorry i would i need a new checkbook"
    )
    assert opinions[0].confidence == TAKEN_BACK


async def test_a_telephone_comes_in_pieces():
    form = Form("password", [PHONE], trigger=["password"], done="Sent to {phone}.")
    _, said = await talk(form, "reset my password", "one two nine", "three five three", "seven four zero two")
    assert said[1:] == ["1 2 9. Go on, please.", "1 2 9 3 5 3. Go on, please.", "Sent to 129-353-7402."]


async def test_a_zip_code_said_once_more_is_no_amount():
    opinions, said = await talk(
        bill(),
        "i would like to pay a bill",
        "the company is fossil gas",
        "the address is zero seven six first street harper valley california six three four five three",
        "six three four five three",
        "the amount of the bill is one hundred and thirteen dollars",
    )
    assert opinions[3].expects == "amount"
    assert said[4] == "Paid 113 dollars to fossil gas."


async def test_the_wish_said_once_more_is_no_company():
    _, said = await talk(bill(), "i would like to pay a bill", "yes i'd like to pay a bill", "acme plumbing")
    assert said[1] == "Which company?"
    assert said[2] == "Which address?"


async def test_a_question_back_is_no_answer():
    opinions, _ = await talk(bill(), "i would like to pay a bill", "i'm sorry what was that")
    assert opinions[1].confidence == PUZZLED


async def test_what_has_been_done_is_not_done_twice():
    form = Form(
        "card", [Slot(name="card", type="choice", choices=("debit", "credit"), ask="Which card?")],
        trigger=["lost"], action="order", done="Ordered a {card} card.",
    )  # fmt: skip
    opinions, said = await talk(form, "i lost my debit card", "my debit card", "no that was it")
    assert opinions[0].action is not None
    assert said[1].startswith("That is all set.")
    assert opinions[1].action is None
    assert opinions[2] is None


async def test_the_same_of_something_else_is_a_new_wish():
    form = Form("balance", [SOURCE], trigger=["balance"], action="balance", done="It is {result}.")
    opinions, _ = await talk(
        form, "the balance of my account", "checking", "and of my savings account", "thank you"
    )
    assert opinions[2].action.arguments == {"source": "savings"}
    assert opinions[3] is None


async def test_half_a_wish_after_that_is_none():
    opinions, _ = await talk(
        transfer(confirm=""), "transfer 5 dollars from savings to checking", "and 7 dollars"
    )
    assert opinions[1] is None


async def test_a_new_wish_after_that_begins_anew():
    opinions, said = await talk(
        transfer(confirm=""), "transfer 5 dollars from savings to checking", "transfer"
    )
    assert opinions[0].action is not None
    assert said[1] == "Sure. How much?"


async def test_another_forms_question_is_not_its_own():
    one, two = transfer(), bill()
    states = {"transfer": (await one.answer("transfer", Context(), Budget(0))).state}
    states["bill"] = {"values": {"company": "x", "address": "y"}, "asking": "amount"}
    context = Context(states=states, asked_by="bill", expects="amount")
    assert (await two.answer("fifty dollars", context, Budget(0))).confidence == SURE
    other = await one.answer("fifty dollars", context, Budget(0))
    assert other is None or other.confidence < SURE


async def test_its_question_repeated_by_small_talk_is_still_its_own():
    state = (await transfer().answer("transfer", Context(), Budget(0))).state
    context = Context(states={"transfer": state}, asked_by="smalltalk", expects="amount")
    assert (await transfer().answer("fifty", context, Budget(0))).slots == {"amount": "50"}


async def test_a_shared_slot_is_taken_over_from_the_call():
    where = Slot(name="address", type="address", ask="Where?", shared=True)
    form = Form("checks", [where], trigger=["checks"], done="Sent to {address}.")
    opinion = await form.answer("i need checks", Context(slots={"address": "1 Main Street"}), Budget(0))
    assert opinion.opening == "Sent to 1 Main Street."


async def test_its_state_travels_as_json():
    opinion = await transfer().answer("transfer 50 dollars", Context(), Budget(0))
    state = json.loads(json.dumps(opinion.state))
    context = Context(states={"transfer": state}, asked_by="transfer", expects=opinion.expects)
    assert (await transfer().answer("savings", context, Budget(0))).expects == "target"


async def test_it_keeps_what_an_agent_promises():
    turns = ("transfer 135 dollars", "banana", "savings", "checking", "no", "300", "yes")
    await check_agent(transfer(), turns)
    await check_agent(bill(), ("pay a bill", "fossil gas", "76 first street", "harper valley", "90210"))


@each(
    ("make", "line"),
    [
        (lambda: Form("a", [], trigger=[]), r"agent a: a form has no trigger; "),
        (lambda: Form("a", [], trigger=["("]), r"agent a: '\(' is no regular expression \(.*\); mend it"),
        (lambda: Form("a", [], trigger="pay"), r"agent a: 'pay' is one text; write a list of texts"),
        (
            lambda: Form("a", [Slot(name="b")], trigger=["x"]),
            r"agent a, slot b: there is no question for it; ",
        ),
        (
            lambda: Form("a", [Slot(name="b", type="c", ask="?")], trigger=["x"]),
            r"agent a, slot b: no slot type",
        ),
        (
            lambda: Form("a", [Slot(name="b", type="choice", ask="?")], trigger=["x"]),
            r"agent a, slot b: a choice",
        ),
        (lambda: Form("a", [AMOUNT, AMOUNT], trigger=["x"]), r"agent a, slot amount: there are two"),
        (lambda: Form("a", [Slot(name="result", ask="?")], trigger=["x"]), r"agent a: 'result' is no name"),
        (lambda: Form("a", [], trigger=["x"], done="{result}"), r"agent a: done has \{result\} but"),
        (lambda: Form("a", [], trigger=["x"], confidence=2), r"agent a: confidence 2 is not"),
    ],
)
def test_a_form_that_means_nothing_is_one_line(make, line):
    with pytest.raises(ConfigError) as caught:
        make()
    assert re.match(line, str(caught.value))
    assert "\n" not in str(caught.value)
