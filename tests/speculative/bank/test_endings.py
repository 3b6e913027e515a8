"""Endings: whether a caller who pauses has finished, by how far others had got when they had."""

from __future__ import annotations

import pytest
from spoken import ELSE, GREETING, calls

from turnbudget.speculative.bank.bank import Bank
from turnbudget.speculative.bank.endings import Endings, learned, prefixes, stretches
from turnbudget.speculative.bank.mine import mine
from turnbudget.speculative.bank.words import CHOICES

ACCOUNT = "which account would you like to check"


@pytest.fixture(scope="module")
def endings():
    return Endings(mine(calls(40)))


@pytest.mark.parametrize(
    ("asked", "goes_on", "ends"),
    [
        (GREETING, "hi my name is zoe quark", "hi my name is zoe quark i would like to book a taxi"),
        ("What day would you like the taxi?", "uh that'd be", "Sunday, please."),
        ("What is the order number?", "my order number is", "my order number is four four two seven six"),
        (
            "What is the order number?",
            "my order number is four four",
            "my order number is four four two seven six",
        ),
        (ELSE, "no", "no that's all thank you"),
    ],
)
def test_what_goes_on_is_told_from_what_ends(endings, asked, goes_on, ends):
    assert endings.over(goes_on, asked) < 0.1
    assert endings.over(ends, asked) > 0.6


def test_it_is_pure(endings):
    assert len({endings.over("no that's all", ELSE) for _ in range(3)}) == 1


def test_what_was_never_heard_is_not_known(endings):
    assert endings.over("Auf Wiederhören", ELSE) is None
    assert endings.over("", ELSE) is None
    assert endings.over("[noise]", ELSE) is None
    assert Endings(Bank()).over("no", ELSE) is None
    assert endings.because("Auf Wiederhören", ELSE) == "the bank knows nothing of it"


def test_the_last_words_stand_in_for_a_beginning_never_heard(endings):
    assert endings.over("well i suppose no that's all thank you", ELSE) > 0.6


def test_the_reason_is_the_counts(endings):
    because = endings.because("no that's all thank you", ELSE)
    assert because.startswith("after “anything else help” callers were finished 20 of 20 times")
    assert because.endswith("with “no that's all thank you” as all said")


def test_the_question_counts():
    turns = [("ask", "savings")] * 8 + [("offer", "savings please")] * 8
    bank = Bank(ending=learned(turns, CHOICES))
    [anywhere] = [
        each.counts["{account}"] for each in bank.ending if each.state == "" and each.span == "turn"
    ]
    [asked] = [
        each.counts["{account}"] for each in bank.ending if each.state == "ask" and each.span == "turn"
    ]
    assert anywhere == (8, 16)
    assert asked == (8, 8)


@pytest.mark.parametrize(
    ("said", "likely"),
    [
        # of 14 beginnings 8 had ended: (8 + 2 · 0.5) / (14 + 2); of 8 "yes" 2: (2 + 2 · 0.5625) / (8 + 2)
        ("yes", 0.3125),
        # of 6 "please" 6: (6 + 2 · 0.5625) / (6 + 2); the same cases by all that was said count once
        ("yes please", 0.890625),
        ("no please", 0.890625),
    ],
)
def test_narrower_counts_weigh_against_what_the_wider_ones_say(said, likely):
    turns = [("", "yes please")] * 6 + [("", "yes")] * 2
    endings = Endings(Bank(ending=learned(turns, CHOICES)))
    assert endings.over(said, "") == pytest.approx(likely, abs=1e-12)
    assert endings.knows("yes", "")
    assert not endings.knows("no please", "")
    assert endings.because("yes", "") == (
        "anywhere callers were finished 2 of 8 times with “yes” as all said"
    )


def test_words_heard_once_are_kept_nowhere():
    bank = Bank(ending=learned([("", "hush hush")], CHOICES))
    assert not [each for each in bank.ending if any("hush hush" in words for words in each.counts)]


def test_a_turn_of_one_word_has_one_beginning():
    assert prefixes("no") == [("no", True)]
    assert prefixes("a b") == [("a", False), ("a b", True)]
    assert [end for _, end in prefixes("word " * 500)].count(True) == 0


def test_a_text_is_looked_up_by_all_of_it_first():
    assert stretches("my {account} account") == [
        ("turn", "my {account} account"),
        ("2", "{account} account"),
        ("1", "account"),
        ("0", ""),
    ]
    assert stretches("no") == [("turn", "no"), ("1", "no"), ("0", "")]
