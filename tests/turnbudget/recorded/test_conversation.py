"""A recorded conversation is cut where the agent spoke, and nothing of the caller is lost in the cuts."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from turnbudget.recorded.conversation import Conversation, Segment, segments_of
from turnbudget.voice.asr.transcriber import Word
from turnbudget.voice.sound import audio

LEAD_US = 300_000

SECOND = 1_000_000


def spoken(began_ms, ended_ms, text=""):
    words = (Word(text, began_ms * 1_000, ended_ms * 1_000),) if text else ()
    return Segment(began_ms * 1_000, ended_ms * 1_000, words)


def talk(caller, agent, seconds=20):
    """A call whose caller's channel holds, at each place, the place itself."""
    samples = (np.arange(seconds * audio.RATE) % 30_000).astype(np.int16)
    return Conversation(
        name="x",
        source="x.wav",
        caller=samples,
        caller_speech=tuple(caller),
        agent_speech=tuple(agent),
        has_words=False,
    )


def test_a_turn_ends_where_the_agent_begins_to_speak():
    caller = [spoken(1_000, 2_000), spoken(3_000, 4_000), spoken(9_000, 9_500), spoken(12_000, 13_000)]
    call = talk(caller, [spoken(5_000, 8_000), spoken(10_000, 11_000)])
    assert [len(turn) for turn in call.turns()] == [2, 1, 1]


def test_a_murmur_of_the_agent_parts_two_turns_of_the_caller_too():
    call = talk([spoken(1_000, 2_000), spoken(3_000, 4_000)], [spoken(1_900, 2_100)])
    assert len(call.turns()) == 2


def test_segments_that_come_out_of_order_are_put_in_order():
    call = talk([spoken(3_000, 4_000), spoken(1_000, 2_000)], [spoken(2_200, 2_500)])
    assert [turn[0].began_us for turn in call.turns()] == [1 * SECOND, 3 * SECOND]


def test_the_pause_is_what_the_person_made_after_the_agent():
    clips = talk([spoken(1_000, 2_000), spoken(6_500, 7_000)], [spoken(3_000, 6_000)]).clips("gated")
    assert [clip.pause_us for clip in clips] == [0, 500_000]


def test_who_spoke_into_the_agents_words_makes_no_pause():
    clips = talk([spoken(1_000, 2_000), spoken(5_500, 7_000)], [spoken(3_000, 6_000)]).clips("gated")
    assert clips[1].pause_us == 0


def test_a_clip_holds_its_turn_with_pauses_as_recorded_and_a_lead_of_background():
    caller = [spoken(2_000, 3_000, "one"), spoken(4_000, 5_000, "two"), spoken(9_000, 9_500)]
    call = talk(caller, [spoken(6_000, 8_000)])
    clip, _ = call.clips("gated")
    start = 2 * SECOND - LEAD_US
    assert clip.samples[0] == audio.samples(start) % 30_000
    assert audio.us(clip.samples.size) == 3 * SECOND + 2 * LEAD_US
    assert clip.lead_us == LEAD_US
    assert clip.turns == ((LEAD_US, LEAD_US + 3 * SECOND),)
    assert clip.words == (
        Word("one", LEAD_US, LEAD_US + SECOND),
        Word("two", LEAD_US + 2 * SECOND, LEAD_US + 3 * SECOND),
    )


def test_two_turns_close_together_share_what_lies_between():
    first, second = talk([spoken(1_000, 2_000), spoken(2_200, 3_000)], [spoken(2_050, 2_150)]).clips("gated")
    assert (audio.us(first.samples.size), second.lead_us) == (LEAD_US + SECOND + 100_000, 100_000)


def test_timeline_is_one_clip_with_every_turn_where_it_was():
    call = talk([spoken(1_000, 2_000, "one"), spoken(6_500, 7_000, "two")], [spoken(3_000, 6_000)])
    (clip,) = call.clips("timeline")
    assert clip.samples is call.caller
    assert clip.turns == ((1 * SECOND, 2 * SECOND), (6_500_000, 7 * SECOND))
    assert [word.text for word in clip.words] == ["one", "two"]
    assert (clip.when, clip.pause_us) == ("at once", 0)


def test_the_background_is_where_the_caller_is_quietest():
    samples = np.full(5 * audio.RATE, 900, np.int16)
    samples[audio.RATE * 2 : audio.RATE * 3] = 7
    assert set(
        Conversation(
            name="x", source="x", caller=samples, caller_speech=(), agent_speech=(), has_words=False
        ).background()
    ) == {7}


def test_a_recording_of_a_moment_has_no_background():
    assert (
        Conversation(
            name="x",
            source="x",
            caller=audio.silence(100),
            caller_speech=(),
            agent_speech=(),
            has_words=False,
        )
        .background()
        .size
        == 0
    )


def test_stretches_of_voice_close_together_are_one():
    ms = 1_000
    found = segments_of(
        [(0, 300 * ms), (500 * ms, 700 * ms), (2_000 * ms, 2_150 * ms), (3_000 * ms, 3_200 * ms)]
    )
    assert found == (Segment(0, 700 * ms), Segment(2_000 * ms, 2_150 * ms), Segment(3_000 * ms, 3_200 * ms))


SIDES = st.lists(st.tuples(st.integers(0, 19_000), st.integers(20, 3_000)), min_size=1, max_size=8)


@given(SIDES, SIDES)
def test_whatever_overlaps_every_turn_is_whole_in_its_clip(caller, agent):
    caller, agent = (
        [spoken(began, min(began + long, 20_000), "w") for began, long in side] for side in (caller, agent)
    )
    call = talk(caller, agent)
    clips = call.clips("gated")
    assert sum(len(clip.words) for clip in clips) == len(caller) - len(call.backchannels)
    for clip, turn in zip(clips, call.turns(), strict=True):
        ((began, _),) = clip.turns
        first, last = turn[0], max(turn, key=lambda segment: segment.ended_us)
        assert clip.lead_us == began >= 0
        assert clip.samples[audio.samples(began)] == audio.samples(first.began_us) % 30_000
        assert audio.us(clip.samples.size) >= began + last.ended_us - first.began_us - 63
        assert all(0 <= word.began_us <= word.ended_us for word in clip.words)
