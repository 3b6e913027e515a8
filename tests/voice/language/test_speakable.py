"""Text as it is spoken: nothing of the page is read out, nothing of the sense is lost."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from laws import each

from turnbudget.voice.language.speakable import pronounceable, speakable
from turnbudget.voice.time import clock


@each(
    ("written", "spoken"),
    [
        ("# Your order\nIt is **on its way**.", "Your order. It is on its way."),
        ("You need:\n- a passport\n- *two* photos", "You need: a passport. two photos."),
        ("1. Open the app\n2. Tap `Pay`", "1. Open the app. 2. Tap Pay."),
        ('See [our page](https://a.example/b?c=d_e "title").', "See our page."),
        ("It is at https://a.example/b, or www.example.com/x.", "It is at, or."),
        ("| day | hours |\n|---|---|\n| Monday | 9–17 |", "day, hours. Monday, 9 to 17."),
        ("Run this:\n```sh\nrm -rf x\n```\nThen wait.", "Run this: Then wait."),
        ("<think>The user wants\na refund.</think>You get a refund.", "You get a refund."),
        ("Great 😀👍🏽 news 🇩🇪!", "Great news!"),
        ("the field user_name is empty", "the field user name is empty"),
        ("Write to jo.doe@example.com today", "Write to jo dot doe at example dot com today"),
        ("<b>Now</b> or <br/> never", "Now or never"),
        ("Wait!!! What?!", "Wait! What?"),
        ("2 + 2 = 4 and 3 * 4 > 5", "2 plus 2 equals 4 and 3 times 4 greater than 5"),
        ("It is 72°F, well — warm.", "It is 72 degrees F, well, warm."),
        ("[[ˈfoʊ]] {x}", "foʊ x"),
        ("...and then?", "and then?"),
    ],
)
def test_what_is_written_for_the_eye_is_not_read_out(written, spoken):
    assert speakable(written) == spoken


@each("text", ["", "  \n", ".", "---", "😀", "```\ncode\n```", "https://a.example/", "<|im_end|>", "你好"])
def test_text_without_a_word_is_empty(text):
    """TTS-05: so that it never reaches an engine."""
    assert speakable(text) == ""


def test_markup_signs_are_named_once_and_stray_tokens_go():
    """TTS-14: no "amp" spoken, no double escape, no template token."""
    text = 'Smith & Sons, if x < 3 say "hi" <|im_start|>user'
    assert speakable(text) == 'Smith and Sons, if x less than 3 say "hi"'
    assert speakable("Smith &amp; Sons") == "Smith and Sons"
    assert speakable("[INST] Hello. </s><end_of_turn>") == "Hello."


def test_a_voice_for_english_is_given_latin_letters_only():
    """TTS-15: other scripts would be spelled by their Unicode names."""
    text = "Привет, Zoë — 你好"
    assert speakable(text) == "Zoë"
    assert speakable(text, other_scripts=True) == "Привет, Zoë, 你好"
    assert speakable("नमस्ते, आप कैसे हैं?", other_scripts=True) == "नमस्ते, आप कैसे हैं?"


@each(
    ("written", "spoken"),
    [
        (
            "Call +1 555-0100, code 418205, order 7120450, you owe 1350 euros in 2027.",
            "Call plus 1, 5 5 5, 0 1 0 0, code 4 1 8 2 0 5, order 7 1 2 0 4 5 0, you owe 1350 euros in 2027.",
        ),
        ("Dial (555) 123-4567 now", "Dial 5 5 5, 1 2 3, 4 5 6 7 now"),
        ("or 1-800-555-0199.", "or 1, 8 0 0, 5 5 5, 0 1 9 9."),
        ("Your PIN is 0042", "Your PIN is 0 0 4 2"),
        ("order #12345 is ready", "order number 1 2 3 4 5 is ready"),
        ("card 4111 1111 1111 1111", "card 4 1 1 1, 1 1 1 1, 1 1 1 1, 1 1 1 1"),
        ("booking AB12CD", "booking A B 1 2 C D"),
        ("an order of 1350 euros", "an order of 1350 euros"),
        ("$1,234.56 or 0.5 percent", "$1,234.56 or 0.5 percent"),
        ("at 08:15 on 2027-05-03", "at 08:15 on 2027-05-03"),
        ("1350000 euros, an MP3 and 12 eggs", "1350000 euros, an MP3 and 12 eggs"),
    ],
)
def test_numbers_that_are_names_are_read_digit_by_digit(written, spoken):
    """TTS-16: telephone, code and order digit by digit; amounts, times and years as numbers."""
    assert speakable(written) == spoken


@given(st.text(max_size=200))
def test_any_text_becomes_one_clean_line(text):
    spoken = speakable(text, other_scripts=True)
    assert spoken == "" or pronounceable(spoken)
    assert spoken == " ".join(spoken.split())
    assert not set(spoken) & set("<>{}[]|`~^\\_*#")


PLAIN = st.sampled_from(["Your", "order", "is", "on", "its", "way", "to", "Main", "Street"])


@given(st.lists(PLAIN, min_size=1))
def test_plain_words_are_left_alone(words):
    assert speakable(" ".join(words)) == " ".join(words)


@pytest.mark.clock("wall")
async def test_no_text_takes_long():
    """Whatever a model writes: it is read on the loop."""
    began = clock.cpu()
    for text in ("A1" + "A" * 60 + "_", "-1" * 10_000, "\n" * 20_000, "*a " * 7_000, "<!--" * 5_000):
        speakable(text)
    assert clock.cpu() - began < 1_500_000
