"""jambonz: marks that tell their fate, and four habits of its buffer that must not be heard."""

from __future__ import annotations

import numpy as np
import pytest
from laws import each
from two_ends import FRAME_US, MS, TwoEnds, sound, voiced

from turnbudget.voice.lines.dialect import CallInfo, Dtmf, Hangup, MarkPlayed, Odd, Started
from turnbudget.voice.lines.far.jambonz import FarJambonz
from turnbudget.voice.lines.jambonz import Jambonz
from turnbudget.voice.lines.pcm_websocket import PcmWebsocket

METADATA = (
    '{"callSid":"8a9a","from":"+15550001","to":"+15550002","sampleRate":8000,"mixType":"mono",'
    '"direction":"inbound","tenant":"acme","token":"t0k"}'
)


def call(rate=8_000):
    return TwoEnds(PcmWebsocket(Jambonz()), FarJambonz(rate))


def test_the_first_message_says_who_calls_whom():
    (started,) = PcmWebsocket(Jambonz()).receive(METADATA)
    told = {
        "callSid": "8a9a",
        "from": "+15550001",
        "to": "+15550002",
        "mixType": "mono",
        "direction": "inbound",
        "tenant": "acme",
    }
    assert started == Started(CallInfo("8a9a", "", "+15550001", "+15550002", "acme", "t0k", told))


def test_the_messages_that_go_are_those_of_the_documentation():
    dialect = PcmWebsocket(Jambonz())
    dialect.receive(METADATA)
    push = bytes(2_560)
    assert dialect.begin_reply() == ()
    assert [len(message) for message in dialect.audio(sound(320))] == [320, 320]
    assert dialect.end_reply("turn-1") == ('{"type":"mark","data":{"name":"1"}}', push)
    assert dialect.clear() == (push, '{"type":"killAudio"}')
    assert dialect.hang_up() == ('{"type":"disconnect"}',)


@pytest.mark.parametrize("rate", [8_000, 16_000, 48_000])
def test_a_reply_is_heard_whole_and_its_mark_comes_when_it_was(rate):
    """Its end is pushed out of where it waits, and the mark stands exactly behind it."""
    ends = call(rate)
    said = sound(rate * 2)
    ends.reply(said, "turn-1")
    ends.wait(2_000 * MS)
    assert ends.told(MarkPlayed) == []
    ends.wait(FRAME_US)
    assert ends.told(MarkPlayed) == [MarkPlayed("turn-1")]
    assert voiced(ends.far.playout.heard()).tolist() == said.tolist()


def test_a_sound_full_of_minus_ones_fires_no_mark_early():
    """In its buffer a −1 is a mark: ours are sent as 0."""
    ends = call()
    said = np.where(np.arange(16_000) % 3, np.int16(-1), np.int16(2_000))
    ends.reply(said, "turn-1")
    ends.wait(2_000 * MS)
    assert ends.told(MarkPlayed) == []
    ends.wait(2 * FRAME_US)
    assert ends.told(MarkPlayed) == [MarkPlayed("turn-1")]
    naive = FarJambonz()
    naive.receive('{"type":"mark","data":{"name":"early"}}', 0)
    naive.receive(said.tobytes(), 0)
    assert any("early" in str(message) for message in naive.advance(20 * MS))


def test_a_cut_reply_is_silent_after_a_tick_and_its_mark_is_told_as_cleared():
    ends = call()
    said = sound(8_000 * 5)
    ends.reply(said, "turn-1")
    ends.wait(1_000 * MS)
    ends.send(ends.dialect.clear())
    ends.wait(3_000 * MS)
    assert ends.told(MarkPlayed) == [MarkPlayed("turn-1", cleared=True)]
    assert voiced(ends.far.playout.heard()).tolist() == said[:8_000].tolist()


def test_nothing_of_a_cut_reply_sounds_in_the_next():
    """What waits before the queue is pushed into it and dies there."""
    ends = call()
    ends.send(ends.dialect.audio(sound(8_000)))
    ends.send(ends.dialect.audio(sound(160, seed=5)))
    ends.send(ends.dialect.clear())
    ends.wait(100 * MS)
    answer = sound(1_600, seed=6)
    ends.reply(answer, "answer")
    ends.wait(600 * MS)
    assert voiced(ends.far.playout.heard())[-1_600:].tolist() == answer.tolist()
    assert ends.far.playout.played < 8_000


def test_a_mark_after_a_cleared_one_still_comes():
    """A cleared mark swallows the next, unless a −1 goes before it: three cuts, then a whole reply."""
    ends = call()
    for turn in range(3):
        ends.reply(sound(8_000, seed=turn), f"cut {turn}")
        ends.send(ends.dialect.mark(f"also {turn}"))
        ends.wait(200 * MS)
        ends.send(ends.dialect.clear())
        ends.wait(300 * MS)
    answer = sound(8_000, seed=9)
    ends.far.playout.heard()
    ends.reply(answer, "answer")
    ends.wait(1_000 * MS)
    assert len(ends.told(MarkPlayed)) == 6
    ends.wait(2 * FRAME_US)
    assert ends.told(MarkPlayed)[6:] == [MarkPlayed("answer")]
    assert voiced(ends.far.playout.heard()).tolist() == answer.tolist()


def test_the_simulated_far_side_swallows_marks_as_the_real_source_does():
    far = FarJambonz()
    for name in ("cut", "swallowed", "told"):
        far.receive(f'{{"type":"mark","data":{{"name":"{name}"}}}}', 0)
        far.receive(bytes(2_560), 0)
        if name == "cut":
            far.receive('{"type":"killAudio"}', 0)
            assert '"cleared"' in str(far.advance(20 * MS))
    said = far.advance(1_000 * MS)
    assert [message for message in said if isinstance(message, str)] == [
        '{"type": "mark", "data": {"name": "swallowed", "event": "playout"}}'
    ]


def test_a_caller_is_heard_and_the_keys_too():
    ends = call()
    said = sound(8_000)
    ends.far.say(said)
    ends.far.press("0")
    ends.wait(1_200 * MS)
    ends.far.hang_up()
    ends.wait(0)
    assert voiced(ends.heard_of_caller()).tolist() == said.tolist()
    assert ends.told(Dtmf, Hangup) == [Dtmf("0"), Hangup("the socket was closed")]


@pytest.mark.parametrize(("old", "new"), [("8000", "11025"), ('"mono"', '"stereo"'), ('"mono"', '"mixed"')])
def test_a_listen_that_cannot_be_used_is_refused_in_words(old, new):
    """AUD-14: two channels would be read as one, at half the speed."""
    (odd,) = PcmWebsocket(Jambonz()).receive(METADATA.replace(old, new))
    assert odd.fatal
    assert "mono at (8000, 16000, 24000, 48000, 64000) is understood" in odd.why


@each(
    "text",
    [
        '{"type":"mark","data":{"name":"99","event":"playout"}}',
        '{"type":"mark"}',
        '{"type":"mark","data":[]}',
        '{"event":"dtmf"}',
        '{"event":"dtmf","dtmf":"12"}',
        '{"sampleRate":-1}',
        "{}",
    ],
)
def test_an_event_without_sense_costs_itself(text):
    """TEL-04."""
    dialect = PcmWebsocket(Jambonz())
    dialect.receive(METADATA)
    (odd,) = dialect.receive(text)
    assert isinstance(odd, Odd)
    assert not odd.fatal
