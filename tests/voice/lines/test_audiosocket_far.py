"""A call over AudioSocket with the simulated Asterisk: what it forgives, what it does not, what is heard."""

from __future__ import annotations

import numpy as np
import pytest
from two_ends import FRAME_US, MS, TwoEnds, sound, voiced

from turnbudget.voice.lines.audiosocket import AudioSocket
from turnbudget.voice.lines.dialect import AudioIn, Dtmf, Hangup, Odd, Started
from turnbudget.voice.lines.far.audiosocket import FarAudioSocket
from turnbudget.voice.sound.audio import silence

UUID = bytes(range(16))


def call(rate=8_000, **more):
    return TwoEnds(AudioSocket(rate), FarAudioSocket(UUID, rate, **more))


def test_what_we_pace_is_heard_sample_by_sample():
    ends = call()
    said = sound(160 * 50)
    ends.pace(said)
    ends.wait(FRAME_US)
    assert voiced(ends.far.playout.heard()).tolist() == said.tolist()
    assert ends.far.playout.lost == 0
    assert ends.far.closed == ""


@pytest.mark.parametrize("rate", [8_000, 16_000])
def test_three_turns_go_both_ways(rate):
    ends = call(rate)
    frame = rate // 50
    said, heard = [], []
    for turn in range(3):
        said.append(sound(frame * 10 + 41, seed=turn))
        ends.far.say(said[-1])
        ends.wait(500 * MS)
        heard.append(sound(frame * 20, seed=10 + turn))
        ends.pace(heard[-1])
    ends.wait(FRAME_US)
    assert ends.heard_of_caller().tolist() == np.concatenate(said).tolist()
    assert voiced(ends.far.playout.heard()).tolist() == np.concatenate(heard).tolist()
    assert ends.told(Started, Odd, Hangup) == [ends.events[0]]


def test_a_call_is_dropped_after_two_seconds_in_which_nobody_sends():
    """TEL-14: the far side has the watchdog that the facts speak of."""
    ends = call()
    ends.wait(2_000 * MS - 1)
    assert ends.far.closed == ""
    ends.wait(1)
    assert ends.far.closed == "Reached timeout after 2000 ms of no activity"
    assert ends.told(Hangup)


def test_silence_keeps_the_call_alive_while_we_think():
    """TEL-14: the LLM needs 3 s; silence each 20 ms, and the answer begins where the silence ends."""
    ends = call()
    ends.pace(silence(160 * 150))
    answer = sound(1_600)
    ends.pace(answer)
    assert ends.far.closed == ""
    heard = ends.far.playout.heard()
    first = int(np.flatnonzero(heard)[0])
    assert heard[first:].tolist() == answer.tolist()
    assert first == 160 * 150


def test_a_caller_who_speaks_keeps_the_call_alive_as_well():
    ends = call()
    ends.far.say(sound(160 * 125))
    ends.wait(4_400 * MS)
    assert ends.far.closed == ""
    ends.wait(200 * MS)
    assert ends.far.closed


def test_a_frame_in_two_parts_survives_two_milliseconds_and_not_fifty():
    for gap, closed in ((2 * MS, ""), (50 * MS, "Poll timed out while waiting for data")):
        ends = call()
        (frame,) = ends.dialect.audio(sound(160))
        ends.send([frame[:103]])
        ends.wait(gap)
        ends.send([frame[103:]])
        assert ends.far.closed == closed


def test_a_kind_that_is_neither_audio_nor_a_hang_up_drops_the_call():
    ends = call()
    ends.send([b"\x03\x00\x01\x31"])
    assert ends.far.closed == "kind 0x03 from us: connection reset"


def test_what_comes_faster_than_it_is_played_is_lost():
    ends = call()
    ends.send(ends.dialect.audio(sound(160 * 50)))
    ends.wait(1_900 * MS)
    assert ends.far.playout.played == 160 * 5
    assert ends.far.playout.lost == 160 * 45


def test_a_frame_of_64000_bytes_is_lost_whole():
    ends = call()
    ends.send([b"\x10" + (64_000).to_bytes(2, "big") + bytes(64_000)])
    assert ends.far.playout.lost == 32_000


def test_a_jitter_of_a_frame_loses_nothing():
    ends = call()
    said = sound(160 * 40)
    for start in range(0, said.size, 320):
        ends.send(ends.dialect.audio(said[start : start + 320]))
        ends.wait(2 * FRAME_US)
    ends.wait(FRAME_US)
    assert voiced(ends.far.playout.heard()).tolist() == said.tolist()


def test_a_silent_caller_sends_no_frames_at_all():
    """AUD-15: 1.2 s of speech, then nothing; the frames that come say nothing of their place."""
    ends = call()
    ends.far.say(sound(160 * 60))
    ends.pace(silence(160 * 300))
    assert ends.heard_of_caller().size == 160 * 60
    ends.far.say(sound(160))
    ends.pace(silence(160 * 2))
    frames = ends.told(AudioIn)
    assert len(frames) == 61
    assert {frame.at for frame in frames} == {None}


def test_the_last_frame_of_what_a_caller_says_may_be_82_bytes():
    ends = call()
    ends.far.say(sound(160 + 41))
    ends.wait(100 * MS)
    assert [frame.samples.size for frame in ends.told(AudioIn)] == [160, 41]


def test_a_caller_who_hangs_up_is_a_bare_end_of_the_socket():
    ends = call()
    ends.far.press("5")
    ends.far.hang_up()
    ends.wait(FRAME_US)
    assert ends.told(Dtmf, Hangup) == [Dtmf("5"), Hangup("the caller hung up")]


def test_an_error_is_told_and_ends_the_call():
    """TEL-15: once, though the socket ends as well."""
    ends = call()
    ends.far.fail(0x04)
    ends.wait(FRAME_US)
    assert ends.told(Hangup) == [Hangup("AudioSocket error 04: out of memory")]


def test_our_hang_up_gives_the_call_back_to_the_dialplan():
    ends = call()
    ends.send(ends.dialect.hang_up())
    assert ends.far.closed == "we hung up; the dialplan goes on"


def test_audio_of_another_kind_than_the_channel_s_is_never_heard():
    ends = TwoEnds(AudioSocket(16_000), FarAudioSocket(UUID, 8_000))
    ends.send(ends.dialect.audio(sound(320)))
    ends.wait(FRAME_US)
    assert ends.far.playout.played == 0
    ends.far.say(sound(160))
    ends.wait(FRAME_US)
    (odd,) = ends.told(Odd)
    assert odd.fatal
