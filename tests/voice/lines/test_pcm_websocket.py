"""What all binary sockets share, whoever speaks: sound is binary, control is text, each costs only itself."""

from __future__ import annotations

import numpy as np
import pytest
from two_ends import sound

from turnbudget.voice.lines.chan_websocket import ChanWebsocket
from turnbudget.voice.lines.dialect import AudioIn, Hangup, Odd, Started
from turnbudget.voice.lines.jambonz import Jambonz
from turnbudget.voice.lines.pcm_websocket import PcmWebsocket
from turnbudget.voice.lines.vonage import Vonage

LONGEST = 65_536

STARTS = {
    ChanWebsocket: '{"event":"MEDIA_START","channel_id":"1.2","format":"slin16","optimal_frame_size":640}',
    Vonage: '{"event":"websocket:connected","content-type":"audio/l16;rate=16000","uuid":"1.2"}',
    Jambonz: '{"callSid":"1.2","sampleRate":16000,"mixType":"mono"}',
}
vendors = pytest.mark.parametrize("vendor", STARTS, ids=lambda vendor: vendor.name)


def begun(vendor):
    dialect = PcmWebsocket(vendor())
    (started,) = dialect.receive(STARTS[vendor])
    assert isinstance(started, Started)
    assert started.info.call == "1.2"
    return dialect


@vendors
def test_it_is_known_by_its_vendor_and_its_rate_when_it_has_begun(vendor):
    dialect = begun(vendor)
    assert (dialect.name, dialect.transport, dialect.abilities.rate) == (vendor.name, "websocket", 16_000)
    assert dialect.abilities.buffers
    assert dialect.abilities.clears
    assert dialect.abilities.ahead_us >= 10_000_000


@vendors
def test_nothing_is_sent_before_the_start(vendor):
    """TEL-05: no outbound without a call."""
    dialect = PcmWebsocket(vendor())
    sent = (dialect.audio(sound(640)), dialect.begin_reply(), dialect.end_reply("m"), dialect.clear())
    assert not any((*sent, dialect.mark("m"), dialect.hang_up()))


@vendors
def test_what_comes_before_the_start_is_dropped_with_a_word(vendor):
    """TEL-05: media, media, start; the call begins all the same."""
    dialect = PcmWebsocket(vendor())
    assert dialect.receive(bytes(640)) == (Odd("audio before the start"),)
    assert isinstance(dialect.receive(STARTS[vendor])[0], Started)


@vendors
def test_a_second_start_changes_nothing(vendor):
    """TEL-05: start, start, media."""
    dialect = begun(vendor)
    other = STARTS[vendor].replace("16000", "8000").replace("slin16", "ulaw").replace("640", "160")
    (odd,) = dialect.receive(other)
    assert odd == Odd("a second start")
    (odd,) = dialect.receive(other.replace("8000", "7").replace("ulaw", "opus"))
    assert isinstance(odd, Odd)
    assert not odd.fatal
    assert dialect.abilities.rate == 16_000
    assert dialect.receive(b"\1\0" * 4)[0].samples.tolist() == [1] * 4
    assert [len(message) for message in dialect.audio(sound(640))] == [640, 640]


@vendors
@pytest.mark.parametrize(
    "bad",
    [
        "not json",
        "[]",
        "",
        "null",
        '{"event":"foo"}',
        '{"event":7}',
        "{" * 9_000,
        '"\ud800"',
        "\0",
        "[" * 60_000,
    ],
)
def test_a_message_that_means_nothing_costs_itself(vendor, bad):
    """TEL-04: dropped and told; the call goes on."""
    dialect = begun(vendor)
    (odd,) = dialect.receive(bad)
    assert isinstance(odd, Odd)
    assert not odd.fatal
    assert len(odd.why) <= 160
    assert dialect.receive(b"\1\0")[0].samples.tolist() == [1]


@vendors
def test_an_oversized_message_is_not_even_looked_at(vendor):
    """TEL-04: a text of 2 MB, and sound of more than 64 KiB."""
    dialect = begun(vendor)
    for message in ('{"event":"' + "x" * 2_000_000, bytes(LONGEST + 1)):
        assert dialect.receive(message) == (Odd(f"a message of {len(message)}, more than {LONGEST}"),)


@vendors
def test_a_spare_byte_is_carried_to_the_next_message(vendor):
    """AUD-10: messages of 4063, 1697, 1, 3, 640 … bytes."""
    dialect = begun(vendor)
    lengths = [4_063, 1_697, 1, 3, 640, 1, 1]
    data = np.random.default_rng(3).bytes(sum(lengths))
    pieces = [data[sum(lengths[:n]) : sum(lengths[: n + 1])] for n in range(len(lengths))]
    events = [event for piece in pieces for event in dialect.receive(piece)]
    assert np.concatenate([event.samples for event in events]).tolist() == np.frombuffer(data, "<i2").tolist()


@vendors
def test_the_place_of_sound_is_not_known(vendor):
    """AUD-15: frames may stop, and nothing tells."""
    assert [event.at for event in begun(vendor).receive(bytes(640))] == [None]


@vendors
def test_the_end_of_the_socket_is_the_hang_up_told_once(vendor):
    """TEL-11: afterwards nothing is read or sent any more."""
    dialect = begun(vendor)
    assert dialect.ended() == (Hangup("the socket was closed"),)
    assert dialect.ended() == dialect.receive(bytes(640)) == ()
    assert not any((dialect.audio(sound(640)), dialect.end_reply("m"), dialect.clear(), dialect.hang_up()))


@vendors
def test_sound_leaves_in_whole_frames_and_none_of_it_is_lost(vendor):
    dialect = begun(vendor)
    said = sound(1_000)
    messages = [message for piece in np.split(said, [7, 500, 501]) for message in dialect.audio(piece)]
    messages += [message for message in dialect.end_reply("m") if isinstance(message, bytes)]
    assert {len(message) for message in messages[:4]} == {640}
    out = np.frombuffer(b"".join(messages), "<i2")
    assert out[:1_000].tolist() == said.tolist()
    assert not out[1_000:].any()


@vendors
def test_what_was_cut_off_does_not_begin_the_next_reply(vendor):
    dialect = begun(vendor)
    dialect.audio(sound(100))
    dialect.clear()
    (frame,) = dialect.audio(np.full(320, 5, np.int16))
    assert frame == b"\x05\x00" * 320


@vendors
def test_keys_and_transfers_are_not_for_this_socket(vendor):
    dialect = begun(vendor)
    assert (*dialect.dtmf("1"), *dialect.transfer("sales")) == ()
    assert not dialect.abilities.transfers
    assert not dialect.abilities.keeps_alive


@vendors
def test_an_empty_message_says_nothing(vendor):
    assert begun(vendor).receive(b"") == ()


@vendors
def test_a_mark_is_waited_for_only_so_long_as_there_is_room(vendor):
    """Names are kept for 64 marks; older ones are forgotten, and told as odd if they come after all."""
    dialect = begun(vendor)
    for n in range(1_000):
        dialect.mark(f"m{n}")
    assert len(dialect._vendor._marks.pending) == 64


@vendors
def test_audio_is_told_as_audio(vendor):
    (event,) = begun(vendor).receive(b"\x00\x80\xff\x7f")
    assert isinstance(event, AudioIn)
    assert event.samples.dtype == np.int16
    assert event.samples.tolist() == [-32_768, 32_767]
