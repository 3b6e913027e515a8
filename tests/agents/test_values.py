"""Values as callers say them and as recognisers write them: one reading for both."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from laws import each

from turnbudget.agents.values.heard import plain
from turnbudget.agents.values.kinds import KINDS, reader
from turnbudget.agents.values.when import resolve
from turnbudget.voice.errors import ConfigError
from turnbudget.voice.time import clock

PLACES = {"Forest Ranch": (), "Harper Valley": ()}
ACCOUNTS = {"checking": ("chequing",), "savings": ("saving",)}

DICTATED_TWICE = (
    "nine ten first street forrest ranch california seven eight three eleven uh nine ten first street forest"
    " ranch california seven eight three eleven"
)
WITH_WORDS_BETWEEN = (
    "my address is two nine one main street in forest ranch california zip code is gonna be zero two two nine"
    " eight"
)
SPELLED = (
    "zero zero one main that's m a i n street and that's in forest ranch california and the zip code is seven"
    " zero zero two three"
)


def read(kind, text, *, asked=True, choices=None, before=""):
    heard = plain(text)
    words = heard.words if kind in {"name", "spelled", "text", "yes_no"} else heard.text
    return reader(kind, choices or {}, 0, "a slot")(words, asked=asked, before=before)


def value(kind, text, **more):
    found = read(kind, text, **more)
    return found.value if found and not found.missing else None


@each(
    ("text", "amount"),
    [
        ("one hundred and thirty five dollars", "135"),
        ("[noise] um that's gonna be a hundred and one dollar", "101"),
        ("one the amount is one hundred and twenty six dollars", "126"),
        ("one hundred uh thirty two dollars", "132"),
        ("twenty five hundred dollars", "2500"),
        ("$1,200.50", "1200.50"),
        ("$135", "135"),
        ("nineteen dollars and fifty cents", "19.50"),
        ("fifty cents", "0.50"),
        ("it's 300", "300"),
        ("One hundred and thirty-five dollars.", "135"),
        ("fifteen, no, fifty dollars", "50"),
        ("I don't know", None),
        ("zero five four", None),
    ],
)
def test_an_amount_is_read(text, amount):
    assert value("amount", text) == amount


def test_a_bare_number_is_an_amount_only_if_it_was_asked_for_or_moved():
    assert value("amount", "my zip is 300", asked=False) is None
    assert value("amount", "transfer 300 from savings", asked=False) == "300"


@each(
    ("text", "time"),
    [
        ("uh eleven a m", "11:00 AM"),
        ("four thirty p m", "4:30 PM"),
        ("at ten thirty AM please", "10:30 AM"),
        ("three forty five pm", "3:45 PM"),
        ("4:30 PM.", "4:30 PM"),
        ("11 a.m.", "11:00 AM"),
        ("half past three", "3:30 PM"),
        ("a quarter to four", "3:45 PM"),
        ("nine o'clock in the morning", "9:00 AM"),
        ("eleven", "11:00 AM"),
        ("two", "2:00 PM"),
        ("noon", "12:00 PM"),
        ("16:15", "4:15 PM"),
        ("monday at eleven please", "11:00 AM"),
        ("ninety nine", None),
        ("monday", None),
    ],
)
def test_a_time_is_read(text, time):
    assert value("time", text) == time


@each(
    ("text", "day"),
    [
        ("uh that'd be tuesday please", "Tuesday"),
        ("Monday.", "Monday"),
        ("next friday at eleven", "next Friday"),
        ("june third", "June 3"),
        ("the third of june twenty twenty seven", "June 3, 2027"),
        ("december twenty fifth", "December 25"),
        ("6/3", "June 3"),
        ("13/3", None),
        ("february thirtieth", None),
        ("tomorrow", "tomorrow"),
        ("the twenty second", "the 22nd"),
        ("whenever", None),
    ],
)
def test_a_day_is_read(text, day):
    assert value("date", text) == day


@each(
    ("day", "meant"),
    [
        ("Monday", date(2026, 12, 7)),
        ("Tuesday", date(2026, 12, 1)),
        ("next Tuesday", date(2026, 12, 8)),
        ("tomorrow", date(2026, 12, 1)),
        ("the day after tomorrow", date(2026, 12, 2)),
        ("June 3", date(2027, 6, 3)),
        ("June 3, 2028", date(2028, 6, 3)),
        ("the 3rd", date(2026, 12, 3)),
        ("someday", None),
    ],
)
def test_a_day_is_a_date_once_today_is_known(day, meant):
    assert resolve(day, date(2026, 11, 30)) == meant


@each(
    ("text", "phone"),
    [
        ("my phone number is two four five four nine six nine eight six three", "2454969863"),
        (
            "yeah so my phone number is five zero seven zero zero zero one eight nine two [noise]",
            "5070001892",
        ),
        ("seven one five, one three nine, oh seven eight seven", "7151390787"),
        ("715-139-0787", "7151390787"),
        ("(715) 139-0787", "7151390787"),
        ("one seven one five one three nine zero seven eight seven", "7151390787"),
        ("double five five eight eight three five five one two", "5558835512"),
        ("five eight eight seven five seven to two nine eight", "5887572298"),
    ],
)
def test_a_telephone_is_read(text, phone):
    assert value("phone", text) == phone


def test_a_telephone_dictated_over_turns_is_one_number():
    first = read("phone", "one two nine")
    assert first.missing == "1 2 9. Go on, please."
    second = read("phone", "three five three", before=first.value)
    third = read("phone", "seven four zero two", before=second.value)
    assert (third.value, third.spoken, third.missing) == ("1293537402", "129-353-7402", "")


def test_a_telephone_begun_anew_is_not_added_to_its_beginning():
    assert value("phone", "1 2 9 3 5 3 7 4 0 2", before="129") == "1293537402"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("seven seven oh one nine", "77019"),
        ("six oh four", "604"),
        ("it's zero zero seven", "007"),
        ("oh I see", None),
    ],
)
def test_a_code_keeps_its_zeros(text, code):
    """ASR-12: leading zeros stay, a lone "oh" is no zero."""
    assert value("digits", text) == code


@each(
    ("text", "address"),
    [
        (DICTATED_TWICE, "910 First Street, Forest Ranch, California, 78311"),
        (WITH_WORDS_BETWEEN, "291 Main Street, Forest Ranch, California, 02298"),
        (
            "zero six eight first street harper valley california and then two five three zero six [noise]",
            "068 First Street, Harper Valley, California, 25306",
        ),
        (
            "my address is five hundred first street forest ranch oregon four six eight nine six",
            "500 First Street, Forest Ranch, Oregon, 46896",
        ),
        ("552 Main St., Harper Valley, CA 41912.", "552 Main Street, Harper Valley, California, 41912"),
        (SPELLED, "001 Main Street, Forest Ranch, California, 70023"),
    ],
)
def test_an_address_is_read(text, address):
    assert value("address", text, choices=PLACES) == address


def test_an_address_needs_no_list_of_places():
    read_ = value("address", "twelve oak avenue springfield illinois six two seven zero four")
    assert read_ == "12 Oak Avenue, Springfield, Illinois, 62704"


def test_an_address_dictated_over_turns_is_one_address():
    turns = [
        "my address is zero zero one", "main that's m a i n", "street", "and that's in forest ranch",
        "california", "and the zip code is seven zero zero", "two three",
    ]  # fmt: skip
    before, asked = "", []
    for turn in turns:
        found = read("address", turn, choices=PLACES, before=before)
        before = found.value
        asked.append(found.missing)
    assert found.value == "001 Main Street, Forest Ranch, California, 70023"
    assert asked[0] == "Go on, please."
    assert asked[3] == "And the zip code?"
    assert asked[-1] == ""


@each(
    ("text", "choice"),
    [
        ("savings", "savings"),
        ("My checking account, please.", "checking"),
        ("the saving one", "savings"),
        ("checkin", "checking"),
        ("checking or savings", None),
        ("my card", None),
    ],
)
def test_a_choice_is_read_also_misheard(text, choice):
    assert value("choice", text, choices=ACCOUNTS) == choice


@each(
    ("text", "answer"),
    [
        ("yes", "yes"),
        ("[noise] that's correct", "yes"),
        ("no that's right", "yes"),
        ("nope", "no"),
        ("no", "no"),
        ("that's not right", "no"),
        ("yeah sure", "yes"),
        ("maybe", None),
    ],
)
def test_yes_and_no_are_told_apart(text, answer):
    assert value("yes_no", text) == answer


@each(
    ("text", "name"),
    [
        ("hi my name is mary smith i lost my credit card", "Mary Smith"),
        ("hi my name is jim <unk> my name is john miller i would like to pay a bill", "John Miller"),
        ("it's robert jones", "Robert Jones"),
        ("smith that's s m y t h", "Smyth"),
        ("i need to check my balance", None),
    ],
)
def test_a_name_is_read(text, name):
    assert value("name", text) == name


@each(
    ("text", "company"),
    [
        ("the company is fossil gas", "fossil gas"),
        ("Smart electic.", "smart electric"),
        ("foss a gas", "fossil gas"),
        ("it's called acme plumbing please", "acme plumbing"),
        ("I'm sorry, what was that?", None),
        ("yes", None),
        ("", None),
    ],
)
def test_free_text_is_an_answer_and_no_question_back(text, company):
    choices = {"fossil gas": (), "smart electric": ()}
    assert value("text", text, choices=choices) == company


def test_a_spelled_word_is_read():
    assert value("spelled", "it's s m y t h") == "smyth"


def test_an_unknown_kind_is_one_line():
    with pytest.raises(ConfigError) as caught:
        reader("colour", {}, 0, "agent a, slot b")
    assert str(caught.value).startswith("agent a, slot b: no slot type is called 'colour'; there are address")
    assert "\n" not in str(caught.value)


@each("kind", KINDS)
@each("text", ["", "uh", "no", "one two three", "[noise]", "at 99:99 on 32 the and", "ö ß 五"])
def test_every_reader_takes_any_text(kind, text):
    choices = ACCOUNTS if kind == "choice" else {}
    for asked in (False, True):
        read(kind, text, asked=asked, choices=choices, before="12")


def test_what_is_taken_back_is_told_apart():
    assert plain("Checking. Sorry, savings!").parts == ("checking", "savings")
    assert plain("no, savings").mends == "no"


def test_fillers_stutters_and_broken_words_go():
    assert plain("um which car~ which my my debit card uhm [noise]").words == "which my debit card"
    assert plain("five five two").text == "552"


ONES = (
    *("", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"),
    *("thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"),
)
TENS = ("", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")


def in_words(number, joint):
    """Return *number* (below a million) as it is said, *joint* behind "hundred"."""
    if number >= 1_000:
        rest = f" {in_words(number % 1_000, joint)}" if number % 1_000 else ""
        return f"{in_words(number // 1_000, joint)} thousand{rest}"
    if number >= 100:
        rest = f" {joint}{in_words(number % 100, joint)}" if number % 100 else ""
        return f"{ONES[number // 100]} hundred{rest}"
    return ONES[number] if number < 20 else f"{TENS[number // 10]} {ONES[number % 10]}".strip()


@given(st.integers(1, 99_999), st.sampled_from(["", "and ", "uh "]), st.booleans())
def test_every_amount_in_words_is_read_back(number, joint, asked):
    said = f"um it's {in_words(number, joint)} dollars please"
    assert value("amount", said, asked=asked) == str(number)


@example("5555555555", 5)
@given(st.text("0123456789", min_size=10, max_size=10), st.integers(1, 9))
def test_every_telephone_said_digit_by_digit_is_read_back(digits, pause):
    names = ("zero", *ONES[1:10])
    said = " ".join(names[int(digit)] for digit in digits[:pause])
    then = " ".join(names[int(digit)] for digit in digits[pause:])
    assert value("phone", f"{said} uh {then}") == digits
    assert value("phone", then, before=read("phone", said).value) == digits


@given(st.text(max_size=80))
def test_no_text_is_too_odd_to_be_made_plain(text):
    for kind in KINDS:
        found = read(kind, text, choices=ACCOUNTS)
        assert found is None or found.value or found.missing


@pytest.mark.clock("wall")
async def test_no_text_takes_any_reader_long():
    text = " ".join(("one hundred and no main street sorry the checking to from a b c uh half past",) * 20)
    began = clock.cpu()
    for kind in KINDS:
        read(kind, text, choices=ACCOUNTS)
    assert clock.cpu() - began < 1_000_000
