"""Two transcripts say the same: case, punctuation, fillers and spelling differ, no word does."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from laws import each

from turnbudget.voice.language.text import same


@each(
    ("guessed", "final"),
    [
        ("whats my balance", "What's my balance?"),
        ("cancel  my order", "Cancel my order."),
        ("um cancel uh my order", "Cancel my order."),
        ("i don’t know", "I dont know"),
        ("i do not know", "I don't know"),
        ("i cannot pay", "I can't pay"),
        ("id like to pay", "I'd like to pay"),
        ("i would like to pay", "I'd like to pay"),
        ("one hundred thirty two dollars", "$132"),
        ("a hundred and thirty-two dollars", "132 dollars"),
        ("at five thirty p m", "At 5:30 p.m."),
        ("the twenty first", "the 21st"),
        ("one point five", "1.5"),
        ("fifty euros", "€50"),
        ("fifteen hundred", "1,500"),
        ("five five five oh one two three", "555-0123"),
        ("[noise] yes", "Yes."),
        ("the the card", "the card"),
        ("i i want a card", "I want a card"),
        ("okay gonna pay", "OK, going to pay"),
        ('he said "yes"', "He said yes"),
        ("twenty percent", "20%"),
    ],
)
def test_what_is_only_written_otherwise_is_the_same(guessed, final):
    """TURN-08: the work is kept."""
    assert same(guessed, final)
    assert same(final, guessed)


@each(
    ("guessed", "final"),
    [
        ("what's my balance", "what's my balance on Friday"),
        ("cancel my order", "don't cancel my order"),
        ("no", "no no"),
        ("very good", "very very good"),
        ("my code is a seven", "my code is a a seven"),
        ("yes", "yes please"),
        ("savings", "saving"),
        ("we're here", "were here"),
        ("i'll pay", "ill pay"),
        ("uh-huh", "uh-uh"),
        ("uh huh yes", "yes"),
        ("mm hmm", "hmm"),
        ("hm", ""),
        ("$1.50", "$150"),
        ("50 dollars", "50 euros"),
        ("50", "$50"),
        ("-5 degrees", "5 degrees"),
        ("3-4 days", "34 days"),
        ("3 - 4 days", "34 days"),
        ("1/2", "12"),
        ("twenty uh five", "twenty five"),
        ("four one um five", "four one five"),
        ("transfer (500)", "transfer (300)"),
        ("cancel <unk> order", "cancel order"),
        ("the second of May", "the third of May"),
        ("bitte um fünf Uhr", "bitte fünf Uhr"),
        ("네", "아니요"),
        ("कि", "का"),
        ("ไม่", "ไม"),
    ],
)
def test_a_word_more_or_less_is_another_text(guessed, final):
    """TURN-08: the work is dropped."""
    assert not same(guessed, final)
    assert not same(final, guessed)


WORDS = ("cancel", "my", "order", "not", "on", "Friday", "two", "savings", "no", "I", "want", "wait")


@given(st.lists(st.sampled_from(WORDS), min_size=1, max_size=6), st.sampled_from(WORDS), st.integers(0, 6))
def test_no_word_gets_lost(words, more, at):
    at = min(at, len(words))
    longer = [*words[:at], more, *words[at:]]
    stutter = more in ("my", "I") and more in (words[max(0, at - 1) : at + 1])
    assert stutter or not same(" ".join(words), " ".join(longer))


@given(st.text(max_size=80))
def test_space_around_a_text_makes_no_difference(text):
    assert same(text, f"  {text} ")
