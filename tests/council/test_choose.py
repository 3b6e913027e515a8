"""The choice depends on what was said and who said it, and on nothing else."""

from __future__ import annotations

import random

import pytest
from laws import each
from panel import Says

from turnbudget.agents.agent import Action, Opinion
from turnbudget.council.choose import DialogueState, by_rank, by_vote, by_weight
from turnbudget.council.convene import HeardOpinion, Seat


def heard(*opinions):
    """(name, confidence[, more]) → opinions in seats, in order."""
    found = []
    for place, (name, sure, *more) in enumerate(opinions):
        settings = dict(more[0]) if more else {}
        seat = Seat(Says(name), settings.pop("rank", 0), about=settings.pop("about", ""))
        opening = settings.pop("says", f"This is {name}.")
        found.append(HeardOpinion(place, seat, Opinion(opening, sure, **settings), at_us=0))
    return found


def name(ruling):
    return ruling.chosen.seat.name if ruling.chosen else None


def test_the_surest_is_chosen():
    assert name(by_rank(heard(("a", 0.6), ("b", 0.8), ("c", 0.7)), DialogueState())) == "b"


def test_rank_comes_before_confidence():
    assert name(by_rank(heard(("a", 0.9), ("b", 0.6, {"rank": 1})), DialogueState())) == "b"


def test_rank_does_not_help_an_opinion_that_is_not_good_enough():
    assert name(by_rank(heard(("a", 0.9), ("b", 0.4, {"rank": 1})), DialogueState())) == "a"


def test_by_weight_rank_breaks_ties_only():
    assert name(by_weight(heard(("a", 0.9), ("b", 0.8, {"rank": 1})), DialogueState())) == "a"
    assert name(by_weight(heard(("a", 0.9), ("b", 0.9, {"rank": 1})), DialogueState())) == "b"


@pytest.mark.parametrize("choose", [by_rank, by_weight, by_vote])
def test_equals_are_decided_by_their_seat(choose):
    assert name(choose(heard(("a", 0.4), ("b", 0.8), ("c", 0.8)), DialogueState())) == "b"


def test_a_seat_that_had_asked_is_preferred():
    both = heard(("a", 0.8), ("b", 0.7))
    assert name(by_rank(both, DialogueState())) == "a"
    ruling = by_rank(both, DialogueState(asked_by="b"))
    assert name(ruling) == "b"
    assert ruling.because == "b 0.85 (it had asked), a 0.80"


def test_agreement_adds_and_a_changed_number_is_no_agreement():
    same = {"says": "It is ten dollars!"}
    other = {"says": "it is, ten dollars"}
    assert name(by_rank(heard(("a", 0.8), ("b", 0.76, same), ("c", 0.5, other)), DialogueState())) == "b"
    changed = {"says": "It is two dollars."}
    assert name(by_rank(heard(("a", 0.8), ("b", 0.76, same), ("c", 0.5, changed)), DialogueState())) == "a"


@pytest.mark.parametrize(
    ("backers", "because"), [(1, "a 0.75 (1 agree)"), (2, "a 0.80 (2 agree)"), (5, "a 0.80 (2 agree)")]
)
def test_each_that_agrees_adds_a_twentieth_and_more_than_two_add_no_more(backers, because):
    same = {"says": "Ten."}
    others = [(f"b{number}", 0.3, same) for number in range(backers)]
    assert by_rank(heard(("a", 0.7, same), *others), DialogueState()).because.startswith(because)


def test_two_agree_if_they_would_do_the_same_in_other_words():
    pay = {"action": Action("pay", {"to": "a", "amount": "7"}), "says": "Paying."}
    also = {"action": Action("pay", {"amount": "7", "to": "a"}), "says": "I pay that."}
    assert name(by_rank(heard(("x", 0.8), ("a", 0.77, pay), ("b", 0.6, also)), DialogueState())) == "a"


ABOUT = ({"about": "your balance"}, {"about": "a transfer"})


def test_two_that_disagree_closely_are_asked_about():
    one, other = ABOUT
    ruling = by_rank(heard(("a", 0.9, one), ("b", 0.87, other)), DialogueState())
    assert [each.seat.name for each in ruling.doubt] == ["a", "b"]
    assert ruling.because == "too close to guess: a 0.90, b 0.87"


@each(
    ("opinions", "state"),
    [
        pytest.param((("a", 0.9, ABOUT[0]), ("b", 0.85, ABOUT[1])), DialogueState(), id="far enough"),
        pytest.param((("a", 0.9, ABOUT[0]), ("b", 0.9)), DialogueState(), id="no name for it"),
        pytest.param((("a", 0.9, ABOUT[0]), ("b", 0.9, ABOUT[0])), DialogueState(), id="the same matter"),
        pytest.param((("a", 0.4, ABOUT[0]), ("b", 0.4, ABOUT[1])), DialogueState(), id="neither is good"),
        pytest.param(
            (("a", 0.9, ABOUT[0]), ("b", 0.9, ABOUT[1])), DialogueState(asked_by="a"), id="it had asked"
        ),
        pytest.param(
            (("a", 0.9, ABOUT[0]), ("b", 0.9, ABOUT[1])), DialogueState(doubt=("a", "b")), id="asked just now"
        ),
        pytest.param(
            (("a", 0.9, {**ABOUT[0], "rank": 1}), ("b", 0.9, ABOUT[1])), DialogueState(), id="another rank"
        ),
        pytest.param(
            (("a", 0.9, {**ABOUT[0], "says": "Yes."}), ("b", 0.9, {**ABOUT[1], "says": "yes"})),
            DialogueState(),
            id="they agree",
        ),
    ],
)
def test_nothing_is_asked_where_it_need_not_be(opinions, state):
    ruling = by_rank(heard(*opinions), state)
    assert (name(ruling), ruling.doubt) == ("a", ())


def test_those_in_doubt_are_preferred_once_the_caller_has_answered():
    opinions = heard(("x", 0.9), ("a", 0.7, ABOUT[0]), ("b", 0.8, ABOUT[1]))
    assert name(by_rank(opinions, DialogueState(doubt=("a", "b")))) == "b"


def test_less_than_the_least_is_not_said():
    ruling = by_rank(heard(("a", 0.1), ("b", 0.19)), DialogueState())
    assert (name(ruling), ruling.because) == (None, "the surest 0.19 < 0.20")
    assert by_rank((), DialogueState()).because == "nobody had anything to say"


def test_only_a_good_opinion_is_good_enough():
    assert by_rank(heard(("a", 0.5)), DialogueState()).good
    assert not by_rank(heard(("a", 0.49)), DialogueState()).good


def test_the_vote_of_most_wins_and_its_surest_seat_speaks():
    same = {"says": "Ten."}
    ruling = by_vote(heard(("x", 0.95), ("a", 0.6, same), ("b", 0.7, same)), DialogueState())
    assert (name(ruling), ruling.because[:14]) == ("b", "2 of 3 votes: ")


def test_a_tied_vote_is_decided_by_the_confidence_behind_it():
    one, two = {"says": "One."}, {"says": "Two."}
    opinions = (("a", 0.9, one), ("b", 0.5, one), ("c", 0.8, two), ("d", 0.7, two))
    assert name(by_vote(heard(*opinions), DialogueState())) == "c"


def test_a_vote_that_is_lost_is_not_asked_about():
    same = {"says": "Ten."}
    opinions = heard(("a", 0.8, {**same, **ABOUT[0]}), ("b", 0.8, same), ("c", 0.85, ABOUT[1]))
    assert (name(by_vote(opinions, DialogueState())), by_vote(opinions, DialogueState()).doubt) == ("a", ())


@pytest.mark.parametrize("choose", [by_rank, by_weight, by_vote])
def test_the_choice_is_the_same_in_whatever_order_it_is_given(choose):
    """1,000 shuffles; places stay with their opinions."""
    chance = random.Random(4)  # noqa: S311 - no secret
    opinions = heard(*((f"s{n}", n % 4 / 4 + 0.1, {"says": f"Say {n % 3}."}) for n in range(10)))
    expected = choose(opinions, DialogueState(asked_by="s3"))
    for _ in range(1_000):
        chance.shuffle(opinions)
        found = choose(opinions, DialogueState(asked_by="s3"))
        assert (found.chosen, found.because, found.doubt) == (
            expected.chosen,
            expected.because,
            expected.doubt,
        )
