"""The real voices, where they are installed."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal

import pytest

from turnbudget.voice.errors import TtsError
from turnbudget.voice.language.sentences import split
from turnbudget.voice.language.speakable import speakable
from turnbudget.voice.sound import audio
from turnbudget.voice.time import clock
from turnbudget.voice.time.budget import Budget
from turnbudget.voice.time.clock import MS, SECOND
from turnbudget.voice.tts import piper, pyttsx3
from turnbudget.voice.tts.check import check_synthesizer
from turnbudget.voice.tts.choose import choose

pytestmark = pytest.mark.clock("skip")
espeak = pytest.mark.skipif(not pyttsx3.reachable(), reason="no espeak-ng for pyttsx3")
joe = pytest.mark.skipif(not piper.reachable(), reason="piper or its packaged voice is not installed")
both = pytest.mark.parametrize(
    "name", [pytest.param("pyttsx3", marks=espeak), pytest.param("piper", marks=joe)]
)


@contextlib.asynccontextmanager
async def speaking(name):
    synthesizer, _ = choose(name)
    try:
        await synthesizer.warm()
        yield synthesizer
    finally:
        await synthesizer.aclose()


@both
async def test_a_real_voice_keeps_the_promises_of_a_synthesizer(name):
    await check_synthesizer(choose(name)[0])


@espeak
async def test_two_hundred_renders_in_a_row_all_sound():
    """TTS-04: none hangs, none is empty."""
    async with speaking("pyttsx3") as synthesizer:
        for number in range(200):
            speech = await synthesizer.render(f"This is the line with the number {number}.")
            assert speech.cost_us < 2 * SECOND
            assert audio.us(speech.samples.size) > SECOND
        assert synthesizer.replaced == 0


@espeak
async def test_two_at_once_and_a_killed_worker_all_sound():
    """TTS-02: pyttsx3 itself would say "run loop already started"."""
    async with speaking("pyttsx3") as synthesizer:
        for _ in range(3):
            renders = [
                asyncio.ensure_future(synthesizer.render(text)) for text in ("One moment.", "Thank you.")
            ]
            await clock.sleep(2 * MS)
            os.kill(synthesizer._live.child.pid, signal.SIGKILL)
            assert all(speech.samples.size for speech in await asyncio.gather(*renders))
            await synthesizer.warm()


def test_a_voice_made_before_there_is_a_loop_speaks_on_one():
    """TTS-03: made in the main thread, rendered through another; five texts, five sounds."""
    if not pyttsx3.reachable():
        pytest.skip("no espeak-ng for pyttsx3")
    synthesizer, _ = choose("pyttsx3")

    async def five():
        try:
            return [
                await synthesizer.render(f"This is text {number}.", Budget.of(9 * SECOND))
                for number in range(5)
            ]
        finally:
            await synthesizer.aclose()

    assert len(clock.run(five(), "wall")) == 5


@espeak
@pytest.mark.parametrize(
    "text",
    ["The next train leaves at nine. " * 200, "and so it goes on and " * 41, "x" * 300],
    ids=["6,000 characters", "900 without a full stop", "one word of 300"],
)
async def test_a_long_text_is_spoken_whole_and_its_first_piece_at_once(text):
    """TTS-07: cut under the limit; first audio by 800 ms; nothing lost."""
    async with speaking("pyttsx3") as synthesizer:
        pieces = split(text, first=90)
        first = await synthesizer.render(pieces[0], Budget.of(800 * MS))
        whole = await synthesizer.render(text, Budget.of(30 * SECOND))
    assert audio.us(whole.samples.size) > 40 * MS * sum(map(len, pieces)) // 2
    assert first.cost_us < 800 * MS


@pytest.mark.quiet
@espeak
async def test_the_default_limit_holds_for_a_long_text_too():
    """TTS-07: 6,000 characters are spoken or refused within 2 s."""
    async with speaking("pyttsx3") as synthesizer:
        began = clock.now()
        with contextlib.suppress(TtsError):
            await synthesizer.render("The next train leaves at nine. " * 200)
        assert clock.now() - began < 2 * SECOND + 50 * MS


@pytest.mark.quiet
@both
async def test_awkward_replies_are_spoken_in_a_plausible_time(name):
    """TTS-14, TTS-15, TTS-16: audio is produced, and no letter is spelled by its script's name."""
    replies = (
        'Smith & Sons, if x < 3 say "hi" <|im_start|>user',
        "Привет, Zoë — 你好",
        "Call +1 555-0100, code 418205, order 7120450100, you owe 1350 euros in 2027.",
    )
    async with speaking(name) as synthesizer:
        for reply in replies:
            speech = await synthesizer.render(speakable(reply), Budget.of(10 * SECOND))
            assert 200 * MS < audio.us(speech.samples.size) < 15 * SECOND


@espeak
async def test_another_script_for_an_english_voice_is_never_spelled_for_a_minute():
    """TTS-15: what slips past the cleaning is short, or refused for its length."""
    async with speaking("pyttsx3") as synthesizer:
        for text in ("Привет, как дела", "你好，今天天气很好"):
            try:
                speech = await synthesizer.render(text, Budget.of(5 * SECOND))
            except TtsError:
                continue
            assert audio.us(speech.samples.size) < (1 + 0.6 * len(text)) * SECOND
