"""What nobody may read later goes out of a text, however it is said; orders, times and amounts stay."""

from __future__ import annotations

import logging
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from laws import each

from turnbudget.redaction.digits_said import TEENS, TENS, UNITS, passes_luhn, runs
from turnbudget.redaction.redact import RedactedFormatter, hide_digits, redact
from turnbudget.voice.time import clock

GOES = [
    # cards, written
    ("my card is 4111 1111 1111 1111 thanks", "my card is [card] thanks"),
    ("4111111111111111", "[card]"),
    ("4111-1111-1111-1111.", "[card]."),
    ("it's 3782 822463 10005", "it's [card]"),
    ("378282246310005, valid until 12/27", "[card], valid until 12/27"),
    ("4111.1111.1111.1111", "[card]"),
    ("4111 1111 1111 1112, I think", "[card], I think"),
    ("41111111111111111227", "[card]"),
    ("(4111) 1111 / 1111 _ 1111", "([card]"),
    ("٤١١١ ١١١١ ١١١١ ١١١١", "[card]"),
    ("6011000990139424 is the one", "[card] is the one"),
    ("order 4111 1111 1111 1111", "order [card]"),
    # cards, said
    ("four one one one one one one one one one one one one one one one", "[card]"),
    ("Four one one one, one one one one, one one one one, one one one one.", "[card]."),
    ("forty one eleven eleven eleven eleven eleven eleven eleven", "[card]"),
    ("four triple one, one triple one, one triple one, one triple one", "[card]"),
    ("four one one one um one one one one and then one one one one dash one one one one", "[card]"),
    ("forty-one hundred, zero zero zero zero, zero zero zero zero, zero zero zero two", None),
    ("four thousand one hundred eleven 1111 1111 1111", "[card]"),
    ("for one one one 1111 one one one won eleven eleven", "[card]"),
    ("forty two forty two forty two forty two forty two forty two forty two forty two", "[card]"),
    # social security numbers
    ("my social is 123-45-6789", "my social is [ssn]"),
    ("123-45-6789", "[ssn]"),
    ("123 45 6789 is mine", "[ssn] is mine"),
    ("social security number 123456789", "social security number [ssn]"),
    ("my social is one two three four five six seven eight nine", "my social is [ssn]"),
    ("one two three, four five, six seven eight nine", "[ssn]"),
    ("the last four of my social are 6789", "the last four of my social are [ssn]"),
    # telephones
    ("call me at 555-010-0199", "call me at [phone]"),
    ("(555) 010-0199 please", "[phone] please"),
    ("555.010.0199", "[phone]"),
    ("+44 20 7946 0958", "[phone]"),
    ("+15550100199", "[phone]"),
    ("1-800-555-0199", "[phone]"),
    ("my phone number is 5550199", "my phone number is [phone]"),
    ("my number is 2125550199", "my number is [phone]"),
    ("two one two five five five oh one nine nine", "[phone]"),
    ("five five five, oh one oh, oh one nine nine", "[phone]"),
    ("my order is 12 and my phone is 212 555 0199", "my order is 12 and my phone is [phone]"),
    # addresses
    ("write to john.smith+x@mail.example.com now", "write to [email] now"),
    ("john dot smith at gmail dot com", "[email]"),
    ("j o h n at example dot org please", "[email] please"),
    ("john underscore smith at mail dot example dot com", "[email]"),
    # codes and keys
    ("my pin is 1234", "my pin is [code]"),
    ("the security code is one two three", "the security code is [code]"),
    ("cvv 999", "cvv [code]"),
    ("your one-time code: 4 8 1 5 1 6", "your one-time code: [code]"),
    ("Authorization: Bearer abc.def-ghi123", "Authorization: Bearer [secret]"),
    ("wss://h.example/s?token=t0ken&x=1", "wss://h.example/s?[secret]&x=1"),
    ("sk-proj-abcdefghijklmnop1234", "[secret]"),
    ("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "[secret]"),
    ("AKIAIOSFODNN7EXAMPLE", "[secret]"),
    ("eyJhbGciOiJIUzI1.eyJzdWIiOiIxMjM0.abc_def", "[secret]"),
]
STAYS = [
    "my order number is 4182057731",
    "order 418-205-7731 has not come",
    "tracking number 1Z999AA10123456784",
    "tracking 9400110200881234567890 says delivered, that is 94001102",
    "reference 123-45-6789",
    "case number one two three four five six seven eight nine zero",
    "ticket two one two five five five oh one nine nine",
    "account 12345678",
    "the invoice 2024-001987 of 2026-11-30",
    "at 10:30 on 2026-11-30",
    "2026-11-30 14:50:54,123 INFO a call began",
    "call me at 5 pm",
    "I called 3 times in 2 weeks",
    "transfer $1,234,567.89 please",
    "transfer one hundred and thirty five dollars to my savings",
    "nineteen dollars and fifty cents",
    "five million two hundred thousand euros",
    "1234567890 dollars",
    "2125550199 dollars",
    "€ 2125550199",
    "the password was changed 365 times",
    "the balance is 4111 dollars and 11 cents",
    "two for one on the first of May twenty twenty six",
    "it is one of two or three",
    "room 1204 at 85 Main Street",
    "zip code 90210",
    "a card ending in 4242",
    "version 3.11.4 of 2026",
    "between 8 and 10 on the 21st",
    "look at the dot on the map",
    "meet me at the bank at noon",
    "192.168.100.200 does not answer",
    "[card] and [phone] and [keys]",
    "",
    "I'd like to go to two places for eight days",
    "99.9 percent of 123456789 people",
]


@each(("said", "left"), GOES)
def test_it_goes(said, left):
    shown = redact(said)
    assert shown == left if left else "[" in shown


@each("said", STAYS)
def test_it_stays_as_it_was_said(said):
    assert redact(said) == said


def spelled(digits, draw):
    """One way to say or write *digits*, by the table."""
    names = [[word for word, digit in UNITS.items() if digit == each] for each in "0123456789"]
    teens, tens = list(TEENS), list(TENS)
    parts, at = [], 0
    while at < len(digits):
        pair, same = digits[at : at + 2], len(digits[at:]) - len(digits[at:].lstrip(digits[at]))
        ways = ["digit", "word", "group"]
        ways += ["pair"] * (len(pair) == 2 and pair[0] != "0")
        ways += ["hundred"] * (digits[at + 2 : at + 4] == "00" and pair[0] != "0")
        ways += ["repeat"] * (same >= 2)
        way = draw(st.sampled_from(ways))
        if way == "repeat":
            count = min(same, draw(st.integers(2, 3)))
            word = {2: "double", 3: "triple"}[count]
            parts.append(f"{word} {draw(st.sampled_from(names[int(digits[at])]))}")
            at += count
        elif way in {"pair", "hundred"}:
            number = int(pair)
            word = teens[number - 10] if number < 20 else tens[number // 10 - 2]
            word += f" {names[number % 10][0]}" if number >= 20 and number % 10 else ""
            parts.append(f"{word} hundred" if way == "hundred" else word)
            at += 4 if way == "hundred" else 2
        elif way == "group":
            parts.append(digits[at : at + 4])
            at += 4
        else:
            parts.append(digits[at] if way == "digit" else draw(st.sampled_from(names[int(digits[at])])))
            at += 1
    gaps = st.sampled_from([" ", " ", ", ", "-", " - ", ". ", " um ", " and then ", "\N{NO-BREAK SPACE}"])
    # A sign of its own between two words that could be one: "twenty, one" is 20 1 and nothing else.
    return "".join(part + draw(gaps) for part in parts[:-1]) + parts[-1]


@st.composite
def cards(draw):
    """A number of 13 to 19 digits that passes Luhn's check."""
    body = draw(st.text("0123456789", min_size=12, max_size=18))
    return next(body + last for last in "0123456789" if passes_luhn(body + last))


@given(cards(), st.data())
def test_no_card_number_survives_in_any_spelling(digits, data):
    said = spelled(digits, data.draw)
    shown = redact(f"it is {said} okay")
    assert "[card]" in shown
    assert sum(len(token.text) if token.written else 1 for run in runs(shown) for token in run) < 8


@given(
    st.lists(st.sampled_from([*UNITS, "card", "pin", "5550100199", "@", "at", "dot", "com", ","]), max_size=5)
)
def test_what_is_redacted_stays_as_it_is(words):
    once = redact(" ".join(words))
    assert redact(once) == once


@given(st.text(max_size=200))
def test_any_text_can_be_redacted(text):
    assert isinstance(redact(text), str)


@pytest.mark.parametrize("text", ["call 5516a6b298bb0b9a of bank", "298", "9", "a 23 b"])
def test_a_few_digits_are_nobodys(text):
    assert redact(text) == text


def test_of_what_is_known_to_be_secret_every_number_goes():
    assert hide_digits("it's four one one one and 12, okay") == "it's [digits], okay"


@pytest.mark.parametrize(
    "text",
    [
        " dot ".join("abcdefghijklmnopqrst") + " at nothing dot",
        " dot ".join("abcdefghijklmnopqrst") + " at nothing dot com1",
        "_".join("abcdefghijklmnopqrst") + " at nothing.com1",
        " ".join("abcdefghijklmnopqrst" * 20) + " at nothing dot",
    ],
)
def test_what_is_nearly_an_address_holds_nobody_up(text):
    """Rows are redacted on the loop: the first of these held it, and every call, for ten seconds."""
    began = clock.cpu()
    assert redact(text) == text
    assert clock.cpu() - began < clock.SECOND // 5


def test_a_run_without_end_costs_little_and_goes_whole():
    assert redact("four one " * 5_000).strip() == "[digits]"


@pytest.mark.parametrize(("numbers", "left"), [(40, "seven " * 39 + "seven"), (41, "[digits]")])
def test_more_than_forty_numbers_in_a_row_are_no_number_of_anybodys(numbers, left):
    """Sevens alone pass no check for cards; a run that is too long is not read at all."""
    assert redact("seven " * (numbers - 1) + "seven") == left


@pytest.mark.parametrize(("apart", "left"), [(57, "[code]"), (58, "1234")])
def test_a_word_says_what_a_number_is_from_sixty_characters_before(apart, left):
    """The word "pin" and 57 characters are 60."""
    assert redact(f"pin{'.' * (apart - 1)} 1234") == f"pin{'.' * (apart - 1)} {left}"


def test_a_line_of_the_log_holds_no_number_not_even_in_its_traceback():
    try:
        int("no such card: 4111 1111 1111 1111")
    except ValueError:
        record = logging.LogRecord("a", 40, "a.py", 1, "call %s failed", ("+15550100199",), sys.exc_info())
    line = RedactedFormatter("%(message)s").format(record)
    assert line.startswith("call [phone] failed")
    assert line.endswith("no such card: [card]'")
