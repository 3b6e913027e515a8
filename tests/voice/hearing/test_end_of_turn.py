"""An end-of-turn model listens to at most 8 s, says a likelihood, and its absence is one line."""

from __future__ import annotations

import importlib.util
import sys

import numpy as np
import pytest

from turnbudget.recorded.harper import open_call
from turnbudget.voice.errors import MissingEngine
from turnbudget.voice.hearing import end_of_turn
from turnbudget.voice.hearing.end_of_turn import REMEDY, SmartTurn
from turnbudget.voice.sound import audio
from turnbudget.voice.time.clock import MS, SECOND

UNFINISHED = 0.05

installed = pytest.mark.skipif(
    not (importlib.util.find_spec("pipecat") and importlib.util.find_spec("onnxruntime")),
    reason=f"the end-of-turn model is not installed: {REMEDY}",
)


@pytest.fixture
def afresh():
    """Nothing is loaded yet, and nothing of the test stays."""
    end_of_turn._loaded.cache_clear()
    yield
    end_of_turn._loaded.cache_clear()


@pytest.mark.parametrize("absent", ["pipecat", "onnxruntime"])
def test_what_is_missing_is_one_line_that_says_what_to_type(monkeypatch, afresh, absent):
    del afresh
    real = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == absent else real(name))
    with pytest.raises(MissingEngine, match=r"end-of-turn model is not installed.*pipecat-ai"):
        SmartTurn()


def test_a_package_without_the_model_is_named(monkeypatch, afresh, tmp_path):
    del afresh
    (tmp_path / "pipecat").mkdir()
    (tmp_path / "pipecat" / "__init__.py").write_text("raise RuntimeError('nobody need import this')")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "pipecat", raising=False)
    importlib.invalidate_caches()
    with pytest.raises(MissingEngine, match=r"does not hold Smart Turn v3\.2"):
        SmartTurn()


@installed
@pytest.mark.clock("skip")
async def test_it_says_a_likelihood_of_any_length_of_sound_without_importing_its_package():
    model = SmartTurn()
    noise = np.random.default_rng(1).integers(-3_000, 3_000, audio.samples(12 * SECOND), np.int16)
    try:
        for sound in (audio.silence(0), noise[: audio.samples(300 * MS)], noise):
            assert 0 <= await model.ended(sound) <= 1
        last = noise[-audio.samples(8 * SECOND) :]
        assert await model.ended(noise) == await model.ended(last)
        assert await model.ended(audio.join([noise, audio.silence(audio.samples(8 * SECOND))])) == (
            await model.ended(audio.silence(0))
        )
    finally:
        await model.aclose()
    assert "pipecat" not in sys.modules


@installed
@pytest.mark.clock("skip")
@pytest.mark.parametrize(
    ("call", "word", "ends"),
    [
        ("02e41649e7c441fd", "um", False),  # "hi my name is jennifer williams and um", and a pause of 0.8 s
        ("00d676d7058c49bb", "checking", True),  # all of what was asked for
    ],
)
async def test_it_hears_whether_a_recorded_caller_has_ended(recordings, call, word, ends):
    said = open_call(recordings / "harper-valley" / "transcript" / f"{call}.json")
    words = [word for segment in said.caller_speech for word in segment.words]
    last = next(one for one in reversed(words) if one.text == word)
    began = next(segment.began_us for segment in said.caller_speech if last in segment.words)
    began, until = audio.samples(began - 200 * MS), audio.samples(last.ended_us + 60 * MS)
    model = SmartTurn()
    try:
        likely = await model.ended(said.caller[began:until])
    finally:
        await model.aclose()
    assert (likely > 0.9) if ends else (likely < UNFINISHED)
