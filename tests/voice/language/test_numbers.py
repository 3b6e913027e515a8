from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from laws import each

from turnbudget.agents.values.heard import plain
from turnbudget.agents.values.numbers import amount
from turnbudget.voice.language.numbers import read_numbers, tokens

WORDS = (
    *("zero", "one", "five", "ten", "twelve", "nineteen", "twenty", "ninety", "hundred", "thousand"),
    *("and", "oh", "double", "triple", "the", "7"),
)


@each(
    ("spoken", "digits"),
    [
        ("seven seven oh one nine", "77019"),
        ("six oh four", "604"),
        ("nineteen ninety two", "1992"),
        ("double three", "33"),
        ("zero zero seven", "007"),
        ("triple five one", "5551"),
        ("one hundred and thirty five dollars", "135 dollars"),
        ("two thousand three hundred and five", "2305"),
        ("twenty five hundred", "2500"),
        ("two hundred thousand and one", "200001"),
        ("thirty-five", "35"),
        ("flat 4 b", "flat 4 b"),
    ],
)
def test_numbers_are_read_as_dictated(spoken, digits):
    """ASR-13."""
    assert read_numbers(spoken) == digits


@each("spoken", ["oh", "oh i see", "oh no", "hundred", "and", "a hundred times", "double room"])
def test_what_is_no_number_is_left_alone(spoken):
    """ASR-13."""
    assert read_numbers(spoken) == spoken


@given(st.lists(st.sampled_from(WORDS)))
def test_words_between_numbers_are_never_lost(words):
    assert read_numbers(" ".join(words)).split().count("the") == words.count("the")


@given(st.integers(0, 999_999))
def test_a_number_in_digits_stays_as_it_is(number):
    assert read_numbers(str(number)) == str(number)


def test_a_token_has_kind_value_digits_and_place():
    found = [
        (each.text, each.kind, each.value, each.digits) for each in tokens("Twenty-first of 007, double oh")
    ]
    assert found == [
        ("twenty", "cardinal", 20, "20"),
        ("first", "ordinal", 1, "1"),
        ("of", "word", -1, ""),
        ("007", "written", 7, "007"),
        ("double", "times", 2, ""),
        ("oh", "alike", 0, "0"),
    ]
    text = "Move two million, please"
    assert [text[each.start : each.end] for each in tokens(text)] == ["Move", "two", "million", "please"]


@pytest.mark.parametrize(
    ("said", "means"),
    [
        ("two million five hundred thousand", "2500000"),
        ("two point five", "2.5"),
        ("nineteen point five oh dollars", "19.50 dollars"),
        ("two point five million", "2500000"),
        ("2.5 million", "2500000"),
        ("3 thousand", "3000"),
        ("the point is five", "the point is 5"),
        ("five five five point one two three", "555 point 123"),
        ("eleven , nine", "11 , 9"),
    ],
)
def test_a_scale_and_a_point_are_read_where_values_are(said, means):
    assert read_numbers(said, point=True) == means


@pytest.mark.parametrize("said", ["transfer two point five million dollars", "move $2.5 million"])
def test_whoever_moves_money_knows_a_million(said):
    assert amount(plain(said).text).value == "2500000"
