"""What a page speaks: frames that say their place, marks that tell their fate, words that cost themselves."""

from __future__ import annotations

import json

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from laws import each
from two_ends import sound

from turnbudget.voice.lines.browser import BYTES, Browser, pong, read_hello
from turnbudget.voice.lines.dialect import AudioIn, CallInfo, Hangup, Hold, MarkPlayed, Odd, Started
from turnbudget.voice.lines.telephone import TelephoneLine
from turnbudget.voice.sound import audio

HELLO = '{"event":"hello","version":1,"rate":16000,"frame":320,"token":"t0k"}'


def frame(samples, at=0):
    return at.to_bytes(4, "little") + samples.astype("<i2").tobytes()


def begun():
    dialect = Browser("c1")
    dialect.receive(HELLO)
    return dialect


def test_the_first_message_begins_the_call_and_its_token_is_not_shown():
    (started,) = Browser("c1").receive(HELLO)
    assert started == Started(CallInfo("c1", token="t0k"))  # noqa: S106 - a test's
    assert "t0k" not in repr(started)


@each(
    ("message", "why"),
    [
        (HELLO.replace("16000", "48000"), "frames of 320 samples at 48000 Hz"),
        (HELLO.replace("320", "160"), "frames of 160 samples at 16000 Hz"),
        (HELLO.replace(":1,", ":2,"), "the page speaks version 2, not 1"),
        (HELLO.replace(":1,", ':"1",'), "Expected `int`"),
        ('{"event":"mark","name":"1"}', "it did not say hello"),
        ("", "truncated"),
        (bytes(BYTES), "sound before the hello"),
    ],
)
def test_a_beginning_that_cannot_be_taken_ends_it_in_words(message, why):
    """AUD-14: sound of another rate would be heard at another speed."""
    dialect = Browser("c1")
    (odd,) = dialect.receive(message)
    assert odd.fatal
    assert why in odd.why
    assert dialect.receive(HELLO) == ()
    assert dialect.ended() == ()


def test_nothing_is_sent_before_the_hello_or_after_the_end():
    for dialect in (Browser("c1"), begun()):
        dialect.ended()
        sent = (dialect.audio(sound(320)), dialect.begin_reply(), dialect.end_reply("m"), dialect.clear())
        assert not any((*sent, dialect.mark("m"), dialect.hang_up()))


def test_a_frame_is_heard_with_its_place():
    said = sound(320)
    (heard,) = begun().receive(frame(said, 6_400))
    assert isinstance(heard, AudioIn)
    assert heard.at == 6_400
    assert heard.samples.tolist() == said.tolist()


@each("size", [0, 1, 4, 5, 643, 645, 324, 1_288, 4_096])
def test_a_frame_of_another_size_costs_itself(size):
    dialect = begun()
    (odd,) = dialect.receive(bytes(size))
    assert odd == Odd(f"a frame of {size} bytes, not 644")
    assert isinstance(dialect.receive(frame(sound(320)))[0], AudioIn)


def test_the_messages_of_a_reply_are_these():
    """Golden: what talk-line.js reads."""
    dialect = begun()
    said = sound(500)
    assert dialect.begin_reply() == ('{"event":"reply","reply":1}',)
    assert dialect.audio(said) == [frame(said[:320])]
    assert dialect.mark("first1") == ('{"event":"mark","name":"1"}',)
    last = np.concatenate([said[320:], audio.silence(140)])
    assert dialect.end_reply("end1") == (frame(last, 320), '{"event":"mark","name":"2"}', '{"event":"end"}')
    assert dialect.begin_reply() == ('{"event":"reply","reply":2}',)
    assert dialect.audio(said[:320]) == [frame(said[:320], 640)]
    assert dialect.clear() == ('{"event":"clear"}',)
    assert dialect.hang_up() == ('{"event":"hangup"}',)


def test_what_was_cut_off_is_not_heard_in_the_next_reply():
    dialect = begun()
    dialect.audio(sound(200))
    dialect.clear()
    assert dialect.audio(sound(320, seed=2)) == [frame(sound(320, seed=2))]


def test_a_mark_comes_back_once_with_the_time_at_which_it_was_heard_or_as_cleared():
    dialect = begun()
    dialect.mark("first1")
    dialect.mark("end1")
    assert dialect.receive('{"event":"mark","name":"1","at_us":123}') == (MarkPlayed("first1"),)
    assert dialect.played_us == 123
    assert dialect.receive('{"event":"mark","name":"2","cleared":true}') == (
        MarkPlayed("end1", cleared=True),
    )
    assert dialect.played_us is None
    assert dialect.receive('{"event":"mark","name":"1"}') == (Odd("a mark that nobody waits for"),)


def test_hold_and_hangup_are_what_they_say():
    dialect = begun()
    assert dialect.receive('{"event":"hold","on":true}') == (Hold(on=True),)
    assert dialect.receive('{"event":"hangup"}') == (Hangup("the caller hung up"),)
    assert dialect.receive(frame(sound(320))) == ()
    assert begun().ended() == (Hangup("the page is gone"),)


def test_the_time_is_told_to_who_asks_and_to_nobody_else():
    assert pong('{"event":"ping","id":7}', 55) == '{"event":"pong","id":7,"us":55}'
    assert pong('{"event": "ping", "id": 7}', 55) == '{"event":"pong","id":7,"us":55}'
    assert begun().receive('{"event":"ping","id":7}') == ()
    for other in (HELLO, '{"event":"ping"}', '{"event":"hold","on":true}', b"ping", '"ping"'):
        assert pong(other, 55) is None


@given(st.one_of(st.text(), st.binary(), st.recursive(st.none() | st.integers() | st.text(), st.lists)))
def test_no_message_raises_or_ends_the_call_but_a_hangup(message):
    dialect = begun()
    if not isinstance(message, str | bytes):
        message = json.dumps({"event": "mark", "name": message})
    for event in dialect.receive(message):
        assert isinstance(event, Odd | AudioIn)
        assert not (isinstance(event, Odd) and event.fatal)
    assert dialect.receive('{"event":"hold","on":false}') == (Hold(on=False),)
    read_hello(message)
    pong(message, 0)


async def test_a_page_that_was_away_stands_where_its_own_count_says():
    line = TelephoneLine(Browser("c1"), lambda _: None, lambda _: None)
    line.receive(HELLO)
    for at in (0, 320, 80_000, 80_320):
        line.receive(frame(sound(320), at))
    line.lost()
    heard = [frame async for frame in line.listen()]
    assert heard[0].at == 0
    assert heard[-1].at + heard[-1].samples.size == 80_640
    assert [one.at for one in heard if 640 < one.at < 80_000] == []
