"""What runs inside a worker process, and how it is spoken with.

An engine is a class that turns one text into raw sound, and blocks. It is loaded by name, so that the worker
need not know the engines there are. A synthesizer and its worker process exchange messages of two big-endian
lengths, a JSON head and a body; both ends read whole messages or an end of file, never a part of one.
"""

from __future__ import annotations

import json
import struct
from typing import TYPE_CHECKING, Any, BinaryIO, Final, NamedTuple, Protocol, TypeAlias, cast

from turnbudget.voice.errors import ConfigError
from turnbudget.voice.named import find

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    import numpy.typing as npt

ENGINES: Final = {
    "pyttsx3": "turnbudget.voice.tts.pyttsx3:Pyttsx3",
    "piper": "turnbudget.voice.tts.piper:Piper",
}
"""Known engines: where the class of each stands."""


_LENGTHS: Final = struct.Struct(">II")
_MOST: Final = 64 * 1024 * 1024
"""Longest message (bytes): 64 MB is half an hour of sound; more is a stream out of step."""


class Raw(NamedTuple):
    """Sound as the engine made it: full scale is ±1."""

    samples: npt.NDArray[np.float32]
    rate: int
    """Sample rate, read from the sound and not from a setting (Hz)."""


class Engine(Protocol):
    """One voice, used from one thread."""

    pace: float
    """How long it takes for a text, as a multiple of a voice with 200 words a minute."""

    def say(self, text: str) -> Raw:
        """Return *text* as sound; whatever it raises costs the worker its place."""
        ...


def load(name: str, options: dict[str, Any]) -> Engine:
    """Return the engine of that *name*: a known one, ``package.module:Class`` or ``file.py:Class``."""
    known = ENGINES.get(name, name)
    if ":" not in known:
        raise ConfigError(f"no speech engine is called {name!r}", remedy=f"known are {', '.join(ENGINES)}")
    return cast("Engine", find(known)(**options))


Head: TypeAlias = dict[str, Any]


def write_message(stream: BinaryIO, head: Mapping[str, Any], body: bytes = b"") -> None:
    """Write one message and flush it."""
    packed = json.dumps(head).encode()
    stream.write(_LENGTHS.pack(len(packed), len(body)) + packed + body)
    stream.flush()


def read_message(stream: BinaryIO) -> tuple[Head, bytes]:
    """Return the next message; raises :class:`EOFError` at the end, :class:`ValueError` on nonsense."""
    head_size, body_size = _LENGTHS.unpack(_exactly(stream, _LENGTHS.size))
    if head_size > _MOST or body_size > _MOST:
        raise ValueError("the stream is out of step")
    head = json.loads(_exactly(stream, head_size))
    if not isinstance(head, dict):
        raise ValueError("a message without a head")  # noqa: TRY004 - nonsense on the wire, no wrong call
    return head, _exactly(stream, body_size)


def _exactly(stream: BinaryIO, count: int) -> bytes:
    data = stream.read(count)
    if len(data) < count:
        raise EOFError
    return data
