"""Asterisk's chan_websocket: its words, its queue, and how much of a reply was heard when it was cut."""

from __future__ import annotations

import numpy as np
import pytest
from laws import each
from two_ends import FRAME_US, MS, TwoEnds, sound, voiced

from turnbudget.voice.lines.chan_websocket import FORMATS, ChanWebsocket
from turnbudget.voice.lines.dialect import CallInfo, Drained, Dtmf, Flow, Hangup, MarkPlayed, Odd, Started
from turnbudget.voice.lines.far.chan_websocket import FarChanWebsocket
from turnbudget.voice.lines.pcm_websocket import PcmWebsocket

START = (
    '{"event":"MEDIA_START","connection_id":"agent1","channel":"WebSocket/agent1/0x5566","channel_id":"179.14",'
    '"format":"ulaw","optimal_frame_size":160,"ptime":20,"channel_variables":'
    '{"DIALEDPEERNUMBER":"agent1/c(ulaw)f(json)v(tenant=acme,token=t0k,caller=%2B4930)","CITY":"Bonn"}}'
)
PLAIN = "MEDIA_START connection_id:agent1 channel:WebSocket/agent1/0x5566 channel_id:179.14 format:ulaw"


def call(form="slin16", **more):
    return TwoEnds(PcmWebsocket(ChanWebsocket()), FarChanWebsocket(form, **more))


def seconds(count):
    return sound(16_000 * count)


def test_the_call_is_known_by_what_was_dialled_and_its_token_is_not_shown():
    """TEL-06: what ``v(…)`` of the dial string holds arrives without a query."""
    dialect = PcmWebsocket(ChanWebsocket())
    (started,) = dialect.receive(START)
    parameters = {"CITY": "Bonn", "tenant": "acme", "caller": "+4930"}
    assert started == Started(CallInfo("179.14", "agent1", "+4930", "", "acme", "t0k", parameters))
    assert "t0k" not in repr(started)
    assert dialect.abilities.rate == 8_000
    assert dialect.abilities.ahead_us == 16_000_000


def test_plain_text_says_the_same_and_is_answered_in_plain_text():
    dialect = PcmWebsocket(ChanWebsocket({"tenant": "acme", "token": "t0k"}))
    (started,) = dialect.receive(f"{PLAIN} optimal_frame_size:160 ptime:20")
    assert started == Started(CallInfo("179.14", "agent1", "", "", "acme", "t0k", {"tenant": "acme"}))
    assert dialect.begin_reply() == ("START_MEDIA_BUFFERING",)
    assert dialect.end_reply("turn 1") == ("STOP_MEDIA_BUFFERING 1",)
    assert dialect.clear() == ("GET_STATUS", "FLUSH_MEDIA")
    events = [
        event
        for text in (
            "MEDIA_BUFFERING_COMPLETED 1",
            "STATUS channel_id:179.14 queue_length:250 xon_level:800 xoff_level:900 queue_full:false",
            "DTMF_END digit:# channel_id:179.14",
            "MEDIA_XOFF",
            "ERROR channel_id:179.14 error_text:Unable to parse",
        )
        for event in dialect.receive(text)
    ]
    expected = [MarkPlayed("turn 1"), Drained(40_000), Dtmf("#"), Flow(stop=True)]
    assert events == [*expected, Odd("Asterisk: Unable to parse")]


def test_the_first_releases_say_no_id_and_are_known_by_their_channel():
    """They know no ``f(json)`` either."""
    dialect = PcmWebsocket(ChanWebsocket())
    (started,) = dialect.receive(f"{PLAIN.replace(' channel_id:179.14', '')} optimal_frame_size:160")
    assert started == Started(CallInfo("WebSocket/agent1/0x5566", "agent1"))


def test_a_reply_is_wrapped_in_buffering_and_ends_in_a_mark():
    dialect = PcmWebsocket(ChanWebsocket())
    dialect.receive(START)
    assert dialect.begin_reply() == ('{"command":"START_MEDIA_BUFFERING"}',)
    assert dialect.audio(np.zeros(160, np.int16)) == [b"\xff" * 160]
    assert dialect.end_reply("turn-1") == ('{"command":"STOP_MEDIA_BUFFERING","correlation_id":"1"}',)
    assert dialect.mark("half") == ('{"command":"MARK_MEDIA","correlation_id":"2"}',)
    assert dialect.clear() == ('{"command":"GET_STATUS"}', '{"command":"FLUSH_MEDIA"}')
    assert dialect.hang_up() == ('{"command":"HANGUP"}',)


def test_a_second_start_changes_neither_the_frame_nor_the_form_of_control():
    """TEL-05: start, start, and what was heard is still counted in the first one's frames."""
    dialect = PcmWebsocket(ChanWebsocket())
    dialect.receive(START)
    assert dialect.receive(f"{PLAIN} optimal_frame_size:320 ptime:20") == (Odd("a second start"),)
    assert dialect.receive('{"event":"STATUS","queue_length":2}') == [Drained(320)]
    assert dialect.clear()[0] == '{"command":"GET_STATUS"}'


def test_no_command_is_longer_than_asterisk_reads():
    """A text of over 128 bytes is ignored; names of marks travel as short ids."""
    ends = call()
    name = 'turn "7" ' * 40
    ends.reply(sound(320), name)
    ends.send(ends.dialect.mark(name))
    ends.wait(100 * MS)
    assert ends.told(MarkPlayed) == [MarkPlayed(name)] * 2
    assert ends.far.refused == []


@each("form", ["ulaw", "slin", "slin16"])
@each("plain", [False, True])
def test_a_reply_sent_at_once_is_heard_whole_and_its_mark_comes_when_it_was(form, plain):
    """5 s at once: Asterisk paces, and tells to the frame when it has been played."""
    ends = call(form, plain=plain)
    rate = ends.dialect.abilities.rate
    said = sound(rate * 5)
    ends.reply(said, "turn-1")
    ends.wait(5_000 * MS)
    assert ends.told(MarkPlayed) == []
    ends.wait(FRAME_US)
    assert ends.told(MarkPlayed) == [MarkPlayed("turn-1")]
    heard = ends.far.playout.heard()[: said.size]
    loudest = np.abs(heard.astype(int) - said).max()
    assert loudest == 0 if form != "ulaw" else loudest < 1_024


def test_a_cut_reply_tells_to_the_sample_how_much_was_heard():
    """Barge-in: the queue's length is asked before it is emptied, and the lost mark is not waited for."""
    ends = call()
    said = seconds(7)
    ends.reply(said, "turn-1")
    ends.wait(1_234 * MS)
    ends.send(ends.dialect.clear())
    ends.wait(8_000 * MS)
    (drained,) = ends.told(Drained)
    assert said.size - drained.left == ends.far.playout.played == 61 * 320
    assert voiced(ends.far.playout.heard()).tolist() == said[: 61 * 320].tolist()
    assert ends.told(MarkPlayed) == []


def test_the_next_reply_after_a_cut_is_whole():
    ends = call()
    ends.reply(seconds(3), "cut")
    ends.send(ends.dialect.clear())
    answer = sound(16_100, seed=9)
    ends.reply(answer, "answer")
    ends.wait(1_100 * MS)
    assert voiced(ends.far.playout.heard()).tolist() == answer.tolist()
    assert ends.told(MarkPlayed) == [MarkPlayed("answer")]


def test_a_full_queue_stops_us_and_an_emptier_one_lets_us_go_on():
    """25 s at once: XOFF at 900 frames, dropped beyond 1,000, XON 4 s later."""
    ends = call()
    ends.reply(seconds(25), "long")
    assert ends.told(Flow) == [Flow(stop=True)]
    assert ends.far.playout.queued == 1_000 * 320
    assert ends.far.playout.lost == 250 * 320
    ends.wait(4_020 * MS)
    assert ends.told(Flow) == [Flow(stop=True)]
    ends.wait(FRAME_US)
    assert ends.told(Flow) == [Flow(stop=True), Flow(stop=False)]


def test_outside_of_buffering_a_remainder_is_lost():
    """1000-byte messages lose 40 bytes each at 160 bytes a frame: why we send whole frames."""
    far = FarChanWebsocket("ulaw")
    far.advance(0)
    for _ in range(24):
        far.receive(bytes(1_000), 0)
    assert (far.length, far.playout.lost) == (144, 960)
    ends = call("ulaw")
    ends.send(ends.dialect.audio(sound(1_000)))
    assert ends.far.playout.lost == 0


def test_a_message_of_64_kib_would_end_the_call_so_none_is_sent():
    far = FarChanWebsocket()
    far.receive(bytes(65_530), 0)
    assert far.closed
    ends = call()
    assert max(len(message) for message in ends.dialect.audio(seconds(30))) == 640


def test_the_queue_can_be_asked_to_tell_when_it_is_empty():
    ends = call()
    ends.reply(sound(640), "m")
    ends.send(['{"command":"REPORT_QUEUE_DRAINED"}'])
    ends.wait(40 * MS)
    assert ends.told(Drained) == []
    ends.wait(FRAME_US)
    assert ends.told(Drained) == [Drained()]


def test_a_caller_is_heard_and_may_be_silent_without_frames():
    """AUD-15: without transmit_silence nothing comes while nobody speaks."""
    ends = call("slin16")
    said = sound(16_000 + 7)
    ends.far.say(said)
    ends.far.press("4")
    ends.wait(9_000 * MS)
    ends.far.hang_up()
    ends.wait(0)
    assert ends.heard_of_caller().tolist() == said.tolist()
    assert ends.told(Dtmf, Hangup) == [Dtmf("4"), Hangup("the socket was closed")]


@each(("form", "rate"), [(form, rate) for form, (_, rate) in FORMATS.items()])
def test_each_format_has_its_rate(form, rate):
    dialect = PcmWebsocket(ChanWebsocket())
    size = rate // 50 * (1 if form.endswith("aw") else 2)
    dialect.receive(START.replace("ulaw", form, 1).replace(":160", f":{size}"))
    assert dialect.abilities.rate == rate
    assert [len(message) for message in dialect.audio(sound(rate // 50))] == [size]


@pytest.mark.parametrize("form", ["opus", "g722", "x" * 500])
def test_a_format_that_cannot_be_used_is_refused_in_words(form):
    """AUD-14: the encoding is taken from the start message, and an unknown one named."""
    (odd,) = PcmWebsocket(ChanWebsocket()).receive(START.replace('"ulaw"', f'"{form}"'))
    assert odd.fatal
    assert odd.why.startswith(f"format {form[:20]!r} cannot be used; dial c(ulaw) or c(alaw)")


@each("size", [0, -160, 39, 70_000, 1e9])
def test_a_frame_of_no_sensible_size_is_no_start(size):
    (odd,) = PcmWebsocket(ChanWebsocket()).receive(START.replace(":160", f":{size}"))
    assert isinstance(odd, Odd)


@each(
    "text",
    [
        '{"event":"MEDIA_MARK_PROCESSED","correlation_id":"99"}',
        '{"event":"MEDIA_BUFFERING_COMPLETED"}',
        '{"event":"STATUS"}',
        '{"event":"STATUS","queue_length":-1}',
        '{"event":"DTMF_END","digit":"12"}',
        '{"event":"DTMF_END"}',
        "STATUS queue_length",
    ],
)
def test_an_event_without_sense_costs_itself(text):
    """TEL-04: unknown marks, missing fields, keys no telephone has."""
    dialect = PcmWebsocket(ChanWebsocket())
    dialect.receive(START)
    (odd,) = dialect.receive(text)
    assert isinstance(odd, Odd)
    assert not odd.fatal
