"""How samples stand in bytes on a wire: linear PCM, float, and G.711, and how a wrong reading is noticed.

An encoding is three facts: how many bytes a sample takes, how to read them, how to write them. The G.711
tables are drawn up by libsndfile when first used, and checked against the standard's own zero, so that no
codec is written here and none is missing in mid-call.

Silence rests at zero. A level that stands still away from it is a fault of the way, not speech: a DC offset
of the recorder's, or one G.711 law read as the other (A-law silence, D5, is 716 in mu-law; mu-law silence,
FF, is 848 in A-law).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, partial
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from turnbudget.voice.errors import AudioError
from turnbudget.voice.sound import audio
from turnbudget.voice.sound.audio import AUDIBLE, FRAME
from turnbudget.voice.sound.sndfile import g711_tables

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from turnbudget.voice.sound.audio import Float32, Int16

STILL: Final = 64
"""Spread of a frame's samples up to which it stands still (two quantisation steps of 10 bits)."""
ENOUGH: Final = 10
"""Frames that must stand still (200 ms): no sound of speech is flat for so long."""
LONG_MS: Final = 200
"""Time that a level must stand (ms)."""


@dataclass(frozen=True, slots=True)
class Encoding:
    """A way to write samples as bytes; ``width`` is the bytes a sample takes."""

    name: str
    width: int
    decode: Callable[[bytes], Int16]
    encode: Callable[[Int16], bytes]


def to_float(sound: Int16) -> Float32:
    """Return *sound* as floats; exact."""
    return np.divide(sound, 32_768, dtype=np.float32)


def from_float(sound: npt.NDArray[np.floating[Any]]) -> Int16:
    """Return floats as int16: beyond full scale clipped, never wrapped; what is no number is 0."""
    finite = np.isfinite(sound)
    bounded = np.minimum(np.maximum(sound if finite.all() else np.where(finite, sound, 0), -1), 1)
    samples: Int16 = np.minimum(np.rint(bounded * 32_768), 32_767).astype(np.int16)
    return samples


def called(name: str) -> Encoding:
    """Return the encoding called *name*, in our words or a telephone's; raises AudioError."""
    known = ENCODINGS.get(_ALIASES.get(name.lower(), name.lower()))
    if known is None:
        raise AudioError(f"encoding {name!r} is not known", remedy=f"use one of {', '.join(ENCODINGS)}")
    return known


def self_test() -> None:
    """Check that G.711 works here, before a call needs it: mu-law FF is 0, A-law D5 as good as 0."""
    for law in ("ULAW", "ALAW"):
        _tables(law)


@cache
def _tables(law: str) -> tuple[Int16, npt.NDArray[np.uint8]]:
    return g711_tables(law)


def _decode_g711(law: str, data: bytes) -> Int16:
    return _tables(law)[0][np.frombuffer(data, np.uint8)]


def _encode_g711(law: str, sound: Int16) -> bytes:
    return _tables(law)[1][sound.view(np.uint16)].tobytes()


def _decode_pcm8(data: bytes) -> Int16:
    return (np.frombuffer(data, np.uint8).astype(np.int16) - 128) * np.int16(256)


def _encode_pcm8(sound: Int16) -> bytes:
    return ((sound >> 8) + 128).astype(np.uint8).tobytes()


def _decode_linear(kind: str, data: bytes) -> Int16:
    return np.frombuffer(data, kind).astype(np.int16)


def _encode_linear(kind: str, sound: Int16) -> bytes:
    return sound.astype(kind).tobytes()


def _decode_float32(data: bytes) -> Int16:
    return from_float(np.frombuffer(data, "<f4"))


def _encode_float32(sound: Int16) -> bytes:
    return to_float(sound).astype("<f4").tobytes()


ENCODINGS: Final[Mapping[str, Encoding]] = {
    known.name: known
    for known in (
        Encoding("pcm16", 2, partial(_decode_linear, "<i2"), partial(_encode_linear, "<i2")),
        Encoding("pcm16be", 2, partial(_decode_linear, ">i2"), partial(_encode_linear, ">i2")),
        Encoding("mulaw", 1, partial(_decode_g711, "ULAW"), partial(_encode_g711, "ULAW")),
        Encoding("alaw", 1, partial(_decode_g711, "ALAW"), partial(_encode_g711, "ALAW")),
        Encoding("float32", 4, _decode_float32, _encode_float32),
        Encoding("pcm8", 1, _decode_pcm8, _encode_pcm8),
    )
}
"""The encodings, by name."""

_ALIASES: Final[Mapping[str, str]] = {
    "audio/x-mulaw": "mulaw",
    "audio/basic": "mulaw",
    "pcmu": "mulaw",
    "ulaw": "mulaw",
    "audio/x-alaw": "alaw",
    "pcma": "alaw",
    "slin": "pcm16",
    "linear16": "pcm16",
}


def constant_level(sound: Int16) -> int | None:
    """Return the audible level at which *sound* (16 kHz) stands still; ``None`` if it rests at zero."""
    frames = sound[: sound.size // FRAME * FRAME].reshape(-1, FRAME)
    if not frames.size:
        return None
    low, high = frames.min(axis=1).astype(np.int32), frames.max(axis=1).astype(np.int32)
    middle = (low + high) // 2
    still = (high - low <= STILL) & (np.abs(middle) >= AUDIBLE)
    return int(np.median(middle[still])) if np.count_nonzero(still) >= ENOUGH else None


class ConstantLevel:
    """Looks for one audible value that does not change, and tells it once a call."""

    def __init__(self, rate: int) -> None:
        self._enough = rate * LONG_MS // 1_000
        self._level = 0
        self._run = 0
        self._told = False

    def feed(self, samples: Int16) -> int | None:
        """Take the next samples; return the level when one has stood still for the first time."""
        if self._told or not samples.size:
            return None
        level = int(samples[-1])
        if abs(level) < audio.AUDIBLE or not (samples == level).all():
            self._run = 0
            return None
        self._run = samples.size + (self._run if level == self._level else 0)
        self._level = level
        self._told = self._run >= self._enough
        return level if self._told else None
