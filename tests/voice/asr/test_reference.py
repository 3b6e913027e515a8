"""The reference: each word is taken once, and its end is believed while it agrees with what was heard."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from turnbudget.voice.asr.reference import Reference, WordErrors, word_errors
from turnbudget.voice.asr.transcriber import Word

APART_US = 400_000

MS = 1_000


def said(*words):
    """A reference of ``(text, began, ended)`` in ms."""
    reference = Reference()
    reference.announce([Word(text, began * MS, ended * MS) for text, began, ended in words], [])
    return reference


def test_the_true_end_is_that_of_the_last_word():
    reference = said(("to", 0, 200), ("Friday", 250, 900))
    assert reference.last_end(930 * MS, 1_480 * MS) == 900 * MS


def test_words_that_are_spoken_later_do_not_count():
    """The line announces a clip before it plays it."""
    reference = said(("yes", 0, 400), ("well", 2_000, 2_300))
    assert reference.last_end(410 * MS, 960 * MS) == 400 * MS


def test_an_end_that_disagrees_is_not_believed():
    reference = said(("yes", 0, 400))
    assert reference.last_end(400 * MS + APART_US, 2_000 * MS) == 400 * MS
    assert reference.last_end(401 * MS + APART_US, 2_000 * MS) is None
    assert Reference().last_end(0, 0) is None


def test_the_end_of_a_word_that_outlasts_the_next_counts():
    """A crosswise pair, as forced alignment leaves it: the later end is the end of the speech."""
    reference = said(("so", 0, 700), ("uh", 100, 300))
    assert reference.last_end(690 * MS, 1_300 * MS) == 700 * MS


def test_a_word_belongs_to_the_utterance_that_ends_after_its_middle():
    reference = said(("move", 0, 400), ("it", 400, 600))
    assert reference.take(499 * MS) == "move"
    assert reference.take(5_000 * MS) == "it"
    assert reference.take(5_000 * MS) == ""


def test_a_word_nobody_heard_is_missing_in_the_utterance_after_it():
    reference = said(("hello", 0, 300), ("yes", 4_000, 4_300))
    assert reference.take(4_310 * MS) == "hello yes"


def test_it_knows_that_a_caller_will_go_on():
    reference = Reference()
    reference.announce([], [(1_000, 5_000)])
    assert [reference.goes_on_after(at) for at in (999, 1_000, 3_000, 5_000)] == [False, False, True, False]


times = st.integers(0, 20_000)
crossing = st.lists(st.tuples(times, st.integers(0, 2_000)), max_size=12).map(sorted)


@given(crossing, st.lists(times, max_size=6).map(sorted))
def test_each_word_is_taken_once_and_in_its_order(spans, ends):
    reference = said(*((f"w{k}", began, began + long) for k, (began, long) in enumerate(spans)))
    taken = " ".join(filter(None, (reference.take(end * MS) for end in [*ends, 30_000])))
    assert taken == " ".join(f"w{k}" for k in range(len(spans)))


def test_each_kind_of_error_is_counted():
    errors = word_errors("please check my account balance", "please czech account balance now")
    assert errors == WordErrors(substituted=1, deleted=1, inserted=1, words=5)
    assert errors.rate == 3 / 5


def test_errors_add_up_over_utterances():
    both = word_errors("yes", "") + word_errors("no thank you", "no thank you")
    assert both == WordErrors(deleted=1, words=4)


def test_without_words_there_is_no_rate():
    assert word_errors("[noise]", "").rate is None
    assert word_errors("[noise]", "the").inserted == 1


@given(st.text("abc "), st.text("abc "))
def test_the_counts_explain_both_lengths(said, heard):
    errors = word_errors(said, heard)
    assert errors.words == len(said.split())
    assert errors.words - errors.deleted + errors.inserted == len(heard.split())
