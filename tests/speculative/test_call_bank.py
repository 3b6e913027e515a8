"""What a reply bank tells one call, and no other."""

from __future__ import annotations

import pytest
from spoken import ELSE, GREETING, calls

from turnbudget.speculative.bank.mine import mine
from turnbudget.speculative.speculation import NAME, CallBank, SharedBank

DAY = "What day would you like the taxi?"
BOOK = "I would like to book a taxi"


class Noted:
    """Where it notes why nothing matched."""

    def __init__(self):
        self.took = []

    def decide(self, took, _):
        self.took.append(took)


@pytest.fixture(scope="module")
def bank():
    return mine(calls(40))


@pytest.fixture(scope="module")
def library(bank):
    return SharedBank(bank, 0.4, alone=True)


def test_it_answers_by_itself_where_it_is_sure(library):
    reply = CallBank(library).reply(GREETING, BOOK, Noted())
    assert (reply.text, reply.by) == (DAY, NAME)
    assert "odds" in reply.because


@pytest.mark.parametrize("said", ["I would not like to book a taxi", "yes", "guten Tag", ""])
def test_it_is_silent_where_it_is_not(library, said):
    """CA-01, CA-04."""
    assert CallBank(library).reply(GREETING, said, Noted()) is None


def test_beside_those_who_keep_account_of_the_dialogue_it_only_guesses(bank):
    known = CallBank(SharedBank(bank, 0.0, alone=False))
    assert known.reply(GREETING, BOOK, Noted()) is None
    assert DAY in {likely.text for likely in known.likely(GREETING, BOOK)}


def test_what_announces_that_something_was_done_is_for_those_who_do_it(library):
    """TURN-09: "your taxi has been booked" books none."""
    known = CallBank(library)
    assert any("booked for monday" in likely.text.lower() for likely in known.likely(DAY, "monday please"))
    notes = Noted()
    assert known.reply(DAY, "monday please", notes) is None
    assert notes.took == ["no match"]


def test_a_threshold_above_all_odds_lets_nothing_pass(bank):
    assert CallBank(SharedBank(bank, 1.01, alone=True)).reply(GREETING, BOOK, Noted()) is None


def test_guesses_come_with_odds_the_likeliest_first(library):
    likely = CallBank(library).likely(GREETING, "I would like to")
    assert likely
    assert [one.odds for one in likely] == sorted((one.odds for one in likely), reverse=True)
    assert all(0 < one.odds <= 1 and one.because for one in likely)


def test_what_one_caller_has_told_is_known_in_that_call_alone(library):
    """CA-03: and a guess tells it nothing."""
    one, other = CallBank(library), CallBank(library)
    one.likely(DAY, "sunday please")
    assert one._known == {}
    one.learn(DAY, "sunday please")
    assert "sunday" in str(one._known).lower()
    assert other._known == {}
    assert not any("sunday" in guess.text.lower() for guess in other.likely(DAY, "monday please"))


def test_where_callers_end_is_asked_of_the_bank(library):
    known = CallBank(library)
    whole, begun = known.ended(ELSE, "no that's all thank you"), known.ended(GREETING, "I would like to")
    assert whole > 0.8
    assert begun < 0.3
    assert known.ended(GREETING, "guten Tag") is None
