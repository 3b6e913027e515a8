from __future__ import annotations

from turnbudget.voice.asr.decodes import Agreement


def texts(*decodes):
    agreement, shown = Agreement(), []
    for decode in decodes:
        agreement.hear(decode)
        shown.append(agreement.text)
    return shown


def test_a_word_is_believed_when_two_decodes_agree_on_it():
    assert texts("I", "I need", "I need a", "I need a taxi") == ["", "I", "I need", "I need a"]


def test_case_and_punctuation_do_not_matter():
    assert texts("I need.", "i need, a")[-1] == "i need,"


def test_a_flapping_partial_is_not_believed():
    """ASR-09."""
    assert texts("cancel", "can you", "can you sell", "can you sell my") == [
        "",
        "",
        "can you",
        "can you sell",
    ]


def test_one_odd_decode_takes_nothing_back_and_two_do():
    assert texts("cancel my", "cancel my", "can you", "can you sell")[1:] == [
        "cancel my",
        "cancel my",
        "can you",
    ]


def test_after_a_pause_all_of_the_text_is_believed():
    agreement = Agreement()
    agreement.hear("check my")
    agreement.settle("Check my balance.")
    assert agreement.text == "Check my balance."
    agreement.hear("check my balance please")
    assert agreement.text == "check my balance"
