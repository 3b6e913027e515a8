from __future__ import annotations

from laws import each

from turnbudget.voice.language.text import is_words, merge, normalise, spoken


@each(
    "text",
    [".", " ", "", "…", "[BLANK_AUDIO]", "(wind blowing)", "<unk>", "[noise] .", "♪ la ♪".replace("la", "")],
)
def test_what_nobody_said_is_no_words(text):
    """ASR-11."""
    assert not is_words(text)


@each("text", ["thank you", "yes", "you", "no no no", "the", "7", "uh", "예", "हाँ", "[noise] no"])
def test_a_short_answer_is_words(text):
    """ASR-12."""
    assert is_words(text)


def test_repeated_words_are_kept():
    """ASR-12."""
    assert spoken("no no no") == "no no no"
    assert merge(["no no no"]) == "no no no"


def test_restated_finals_are_said_once():
    """ASR-08."""
    assert merge(["I need a", "I need a taxi.", "I need a taxi, at nine."]) == "I need a taxi, at nine."


def test_finals_that_go_on_are_joined_and_an_empty_one_erases_nothing():
    """ASR-01."""
    assert merge(["move my visit", "to Friday"]) == "move my visit to Friday"
    assert merge(["move my visit", ""]) == "move my visit"
    assert merge([".", "move my visit", "[noise]"]) == "move my visit"


@each(
    ("heard", "said"),
    [
        ("$132", "one hundred and thirty-two dollars."),
        ("11 a.m.", "eleven a m"),
        ("Uh, 11AM!", "uh eleven am"),
        ("700", "seven zero zero"),
        ("It’s 9:30", "it's nine thirty"),
        ("1,250 files", "one thousand two hundred and fifty files"),
        ("[noise] no <unk>", "No"),
    ],
)
def test_what_was_heard_and_what_was_said_compare_equal(heard, said):
    assert normalise(heard) == normalise(said)


def test_i_am_is_not_a_time_of_day():
    assert normalise("I am one") == "i am 1"
