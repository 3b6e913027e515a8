"""Sentences out of deltas: the same pieces however the text arrives, and nothing lost between them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from laws import each

from turnbudget.voice.language.sentences import FIRST, LIMIT, Sentences, pack, split

ABBREVIATIONS = ["Dr.", "e.g.", "a.m.", "U.S.", "J.", "K.", "Mr.", "Inc.", "1."]
MARKS = ["yes", "no.", "well,", "wait...", "what?", "No!", '"go."', "(ok)", "你好。", "ठीक।", "हाँ؟", "two\n"]
PLAIN = ["and", "I", "You", "3.5", "8:15", "$12.50", "one", "The", "next", "5", "5,", "0", "account"]
WORDS = st.sampled_from(ABBREVIATIONS + MARKS + PLAIN)
TEXTS = st.lists(WORDS, max_size=80).map(" ".join)


def fed(text, size, **options):
    sentences = Sentences(**options)
    pieces = [piece for at in range(0, len(text), size) for piece in sentences.feed(text[at : at + size])]
    return pieces + sentences.flush()


def test_abbreviations_and_initials_end_no_sentence():
    """TTS-09: two chunks out of 3-character deltas."""
    text = "Dr. Rivera can see you at 8:15 a.m. today, e.g. in the U.S. office. J. K. Okafor is away."
    expected = [
        "Dr. Rivera can see you at 8:15 a.m. today, e.g. in the U.S. office.",
        "J. K. Okafor is away.",
    ]
    assert fed(text, 3) == expected
    assert split(text) == expected


@each(
    ("text", "pieces"),
    [
        ("It is 3.5 percent. That is $12.50.", ["It is 3.5 percent.", "That is $12.50."]),
        ("Come at 5 p.m. Please be early.", ["Come at 5 p.m.", "Please be early."]),
        ("It is 5 p.m. Eastern time now.", ["It is 5 p.m. Eastern time now."]),
        ("I live in the U.S. Army base.", ["I live in the U.S. Army base."]),
        ("I live in the U.S. It is big.", ["I live in the U.S.", "It is big."]),
        ("Take No. 5 there. No. I mean six.", ["Take No. 5 there.", "No. I mean six."]),
        ("Wait... what is it? Well... Then go.", ["Wait... what is it?", "Well... Then go."]),
        ('"Really?" he said. "Oh no!" She ran.', ['"Really?" he said.', '"Oh no!"', "She ran."]),
        ("We have plan B. Then we go.", ["We have plan B.", "Then we go."]),
        ("okay. thanks for calling. bye now.", ["okay. thanks for calling.", "bye now."]),
        ("Your choices:\n1. Pay now\n2. Pay later", ["Your choices:", "1. Pay now", "2. Pay later"]),
        ("नमस्ते दुनिया। आप कैसे हैं?", ["नमस्ते दुनिया।", "आप कैसे हैं?"]),
        ("你好吗？今天天气很好！谢谢。", ["你好吗？", "今天天气很好！", "谢谢。"]),
        ("مرحبا بكم؟ نعم نحن هنا.", ["مرحبا بكم؟", "نعم نحن هنا."]),
        ("Yes. I can help. Goodbye.", ["Yes. I can help. Goodbye."]),
        ("Okay.", ["Okay."]),
        ("", []),
        (" \n ", []),
    ],
)
def test_a_mark_ends_a_sentence_where_a_reader_would_say_so(text, pieces):
    """TTS-09: abbreviations, hours, decimals, initials, ellipses, quotes, other scripts."""
    assert split(text) == pieces


def test_a_sentence_leaves_as_soon_as_the_next_has_begun():
    sentences = Sentences()
    assert sentences.feed("Thank you for calling.") == []
    assert sentences.feed(" How") == []
    assert sentences.feed(" ") == ["Thank you for calling."]


def test_a_long_first_sentence_is_cut_at_a_clause_to_be_heard_early():
    """TTS-07: the first piece is short."""
    text = (
        "Let me look that up, it takes a moment, and I will tell you the amount as soon as I have it"
        " here in front of me, which may be a while."
    )
    first, *rest = fed(text, 4)
    assert first == "Let me look that up, it takes a moment,"
    assert len(first) <= FIRST
    assert " ".join([first, *rest]) == text


@pytest.mark.parametrize(
    "text",
    [
        "The next train leaves at nine. " * 194,
        "and so it goes on " * 50,
        "x" * 300,
        "y" * 250 + " z",
    ],
    ids=["6,000 characters", "900 without a full stop", "one word of 300", "a word too long and another"],
)
def test_a_long_text_is_cut_under_the_limit_and_nothing_is_lost(text):
    """TTS-07: at sentence, clause or word borders."""
    pieces = split(text)
    assert max(map(len, pieces)) <= LIMIT
    assert "".join("".join(pieces).split()) == "".join(text.split())


def test_few_pieces_hold_as_many_sentences_as_fit():
    pieces = pack("The next train leaves at nine. " * 20)
    assert [len(piece) for piece in pieces] == [185, 185, 185, 61]


def test_digits_read_one_by_one_stay_together():
    """TTS-16: the cut falls before the number, not in it."""
    text = "You can always reach one of our colleagues under the number, 5 5 5, 0 1 0 0, at any time"
    assert split(text, limit=70, first=70)[1].startswith("5 5 5, 0 1 0 0")


@given(TEXTS, st.integers(1, 9), st.booleans())
def test_the_pieces_do_not_depend_on_the_deltas(text, size, eager):
    assert fed(text, size, eager=eager) == fed(text, max(1, len(text)), eager=eager)


@given(st.one_of(TEXTS, st.text(max_size=600)), st.integers(20, 220))
def test_the_pieces_joined_are_the_text_but_for_white_space(text, limit):
    pieces = split(text, limit=limit)
    assert "".join("".join(pieces).split()) == "".join(text.split())
    assert all(piece and len(piece) <= limit for piece in pieces)


@given(TEXTS)
def test_no_piece_is_a_lonely_word_unless_it_is_the_whole_text(text):
    pieces = split(text)
    lonely = [piece for piece in pieces if len(piece.split()) < 2 and piece.isascii()]
    assert not lonely or len(pieces) == 1
