"""A wrong hit is worse than any miss, so it is counted from the rows, by nobody's opinion."""

from __future__ import annotations

import msgspec
import pytest
from sample_run import SHELF, STARTS, guess, turn, unasked

from turnbudget.runs.records import verdicts


def hit(number=1, asked="savings", heard="savings", **named):
    return turn(turn=number, heard=heard, asked=asked, lanes=SHELF, **named)


def test_an_answer_from_the_shelf_to_what_was_heard_is_a_right_hit():
    assert verdicts([hit(guesses=STARTS)]) == [""]


@pytest.mark.parametrize(
    "row",
    [
        turn(),
        hit(costs={"endpoint": 9}, answered=False),
        msgspec.structs.replace(unasked("a", "greeting", 0, 0, "Hi"), lanes=SHELF),
    ],
    ids=["rendered", "never heard", "unasked"],
)
def test_what_was_not_an_answer_from_the_shelf_is_no_hit(row):
    assert verdicts([row]) == [None]


def test_a_hit_begun_before_the_real_end_is_wrong():
    assert verdicts([hit(false_cut=True)]) == ["begun before the caller's real end"]


def test_a_hit_whose_words_come_again_with_more_is_wrong():
    """TURN-08: without a reference, that the caller went on is what shows it."""
    longer = turn(turn=2, heard="no checking", asked="savings no checking")
    greeting = unasked("00d676d7058c49bb", "reprompt", 9, 0, "Are you there?")
    assert verdicts([hit(), greeting, longer]) == [
        "the caller had more to say, and the words came again in the next turn",
        None,
        None,
    ]


def test_the_same_words_in_a_turn_of_their_own_are_no_second_helping():
    assert verdicts([hit(1), hit(2), hit(3, "savings please", "savings please")]) == ["", "", ""]


def test_another_calls_turn_is_not_the_next():
    other = turn(call="b", turn=2, heard="no checking", asked="savings no checking")
    assert verdicts([hit(), other]) == ["", None]


@pytest.mark.parametrize(
    ("guessed", "wrong"),
    [("Savings.", False), ("uh savings", False), ("my savings", True), ("no savings", True)],
)
def test_a_hit_on_other_words_than_those_heard_is_wrong(guessed, wrong):
    """CA-03: case and fillers aside, work on one sentence is never kept for another."""
    (verdict,) = verdicts([hit(guesses=(guess(guessed, "And?", "kept"),))])
    assert bool(verdict) == wrong
    (verdict,) = verdicts([hit(guesses=(guess(guessed, "And?", "dropped"),))])
    assert not verdict


def test_a_row_written_before_it_told_what_was_asked_goes_by_what_was_heard():
    assert verdicts([hit(asked="", guesses=STARTS)]) == [""]
