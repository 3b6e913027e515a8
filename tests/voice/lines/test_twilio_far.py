"""A dialect and its simulated far side: what was heard, by the sample, and what the marks say of it."""

from __future__ import annotations

import json

import numpy as np
import pytest
from laws import each

from turnbudget.voice.errors import AudioError
from turnbudget.voice.lines.dialect import AudioIn, Dtmf, Hangup, MarkPlayed, Started
from turnbudget.voice.lines.far.twilio import BINARY, INVALID, FarCall, FarTwilio
from turnbudget.voice.lines.telephone import TelephoneLine
from turnbudget.voice.lines.twilio import TwilioDialect
from turnbudget.voice.lines.twilio_messages import EXOTEL, PLIVO, TELNYX, TWILIO, VENDORS, VOBIZ
from turnbudget.voice.sound import audio
from turnbudget.voice.sound.encoding import called
from turnbudget.voice.time import clock

SECOND = 1_000_000


def tone(seconds, rate=8_000, hz=300):
    return (8_000 * np.sin(2 * np.pi * hz * np.arange(round(seconds * rate)) / rate)).astype(np.int16)


class Both:
    """A dialect and its far side on one time."""

    def __init__(self, vendor=TWILIO, call=None):
        self.far = FarTwilio(vendor, call)
        self.near = TwilioDialect(vendor)
        self.told = []
        """What the dialect made of what it was told, with the time."""
        self.now = 0
        self.until(0)

    def until(self, now):
        while True:
            due = min(self.far.next_us, now)
            for message in self.far.advance(due):
                self.told += [(due, event) for event in self.near.receive(message)]
            if due == now or self.far.closed:
                break
        self.now = now

    def say(self, messages):
        for message in messages:
            self.far.receive(message, self.now)
        self.until(self.now)

    def of(self, kind):
        return [(at, event) for at, event in self.told if isinstance(event, kind)]


@each("vendor", VENDORS.values(), ids=VENDORS)
def test_a_reply_is_heard_and_its_mark_says_when(vendor):
    both = Both(vendor, FarCall(parameters={"tenant": "acme", "token": "t0k"}))
    (_, begun) = both.of(Started)[0]
    assert (begun.info.tenant, begun.info.token) == ("acme", "t0k")
    reply = tone(0.6)
    both.say([*both.near.audio(reply), *both.near.end_reply("turn-1")])
    both.until(SECOND)
    assert both.of(MarkPlayed) == [(620_000, MarkPlayed("turn-1"))]
    assert both.far.refused == []
    heard = both.far.playout.heard()[: reply.size]
    assert np.abs(heard.astype(int) - reply).max() <= 8_000 / 32 + 8


@each("vendor", VENDORS.values(), ids=VENDORS)
def test_what_the_caller_says_arrives_in_its_place(vendor):
    both = Both(vendor)
    said = tone(1)
    both.far.say(said)
    both.until(2 * SECOND)
    frames = [event for _, event in both.of(AudioIn)]
    assert [frame.at for frame in frames] == list(range(0, 16_000, frames[0].samples.size))
    sound = np.concatenate([frame.samples for frame in frames])
    assert np.abs(sound[:8_000].astype(int) - said).max() <= 8_000 / 32 + 8
    assert not sound[8_000:].any()


def test_a_clear_stops_a_notice_and_its_mark_is_no_proof():
    """TEL-01: a 12 s notice is sent in 2 s; the caller speaks at 5 s, when the sending has long ended."""
    both = Both()
    notice = tone(12)
    for second in range(2):
        both.say(both.near.audio(notice[second * 48_000 : (second + 1) * 48_000]))
        both.until((second + 1) * SECOND)
    both.say(both.near.end_reply("notice"))
    both.until(5 * SECOND)
    (clear,) = both.near.clear()
    assert json.loads(clear) == {"event": "clear", "streamSid": "MZ00000000000000000000000000000001"}
    both.say([clear])
    assert both.of(MarkPlayed) == [(5 * SECOND, MarkPlayed("notice", cleared=True))]
    both.until(6 * SECOND)
    assert both.far.playout.played == 40_000
    assert both.far.playout.lost == 56_000
    assert not both.far.playout.heard()[40_000:].any()


def test_the_reply_behind_a_clear_is_heard_alone_and_proven():
    """TEL-03: marks with old names prove nothing, the new reply's does."""
    both = Both()
    both.say([*both.near.audio(tone(2)), *both.near.end_reply("old")])
    both.until(SECOND)
    both.say(both.near.clear())
    both.say([*both.near.audio(tone(0.2, hz=800)), *both.near.end_reply("new")])
    both.until(2 * SECOND)
    assert [event for _, event in both.of(MarkPlayed)] == [
        MarkPlayed("old", cleared=True),
        MarkPlayed("new"),
    ]
    assert both.far.playout.played == 8_000 + 1_600


@pytest.mark.parametrize("vendor", [PLIVO, VOBIZ], ids=lambda vendor: vendor.name)
def test_some_vendors_never_return_what_was_cleared(vendor):
    """TEL-01: the clear itself is acknowledged, and settles the marks."""
    both = Both(vendor)
    both.say([*both.near.audio(tone(0.1)), *both.near.mark("heard")])
    both.say([*both.near.audio(tone(2)), *both.near.end_reply("unheard")])
    both.until(SECOND)
    both.say(both.near.clear())
    assert [event for _, event in both.of(MarkPlayed)] == [
        MarkPlayed("heard"),
        MarkPlayed("unheard", cleared=True),
    ]


def test_exotel_gets_pieces_of_its_own_size():
    both = Both(EXOTEL)
    for at in range(0, 8_000, 160):
        both.say(both.near.audio(tone(1)[at : at + 160]))
    both.say(both.near.end_reply("m"))
    assert both.far.refused == []
    both.until(2 * SECOND)
    assert both.far.playout.played == 8_000
    both.say(both.near.audio(tone(0.02)))
    both.say(both.near.clear())
    both.say(both.near.mark("n"))
    both.until(3 * SECOND)
    assert both.far.playout.played == 8_000
    both.say([*both.near.audio(tone(0.02)), *both.near.mark("o"), *both.near.end_reply("p")])
    both.until(4 * SECOND)
    assert both.far.playout.played == 8_000 + 1_600
    assert [event.name for _, event in both.of(MarkPlayed)] == ["m", "n", "o", "p"]
    assert both.far.refused == []


async def test_a_mark_behind_the_first_frame_tears_no_piece_of_a_reply():
    """What waits for a piece to be full is in the line's latency; a mark says when all of it was played."""
    far = FarTwilio(EXOTEL, began_us=clock.now())
    line = TelephoneLine(TwilioDialect(EXOTEL), lambda text: far.receive(text, clock.now()), lambda _: None)
    began_us = clock.now()
    for number in range(50):
        for message in far.advance(clock.now()):
            line.receive(message)
        if number < 25:
            line.send(np.full(audio.FRAME, 4_000, np.int16))
            assert line.latency_us == 200_000
        elif number == 25:
            line.end()
        await clock.sleep(20_000)
    heard = np.flatnonzero(np.abs(far.playout.heard().astype(int)) > 2_000)
    assert heard.size > 0.4 * 8_000
    assert heard[-1] - heard[0] < heard.size + 16, "silence within what was one sound"
    assert line.heard_us is not None
    assert 0 <= line.heard_us - (began_us + 200_000) <= 20_000, "to the carrier's next tick"


@pytest.mark.parametrize(("encoding", "rate"), [("PCMA", 8_000), ("L16", 16_000), ("L16", 24_000)])
def test_any_encoding_of_the_start_goes_both_ways(encoding, rate):
    """AUD-14"""
    both = Both(TELNYX, FarCall(encoding=encoding, rate=rate))
    both.far.say(tone(0.1, rate))
    both.say(both.near.audio(tone(0.1, rate)))
    both.until(200_000)
    law = called("alaw" if encoding == "PCMA" else "pcm16be")
    told = law.decode(law.encode(tone(0.1, rate)))
    assert (both.far.playout.heard()[: told.size] == told).all()
    assert (np.concatenate([event.samples for _, event in both.of(AudioIn)])[: told.size] == told).all()


def test_keys_go_both_ways():
    """TEL-12"""
    both = Both(PLIVO)
    both.far.press("5")
    both.until(20_000)
    assert [event for _, event in both.of(Dtmf)] == [Dtmf("5")]
    both.say(both.near.dtmf("7"))
    assert both.far.keys == ["7"]


def test_a_hang_up_is_told_or_just_happens():
    both = Both()
    both.far.hang_up()
    both.until(20_000)
    assert both.of(Hangup) == [(20_000, Hangup("stop"))]
    assert both.far.closed
    vobiz = Both(VOBIZ)
    vobiz.far.hang_up()
    vobiz.until(20_000)
    assert vobiz.of(Hangup) == []
    assert vobiz.near.ended() == (Hangup("the socket closed"),)


def test_we_can_end_a_stream():
    both = Both(VOBIZ)
    both.say(both.near.hang_up())
    assert both.far.closed == "we ended the stream"


def test_the_far_side_takes_no_wrong_message():
    """Twilio's own numbers: the classic slip is "playload"."""
    both = Both()
    stream = "MZ00000000000000000000000000000001"
    both.say(
        [
            b"\0",
            json.dumps({"event": "media", "streamSid": stream, "media": {"playload": "/////w=="}}),
            json.dumps({"event": "media", "streamSid": "MZ2", "media": {"payload": "/////w=="}}),
            json.dumps({"event": "media", "media": {"payload": "/////w=="}}),
            json.dumps({"event": "mark", "streamSid": stream, "mark": {}}),
            json.dumps({"event": "checkpoint", "streamSid": stream}),
        ]
    )
    assert both.far.refused == [BINARY] + [INVALID] * 5


def test_no_far_side_speaks_what_nobody_does():
    with pytest.raises(AudioError, match="encoding"):
        FarTwilio(TWILIO, FarCall(encoding="G722"))
