"""What a synthesizer and its worker process say to each other: a small head, and bytes.

A message is two big-endian lengths, a JSON head and a body. Both ends read whole messages or an end of
file, never a part of one.
"""

from __future__ import annotations

import json
import struct
from typing import TYPE_CHECKING, Any, BinaryIO, Final, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping

Head: TypeAlias = dict[str, Any]

_LENGTHS: Final = struct.Struct(">II")
_MOST: Final = 64 * 1024 * 1024
"""No message is longer: 64 MB is half an hour of sound; more is a stream out of step."""


def write(stream: BinaryIO, head: Mapping[str, Any], body: bytes = b"") -> None:
    """Write one message and flush it."""
    packed = json.dumps(head).encode()
    stream.write(_LENGTHS.pack(len(packed), len(body)) + packed + body)
    stream.flush()


def read(stream: BinaryIO) -> tuple[Head, bytes]:
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
