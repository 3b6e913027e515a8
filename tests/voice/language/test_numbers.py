from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from laws import each

from turnbudget.voice.language.numbers import read_numbers

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
