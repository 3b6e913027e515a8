"""Without a transcript a detector says who spoke when, and each side is heard alone."""

from __future__ import annotations

import numpy as np
import pytest
import soundfile
from calls import TALK, Line, pair, stereo, track

from turnbudget.recorded.tracks import Reading, voiced
from turnbudget.recorded.tracks import pair as open_pair
from turnbudget.recorded.tracks import stereo as open_stereo
from turnbudget.voice.errors import AudioError, UsageError
from turnbudget.voice.hearing.vad import Energy

NEAR_MS = 30


def near(segments, talk, who):
    """Whether *segments* are what *who* says in *talk*, to 30 ms."""
    lines = [line for line in talk if line.who == who]
    return len(segments) == len(lines) and all(
        abs(segment.began_us // 1000 - line.at_ms) <= NEAR_MS
        and abs(segment.ended_us // 1000 - line.ended_ms) <= NEAR_MS
        for segment, line in zip(segments, lines, strict=True)
    )


def opened(path, **how):
    return open_stereo("x", path, Reading(vad=Energy, **how))


@pytest.mark.parametrize("suffix", [".wav", ".flac"])
def test_a_stereo_recording_has_the_caller_left(tmp_path, suffix):
    """AUD-07: the agent's words, which begin first, start no turn of the caller."""
    call = opened(stereo(tmp_path / f"a{suffix}"))
    assert near(call.caller_speech, TALK, "caller")
    assert near(call.agent_speech, TALK, "agent")
    assert call.has_words is False


def test_the_caller_may_be_on_the_right(tmp_path):
    call = opened(stereo(tmp_path / "a.wav", swapped=True), caller=1)
    assert near(call.caller_speech, TALK, "caller")
    assert near(call.agent_speech, TALK, "agent")


@pytest.mark.parametrize("rate", [8_000, 11_025, 44_100])
def test_times_are_the_same_at_every_rate(tmp_path, rate):
    """AUD-08: times come from the header's rate."""
    assert near(opened(stereo(tmp_path / "a.wav", rate=rate)).caller_speech, TALK, "caller")


def test_of_three_channels_any_may_be_the_callers(tmp_path):
    sides = [track("agent"), np.zeros(64_000, np.int16), track("caller")]
    soundfile.write(tmp_path / "a.wav", np.column_stack(sides), 8_000)
    call = opened(tmp_path / "a.wav", caller=2)
    assert near(call.caller_speech, TALK, "caller")
    assert near(call.agent_speech, TALK, "agent")


def test_one_channel_alone_is_the_callers(tmp_path):
    soundfile.write(tmp_path / "a.wav", track("caller"), 8_000)
    assert opened(tmp_path / "a.wav").one_sided
    with pytest.raises(AudioError, match="has 1 channels, and the caller is said to be on 1"):
        opened(tmp_path / "a.wav", caller=1)


def test_a_channel_that_there_is_not_is_a_fault(tmp_path):
    stereo(tmp_path / "a.wav")
    with pytest.raises(AudioError, match="has 2 channels, and the caller is said to be on 4"):
        opened(tmp_path / "a.wav", caller=4)


def test_a_caller_who_says_nothing_is_a_fault_and_the_other_channel_is_named(tmp_path):
    stereo(tmp_path / "a.wav", [line for line in TALK if line.who == "agent"])
    with pytest.raises(AudioError, match=r"no speech in the caller's channel; .*--caller-channel 1"):
        opened(tmp_path / "a.wav")


def test_digital_silence_is_no_speech(tmp_path):
    soundfile.write(tmp_path / "a.wav", np.zeros((16_000, 2), np.int16), 8_000)
    with pytest.raises(AudioError, match="no speech"):
        opened(tmp_path / "a.wav")


def test_without_a_detector_nobody_can_say_who_spoke(tmp_path):
    with pytest.raises(UsageError, match="no detector may listen"):
        open_stereo("x", stereo(tmp_path / "a.wav"), Reading())


def both(folder, **how):
    caller = pair(folder, **how)
    return open_pair("x", caller, folder / "x-agent.wav", Reading(vad=Energy))


def test_a_pair_of_one_length_has_nothing_odd_about_it(tmp_path):
    call = both(tmp_path)
    assert near(call.caller_speech, TALK, "caller")
    assert near(call.agent_speech, TALK, "agent")
    assert call.notes == ()


def test_a_pair_of_two_lengths_is_replayed_with_a_note(tmp_path):
    (note,) = both(tmp_path, seconds=(8.0, 9.5)).notes
    assert note.startswith("it lasts 9.5 s, the agent's side 8.0 s: taken to begin together")


def test_a_side_that_would_fit_at_another_rate_is_doubted(tmp_path):
    """AUD-08: a 16 kHz side whose header says 8 kHz lasts twice as long as the other."""
    pair(tmp_path)
    soundfile.write(tmp_path / "x-caller.wav", track("caller", rate=16_000), 8_000)
    call = open_pair("x", tmp_path / "x-caller.wav", tmp_path / "x-agent.wav", Reading(vad=Energy))
    (note,) = call.notes
    assert note.startswith("it lasts 16.0 s, the agent's side 8.0 s: if it is really of 16000 Hz, not 8000")


def test_speech_that_the_recording_cuts_off_still_counts():
    (_, (began, ended)) = voiced(track("caller", seconds=7.0, rate=16_000), Energy())
    assert (began // 20_000, round(ended / 20_000)) == (6_400 // 20, 7_000 // 20)


def test_a_short_voice_may_be_a_turn_and_a_click_is_none(tmp_path):
    path = stereo(tmp_path / "a.wav", seconds=3.0, talk=[Line("caller", "yes", 500)])
    sound, rate = soundfile.read(path, dtype="int16")
    sound[rate * 2 : rate * 2 + 800, 0] = sound[4_400:5_200, 0]  # 100 ms of voice
    soundfile.write(path, sound, rate)
    assert len(opened(path).caller_speech) == 2
    sound[rate * 2 + 400 :, 0] = 0  # 50 ms
    soundfile.write(path, sound, rate)
    assert len(opened(path).caller_speech) == 1
