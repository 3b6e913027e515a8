"""SIMULATED: Vonage's side of a WebSocket, as its documentation has it; not compared with a real call.

It holds 3,072 messages. Whether a notice comes back when its sound was cleared is not documented, so this far
side can do either.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from turnbudget.voice.lines.far.side import FarSide
from turnbudget.voice.sound.encoding import called

if TYPE_CHECKING:
    from turnbudget.voice.lines.dialect import Message
    from turnbudget.voice.sound.audio import Int16

QUEUE: Final = 3_072
"""Messages that are buffered (about 60 s)."""


class FarVonage(FarSide):
    """Vonage's end of a call, and its caller; *headers* are those of the answer's endpoint."""

    def __init__(
        self,
        rate: int = 16_000,
        began_us: int = 0,
        *,
        headers: dict[str, str] | None = None,
        returns_cleared: bool = False,
    ) -> None:
        """Connect at *began_us*; notices come back on a clear if it *returns_cleared*."""
        super().__init__(rate, began_us, transmits_silence=True)
        self._pcm = called("pcm16")
        self._returns_cleared = returns_cleared
        content = f"audio/l16;rate={rate}"
        self._out.append(
            json.dumps({"event": "websocket:connected", "content-type": content, **(headers or {})})
        )

    def _take(self, message: Message, now: int) -> None:  # noqa: ARG002 - it has no watchdog
        if isinstance(message, str):
            self._obey(json.loads(message))
        elif len(message) != self.frame * 2:
            self.playout.lost += len(message) // 2
            self._refuse(f"a message of {len(message)} bytes, not of 20 ms")
        elif self.playout.queued >= QUEUE * self.frame:
            self.playout.lost += self.frame
            self._refuse("the buffer is full")
        else:
            self.playout.add(self._pcm.decode(message))

    def _obey(self, fields: dict[str, object]) -> None:
        match fields.get("action"):
            case "clear":
                notices = self.playout.flush()
                self._out += notices if self._returns_cleared else []
                self._out.append('{"event":"websocket:cleared"}')
            case "notify":
                self.playout.mark(json.dumps({"event": "websocket:notify", "payload": fields["payload"]}))
            case other:
                self._refuse(f"action {other!r} unknown")

    def _passed(self, marks: list[str]) -> None:
        self._out += marks

    def _spoken(self, frame: Int16) -> list[Message]:
        return [self._pcm.encode(frame)]

    def _pressed(self, digit: str) -> list[Message]:
        return [json.dumps({"event": "websocket:dtmf", "digit": digit, "duration": 260})]
