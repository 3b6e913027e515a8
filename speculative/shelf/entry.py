"""A speech as the bytes of one file: who made it, what it says, how it sounds, and a checksum over all.

A line with the checksum of what follows it; a line of JSON; the samples, 16 bit little-endian. The first
two lines, with the file's size, tell whether it can be what it says; the checksum, whether it is.
"""

from __future__ import annotations

import hashlib
import re
from typing import Final, NamedTuple

import msgspec
import numpy as np

from turnbudget.speculative.shelf.held import Key
from turnbudget.voice.sound import audio
from turnbudget.voice.tts import finish
from turnbudget.voice.tts.synthesizer import Speech

FORM: Final = f"int16 {audio.RATE} Hz, finish {finish.EDITION}"
"""How samples are kept; another form is another voice."""
HEAD: Final = 8_192
"""Bytes that hold both lines, or it is no entry."""
SAMPLE: Final = 2
"""Bytes in a sample."""
_FIRST: Final = re.compile(rb"turnbudget shelf 1 ([0-9a-f]{64})\n")


class Corrupt(Exception):  # noqa: N818 - reads as what it is
    """These bytes are no entry, or not the one they should be."""


class _Facts(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The second line."""

    text: str
    engine: str
    voice: str
    form: str
    made: str
    samples: int
    onset: int
    padding_us: int
    cost_us: int
    doubt: str


class Title(NamedTuple):
    """What the first two lines of an entry say."""

    key: Key
    made: str
    size: int
    """Bytes that the whole file must have."""


def pack(key: Key, speech: Speech, made: str) -> bytes:
    """Return *speech* of *key* as a file; raises Corrupt if its text is too long to be read again."""
    facts = _Facts(
        **key._asdict(),
        form=FORM,
        made=made,
        samples=speech.samples.size,
        onset=speech.onset,
        padding_us=speech.padding_us,
        cost_us=speech.cost_us,
        doubt=speech.doubt,
    )
    line = msgspec.json.encode(facts)
    pad = b" " * ((len(line) + 1) % SAMPLE)  # the samples can then be used where they are read to
    body = line + pad + b"\n" + speech.samples.astype("<i2").tobytes()
    whole = b"turnbudget shelf 1 %s\n" % hashlib.sha256(body).hexdigest().encode() + body
    title(whole[:HEAD])
    return whole


def title(head: bytes) -> Title:
    """Return what an entry says that begins with *head*; raises Corrupt."""
    facts, start, _ = _read(head)
    return Title(_key(facts), facts.made, start + facts.samples * SAMPLE)


def unpack(whole: bytes, wanted: Key) -> tuple[Title, Speech]:
    """Return the entry of *wanted* that *whole* is; raises Corrupt.

    Only checked audio is written, and the checksum says that this is what was.
    """
    facts, start, checksum = _read(whole)
    first = whole.index(b"\n") + 1
    if hashlib.sha256(memoryview(whole)[first:]).hexdigest() != checksum:
        raise Corrupt("its checksum is wrong")
    if len(whole) != start + facts.samples * SAMPLE:
        raise Corrupt(f"it has {len(whole)} bytes of {start + facts.samples * SAMPLE}")
    if (key := _key(facts)) != wanted:
        raise Corrupt("it belongs elsewhere")
    # A view of what was read, which nobody can write to: to copy it costs more than all the rest.
    samples = np.frombuffer(whole, "<i2", facts.samples, start)
    if audio.first_audible(samples[: facts.onset + 1]) != facts.onset:
        raise Corrupt("it is not heard from where it should be")
    speech = Speech(
        text=key.text,
        samples=samples,
        onset=facts.onset,
        voice=key.voice,
        padding_us=facts.padding_us,
        cost_us=facts.cost_us,
        doubt=facts.doubt,
    )
    return Title(key, facts.made, len(whole)), speech


def _key(facts: _Facts) -> Key:
    return Key(facts.text, facts.engine, facts.voice)


def _read(head: bytes) -> tuple[_Facts, int, str]:
    """Return the facts, where the samples begin, and the checksum."""
    first = _FIRST.match(head)
    end = head.find(b"\n", first.end(), HEAD) if first else -1
    if first is None or end < 0:
        raise Corrupt("it is no entry of this version")
    try:
        facts = msgspec.json.decode(memoryview(head)[first.end() : end], type=_Facts)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Corrupt(f"its facts cannot be read: {error}") from error
    if facts.form != FORM or facts.samples < 0 or facts.onset < 0:
        raise Corrupt("it is of another form")
    return facts, end + 1, first[1].decode()
