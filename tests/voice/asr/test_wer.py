from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from turnbudget.voice.asr.reference import WordErrors, word_errors


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
