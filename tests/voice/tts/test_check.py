"""The conformance kit finds what a careless synthesizer does."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from laws import each

from turnbudget.voice.errors import BrokenPromise, TtsError
from turnbudget.voice.sound import audio
from turnbudget.voice.time.budget import Budget
from turnbudget.voice.time.clock import SECOND
from turnbudget.voice.tts.check import check_synthesizer
from turnbudget.voice.tts.scripted import ScriptedSynthesizer


class Careless(ScriptedSynthesizer):
    def __init__(self, **changes):
        super().__init__()
        self._changes = changes

    async def render(self, text, budget=None):
        return dataclasses.replace(await super().render(text, budget), **self._changes)


class Talkative(ScriptedSynthesizer):
    async def render(self, text, budget=None):
        del budget
        return await super().render(text if any(map(str.isalnum, text)) else "nothing", Budget.of(SECOND))


class Broken(ScriptedSynthesizer):
    async def render(self, text, budget=None):
        raise TtsError(f"out of order: {text!r} in {budget}")


@each(
    ("changes", "finding"),
    [
        ({"samples": audio.silence(3_200)}, "not audible"),
        ({"samples": np.full(3_200, 9_000, np.int16), "onset": 0}, "not faded"),
        ({"onset": 7_000}, "the onset is 7000"),
        ({"text": "another"}, "the text is another"),
        ({"voice": ""}, "the voice has no name"),
        ({"cost_us": -1}, "negative"),
    ],
)
async def test_a_broken_promise_is_named(changes, finding):
    with pytest.raises(BrokenPromise) as caught:
        await check_synthesizer(Careless(**changes))
    assert any(finding in found for found in caught.value.promises)


async def test_speaking_what_cannot_be_spoken_and_without_time_is_found():
    with pytest.raises(BrokenPromise, match="breaks 4 promises") as caught:
        await check_synthesizer(Talkative())
    assert len(caught.value.promises) == 4


async def test_a_voice_that_only_raises_is_found():
    with pytest.raises(BrokenPromise, match="breaks a promise:") as caught:
        await check_synthesizer(Broken())
    [finding] = caught.value.promises
    assert finding.startswith("a plain text raises: out of order")
