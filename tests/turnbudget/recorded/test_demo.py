"""The demo's call: two people who take turns, on a line with a little noise, made with any voice."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
import soundfile
from calls import QUICK

from turnbudget.recorded.demo import LINES, render_call
from turnbudget.recorded.tracks import Reading, stereo
from turnbudget.settings.config import TtsTable
from turnbudget.voice.hearing.vad import Energy
from turnbudget.voice.sound import audio
from turnbudget.voice.time import clock
from turnbudget.voice.tts import pyttsx3

PAUSE_US = 900_000

SCRIPTED = msgspec.structs.replace(QUICK, tts=TtsTable(engine="scripted"))


@pytest.fixture(scope="module")
def call(tmp_path_factory):
    """The call rendered with the scripted voice, what was said of it meanwhile, and its file."""
    told = []
    path = clock.run(render_call(SCRIPTED, tmp_path_factory.mktemp("demo"), told.append), "skip")
    return path, told


def test_the_two_take_turns(call):
    path, _ = call
    conversation = stereo("demo", path, Reading(vad=Energy))
    assert len(conversation.turns()) == sum(who == "caller" for who, _ in LINES)
    assert all(clip.pause_us >= PAUSE_US - 50_000 for clip in conversation.clips("gated"))


def test_nobody_speaks_while_the_other_does(call):
    sound, rate = soundfile.read(call[0], dtype="int16")
    assert rate == audio.RATE
    loud = np.abs(sound.astype(int)).reshape(-1, 2) > 1_000
    assert loud.any(axis=0).all()
    assert not loud.all(axis=1).any()


def test_the_callers_line_has_a_noise_of_its_own(call):
    sound, _ = soundfile.read(call[0], dtype="int16")
    assert 5 < float(np.std(sound[: audio.samples(500_000), 0])) < 30


def test_each_line_is_told_as_it_is_rendered(call):
    _, told = call
    assert told == [
        "loading scripted",
        *(f"rendering line {number} of {len(LINES)}" for number in range(1, len(LINES) + 1)),
    ]


def test_the_same_voice_makes_the_same_file(call, tmp_path):
    again = clock.run(render_call(SCRIPTED, tmp_path, lambda _: None), "skip")
    assert again.read_bytes() == call[0].read_bytes()


def test_a_real_voice_makes_a_call_that_a_detector_can_follow(tmp_path):
    if not pyttsx3.reachable():
        pytest.skip(f"no voice: {pyttsx3.REMEDY}")
    config = msgspec.structs.replace(QUICK, tts=TtsTable(engine="pyttsx3"))
    path = clock.run(render_call(config, tmp_path, lambda _: None), "wall")
    conversation = stereo("demo", path, Reading(vad=Energy))
    assert len(conversation.turns()) == sum(who == "caller" for who, _ in LINES)
