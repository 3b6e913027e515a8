"""Vonage: 20 ms of linear PCM a message, notices as marks, and none of them a proof after a clear."""

from __future__ import annotations

import pytest
from laws import each
from two_ends import FRAME_US, MS, TwoEnds, sound, voiced

from turnbudget.voice.lines.dialect import CallInfo, Dtmf, Hangup, MarkPlayed, Odd, Started
from turnbudget.voice.lines.far.vonage import FarVonage
from turnbudget.voice.lines.pcm_websocket import PcmWebsocket
from turnbudget.voice.lines.vonage import Vonage

CONNECTED = (
    '{"event":"websocket:connected","content-type":"audio/l16;rate=16000",'
    '"uuid":"63f61863","from":"447700900000","to":"447700900001","tenant":"acme","token":"t0k","n":1}'
)


def call(**more):
    return TwoEnds(PcmWebsocket(Vonage()), FarVonage(**more))


def test_the_answer_s_headers_say_who_calls_whom():
    """TEL-06: a token arrives in them, and is not shown."""
    (started,) = PcmWebsocket(Vonage()).receive(CONNECTED)
    told = {"uuid": "63f61863", "from": "447700900000", "to": "447700900001", "tenant": "acme"}
    assert started == Started(CallInfo("63f61863", "", told["from"], told["to"], "acme", "t0k", told))
    assert "t0k" not in repr(started)


def test_the_messages_that_go_are_those_of_the_documentation():
    dialect = PcmWebsocket(Vonage())
    dialect.receive(CONNECTED)
    assert dialect.begin_reply() == ()
    assert [len(message) for message in dialect.audio(sound(640))] == [640, 640]
    assert dialect.end_reply("turn-1") == ('{"action":"notify","payload":{"mark":"1"}}',)
    assert dialect.clear() == ('{"action":"clear"}',)
    assert dialect.hang_up() == ()


@pytest.mark.parametrize("rate", [8_000, 16_000, 24_000])
def test_a_reply_is_heard_whole_and_its_mark_comes_when_it_was(rate):
    ends = call(rate=rate)
    said = sound(rate * 2 + 11)
    ends.reply(said, "turn-1")
    ends.wait(2_000 * MS)
    assert ends.told(MarkPlayed) == []
    ends.wait(2 * FRAME_US)
    assert ends.told(MarkPlayed) == [MarkPlayed("turn-1")]
    assert voiced(ends.far.playout.heard()).tolist() == said.tolist()
    assert ends.far.refused == []


@pytest.mark.parametrize("returns_cleared", [False, True])
def test_after_a_clear_no_mark_is_taken_for_played(returns_cleared):
    """Whether Vonage returns cleared notices or not, they are told as cleared, once."""
    ends = call(returns_cleared=returns_cleared)
    ends.reply(sound(16_000), "first")
    ends.reply(sound(16_000), "second")
    ends.wait(1_100 * MS)
    ends.send(ends.dialect.clear())
    ends.wait(2_000 * MS)
    assert ends.told(MarkPlayed) == [MarkPlayed("first"), MarkPlayed("second", cleared=True)]
    ends.reply(sound(320), "third")
    ends.wait(60 * MS)
    assert ends.told(MarkPlayed)[2:] == [MarkPlayed("third")]
    assert ends.told(Odd) == []


def test_a_reply_longer_than_the_buffer_loses_its_end():
    ends = call()
    ends.send(ends.dialect.audio(sound(16_000 * 70)))
    assert ends.far.playout.queued == 3_072 * 320
    assert ends.dialect.abilities.ahead_us < 3_072 * FRAME_US


def test_a_caller_is_heard_with_silence_between():
    ends = call()
    said = sound(16_000)
    ends.far.say(said)
    ends.far.press("*")
    ends.wait(1_500 * MS)
    ends.far.hang_up()
    ends.wait(0)
    assert voiced(ends.heard_of_caller()).tolist() == said.tolist()
    assert ends.heard_of_caller().size == 24_000
    assert ends.told(Dtmf, Hangup) == [Dtmf("*"), Hangup("the socket was closed")]


@pytest.mark.parametrize("content", ["audio/l16;rate=44100", "audio/x-mulaw;rate=8000", "", "audio/l16"])
def test_a_content_that_cannot_be_used_is_refused_in_words(content):
    """AUD-14."""
    (odd,) = PcmWebsocket(Vonage()).receive(CONNECTED.replace("audio/l16;rate=16000", content))
    assert odd == Odd("a content-type that is not audio/l16 at 8, 16 or 24 kHz", fatal=True)


@each(
    "text",
    [
        '{"event":"websocket:notify","payload":{"mark":"99"}}',
        '{"event":"websocket:notify","payload":{}}',
        '{"event":"websocket:notify","payload":[]}',
        '{"event":"websocket:notify"}',
        '{"event":"websocket:dtmf","digit":"55"}',
        '{"event":"websocket:dtmf"}',
        '{"event":"websocket:new"}',
    ],
)
def test_an_event_without_sense_costs_itself(text):
    """TEL-04."""
    dialect = PcmWebsocket(Vonage())
    dialect.receive(CONNECTED)
    (odd,) = dialect.receive(text)
    assert isinstance(odd, Odd)
    assert not odd.fatal


def test_a_clear_that_nobody_asked_for_says_nothing():
    dialect = PcmWebsocket(Vonage())
    dialect.receive(CONNECTED)
    assert dialect.receive('{"event":"websocket:cleared"}') == []
