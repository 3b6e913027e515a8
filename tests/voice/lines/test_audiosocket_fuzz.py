"""A hundred thousand messages of all kinds, cut anywhere: nothing raises, nothing grows, no sound is lost."""

from __future__ import annotations

import random

import numpy as np

from turnbudget.voice.lines.audiosocket import AudioSocket
from turnbudget.voice.lines.dialect import AudioIn, Hangup, Odd

UUID = b"\x01\x00\x10" + bytes(16)
MESSAGES = 100_000


def pieces(stream, chance):
    """*stream*, cut where TCP might."""
    at = 0
    while at < len(stream):
        size = chance.choice((1, 2, 3, 17, 323, 1_460, 8_192, 65_536))
        yield stream[at : at + size]
        at += size


def message(chance, audio):
    """A message; a third of them is the caller's audio, which is also noted in *audio*."""
    kind = chance.choice((0x10, 0x10, 0x03, 0x01, 0x12, 0x18, 0x7F, 0x42, chance.randrange(0x19, 0xFF)))
    data = chance.randbytes(chance.choice((0, 1, 2, 3, 16, 16, 40, 61, 82)))
    if kind == 0x10:
        audio.append(data)
    return bytes([kind]) + len(data).to_bytes(2, "big") + data


def test_a_hundred_thousand_messages_cost_at_most_themselves():
    """TEL-04, AUD-10: audio out equals audio in, but for half a sample at the end."""
    chance = random.Random(7)  # noqa: S311 - the same on every run
    audio: list[bytes] = [b"\0\0"]
    stream = UUID + b"\x10\x00\x02\0\0" + b"".join(message(chance, audio) for _ in range(MESSAGES))
    dialect = AudioSocket()
    heard, most = [], 0
    for piece in pieces(stream, chance):
        events = dialect.receive(piece)
        heard += [event.samples for event in events if isinstance(event, AudioIn)]
        assert not any(isinstance(event, Hangup) or getattr(event, "fatal", False) for event in events)
        most = max(most, len(dialect._held))
    said = b"".join(audio)
    assert np.concatenate(heard).astype("<i2").tobytes() == said[: len(said) // 2 * 2]
    assert most <= 3 + 82


def test_noise_ends_in_a_refusal_or_a_hang_up_and_never_in_an_exception():
    """TEL-04: any bytes, on many sockets; what is held never exceeds one message."""
    chance = random.Random(8)  # noqa: S311 - the same on every run
    for _ in range(2_000):
        dialect = AudioSocket()
        stream = (UUID if chance.random() < 0.9 else b"") + chance.randbytes(chance.randrange(4_000))
        for piece in pieces(stream, chance):
            dialect.receive(piece)
            assert len(dialect._held) <= 3 + 65_535
        assert all(isinstance(event, Hangup | Odd) for event in dialect.ended())
        assert dialect.receive(b"\x10\x00\x02\0\0") == ()


def test_a_message_of_the_greatest_length_is_held_and_no_more():
    dialect = AudioSocket()
    dialect.receive(UUID)
    body = b"\x10\xff\xff" + bytes(65_535)
    for start in range(0, len(body) - 1, 1_460):
        assert dialect.receive(body[start : min(start + 1_460, len(body) - 1)]) == []
    (event,) = dialect.receive(b"\0")
    assert event.samples.size == 32_767
    assert dialect._held == b""


def test_text_on_a_tcp_socket_is_odd():
    (odd,) = AudioSocket().receive("hello")
    assert isinstance(odd, Odd)
