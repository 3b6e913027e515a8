"""SIMULATED: Asterisk's side of a chan_websocket, as channels/chan_websocket.c has it.

A queue of 1,000 frames that is looked at when a message comes, not within one; XOFF at 900, XON below 800;
outside of buffering what is over of a message is thrown away; emptying the queue loses the marks in it.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from turnbudget.voice.lines.far.side import FarSide
from turnbudget.voice.sound.audio import join, silence
from turnbudget.voice.sound.encoding import called

if TYPE_CHECKING:
    from turnbudget.voice.lines.dialect import Message
    from turnbudget.voice.sound.audio import Int16

QUEUE: Final = 1_000
"""Frames that fit into the queue; more are lost."""
XOFF: Final = 900
"""Frames in the queue at which MEDIA_XOFF is sent."""
XON: Final = 800
"""Frames in the queue at which MEDIA_XON is sent."""
LONGEST_TEXT: Final = 128
"""Longest control message that is taken (bytes)."""
LONGEST: Final = 65_535
"""Length with header at which a message ends the call (bytes; AST_WEBSOCKET_MAX_RX_PAYLOAD_SIZE)."""
HEADER: Final = 8
"""Length of a masked client's header for a message of 126 to 65,535 bytes, which counts as well."""
FORMATS: Final = {
    "ulaw": ("mulaw", 8_000),
    "alaw": ("alaw", 8_000),
    "slin": ("pcm16", 8_000),
    "slin16": ("pcm16", 16_000),
}
"""Encoding and rate of each codec."""


class FarChanWebsocket(FarSide):
    """Asterisk's end of chan_websocket, and its caller; *variables* are those of the channel."""

    def __init__(  # noqa: PLR0913 - what a dial string can say
        self,
        form: str = "ulaw",
        began_us: int = 0,
        *,
        plain: bool = False,
        transmits_silence: bool = False,
        channel: str = "1796031636.14",
        variables: dict[str, str] | None = None,
    ) -> None:
        """Connect at *began_us* and tell the media's form; *plain* is text instead of JSON."""
        name, rate = FORMATS[form]
        super().__init__(rate, began_us, transmits_silence=transmits_silence)
        self._encoding = called(name)
        self._size = self.frame * self._encoding.width
        self._plain = plain
        self._channel = channel
        self._buffering = False
        self._left = b""
        self._full = False
        self._reports = False
        self._paused = False
        start = {
            "connection_id": "agent1",
            "channel": "WebSocket/agent1/0x5566",
            "format": form,
            "optimal_frame_size": self._size,
            "ptime": 20,
        }
        extra: dict[str, Any] = {} if plain else {"channel_variables": variables or {}}
        self._tell("MEDIA_START", **start, **extra)

    @property
    def length(self) -> int:
        """Number of frames in the queue."""
        return -(-self.playout.queued // self.frame)

    def _take(self, message: Message, now: int) -> None:  # noqa: ARG002 - it has no watchdog
        if isinstance(message, str):
            self._take_text(message)
        elif len(message) + HEADER > LONGEST:
            self._close("Cannot fit huge websocket frame: 1009")
        elif self.length >= QUEUE:
            self.playout.lost += len(message) // self._encoding.width
            self._refuse("the queue is full")
        else:
            self._queue(message)

    def _queue(self, data: bytes) -> None:
        """Cut *data* into frames; what is left waits while buffering, and is lost otherwise."""
        data = (self._left if self._buffering else b"") + data
        whole = len(data) - len(data) % self._size
        for start in range(0, whole, self._size):
            self._enqueue(data[start : start + self._size])
        self._left = data[whole:] if self._buffering else b""
        if not self._buffering and data[whole:]:
            self.playout.lost += len(data[whole:]) // self._encoding.width
            self._refuse("the remainder of a message outside of buffering")

    def _enqueue(self, data: bytes) -> None:
        self.playout.add(self._encoding.decode(data))
        if not self._full and self.length >= XOFF:
            self._full = True
            self._tell("MEDIA_XOFF")

    def _take_text(self, text: str) -> None:
        if len(text.encode()) > LONGEST_TEXT:
            self._refuse(f"a command of {len(text.encode())} bytes")
            return
        if self._plain:
            command, _, key = text.strip().partition(" ")
        else:
            fields = json.loads(text)
            command, key = fields.get("command", ""), fields.get("correlation_id", "")
        self._obey(command, key)

    def _obey(self, command: str, key: str) -> None:
        match command:
            case "START_MEDIA_BUFFERING":
                self._buffering = True
            case "STOP_MEDIA_BUFFERING":
                self._stop(key)
            case "MARK_MEDIA":
                self.playout.mark(self._event("MEDIA_MARK_PROCESSED", correlation_id=key))
            case "FLUSH_MEDIA":
                self.playout.flush()
                self._buffering, self._left = False, b""
            case "GET_STATUS":
                self._tell(
                    "STATUS",
                    queue_length=self.length,
                    xon_level=XON,
                    xoff_level=XOFF,
                    queue_full=self._full,
                    bulk_media=self._buffering,
                    media_paused=self._paused,
                )
            case "REPORT_QUEUE_DRAINED":
                self._reports = True
            case "PAUSE_MEDIA" | "CONTINUE_MEDIA":
                self._paused = command == "PAUSE_MEDIA"
            case "HANGUP":
                self._close("we hung up")
            case _:
                self._refuse(f"command {command!r} unknown")

    def _stop(self, key: str) -> None:
        """Queue what is left as a frame of full length, and the completion behind it."""
        self._buffering = False
        if self._left:
            sound = self._encoding.decode(self._left)
            self.playout.add(join((sound, silence(self.frame - sound.size))))
            self._left = b""
        self.playout.mark(self._event("MEDIA_BUFFERING_COMPLETED", correlation_id=key))

    def _tick(self, now: int) -> None:
        if self._full and self.length < XON:
            self._full = False
            self._tell("MEDIA_XON")
        empty = not self.playout.queued
        super()._tick(now)
        if empty and self._reports:
            self._reports = False
            self._tell("QUEUE_DRAINED")

    def _passed(self, marks: list[str]) -> None:
        self._out += marks

    def _spoken(self, frame: Int16) -> list[Message]:
        return [self._encoding.encode(frame)]

    def _pressed(self, digit: str) -> list[Message]:
        return [self._event("DTMF_END", digit=digit)]

    def _tell(self, event: str, **fields: object) -> None:
        self._out.append(self._event(event, **fields))

    def _event(self, event: str, **fields: object) -> str:
        if not self._plain:
            return json.dumps({"event": event, "channel_id": self._channel, **fields}, separators=(",", ":"))
        if "correlation_id" in fields:
            return f"{event} {fields['correlation_id']}".strip()
        said = {name: str(value).lower() if value is bool(value) else value for name, value in fields.items()}
        return " ".join([event, *(f"{name}:{value}" for name, value in said.items())])
