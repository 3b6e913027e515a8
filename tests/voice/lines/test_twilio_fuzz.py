"""A hundred thousand messages of a stranger: none raises, and none makes heard what was not sent."""

from __future__ import annotations

import base64
import json
import random
from collections import Counter
from pathlib import Path
from typing import get_args

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from turnbudget.voice.lines.dialect import AudioIn, Inbound, Odd
from turnbudget.voice.lines.twilio import TwilioDialect
from turnbudget.voice.lines.twilio_messages import VENDORS
from turnbudget.voice.sound.encoding import called

MESSAGES = 100_000
CALL = 200
"""Messages a call."""
KNOWN = [
    line[4:]
    for path in sorted((Path(__file__).parent / "transcripts").glob("*.txt"))
    for line in path.read_text("utf-8").splitlines()
    if line.startswith("in ")
]
WORDS = [
    '"',
    "{",
    "}",
    "[",
    "]",
    ":",
    ",",
    "null",
    "true",
    "-1",
    "1e99",
    "0",
    '""',
    "\\u0000",
    "é",
    "\ud800",
    "M1",
    "=",
]
WRONG = [None, True, -1, 2**70, 1.5, "", "x" * 600, "\ud800", [], {}, [[]], {"payload": "AAAA"}, "9" * 40]


def start(stream="S"):
    form = {"encoding": "PCMU", "sampleRate": 8_000}
    ids = {"streamSid": stream, "stream_id": stream, "streamId": stream, "stream_sid": stream}
    return json.dumps({"event": "start", **ids, "start": {"mediaFormat": form, "media_format": form, **ids}})


def media(rng):
    payload = base64.b64encode(rng.randbytes(rng.choice([1, 2, 7, 160]))).decode()
    said = {"payload": payload, "track": rng.choice(["inbound", "inbound", "outbound"])}
    if rng.random() < 0.8:
        said["timestamp"] = str(rng.randrange(2_000))
    if rng.random() < 0.8:
        said["chunk"] = rng.randrange(100)
    return json.dumps({"event": "media", "media": said})


def spoilt(rng, message):
    """Return *message* with a value exchanged, or cut, doubled and mixed up as text."""
    if rng.random() < 0.5:
        fields = json.loads(message)
        at = fields
        while isinstance(at, dict) and at:
            key = rng.choice(list(at))
            if not isinstance(at[key], dict) or rng.random() < 0.3:
                at[key] = rng.choice(WRONG)
                break
            at = at[key]
        return json.dumps(fields)
    start, end = sorted(rng.randrange(len(message) + 1) for _ in range(2))
    return message[:start] + rng.choice([*WORDS, message[start:end] * 2]) + message[end:]


def stranger(rng):
    """Return a message as a stranger may send it."""
    kind = rng.random()
    if kind < 0.5:
        return media(rng)
    if kind < 0.9:
        return spoilt(rng, rng.choice([media(rng), rng.choice(KNOWN)]))
    if kind < 0.97:
        return rng.choice(KNOWN)
    return rng.choice([rng.randbytes(9), "", "[]", "x" * 300_000 if rng.random() < 0.01 else "[" * 5_000])


def sound_in(message):
    """Return what *message* carries, by another reader than ours; ``None`` if it carries nothing."""
    try:
        return base64.b64decode(json.loads(message)["media"]["payload"], validate=True) or None
    except (ValueError, TypeError, KeyError, RecursionError):
        return None


def life(dialect, rng):
    """Let *dialect* live through a stranger's call; return how many messages it read, and heard."""
    law, sent, heard, count = called("mulaw"), Counter(), Counter(), 0
    begin = rng.randrange(40)
    for index in range(CALL):
        message = start() if index == begin else stranger(rng)
        if (sound := sound_in(message)) is not None:
            sent[law.decode(sound).tobytes()] += 1
        events = dialect.receive(message)
        assert all(isinstance(event, get_args(Inbound)) for event in events)
        heard.update(event.samples.tobytes() for event in events if isinstance(event, AudioIn))
        assert all(isinstance(json.loads(said), dict) for said in dialect.audio(np.zeros(160, np.int16)))
        count += 1
        if dialect._over:
            break
    events = dialect.ended()
    heard.update(event.samples.tobytes() for event in events if isinstance(event, AudioIn))
    if dialect._opening and dialect._opening.encoding is law:
        assert heard <= sent
        return count, heard.total()
    return count, 0


def test_a_hundred_thousand_messages_never_raise_nor_make_up_sound():
    """TEL-04, TEL-05: every piece of sound was sent, once for each time it is heard."""
    rng = random.Random(7)  # noqa: S311 - no secret
    vendors = list(VENDORS.values())
    read = heard = calls = 0
    while read < MESSAGES:
        dialect = TwilioDialect(vendors[calls % len(vendors)])
        count, sounds = life(dialect, rng)
        assert dialect.ended() == ()
        read, heard, calls = read + count, heard + sounds, calls + 1
    assert heard > MESSAGES // 20


@settings(deadline=None, max_examples=300)
@given(st.lists(st.one_of(st.text(), st.binary(), st.sampled_from([*KNOWN, start()])), max_size=20))
def test_any_messages_at_all_are_read_or_told_as_odd(messages):
    """TEL-04"""
    for vendor in VENDORS.values():
        dialect = TwilioDialect(vendor)
        for message in messages:
            events = dialect.receive(message)
            assert all(event.why for event in events if isinstance(event, Odd))
        dialect.ended()
        assert dialect.ended() == ()
