"""What is wrong costs itself: the call goes on, and is answered as if it had not come."""

from __future__ import annotations

import base64
import json

import numpy as np
import pytest
from laws import each

from turnbudget.voice.lines.dialect import AudioIn, Dtmf, Hangup, MarkPlayed, Odd, Started
from turnbudget.voice.lines.twilio import TwilioDialect
from turnbudget.voice.lines.twilio_messages import TWILIO
from turnbudget.voice.sound.encoding import called
from turnbudget.voice.sound.stream import Stream

LIMIT = 262_144

LOUD = bytes(range(16, 176))
"""20 ms of mu-law, no two samples alike."""
GIVEN, IN_PATH = "t0k", "from-path"
"""Tokens, in a parameter and in the address."""


def message(event, **fields):
    return json.dumps({"event": event, "streamSid": "MZ1", **fields})


def start(encoding="audio/x-mulaw", rate=8_000, call="CA1", stream="MZ1", **given):
    form = {"encoding": encoding, "sampleRate": rate, "channels": 1}
    said = {"streamSid": stream, "callSid": call, "mediaFormat": form, "customParameters": given}
    return json.dumps({"event": "start", "streamSid": stream, "start": said})


def media(data=LOUD, **fields):
    return message("media", media={"track": "inbound", "payload": base64.b64encode(data).decode(), **fields})


def began(opening=None, vendor=TWILIO, **how):
    dialect = TwilioDialect(vendor, **how)
    assert isinstance(dialect.receive(opening or start())[0], Started)
    return dialect


def heard(events):
    return [event for event in events if isinstance(event, AudioIn)]


MALFORMED = {
    "no JSON": "not json",
    "a list": "[]",
    "a number": "7",
    "nothing": "",
    "no media": '{"event":"media"}',
    "media of another type": '{"event":"media","media":[]}',
    "payload of another type": '{"event":"media","media":{"payload":17}}',
    "payload with a foreign sign": '{"event":"media","media":{"payload":"fn5+!fn5="}}',
    "payload cut": '{"event":"media","media":{"payload":"abcde"}}',
    "payload empty": '{"event":"media","media":{"payload":""}}',
    "unknown event": '{"event":"foo"}',
    "event of another type": '{"event":{"a":1}}',
    "no event": "{}",
    "binary": b"\x00\x01",
    "not utf-8": "\ud800",
    "nested beyond sense": "[" * 100_000,
    "a number beyond sense": '{"event":1e999}',
    "unknown track": '{"event":"media","media":{"track":"third","payload":"/////w=="}}',
    "another stream": '{"event":"media","streamSid":"MZ2","media":{"payload":"/////w=="}}',
    "another stream's stop": '{"event":"stop","streamSid":"MZ2"}',
    "a key that is none": '{"event":"dtmf","dtmf":{"digit":"7#"}}',
    "a mark nobody set": '{"event":"mark","mark":{"name":"old"}}',
    "a second start": start(call="CA2"),
    "a start of another stream": start(stream="MZ2"),
}


@each("bad", MALFORMED.values(), ids=MALFORMED)
def test_a_malformed_message_costs_itself(bad):
    """TEL-04: dropped and counted; the call goes on."""
    dialect = began()
    (odd,) = dialect.receive(bad)
    assert isinstance(odd, Odd)
    assert odd.why
    assert not odd.fatal
    (after,) = dialect.receive(media())
    assert after.samples.size == 160
    assert json.loads(dialect.audio(np.zeros(1, np.int16))[0])["streamSid"] == "MZ1"


def test_a_message_of_2_mb_ends_its_socket_with_a_reason():
    """TEL-04: oversize closes only that socket."""
    dialect = began()
    (odd,) = dialect.receive("x" * 2_000_000)
    assert odd.fatal
    assert str(LIMIT) in odd.why
    assert dialect.receive(media()) == ()
    assert dialect.audio(np.ones(160, np.int16)) == ()
    assert dialect.ended() == (Hangup(odd.why),)


def test_no_reason_quotes_what_a_caller_sent():
    dialect = began()
    card = "4111111111111111"
    for bad in (
        f'{{"event":"dtmf","dtmf":{{"digit":"{card}"}}}}',
        f'{{"event":"mark","mark":{{"name":"{card}"}}}}',
    ):
        assert card not in str(dialect.receive(bad))
    assert GIVEN not in repr(TwilioDialect().receive(start(token=GIVEN)))


def test_media_before_the_start_is_kept_for_a_second():
    """TEL-05: media×3, start."""
    dialect = TwilioDialect()
    assert [dialect.receive(media(bytes([law]) * 160)) for law in (0x10, 0x20, 0x30)] == [()] * 3
    begun, *early = dialect.receive(start())
    assert isinstance(begun, Started)
    assert [int(event.samples[0]) for event in early] == called("mulaw").decode(b"\x10\x20\x30").tolist()


def test_more_media_than_that_is_dropped_with_a_count():
    """TEL-05: buffered ≤ 1 s or dropped with a count; memory stays flat."""
    dialect = TwilioDialect()
    assert [dialect.receive(media()) for _ in range(50)] == [()] * 50
    assert all(isinstance(dialect.receive(media())[0], Odd) for _ in range(10))
    assert len(heard(dialect.receive(start()))) == 50
    wide = TwilioDialect()
    odd = [wide.receive(media(bytes(24_000))) for _ in range(5)]
    assert [len(events) for events in odd] == [0, 0, 1, 1, 1]


def test_early_media_of_another_stream_is_not_heard():
    """TEL-05"""
    dialect = TwilioDialect()
    dialect.receive(media())
    assert heard(dialect.receive(start(stream="MZ2"))) == []


def test_a_start_without_a_stream_id_is_refused():
    """TEL-05: no outbound without an id."""
    dialect = TwilioDialect()
    (odd,) = dialect.receive('{"event":"start","start":{"callSid":"CA1"}}')
    assert odd.fatal
    assert dialect.audio(np.ones(160, np.int16)) == ()


@each(
    ("messages", "kinds"),
    [
        (['{"event":"connected"}', message("stop")], [Hangup]),
        ([message("stop"), media()], [Hangup]),
        ([start(), start(), media()], [Started, Odd, AudioIn]),
        ([start(), message("stop"), media(), message("stop")], [Started, Hangup]),
        ([message("dtmf", dtmf={"digit": "1"}), start()], [Odd, Started]),
    ],
    ids=["connected, stop", "stop, media", "start, start, media", "stop, media, stop", "a key, start"],
)
def test_messages_may_come_in_a_senseless_order(messages, kinds):
    """TEL-05: no session left open; no exception."""
    dialect = TwilioDialect()
    assert [type(event) for one in messages for event in dialect.receive(one)] == kinds
    assert len([*dialect.ended(), *dialect.ended()]) == (Hangup not in kinds)


def test_nothing_is_sent_before_the_start_or_after_the_end():
    """TEL-05, TEL-11"""
    dialect, sound = TwilioDialect(), np.ones(160, np.int16)
    doings = (
        lambda: dialect.audio(sound),
        dialect.clear,
        lambda: dialect.end_reply("m"),
        lambda: dialect.dtmf("1"),
        dialect.hang_up,
    )
    assert [tuple(do()) for do in doings[:-1]] == [()] * 4
    dialect.receive(start())
    dialect.ended()
    assert [tuple(do()) for do in doings] == [()] * 5


def test_the_token_comes_as_a_parameter_or_in_the_path():
    """TEL-06: a query never arrives. It is not left among what may be logged."""
    (begun,) = TwilioDialect(token=IN_PATH).receive(start(token=GIVEN, tenant="acme"))
    assert (begun.info.token, begun.info.tenant, begun.info.parameters) == (GIVEN, "acme", {"tenant": "acme"})
    (begun,) = TwilioDialect(token=IN_PATH).receive(start())
    assert begun.info.token == IN_PATH
    (begun,) = TwilioDialect().receive(start())
    assert not begun.info.token


def test_a_second_stream_of_a_call_speaks_for_itself_and_the_first_falls_silent():
    """TEL-09: B takes over A's session, no double voice; Y works."""
    first, second, other = (
        began(start(stream="A")),
        began(start(stream="B")),
        began(start(call="CA9", stream="Y")),
    )
    assert first.hang_up() == ()
    assert first.audio(np.ones(160, np.int16)) == ()
    loud = {"event": "media", "media": {"payload": base64.b64encode(LOUD).decode()}}
    assert first.receive(json.dumps({**loud, "streamSid": "A"})) == ()
    assert len(heard(second.receive(json.dumps({**loud, "streamSid": "B"})))) == 1
    assert len(heard(other.receive(json.dumps({**loud, "streamSid": "Y"})))) == 1
    assert first.ended() == (Hangup("we hung up"),)


def test_keys_keep_their_order_and_come_while_we_speak():
    """TEL-12"""
    dialect = began()
    keys = [dialect.receive(message("dtmf", dtmf={"digit": key})) for key in (1, "2", "3", "4", "#", "*")]
    assert [event for (event,) in keys] == [Dtmf(key) for key in "1234#*"]
    assert dialect.audio(np.ones(160, np.int16))
    assert dialect.receive(message("dtmf", dtmf={"digit": "5"})) == (Dtmf("5"),)


def test_our_own_track_is_not_the_caller():
    """TEL-19: both tracks, alternating every 20 ms."""
    dialect = began()
    events = []
    for at in range(0, 200, 20):
        events += dialect.receive(media(track="inbound", timestamp=str(at)))
        events += dialect.receive(media(LOUD[::-1], track="outbound", timestamp=str(at)))
    assert all((event.samples == called("mulaw").decode(LOUD)).all() for event in events)
    assert [event.at for event in events] == list(range(0, 1_600, 160))


@each(
    ("said", "rate", "name"),
    [
        ("audio/x-mulaw", 8_000, "mulaw"),
        ("PCMU", "8000", "mulaw"),
        ("audio/x-alaw", 8_000, "alaw"),
        ("audio/x-l16", 16_000, "pcm16"),
        ("audio/L16;rate=24000", None, "pcm16"),
        ("audio/x-raw", "8000", "pcm16"),
    ],
)
def test_the_start_message_says_how_sound_is_written(said, rate, name):
    """AUD-14: encoding taken from the start message."""
    dialect = began(start(said, rate))
    sound = np.array([0, 1_000, -20_000, 32_000], np.int16)
    data = called(name).encode(sound)
    (event,) = dialect.receive(media(data))
    assert (event.samples == called(name).decode(data)).all()
    payload = json.loads(dialect.audio(sound)[0])["media"]["payload"]
    assert base64.b64decode(payload) == data
    assert dialect.abilities.rate == int(rate or 24_000)


@each(
    "form",
    [
        {"encoding": "G722"},
        {"encoding": "mp3"},
        {"encoding": "float32"},
        {"sampleRate": 11_025},
        {"sampleRate": -8_000},
        {"sampleRate": True},
        {"channels": 2},
    ],
    ids=str,
)
def test_what_cannot_be_understood_is_refused_in_words(form):
    """AUD-14: unknown encoding refused in words."""
    said = {"streamSid": "MZ1", "mediaFormat": {"encoding": "PCMU", "sampleRate": 8_000} | form}
    (odd,) = TwilioDialect().receive(json.dumps({"event": "start", "start": said}))
    assert odd.fatal
    assert odd.why.startswith("audio ")


@pytest.mark.parametrize(("said", "silence", "level"), [("PCMU", b"\xd5", 716), ("PCMA", b"\xff", 848)])
def test_silence_of_the_other_law_is_flagged_once(said, silence, level):
    """AUD-14: a constant non-zero level is flagged."""
    dialect = began(start(said))
    events = [event for _ in range(50) for event in dialect.receive(media(silence * 160))]
    (odd,) = [event for event in events if isinstance(event, Odd)]
    assert str(level) in odd.why
    assert not odd.fatal
    assert len(heard(events)) == 50
    assert events.index(odd) == 10


@pytest.mark.parametrize("silence", [b"\xff", b"\x7f", b"\xff\x7f", bytes(range(256))])
def test_silence_and_sound_are_not_flagged(silence):
    """AUD-14"""
    dialect = began()
    events = [event for _ in range(50) for event in dialect.receive(media(silence * (320 // len(silence))))]
    assert len(heard(events)) == len(events)


def test_a_chunk_may_end_inside_a_sample():
    """AUD-10: 4063, 1697, 1, 3, 640 … bytes; the total is odd."""
    sound = np.random.default_rng(5).integers(-32_768, 32_767, 6_000).astype(np.int16)
    data = sound.tobytes() + b"\x7f"
    dialect = began(start("audio/x-l16", 16_000))
    events, left = [], 0
    for size in (4_063, 1_697, 1, 3, 640, len(data)):
        events += dialect.receive(media(data[left : left + size]))
        left += size
    assert (np.concatenate([event.samples for event in events]) == sound).all()


def test_a_whole_wav_in_a_reply_never_sounds_its_header():
    """AUD-09: three sentences, their first 10 ms below −50 dBFS."""
    quiet = np.zeros(400, np.int16)
    header = b"RIFF" + (36 + 800).to_bytes(4, "little") + b"WAVEfmt " + (16).to_bytes(4, "little")
    header += b"\1\0\1\0" + (8_000).to_bytes(4, "little") + (16_000).to_bytes(4, "little") + b"\2\0\x10\0data"
    stream, dialect = Stream(16_000), began(start("audio/x-l16", 16_000))
    for _ in range(3):
        sound = stream.feed(header + (800).to_bytes(4, "little") + quiet.tobytes())
        sound = np.concatenate((sound, stream.flush()))
        (out,) = dialect.audio(sound)
        told = np.frombuffer(base64.b64decode(json.loads(out)["media"]["payload"]), np.int16)
        assert told.size == sound.size
        assert np.abs(told[:160]).max() < 104


def test_a_mark_that_is_set_again_behind_a_clear_is_told_from_the_first():
    """TEL-03: marks with old names prove nothing."""
    dialect = began()
    dialect.mark("greeting")
    dialect.clear()
    dialect.mark("greeting")
    back = message("mark", mark={"name": "greeting"})
    assert [dialect.receive(back) for _ in range(2)] == [
        (MarkPlayed("greeting", cleared=True),),
        (MarkPlayed("greeting"),),
    ]
    assert isinstance(dialect.receive(back)[0], Odd)


def test_marks_that_never_come_back_are_not_kept_for_ever():
    dialect = began()
    for turn in range(1_000):
        dialect.mark(f"turn-{turn}")
    backs = [dialect.receive(message("mark", mark={"name": f"turn-{turn}"}))[0] for turn in range(1_000)]
    assert sum(isinstance(back, MarkPlayed) for back in backs) == 256
