"""SIMULATED: jambonz' side of a ``listen``, as mod_audio_fork/lws_glue.cpp has it.

It was not compared with a real call. Sound waits before the queue until 1,280 samples of it have come, later
640. A mark waits for the next sound and stands in the queue as a sample of −1, so any −1 passes for a mark.
``killAudio`` empties the queue at the next tick, not what waits before it; each mark it clears swallows one
that comes later.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from turnbudget.voice.lines.far.side import FarSide
from turnbudget.voice.sound.audio import join, silence
from turnbudget.voice.sound.encoding import called

if TYPE_CHECKING:
    from turnbudget.voice.lines.dialect import Message
    from turnbudget.voice.sound.audio import Int16

FIRST_WAIT: Final = 1_280
"""Samples that are waited for before the first playing."""
WAIT: Final = 640
"""Samples that are waited for before later playing, at any rate."""
MARKS: Final = 30
"""Marks that may be pending; more are thrown away."""
MARKER: Final = -1
"""Sample value that stands for a mark."""


class FarJambonz(FarSide):
    """FreeSWITCH and its caller; *metadata* is the verb's, besides the call's own."""

    def __init__(
        self, rate: int = 8_000, began_us: int = 0, *, metadata: dict[str, str] | None = None
    ) -> None:
        """Connect at *began_us*, and say what is known of the call."""
        super().__init__(rate, began_us, transmits_silence=True)
        self._pcm = called("pcm16")
        self._wait = FIRST_WAIT
        self._waiting: Int16 = silence(0)
        self._coming: list[str] = []
        """Marks that no sound has followed yet."""
        self._pending: list[str] = []
        """Marks for which a −1 stands in the queue."""
        self._swallows = 0
        self._kills = False
        call = {
            "callSid": "8a9a",
            "from": "+15550001",
            "to": "+15550002",
            "sampleRate": rate,
            "mixType": "mono",
        }
        self._out.append(json.dumps({**call, **(metadata or {})}))

    def _take(self, message: Message, now: int) -> None:  # noqa: ARG002 - it has no watchdog
        if isinstance(message, str):
            self._obey(json.loads(message))
            return
        markers = np.full(len(self._coming), MARKER, np.int16)
        self._pending += self._coming
        self._coming = []
        self._waiting = join((self._waiting, markers, self._pcm.decode(message)))
        if self._waiting.size >= self._wait:
            self._wait = WAIT
            self._queue(self._waiting)
            self._waiting = silence(0)

    def _queue(self, sound: Int16) -> None:
        start = 0
        for at in np.flatnonzero(sound == MARKER).tolist():
            self.playout.add(sound[start:at])
            self.playout.mark("-1")
            start = at + 1
        self.playout.add(sound[start:])

    def _obey(self, fields: dict[str, Any]) -> None:
        match fields.get("type"):
            case "killAudio":
                self._kills = True
            case "mark":
                if len(self._coming) + len(self._pending) >= MARKS:
                    self._refuse("a mark too many")
                else:
                    self._coming.append(fields["data"]["name"])
            case "disconnect":
                self._close("we ended the listen")
            case other:
                self._refuse(f"type {other!r} unknown")

    def _tick(self, now: int) -> None:
        if self._kills:
            self._kills = False
            self.playout.flush()
            self._tell([*self._pending, *self._coming], "cleared")
            self._swallows += len(self._pending)
            self._pending, self._coming = [], []
        elif self._coming and not (self.playout.queued or self._pending or self._swallows):
            self._tell([self._coming.pop(0)], "playout")
        super()._tick(now)

    def _passed(self, marks: list[str]) -> None:
        for _ in marks:
            if self._swallows:
                self._swallows -= 1
            elif self._pending:
                self._tell([self._pending.pop(0)], "playout")

    def _tell(self, marks: list[str], event: str) -> None:
        self._out += [json.dumps({"type": "mark", "data": {"name": name, "event": event}}) for name in marks]

    def _spoken(self, frame: Int16) -> list[Message]:
        return [self._pcm.encode(frame)]

    def _pressed(self, digit: str) -> list[Message]:
        return [json.dumps({"event": "dtmf", "dtmf": digit, "duration": "260"})]
