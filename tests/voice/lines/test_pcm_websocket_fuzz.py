"""A hundred thousand messages a vendor, mutated: nothing raises, nothing grows, no sound is lost."""

from __future__ import annotations

import random

import numpy as np
import pytest

from turnbudget.voice.lines.chan_websocket import ChanWebsocket
from turnbudget.voice.lines.dialect import AudioIn, Started
from turnbudget.voice.lines.jambonz import Jambonz
from turnbudget.voice.lines.pcm_websocket import PcmWebsocket
from turnbudget.voice.lines.vonage import Vonage

PENDING = 64

MESSAGES = 100_000
WORDS = {
    ChanWebsocket: [
        '{"event":"MEDIA_START","channel_id":"1.2","format":"slin16","optimal_frame_size":640}',
        '{"event":"STATUS","queue_length":250,"queue_full":false}',
        '{"event":"MEDIA_BUFFERING_COMPLETED","correlation_id":"1"}',
        '{"event":"MEDIA_MARK_PROCESSED","correlation_id":"2"}',
        '{"event":"QUEUE_DRAINED"}',
        '{"event":"MEDIA_XOFF"}',
        '{"event":"DTMF_END","digit":"1"}',
        "STATUS channel_id:1.2 queue_length:250 queue_full:false",
        "MEDIA_START channel_id:1.2 format:ulaw optimal_frame_size:160",
    ],
    Vonage: [
        '{"event":"websocket:connected","content-type":"audio/l16;rate=16000","uuid":"1.2"}',
        '{"event":"websocket:notify","payload":{"mark":"1"}}',
        '{"event":"websocket:cleared"}',
        '{"event":"websocket:dtmf","digit":"5","duration":260}',
    ],
    Jambonz: [
        '{"callSid":"1.2","sampleRate":16000,"mixType":"mono"}',
        '{"type":"mark","data":{"name":"1","event":"cleared"}}',
        '{"type":"mark","data":{"name":"2","event":"playout"}}',
        '{"event":"dtmf","dtmf":"1","duration":"260"}',
    ],
}
ODDITIES = ("null", "[]", "1e999", "9" * 400, '"\ud800"', "\0", "{", "}", '":', "\\u0000", "-1", "true", "é")


def mutated(text, chance):
    """*text*, cut, doubled, or with something else in its place."""
    start, end = sorted((chance.randrange(len(text) + 1), chance.randrange(len(text) + 1)))
    kind = chance.randrange(4)
    if kind == 0:
        return text[:start] + text[end:]
    if kind == 1:
        return text[:end] + text[start:]
    if kind == 2:
        return text[:start] + chance.choice(ODDITIES) + text[end:]
    return text[:start] + chr(chance.randrange(0x3000)) + text[start:]


def ask(dialect, chance):
    """Do as a line would, so that there are marks to come back."""
    what = chance.randrange(4)
    if what == 0:
        return dialect.mark(f"m{chance.random()}")
    if what == 1:
        return dialect.end_reply("m")
    return dialect.clear() if what == 2 else dialect.begin_reply()


@pytest.mark.parametrize("vendor", WORDS, ids=lambda vendor: vendor.name)
def test_a_hundred_thousand_messages_cost_at_most_themselves(vendor):
    """TEL-04, AUD-10: audio out equals audio in, but for half a sample at the end."""
    chance = random.Random(11)  # noqa: S311 - the same on every run
    dialect = PcmWebsocket(vendor())
    words = WORDS[vendor]
    assert isinstance(dialect.receive(words[0])[0], Started)
    said, heard = [], []
    for n in range(MESSAGES):
        if n % 3 == 0:
            said.append(chance.randbytes(chance.choice((0, 1, 2, 3, 40, 41, 82))))
            events = dialect.receive(said[-1])
        else:
            text = chance.choice(words)
            events = dialect.receive(mutated(text, chance) if n % 3 == 1 else text)
        heard += [event.samples for event in events if isinstance(event, AudioIn)]
        if n % 16 == 0:
            ask(dialect, chance)
    data = b"".join(said)
    assert np.concatenate(heard).astype("<i2").tobytes() == data[: len(data) // 2 * 2]
    assert len(dialect._vendor._marks.pending) <= PENDING
    assert dialect.ended()


@pytest.mark.parametrize("vendor", WORDS, ids=lambda vendor: vendor.name)
def test_no_first_message_raises(vendor):
    """TEL-05: what begins a call is mutated; it begins, is odd, or is refused."""
    chance = random.Random(12)  # noqa: S311 - the same on every run
    for _ in range(5_000):
        dialect = PcmWebsocket(vendor())
        text = mutated(chance.choice(WORDS[vendor]), chance)
        assert len(dialect.receive(text)) <= 1
        dialect.receive(bytes(3))
        dialect.audio(np.ones(700, np.int16))
        dialect.end_reply("m")
        assert len(dialect.ended()) <= 1
