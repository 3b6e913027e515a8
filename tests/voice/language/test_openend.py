"""Whoever ends openly is going on: in a hesitation, a clause, digits, letters; everybody else has ended."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from laws import each

from turnbudget.voice.language.openend import KINDS, open_end
from turnbudget.voice.time import clock

HESITATIONS = [
    "uh", "my savings um", "Checking, uh...", "one hundred, hmm", "well", "checking sorry", "let me see",
    "it's my credit card I think", "hold on", "just a second", "you know", "no wait", "nine three zero ah",
]  # fmt: skip
UNFINISHED = [
    "I would like to", "i'd like", "I want to transfer money from my", "the amount is", "and my", "it's",
    "the company is", "I need a", "I want to transfer.", "i lost my card and", "Checking or", "that's in the",
    "and that it", "yes but", "my address is", "from", "I'm", "they've", "what is the?", "and a",
    "i lost my debit card can you", "can you please send me", "can you change the", "can you send me a new",
    "every day monday through",
    "my sav-", "so I was going to...", "to the", "yes i need some", "and then", "my car~",
    "savings and,", "thank you very", "number main is",
]  # fmt: skip
DIGITS = [
    "seven one five", "7-1-5-1-3-9-0-7-8-7", "715-139-0787", "(715) 139-0787.", "Seven, one, five.",
    "one hundred", "a hundred and thirty-two", "double", "zip code is 70023", "seven one oh", "zip is one",
    "one two to", "it's 300", "five point", "715-", "one",
]  # fmt: skip
SPELLED = ["main that's m a i n", "B-R-A", "Main, that's M, a, I, n.", "b as in boy", "s-m-y-t-h", "eleven p"]
OVER = [
    "", ".", "[noise]", "My checking account.", "$135.", "one hundred and thirty five dollars", "11 a.m.",
    "eleven a m", "11am.", "11 am", "at 4:30", "June 3rd", "the savings one", "can you send me a new one",
    "that's all i need", "no that's all i needed help with", "yes it is", "Yes, I do.", "i think so",
    "i can't log in", "my a t m card is lost", "from the ATM", "my ID", "no", "yes", "what is it for?",
    "is it open?", "what the local branch hours are", "you as well", "never mind", "no thank you", "bye",
    "i would like to transfer money between my accounts", "harper valley california", "I lost my card.",
    "what was that", "that's it", "go on and log me in please", "can you repeat that", "fifty bucks",
]  # fmt: skip


@each("text", HESITATIONS)
def test_a_hesitation_is_no_end(text):
    """VAD-02: a thinking pause with "uh" is not taken for the end."""
    assert open_end(text).kind == "hesitation"


@each("text", UNFINISHED)
def test_half_a_clause_is_no_end(text):
    """VAD-02: "can you change the" goes on, and a full stop by the recogniser ends nothing."""
    assert open_end(text).kind == "unfinished"


@each("text", DIGITS)
def test_digits_are_being_dictated(text):
    """VAD-01: a pause between digits is no end."""
    assert open_end(text).kind == "digits"


@each("text", SPELLED)
def test_letters_are_being_spelled(text):
    """VAD-01: the same of letters."""
    assert open_end(text).kind == "spelling"


@each("text", OVER)
def test_what_is_said_is_said(text):
    assert open_end(text) is None


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("The amount is.", "is"),
        ("my savings, UM", "um"),
        ("and so…", "so"),
        ("B-R-A", "b-r-a"),
    ],
)
def test_it_names_the_word_that_says_so(text, word):
    assert open_end(text).word == word


@given(st.text(max_size=60))
def test_no_text_is_too_odd(text):
    found = open_end(text)
    assert found is None or (found.kind in KINDS and found.word)


@pytest.mark.clock("wall")
async def test_no_text_takes_long():
    began = clock.cpu()
    for word in ("a ", "one ", "so ", "- ", "m ", "can you please send me ", "all i need ", ". "):
        open_end(word * 2000)
    assert clock.cpu() - began < 500_000
