"""What a form says meanwhile, and what it can be foreseen to say."""

from __future__ import annotations

import re

import pytest
from laws import each

from turnbudget.agents.agent import Context, Foresees
from turnbudget.agents.chat import AgentChat
from turnbudget.agents.form import Form
from turnbudget.agents.slot import Slot
from turnbudget.voice.errors import ConfigError

MOST = 24

ACCOUNTS = {"checking": (), "savings": ("saving",)}
AMOUNT = Slot(name="amount", type="amount", ask="How much?")
SOURCE = Slot(name="source", type="choice", choices=ACCOUNTS, cues=("from",), ask="From where?")
TARGET = Slot(name="target", type="choice", choices=ACCOUNTS, cues=("to", "into"), ask="To where?")
CARD = Slot(name="card", type="choice", choices=("debit", "credit"), ask="Which card?")
PHONE = Slot(name="phone", type="phone", ask="Your number?")
NOTE = Slot(name="note", ask="", required=False)
ADDRESS = Slot(name="address", type="address", ask="Which address?", again="Once more, please?")


class Transfer(Form):
    """Money does not move from an account to itself."""

    def objection(self, values):
        same = values.get("source") and values.get("source") == values.get("target")
        return ("target", "That is the same account.") if same else None


def card(**more):
    settings = {
        "trigger": ["lost"],
        "action": "order",
        "meanwhile": "Okay, your {card} card.",
        "done": "It is {result}.",
    }
    return Form("card", [CARD], **(settings | more))


def transfer(**more):
    settings = {"trigger": ["transfer"], "begin": "Sure.", "action": "transfer", "done": "Moved."}
    settings["meanwhile"] = "Okay, {amount} from {source} to {target}."
    return Transfer("transfer", [AMOUNT, SOURCE, TARGET], **(settings | more))


async def after(form, *turns):
    trial = AgentChat(form)
    opinions = [await trial.say(turn) for turn in turns]
    return trial.context, opinions[-1] if opinions else None


async def test_what_was_understood_is_said_before_it_is_done():
    _, opinion = await after(card(), "i lost my debit card")
    assert opinion.action.meanwhile == "Okay, your debit card."
    assert opinion.opening == "It is {result}."


async def test_without_one_nothing_is():
    _, opinion = await after(card(meanwhile=""), "i lost my debit card")
    assert opinion.action.meanwhile == ""


async def test_what_is_not_known_is_not_spoken_of():
    form = Form("card", [CARD, NOTE], trigger=["lost"], action="order", meanwhile="Okay, {card}, {note}.")
    _, opinion = await after(form, "i lost my debit card")
    assert opinion.action.meanwhile == ""


async def test_otherwise_stays_what_it_is():
    _, opinion = await after(card(otherwise="No cards left."), "i lost my debit card")
    assert (opinion.action.otherwise, opinion.action.meanwhile) == (
        "No cards left.",
        "Okay, your debit card.",
    )


async def test_the_conversation_has_both_sentences():
    context, _ = await after(card(done="Done."), "i lost my debit card")
    assert context.history[-1].text == "Okay, your debit card. Done."


@pytest.mark.parametrize(
    ("more", "line"),
    [
        ({"action": ""}, r"agent card: done has \{result\} but there is no action; name one"),
        ({"action": "", "done": "Done."}, r"agent card: there is a meanwhile but no action; name one"),
        ({"meanwhile": "It is {result}."}, r"agent card: meanwhile has \{result\}; it is said before"),
    ],
)
def test_a_meanwhile_that_means_nothing_is_one_line(more, line):
    with pytest.raises(ConfigError) as caught:
        card(**more)
    assert re.match(line, str(caught.value))
    assert "\n" not in str(caught.value)


OPENINGS = [
    (transfer, [], ("Sure. How much?", "From where?", "To where?")),
    (transfer, ["transfer"], ("From where?", "To where?")),
    (transfer, ["transfer 5 dollars"], ("To where?",)),
    (
        transfer,
        ["transfer 5 dollars", "savings"],
        ("Okay, 5 dollars from savings to checking.", "That is the same account. To where?"),
    ),
    (card, [], ("Which card?", "Okay, your debit card.", "Okay, your credit card.")),
    (card, ["i lost my card"], ("Okay, your debit card.", "Okay, your credit card.")),
    (lambda: card(meanwhile="", done="Done."), ["i lost my card"], ("Done.",)),
    (lambda: card(confirm="{card}?"), ["i lost my card"], ("debit?", "credit?")),
    (
        lambda: card(confirm="{card}?"),
        ["i lost my card", "debit"],
        ("Okay, your debit card.", "What should I change?"),
    ),
    (
        lambda: Form("p", [PHONE], trigger=["p"], action="p", meanwhile="Okay, your phone.", done="Sent."),
        ["p"],
        ("Okay, your phone.",),
    ),
    (lambda: Form("p", [PHONE], trigger=["p"], action="p", meanwhile="{phone}.", done="Sent."), ["p"], ()),
]


@each(("make", "turns", "openings"), OPENINGS)
async def test_it_foresees_what_it_opens_with_next(make, turns, openings):
    form = make()
    context, _ = await after(form, *turns)
    assert form.next_openings(context) == openings


async def test_what_it_foresees_is_what_it_says():
    form = card()
    context, _ = await after(form, "i lost my card")
    for choice, opening in zip(("debit", "credit"), form.next_openings(context), strict=True):
        _, opinion = await after(form, "i lost my card", choice)
        assert opinion.action.meanwhile == opening


def test_fixed_are_the_texts_that_hold_no_callers_data():
    """CA-03: what is rendered before any call holds nobody's amount, address or number."""
    fixed = transfer(done="Moved {amount}.").fixed()
    assert fixed[:3] == ("Sure. How much?", "How much?", "Sorry, I didn't get that. How much?")
    assert not any("{" in text or "Moved" in text for text in fixed)
    assert "Okay, I have left that. Is there anything else I can help you with?" in fixed


def test_choices_are_fixed_because_all_of_them_are():
    fixed = card().fixed()
    assert {"Okay, your debit card.", "Okay, your credit card."} <= set(fixed)
    assert not any("It is" in text for text in fixed)


def test_too_many_choices_are_not():
    many = Slot(
        name="card", type="choice", choices=tuple(f"c{each}" for each in range(MOST + 1)), ask="Which?"
    )
    form = Form("card", [many], trigger=["lost"], action="order", meanwhile="Okay, {card}.", done="Done.")
    assert not any("Okay, c" in text for text in form.fixed())


def test_the_pieces_of_an_address_are_asked_for_in_fixed_words():
    form = Form("checks", [ADDRESS], trigger=["checks"], done="Sent to {address}.")
    assert {"And the zip code?", "Once more, please?", "Go on, please."} <= set(form.fixed())
    assert not any("Sent" in text for text in form.fixed())


def test_a_form_foresees():
    assert isinstance(card(), Foresees)
    assert card().next_openings(Context(states={"card": {"done": True}}))[0] == "Which card?"
