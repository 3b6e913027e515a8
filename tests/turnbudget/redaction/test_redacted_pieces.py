"""A number that is said in pieces, a turn each, is in no text; what may be anybody's stays."""

from __future__ import annotations

from laws import each
from surroundings import row

from turnbudget.redaction.redacted import Redaction
from turnbudget.runs.records import DecisionRow, GuessRow

CARD = "four one one one one one one one one one one one one one one one"
ASKED = "What is your card number?"


def talk(*turns):
    """What is left of each turn of a call: what the caller said, and what we answered."""
    redaction = Redaction()
    rows = [redaction.row(row(heard=heard, said=said)) for heard, said in turns]
    return [one.heard for one in rows]


@each(
    ("turns", "left"),
    [
        (  # as a recogniser wrote a caller's who stopped in the middle
            (
                ("My card number is 41111111", "Sorry, I didn't get that."),
                ("One, one, one, one, one.", "And?"),
            ),
            ["My card number is [digits]", "[digits]."],
        ),
        (
            (
                ("I lost my card.", ASKED),
                ("four one one one", "Mhm."),
                ("one one one one", ""),
                ("and one one one one", ""),
                ("one one one one", ""),
                ("thanks", ""),
                ("I was born in 1984", ""),
            ),
            [
                "I lost my card.",
                *("[digits]", "[digits]", "and [digits]", "[digits]"),
                "thanks",
                "I was born in 1984",
            ],
        ),
        (  # nobody asked: it is a number from the second piece on
            (("four one one one", ""), ("one one one one", ""), ("then one one one one", "")),
            ["four one one one", "[digits]", "then [digits]"],
        ),
        ((("hello", "What is your PIN?"), ("it's 1 2 3 4", "")), ["hello", "it's [digits]"]),
        ((("hello", "Please tell me your card number."), ("4111", "")), ["hello", "[digits]"]),
        (
            (("hello", "What is your phone number?"), ("five five five", ""), ("oh one oh oh", "")),
            ["hello", "[digits]", "[digits]"],
        ),
    ],
)
def test_it_goes_from_every_turn(turns, left):
    assert talk(*turns) == left


@each(
    "turns",
    [
        (("hello", "What are the last four digits of your card?"), ("4242", "")),
        (("a card ending in 4242", ""),),
        (("debit", "Okay, your debit card. What is your address?"), ("1204 Maple Street", "")),
        (("my order number is 4182", ""), ("057731 it is", "")),
        (("hello", ASKED), ("I don't have it, my zip code is 90210", "")),
        (("hello", ASKED), ("I paid 1500 dollars", "")),
        (("transfer 5000 dollars", ""), ("to account 2000", "")),
        (("my card was lost in 2024", ""),),
        (("thanks", "I have your phone number. Which year was it?"), ("2024", "")),
    ],
)
def test_it_stays_as_it_was_said(turns):
    assert talk(*turns) == [heard for heard, _ in turns]


@each("count", range(4, 16))
def test_a_pause_in_the_middle_of_a_number_leaves_no_piece_of_it(count):
    """Partial texts stand among guesses and decisions; the milliseconds beside them stay."""
    partial = " ".join(f"it is {CARD}".split()[: 2 + count])
    because = f"1500 ms: digits: '{partial[6:]}'"
    shown = Redaction().row(
        row(
            heard=f"it is {CARD}",
            said="Thank you.",
            decisions=(DecisionRow(at_us=0, took="silence", because=because),),
            guesses=(GuessRow(said=partial, text="", odds=1.0, ready=True, because=because, outcome="kept"),),
        )
    )
    assert shown.heard == "it is [card]"
    (guess,), (decision,) = shown.guesses, shown.decisions
    assert "one one" not in guess.said + guess.because + decision.because
    assert guess.because.startswith("1500 ms: digits: '[")


def test_what_we_say_of_it_later_goes_as_well():
    redaction = Redaction()
    redaction.row(row(heard=f"it is {CARD}", said="Thank you."))
    assert redaction.row(row(heard="yes", said="Was it 4111 1111?")).said == "Was it [digits]?"
    assert redaction.slots({"card": "41111111"}, ()) == {"card": "[digits]"}
