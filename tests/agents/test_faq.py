"""A FAQ answers with the passage that fits, and knows how well it does."""

from __future__ import annotations

import re

import pytest

from turnbudget.agents.agent import Context
from turnbudget.agents.check import check_agent
from turnbudget.agents.faq import Faq, Passage, load
from turnbudget.voice.errors import ConfigError
from turnbudget.voice.time.budget import Budget

GUIDE = """# Our bank

## What are your opening hours?
The branch is open from nine to five. On Saturdays it closes at noon.

## Do you charge for a replacement card?
A replacement card is free.

```
# not a heading
```

## How do I report a stolen card?
Call us at any hour and we block it at once.

## Can I open an account for my child?
Yes, from the day of birth. Bring the birth certificate.
"""


@pytest.fixture
def faq(tmp_path):
    path = tmp_path / "faq.md"
    path.write_text(GUIDE, "utf-8")
    return Faq("faq", load(path))


async def asked(faq, utterance):
    return await faq.answer(utterance, Context(), Budget(0))


async def said(opinion):
    return " ".join([opinion.opening, *[sentence async for sentence in opinion.rest]])


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("hi uh what are the opening hours please", "The branch is open from nine to five."),
        ("is there a charge for replacing my card", "A replacement card is free. ``` # not a heading ```"),
        ("someone stole my card i need to report it", "Call us at any hour"),
        ("opening an account for children", "Yes, from the day of birth."),
    ],
)
async def test_it_finds_the_passage(faq, question, answer):
    opinion = await asked(faq, question)
    assert (await said(opinion)).startswith(answer)


async def test_its_first_sentence_opens_and_the_rest_follows(faq):
    opinion = await asked(faq, "what are your opening hours")
    assert opinion.opening == "The branch is open from nine to five."
    assert await said(opinion) == "The branch is open from nine to five. On Saturdays it closes at noon."


async def test_the_better_it_fits_the_surer_it_is(faq):
    whole = await asked(faq, "how do i report a stolen card")
    half = await asked(faq, "i would like a card with a picture of a giraffe")
    assert whole.confidence > 0.7
    assert half is None or half.confidence < 0.5
    assert re.match(r"BM25 \d+\.\d\d for 'How do I report a stolen card\?'", whole.because)


@pytest.mark.parametrize(
    "text", ["what is the meaning of life", "yes", "", "[noise]", "transfer fifty dollars"]
)
async def test_what_it_does_not_know_is_none(faq, text):
    assert await asked(faq, text) is None


async def test_a_csv_file_will_do(tmp_path):
    path = tmp_path / "faq.csv"
    path.write_text('Question,Answer\n"Where are you?","Main Street, Harper Valley."\n', "utf-8-sig")
    assert load(path) == (Passage("Where are you?", "Main Street, Harper Valley."),)


async def test_it_keeps_what_an_agent_promises(faq):
    await check_agent(faq, ("what are your opening hours", "banana", "stolen card"))


@pytest.mark.parametrize(
    ("name", "content", "line"),
    [
        ("gone.md", None, r".*gone\.md: cannot be read \(No such file or directory\)"),
        ("a.md", b"# \xff", r".*a\.md: is not UTF-8 \(byte 2\); save it as UTF-8"),
        ("a.md", b"\0\0", r".*a\.md: is no text; "),
        ("a.md", b"", r".*a\.md: holds no question with an answer; "),
        ("a.md", b"just text", r".*a\.md: holds no question with an answer; "),
        ("a.md", b"# Q\nA\n\n# Why?\n", r".*a\.md:4: 'Why\?' has no answer; write one below it"),
        ("a.csv", b"", r".*a\.csv:1: the first line does not name"),
        ("a.csv", b"q,a\n1,2\n", r".*a\.csv:1: the first line does not name"),
        ("a.csv", b"question,answer\nWhy?,\n", r".*a\.csv:2: is not a question and an answer"),
        ("a.csv", b"question,answer\nWhy?\n", r".*a\.csv:2: is not a question and an answer"),
        ("a.csv", b"question,answer\na,b,c\n", r".*a\.csv:2: is not a question and an answer"),
        ("a.csv", b'question,answer\n"a"b,c\n', r".*a\.csv:\d: is not CSV"),
    ],
)
def test_a_broken_file_is_one_line(tmp_path, name, content, line):
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ConfigError) as caught:
        load(path)
    assert re.match(line, str(caught.value))
    assert "\n" not in str(caught.value)
