"""Asterisk's chan_websocket, JSON and plain-text control: the words of a queue that we can look into.

Asterisk paces: it queues up to 1,000 frames of 20 ms and takes one a tick. Emptying the queue loses the marks
in it, so its length is asked for first: that is how much was not heard (channels/chan_websocket.c; seen on
22.10.1). A command of over 128 bytes is ignored, a message of over 65,535 ends the call.
"""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeAlias
from urllib.parse import unquote

import msgspec
from msgspec import Meta, Struct

from turnbudget.voice.lines.dialect import Abilities, Drained, Flow, MarkPlayed, Odd
from turnbudget.voice.lines.pcm_websocket import MediaOpened
from turnbudget.voice.lines.wire import MarkIds, call_info, compact, pressed, table
from turnbudget.voice.sound.encoding import called

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from turnbudget.voice.lines.dialect import Message
    from turnbudget.voice.lines.pcm_websocket import Told

FORMATS: Final[Mapping[str, tuple[str, int]]] = {
    "ulaw": ("mulaw", 8_000),
    "alaw": ("alaw", 8_000),
    "slin": ("pcm16", 8_000),
    "slin12": ("pcm16", 12_000),
    "slin16": ("pcm16", 16_000),
    "slin24": ("pcm16", 24_000),
    "slin32": ("pcm16", 32_000),
    "slin44": ("pcm16", 44_100),
    "slin48": ("pcm16", 48_000),
    "slin96": ("pcm16", 96_000),
    "slin192": ("pcm16", 192_000),
}
"""Codecs that can be cut at any frame, with their encoding and rate; others are passed through unpaced."""
AHEAD: Final = 800
"""Frames that may be queued: below this Asterisk takes back its MEDIA_XOFF."""
DIALLED: Final = re.compile(r"v\(([^)]*)\)")
"""Finds the parameters in a dial string: ``Dial(WebSocket/agent1/c(ulaw)f(json)v(tenant=acme))``."""


class _Start(Struct, tag_field="event", tag="MEDIA_START"):
    format: str
    optimal_frame_size: Annotated[int, Meta(ge=40, le=65_000)]
    channel: str = ""
    channel_id: str = ""
    """Id of the channel; the first releases name the channel and give none."""
    connection_id: str = ""
    channel_variables: dict[str, Any] = {}


class _Status(Struct, tag_field="event", tag="STATUS"):
    queue_length: Annotated[int, Meta(ge=0, le=100_000)]


class _Completed(Struct, tag_field="event", tag="MEDIA_BUFFERING_COMPLETED"):
    correlation_id: str = ""


class _Processed(Struct, tag_field="event", tag="MEDIA_MARK_PROCESSED"):
    correlation_id: str = ""


class _Empty(Struct, tag_field="event", tag="QUEUE_DRAINED"):
    pass


class _Off(Struct, tag_field="event", tag="MEDIA_XOFF"):
    pass


class _On(Struct, tag_field="event", tag="MEDIA_XON"):
    pass


class _Key(Struct, tag_field="event", tag="DTMF_END"):
    digit: str


class _Error(Struct, tag_field="event", tag="ERROR"):
    error_text: str = ""


_Event: TypeAlias = _Start | _Status | _Completed | _Processed | _Empty | _Off | _On | _Key | _Error


class ChanWebsocket:
    """Asterisk's side of one call, in JSON or plain text as Asterisk's first message is."""

    name = "chan_websocket"

    def __init__(self, query: Mapping[str, str] = MappingProxyType({})) -> None:
        """Take parameters from the socket's *query* too, where ``v(…)`` of the dial string appears."""
        self._query = query
        self._json = True
        self._frame = 0
        """Samples in a frame; 0 before the call has begun."""
        self._marks = MarkIds()

    def read(self, text: str) -> Sequence[Told]:
        """Return what a message of Asterisk's says."""
        json = text.lstrip().startswith("{")
        event: _Event = msgspec.convert(table(text) if json else _plain(text), _Event, strict=False)
        match event:
            case _Start():
                return (self._start(event, json=json),)
            case _Status():
                return (Drained(event.queue_length * self._frame),)
            case _Completed() | _Processed():
                return (MarkPlayed(self._marks.take(event.correlation_id)),)
            case _Empty():
                return (Drained(),)
            case _Off() | _On():
                return (Flow(stop=isinstance(event, _Off)),)
            case _Key():
                return (pressed(event.digit),)
            case _Error():
                raise ValueError(f"Asterisk: {event.error_text}")

    def begin(self) -> Sequence[Message]:
        """Return the command that starts buffering."""
        return (self._command("START_MEDIA_BUFFERING"),)

    def end(self, mark: str) -> Sequence[Message]:
        """Return the command that ends buffering; its completion comes back when all was played."""
        return (self._command("STOP_MEDIA_BUFFERING", self._marks.put(mark)),)

    def clear(self) -> Sequence[Message]:
        """Return the question for the queue's length, and the command that empties it."""
        return (self._command("GET_STATUS"), self._command("FLUSH_MEDIA"))

    def mark(self, name: str) -> Sequence[Message]:
        """Return a mark."""
        return (self._command("MARK_MEDIA", self._marks.put(name)),)

    def hang_up(self) -> Sequence[Message]:
        """Return the hang-up."""
        return (self._command("HANGUP"),)

    def _command(self, command: str, key: str = "") -> str:
        if not self._json:
            return f"{command} {key}" if key else command
        return compact(command=command, correlation_id=key) if key else compact(command=command)

    def _start(self, start: _Start, *, json: bool) -> Told:
        if self._frame:
            raise ValueError("a second start")
        if start.format not in FORMATS:
            why = f"format {start.format[:20]!r} cannot be used; dial c({') or c('.join(FORMATS)})"
            return Odd(why, fatal=True)
        name, rate = FORMATS[start.format]
        encoding = called(name)
        self._json = json
        self._frame = start.optimal_frame_size // encoding.width
        abilities = Abilities(
            rate=rate,
            buffers=True,
            marks=True,
            marks_on_clear=False,
            clears=True,
            transfers=False,
            ahead_us=AHEAD * self._frame * 1_000_000 // rate,
        )
        variables = start.channel_variables
        dialled = _dialled(variables.pop("DIALEDPEERNUMBER", ""))
        parameters = {**variables, **self._query, **dialled}
        info = call_info(start.channel_id or start.channel, parameters, stream=start.connection_id)
        return MediaOpened(info, encoding, abilities, self._frame)


def _dialled(peer: object) -> dict[str, str]:
    """Return the parameters in a dial string, which may hold a credential and is kept nowhere else."""
    found = DIALLED.search(peer) if isinstance(peer, str) else None
    pairs = [pair.partition("=") for pair in found[1].split(",")] if found else []
    return {unquote(name): unquote(value) for name, _, value in pairs}


def _plain(text: str) -> dict[str, str]:
    """Return ``EVENT id`` or ``EVENT name:value name:value`` as the JSON would have it."""
    event, *words = text.strip().split(" ")
    fields = {"event": event}
    last = "correlation_id"
    for word in words:
        name, colon, value = word.partition(":")
        if colon and name.isidentifier():
            last, fields[name] = name, value
        else:
            fields[last] = f"{fields[last]} {word}" if last in fields else word
    return fields
