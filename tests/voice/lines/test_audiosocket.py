"""AudioSocket's bytes, exactly: a message is known by its length, however TCP cuts it."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from laws import each
from two_ends import sound

from turnbudget.voice.errors import ConfigError
from turnbudget.voice.lines.audiosocket import RATES, AudioSocket
from turnbudget.voice.lines.dialect import AudioIn, CallInfo, Dtmf, Hangup, Odd, Started

UUID = bytes.fromhex("01 0010 9f0f2b6c1d3e4a5b8c7d0011223344ff")
CALL = "9f0f2b6c-1d3e-4a5b-8c7d-0011223344ff"


def begun(rate=8_000):
    dialect = AudioSocket(rate)
    assert dialect.receive(UUID) == [Started(CallInfo(CALL))]
    return dialect


def audio(samples, kind=0x10):
    data = samples.astype("<i2").tobytes()
    return bytes([kind]) + len(data).to_bytes(2, "big") + data


def heard(events):
    return np.concatenate([event.samples for event in events if isinstance(event, AudioIn)])


def plain(events):
    """*events* that can be compared."""
    return [event.samples.tolist() if isinstance(event, AudioIn) else event for event in events]


def test_the_bytes_that_come_are_those_of_asterisk():
    events = begun().receive(bytes.fromhex("10 0004 0100 ff7f  03 0001 23"))
    assert plain(events) == [[1, 32_767], Dtmf("#")]


def test_the_bytes_that_go_are_those_asterisk_takes():
    dialect = begun()
    (frame,) = dialect.audio(np.arange(160, dtype=np.int16))
    assert frame[:9] == bytes.fromhex("10 0140 0000 0100 0200")
    assert len(frame) == 323
    assert dialect.hang_up() == (bytes.fromhex("00 0000"),)


def test_sixteen_kilohertz_is_kind_12_with_640_bytes():
    """TEL-15: the kind is that of the current table."""
    (frame,) = begun(16_000).audio(sound(320))
    assert frame[:3] == bytes.fromhex("12 0280")
    assert len(frame) == 643


MESSAGES = st.lists(
    st.one_of(
        st.binary(max_size=700).map(lambda data: b"\x10" + len(data).to_bytes(2, "big") + data),
        st.sampled_from("0123456789*#").map(lambda key: b"\x03\x00\x01" + key.encode()),
        st.binary(max_size=90).map(lambda data: b"\x7f" + len(data).to_bytes(2, "big") + data),
    ),
    max_size=12,
)


@given(MESSAGES, st.lists(st.integers(0, 4_000), max_size=30))
def test_however_the_stream_is_cut_it_means_the_same(messages, cuts):
    stream = UUID + b"".join(messages)
    whole, cut = AudioSocket(), AudioSocket()
    expected = plain(whole.receive(stream))
    edges = [0, *sorted(min(at, len(stream)) for at in cuts), len(stream)]
    pieces = [stream[a:b] for a, b in pairwise(edges)]
    assert plain([event for piece in pieces for event in cut.receive(piece)]) == expected
    assert cut._held == whole._held == b""


def test_the_uuid_comes_first_and_nothing_goes_before_it():
    dialect = AudioSocket()
    assert dialect.audio(sound(160)) == ()
    assert dialect.receive(UUID[:18]) == []
    assert dialect.audio(sound(160)) == ()
    assert dialect.receive(UUID[18:]) == [Started(CallInfo(CALL))]
    assert len(dialect.audio(sound(160))) == 1


@pytest.mark.parametrize("stream", [b"GET / HTTP/1.1\r\n", audio(sound(4)), b"\x01\x00\x0f", b"\x01\x01"])
def test_a_stream_that_begins_otherwise_is_refused_at_once(stream):
    """TEL-05: no session is opened, nothing is held, nothing is answered."""
    dialect = AudioSocket()
    (odd,) = dialect.receive(stream)
    assert isinstance(odd, Odd)
    assert odd.fatal
    assert dialect.receive(UUID) == ()
    assert dialect.ended() == ()
    assert dialect.audio(sound(160)) == ()


@each(("kind", "rate"), RATES.items())
def test_each_kind_has_the_rate_of_the_table(kind, rate):
    """TEL-15: 0x11 is 12 kHz and 0x12 is 16 kHz, whatever an older page said."""
    dialect = begun(rate)
    assert dialect.abilities.rate == rate
    assert plain(dialect.receive(audio(np.array([7, 8], np.int16), kind))) == [[7, 8]]


def test_a_kind_of_another_rate_is_refused_in_words_when_it_comes_first():
    """TEL-15: neither played too fast nor answered in a rate that Asterisk would drop."""
    (odd,) = begun().receive(audio(sound(320), 0x12))
    assert odd.fatal
    assert "16000 Hz (0x12) on a socket set to 8000 Hz" in odd.why


def test_a_stray_kind_in_mid_call_costs_itself():
    """TEL-15: unknown kinds are skipped by their length; the call goes on."""
    dialect = begun()
    events = dialect.receive(audio(sound(2)) + audio(sound(320), 0x13) + b"\x7f\x00\x03abc" + audio(sound(3)))
    assert [type(event) for event in events] == [AudioIn, Odd, Odd, AudioIn]
    assert not any(event.fatal for event in events if isinstance(event, Odd))
    assert heard(events).size == 5


def test_an_error_frame_ends_the_call_cleanly():
    """TEL-15: ``FF 0001 02`` is told as a hang-up, and what follows is not read."""
    dialect = begun()
    assert dialect.receive(b"\xff\x00\x01\x02" + audio(sound(2))) == [
        Hangup("AudioSocket error 02: a frame could not be forwarded")
    ]
    assert dialect.receive(audio(sound(2))) == ()
    assert dialect.ended() == ()


def test_there_is_no_socket_at_a_rate_without_a_kind():
    with pytest.raises(ConfigError, match="no kind of audio at 11025 Hz; use one of 8000, 12000"):
        AudioSocket(11_025)


def test_a_spare_byte_is_carried_to_the_next_frame():
    """AUD-10: frames of 4063, 1697, 1, 3, 640 … bytes give every sample but the last half one."""
    lengths = [4_063, 1_697, 1, 3, 640, 1, 1]
    data = np.random.default_rng(2).bytes(sum(lengths))
    dialect, events, start = begun(), [], 0
    for length in lengths:
        piece = data[start : start + length]
        events += dialect.receive(b"\x10" + length.to_bytes(2, "big") + piece)
        start += length
    assert heard(events).tolist() == np.frombuffer(data, "<i2").tolist()


def test_a_spoken_piece_may_end_in_a_short_frame():
    """The last frame of a played file was 82 bytes: lengths are read, never assumed."""
    assert heard(begun().receive(audio(sound(160)) + audio(sound(41)))).size == 201


def test_the_place_of_a_frame_is_not_known():
    """AUD-15: frames may stop while a caller is silent, so a count of frames would be no clock."""
    assert [event.at for event in begun().receive(audio(sound(160)) * 3)] == [None] * 3


def test_the_socket_s_end_is_the_caller_s_hang_up_told_once():
    """TEL-11: afterwards nothing is sent any more."""
    dialect = begun()
    assert dialect.ended() == (Hangup("the caller hung up"),)
    assert dialect.ended() == ()
    assert (*dialect.audio(sound(160)), *dialect.end_reply("m"), *dialect.hang_up()) == ()


def test_an_end_inside_a_message_is_noticed():
    dialect = begun()
    dialect.receive(audio(sound(160))[:100])
    assert dialect.ended() == (
        Odd("the stream ended inside a message, 100 bytes of it"),
        Hangup("the caller hung up"),
    )


@each("bad", [UUID, b"\x03\x00\x00", b"\x03\x00\x02\x31\x32", b"\x03\x00\x01\xe9", b"\x05\0\0"])
def test_a_message_that_means_nothing_costs_itself(bad):
    """TEL-04: the call goes on."""
    events = begun().receive(bad + b"\x03\x00\x01*")
    assert [type(event) for event in events] == [Odd, Dtmf]
    assert not events[0].fatal


@given(st.lists(st.integers(0, 700), max_size=20))
def test_sound_leaves_in_whole_frames_and_none_of_it_is_lost(lengths):
    """One write a frame: Asterisk drops a call whose frame is half written."""
    dialect = begun()
    said = sound(sum(lengths))
    pieces = np.split(said, np.cumsum(lengths)) if lengths else []
    messages = [message for piece in pieces for message in dialect.audio(piece)]
    messages += dialect.end_reply("m")
    assert {len(message) for message in messages} <= {323}
    out = np.frombuffer(b"".join(message[3:] for message in messages), "<i2")
    assert out[: said.size].tolist() == said.tolist()
    assert out.size - said.size < 160
    assert not out[said.size :].any()


def test_what_was_cut_off_does_not_begin_the_next_reply():
    dialect = begun()
    dialect.audio(sound(100))
    assert dialect.clear() == ()
    (frame,) = dialect.audio(np.full(160, 5, np.int16))
    assert frame[3:] == b"\x05\x00" * 160


def test_asterisk_does_nothing_that_its_socket_cannot():
    dialect = begun()
    assert (*dialect.mark("m"), *dialect.dtmf("1"), *dialect.transfer("sales"), *dialect.begin_reply()) == ()
    abilities = dialect.abilities
    assert abilities.keeps_alive
    assert not any((abilities.buffers, abilities.marks, abilities.clears, abilities.transfers))
