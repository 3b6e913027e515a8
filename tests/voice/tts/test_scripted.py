"""The scripted voice: the same tone each time, at the cost it is told."""

from __future__ import annotations

import asyncio

import numpy as np
import pytest

from turnbudget.voice.errors import TtsError
from turnbudget.voice.sound import audio
from turnbudget.voice.time import clock
from turnbudget.voice.time.budget import Budget
from turnbudget.voice.time.clock import MS, SECOND
from turnbudget.voice.tts.check import check_synthesizer
from turnbudget.voice.tts.scripted import ScriptedSynthesizer


async def test_it_keeps_the_promises_of_a_synthesizer():
    await check_synthesizer(ScriptedSynthesizer())


async def test_a_render_costs_what_it_is_told_to():
    synthesizer = ScriptedSynthesizer(cost_us=30 * MS, costs_us=[5 * MS, 400 * MS])
    costs = [(await synthesizer.render("Good morning.")).cost_us for _ in range(3)]
    assert costs == [5 * MS, 400 * MS, 30 * MS]


async def test_renders_that_overlap_wait_for_each_other():
    synthesizer = ScriptedSynthesizer(cost_us=30 * MS)
    both = await asyncio.gather(*(synthesizer.render(text) for text in ("One moment.", "Thank you.")))
    assert [speech.cost_us for speech in both] == [30 * MS, 60 * MS]


async def test_the_tone_begins_at_once_lasts_as_long_as_the_text_and_does_not_click():
    """TTS-13: a tone that clicks would hide the clicks of a Mouth."""
    synthesizer = ScriptedSynthesizer()
    short, long = [await synthesizer.render(text) for text in ("Yes.", "Thank you for calling us today.")]
    assert short.onset < 40
    assert short.samples.size < long.samples.size
    assert np.abs(np.diff(long.samples.astype(np.int32))).max() < 2_000
    assert audio.us(long.samples.size) == 25 * 58 * MS


async def test_faults_come_where_they_are_ordered():
    synthesizer = ScriptedSynthesizer(faults={0: "raise", 1: "empty", 2: "hang"})
    for _ in range(3):
        with pytest.raises(TtsError):
            await synthesizer.render("Good morning.", Budget.of(500 * MS))
    assert clock.now() == 30 * MS + 30 * MS + 500 * MS
    assert (await synthesizer.render("Good morning.")).samples.size


async def test_a_hang_without_a_budget_ends_after_two_seconds():
    with pytest.raises(TtsError, match="in time"):
        await ScriptedSynthesizer(faults={0: "hang"}).render("Good morning.")
    assert clock.now() == 2 * SECOND


@pytest.mark.parametrize("text", ["", "  \n", "."])
async def test_text_without_a_word_is_refused(text):
    """TTS-05: by every voice alike."""
    with pytest.raises(TtsError, match="nothing to speak"):
        await ScriptedSynthesizer().render(text)
