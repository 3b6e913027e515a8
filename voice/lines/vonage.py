"""Vonage's WebSocket: linear PCM in messages of 20 ms, and notices that come back when they are reached.

What becomes of pending notices when the buffer is cleared is not documented; so each of them is told as
cleared, by whichever message speaks of it first (Voice API, WebSockets; not verified on a real call).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, TypeAlias

import msgspec
from msgspec import Struct, field

from turnbudget.voice.lines.dialect import Abilities, MarkPlayed, Odd
from turnbudget.voice.lines.pcm_websocket import MediaOpened
from turnbudget.voice.lines.wire import FRAMES_A_SECOND, MarkIds, call_info, compact, pressed, table
from turnbudget.voice.sound.encoding import called

if TYPE_CHECKING:
    from collections.abc import Sequence

    from turnbudget.voice.lines.dialect import Message
    from turnbudget.voice.lines.pcm_websocket import Told

CONTENT: Final = re.compile(r"audio/l16\s*;\s*rate=(8000|16000|24000)")
"""Finds the sample rate in a content type."""
AHEAD_US: Final = 60_000_000
"""How far ahead of playing audio is sent (µs): Vonage buffers 3,072 messages, about 60 s."""


class _Connected(Struct, tag_field="event", tag="websocket:connected"):
    content_type: str = field(name="content-type")


class _Cleared(Struct, tag_field="event", tag="websocket:cleared"):
    pass


class _Payload(Struct):
    mark: str = ""


class _Notify(Struct, tag_field="event", tag="websocket:notify"):
    payload: _Payload


class _Key(Struct, tag_field="event", tag="websocket:dtmf"):
    digit: str


_Event: TypeAlias = _Connected | _Cleared | _Notify | _Key


class Vonage:
    """Vonage's side of one call."""

    name = "vonage"

    def __init__(self) -> None:
        self._marks = MarkIds()
        self._doomed: tuple[str, ...] = ()
        """Marks that were pending at the last clear."""

    def read(self, text: str) -> Sequence[Told]:
        """Return what a message says; the answer's headers stand beside its event."""
        fields = table(text)
        event: _Event = msgspec.convert(fields, _Event)
        match event:
            case _Connected():
                found = CONTENT.fullmatch(event.content_type)
                if not found:
                    return (Odd("a content-type that is not audio/l16 at 8, 16 or 24 kHz", fatal=True),)
                rate = int(found[1])
                own = {name: value for name, value in fields.items() if name not in {"event", "content-type"}}
                info = call_info(_text(own.get("uuid")), own, stream=_text(own.get("conversation_uuid")))
                return (MediaOpened(info, called("pcm16"), _abilities(rate), rate // FRAMES_A_SECOND),)
            case _Notify():
                key = event.payload.mark
                return (MarkPlayed(self._marks.take(key), cleared=key in self._doomed),)
            case _Cleared():
                lost = [key for key in self._marks.pending if key in self._doomed]
                self._doomed = ()
                return [MarkPlayed(self._marks.take(key), cleared=True) for key in lost]
            case _Key():
                return (pressed(event.digit),)

    def begin(self) -> Sequence[Message]:
        """Return nothing: a reply begins with its sound."""
        return ()

    def end(self, mark: str) -> Sequence[Message]:
        """Return a mark."""
        return self.mark(mark)

    def clear(self) -> Sequence[Message]:
        """Return what empties the buffer."""
        self._doomed = self._marks.pending
        return (compact(action="clear"),)

    def mark(self, name: str) -> Sequence[Message]:
        """Return a notice whose payload comes back."""
        return (compact(action="notify", payload={"mark": self._marks.put(name)}),)

    def hang_up(self) -> Sequence[Message]:
        """Return nothing: the answer goes on when the socket closes."""
        return ()


def _abilities(rate: int) -> Abilities:
    return Abilities(
        rate=rate,
        buffers=True,
        marks=True,
        marks_on_clear=True,
        clears=True,
        transfers=False,
        ahead_us=AHEAD_US,
    )


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
