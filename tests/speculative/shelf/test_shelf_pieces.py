"""What the shelf goes by: the pieces that a turn renders, and no other cut of the text."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from turnbudget.speculative.shelf.pieces import beginnings, pieces, plain
from turnbudget.voice.language.sentences import split
from turnbudget.voice.language.speakable import speakable

WORDS = st.lists(
    st.sampled_from(
        ["Thank", "you,", "Maria.", "Is", "it", "412.50?", "No;", "(yes)", "Dr.", "a.m.", "–", "ok"]
    ),
    max_size=30,
).map(" ".join)


def test_a_text_is_cut_as_a_turn_cuts_it():
    text = "Thank you, Maria. *What* is your\nfirst name?"
    assert pieces(text) == ["Thank you, Maria.", "What is your first name?"] == split(speakable(text))


@given(WORDS)
def test_every_beginning_and_its_rest_are_the_text(text):
    text = plain(text)
    cuts = list(beginnings(text))
    assert cuts[0] == (text, "")
    assert all(f"{beginning} {rest}" == text for beginning, rest in cuts[1:])
    assert [len(cut[0]) for cut in cuts] == sorted((len(cut[0]) for cut in cuts), reverse=True)


@given(st.text(max_size=80))
def test_nothing_breaks_the_cutting(text):
    for beginning, rest in beginnings(plain(text)):
        assert (beginning + rest).replace(" ", "") == plain(text).replace(" ", "")
