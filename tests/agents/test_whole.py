"""A value is whole when nothing that may follow would be part of it; what is doubtful is not."""

from __future__ import annotations

import pytest
from laws import each

from turnbudget.agents.values.heard import plain
from turnbudget.agents.values.kinds import WORDY, reader

ACCOUNTS = {"checking": ("chequing",), "savings": ("saving",)}
COMPANIES = {"Smart Electric": (), "Fossil Gas": ()}
PLACES = {"Forest Ranch": (), "Harper Valley": ()}
CHOICES = {"choice": ACCOUNTS, "text": COMPANIES, "address": PLACES}


def read(kind, text, before=""):
    heard = plain(text)
    words = heard.words if kind in WORDY else heard.text
    found = reader(kind, CHOICES.get(kind, {}), 0, "a slot")(words, asked=True, before=before)
    return found, words


WHOLE = {
    "choice": ["savings", "My checking account.", "the saving one"],
    "amount": [
        "one hundred thirty two dollars", "$132", "$132.", "fifty bucks", "nineteen dollars and fifty cents",
        "fifty cents", "the amount is a hundred and one dollar",
    ],
    "phone": [
        "seven one five one three nine oh seven eight seven", "7-1-5-1-3-9-0-7-8-7", "715-139-0787",
        "(715) 139-0787", "one seven one five one three nine zero seven eight seven", "1-715-139-0787",
    ],
    "date": ["Monday.", "next friday", "june third", "June 3rd.", "june 3", "tomorrow", "today", "6/3",
             "june twentieth", "june twenty third", "the third of june", "june third twenty twenty seven"],
    "time": ["11 a.m.", "eleven a m", "4:30 PM.", "4:30", "nine o'clock", "noon", "half past three",
             "ten in the morning", "a quarter to four"],
    "address": [
        "552 Main St., Harper Valley, CA 41912.",
        "zero zero one main street forest ranch california seven zero zero two three",
        "my address is two nine one main street in forest ranch california zip code zero two two nine eight",
    ],
    "text": ["the company is fossil gas", "Smart Electric.", "smart, electric"],
    "yes_no": ["yes", "no", "yeah sure"],
}  # fmt: skip
GROWING = {
    "amount": ["one hundred", "one hundred and thirty two", "132", "it's 300", "pay 300"],
    "date": ["june twenty", "June 30", "the twenty second"],
    "time": ["eleven", "at eleven", "four thirty", "11"],
    "number": ["three"],
    "text": ["acme plumbing", "river water"],
    "name": ["my name is john", "my name is john miller"],
    "spelled": ["s m y t h", "smyth"],
    "phone": ["1 2 9 3 5 3 7 4 0 2"],
}
PARTIAL = {
    "phone": ["seven one five", "715-1390", "seven one five one three nine"],
    "address": ["001 main street", "zero zero one", "552 main street harper valley california"],
}


def cases(table):
    return [(kind, text) for kind, texts in table.items() for text in texts]


@each(("kind", "text"), cases(WHOLE))
def test_what_is_whole_does_not_grow(kind, text):
    found, words = read(kind, text)
    assert found.whole
    assert not found.grows(words)


@each(("kind", "text"), cases(GROWING))
def test_what_may_go_on_grows(kind, text):
    found, words = read(kind, text)
    assert not found.missing
    assert found.grows(words)


@each(("kind", "text"), cases(PARTIAL))
def test_a_part_is_never_whole(kind, text):
    """VAD-01: seven digits of ten are a part."""
    found, _ = read(kind, text)
    assert found.missing
    assert not found.whole


@pytest.mark.parametrize(
    ("kind", "text"), [("amount", "one hundred please"), ("time", "at eleven please"), ("number", "3 thanks")]
)
def test_thanks_leave_a_value_behind(kind, text):
    found, words = read(kind, text)
    assert not found.grows(words)


def test_other_words_do_not():
    found, words = read("amount", "one the amount")
    assert found.grows(words)


def test_what_was_dictated_over_turns_is_whole_at_its_last_digit():
    assert not read("phone", "0 7 8", before="715139")[0].whole
    assert read("phone", "0 7 8 7", before="715139")[0].whole
    assert read("address", "two three", before="001 main street forest ranch california 700")[0].whole


def test_an_address_said_once_more_is_not_whole_until_it_is_again():
    once = "nine ten first street forest ranch california seven eight three one one"
    assert read("address", once)[0].whole
    assert not read("address", f"{once} uh nine ten first street forest")[0].whole
    assert read("address", f"{once} uh {once}")[0].whole
