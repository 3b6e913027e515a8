"""What runs inside a worker process, and how it is spoken with.

An engine is a class that turns one text into raw sound, and blocks. It is loaded by name, so that the worker
need not know the engines there are. A synthesizer and its worker process exchange messages of two big-endian
lengths, a JSON head and a body; both ends read whole messages or an end of file, never a part of one.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import struct
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final, NamedTuple, Protocol, TypeAlias, cast

from turnbudget.voice.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import ModuleType

    import numpy as np
    import numpy.typing as npt

ENGINES: Final = {
    "pyttsx3": "turnbudget.voice.tts.pyttsx3:Pyttsx3",
    "piper": "turnbudget.voice.tts.piper:Piper",
}


_LENGTHS: Final = struct.Struct(">II")
_MOST: Final = 64 * 1024 * 1024
"""No message is longer: 64 MB is half an hour of sound; more is a stream out of step."""


class Raw(NamedTuple):
    """Sound as the engine made it: full scale is ±1, ``rate`` is read from the sound, not from a setting."""

    samples: npt.NDArray[np.float32]
    rate: int


class Engine(Protocol):
    """One voice, used from one thread."""

    pace: float
    """How long it takes for a text, against 200 words a minute."""

    def say(self, text: str) -> Raw:
        """Return *text* as sound; whatever it raises costs the worker its place."""
        ...


def load(name: str, options: dict[str, Any]) -> Engine:
    """Return the engine of that *name*: a known one, ``package.module:Class`` or ``file.py:Class``."""
    where, _, made = ENGINES.get(name, name).rpartition(":")
    if not where:
        raise ConfigError(f"no speech engine is called {name!r}", remedy=f"known are {', '.join(ENGINES)}")
    module = _from_file(Path(where)) if where.endswith(".py") else importlib.import_module(where)
    return cast("Engine", getattr(module, made)(**options))


def _from_file(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise ConfigError("not a Python file", where=str(path))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


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
