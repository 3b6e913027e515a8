"""Server-sent events out of bytes that may be cut anywhere; lines and fields, not what they hold.

The format: https://html.spec.whatwg.org/multipage/server-sent-events.html. Two things differ, because
servers do: the end of the stream ends its last event too, and lines that are no field are kept for whoever
finds no event at all (an error sent as plain JSON).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

LIMIT: Final = 1 << 20
"""The longest event that is read (bytes; 1 MB); a longer one is skipped and counted."""
STRAY: Final = 1 << 16
"""How much of the lines that are no field is kept (bytes; 64 KB)."""
_END: Final = re.compile(rb"\r\n|\n|\r")
_KNOWN: Final = frozenset((b"", b"id", b"retry"))
"""Comments, and the fields for reconnecting, which nobody does inside a turn."""
_BOM: Final = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class ServerSentEvent:
    """One event; ``data`` is its data lines joined by LF."""

    data: str
    name: str = "message"


class EventStream:
    """Takes bytes, gives events: each as soon as the blank line behind it has begun."""

    def __init__(self, *, limit: int = LIMIT) -> None:
        self.skipped = 0
        """Events longer than *limit*."""
        self._limit = limit
        self._tail = bytearray()
        self._data: list[bytes] = []
        self._name = b""
        self._stray: list[bytes] = []
        self._size = 0
        self._strayed = 0
        self._over = False
        self._cut = False
        self._fresh = True
        self._after_cr = False

    @property
    def stray(self) -> str:
        """Lines that are no field, joined by LF."""
        return b"\n".join(self._stray).decode("utf-8", "replace")

    def feed(self, chunk: bytes) -> list[ServerSentEvent]:
        """Return the events that *chunk* completes."""
        if self._after_cr and chunk:
            chunk = chunk.removeprefix(b"\n")
            self._after_cr = False
        if not chunk:
            return []
        self._after_cr = chunk.endswith(b"\r")
        *lines, tail = _END.split(chunk)
        events = [event for line in lines if (event := self._line(line))]
        self._hold(tail)
        return events

    def close(self) -> list[ServerSentEvent]:
        """Return the event that the end of the stream completes."""
        ended = [self._line(b"") if self._tail else None, self._dispatch()]
        return [event for event in ended if event]

    def _hold(self, tail: bytes) -> None:
        self._tail += tail
        if self._size + len(self._tail) > self._limit:
            self._over = self._cut = True
            del self._tail[:]

    def _line(self, rest: bytes) -> ServerSentEvent | None:
        """Take the line that *rest* completes."""
        line = bytes(self._tail) + rest if self._tail else rest
        del self._tail[:]
        cut, self._cut = self._cut, False
        if self._fresh:
            line = line.removeprefix(_BOM)
            self._fresh = False
        self._size += len(line)
        if self._size > self._limit:
            self._over = True
        if not line and not cut:
            return self._dispatch()
        if not self._over:
            self._field(line)
        return None

    def _field(self, line: bytes) -> None:
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if field == b"data":
            self._data.append(value)
        elif field == b"event":
            self._name = value
        elif field not in _KNOWN and self._strayed < STRAY:
            self._stray.append(line)
            self._strayed += len(line)

    def _dispatch(self) -> ServerSentEvent | None:
        data, name, over = self._data, self._name, self._over
        self._data, self._name, self._over, self._size = [], b"", False, 0
        if over:
            self.skipped += 1
        if over or not data:
            return None
        return ServerSentEvent(
            b"\n".join(data).decode("utf-8", "replace"), name.decode("utf-8", "replace") or "message"
        )
