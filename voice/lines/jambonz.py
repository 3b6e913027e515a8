"""jambonz' ``listen``, which is FreeSWITCH's mod_audio_fork: linear PCM, and marks that tell their fate.

Its habits need an answer here (mod_audio_fork/lws_glue.cpp; not verified on a real call). A mark goes ahead
of the *next* sound it gets. In its buffer a mark is a sample of −1, so none may be sent as sound. Sound waits
until 160 ms of it have come, later 80 ms, so the end of a reply has to be pushed. And each mark that it tells
as cleared swallows a later one, unless a −1 is sent for it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, Final

import msgspec
import numpy as np
from msgspec import Meta, Struct, field

from turnbudget.voice.lines.dialect import Abilities, MarkPlayed, Odd
from turnbudget.voice.lines.pcm_websocket import MediaOpened
from turnbudget.voice.lines.wire import FRAMES_A_SECOND, PENDING, MarkIds, call_info, compact, pressed, table
from turnbudget.voice.sound.encoding import called

if TYPE_CHECKING:
    from collections.abc import Sequence

    from turnbudget.voice.lines.dialect import Message
    from turnbudget.voice.lines.pcm_websocket import Told
    from turnbudget.voice.sound.audio import Int16

RATES: Final = (8_000, 16_000, 24_000, 48_000, 64_000)
"""Sample rates that jambonz can stream at (Hz)."""
MARKER: Final = b"\xff\xff"
"""Sample value that jambonz takes for a mark."""
PUSH: Final = 1_280
"""Silence that pushes what waits into the queue (samples at 8 kHz; as long at other rates)."""
AHEAD_US: Final = 20_000_000
"""How far ahead of playing audio is sent (µs): its buffer grows with what it gets."""


class _Data(Struct):
    name: str = ""
    event: str = ""


class _Message(Struct):
    type: str = ""
    event: str = ""
    data: _Data = field(default_factory=_Data)
    dtmf: str = ""
    rate: Annotated[int, Meta(ge=0)] = field(default=0, name="sampleRate")
    mix: str = field(default="mono", name="mixType")
    call: str = field(default="", name="callSid")


class Jambonz:
    """jambonz's side of one call."""

    name = "jambonz"

    def __init__(self) -> None:
        self._marks = MarkIds()
        self._push = b""
        self._swallows = 0
        """Marks told as cleared for which no −1 has been sent yet."""

    def read(self, text: str) -> Sequence[Told]:
        """Return what a message says; the first one holds what is known of the call."""
        fields = table(text)
        message = msgspec.convert(fields, _Message, strict=False)
        if message.event == "dtmf":
            return (pressed(message.dtmf),)
        if message.type == "mark":
            cleared = message.data.event == "cleared"
            self._swallows = min(self._swallows + cleared, PENDING)
            return (MarkPlayed(self._marks.take(message.data.name), cleared=cleared),)
        if not message.rate:
            raise ValueError("a message that says nothing")
        return (self._start(message, fields),)

    def begin(self) -> Sequence[Message]:
        """Return a −1 for each mark that was cleared; nothing else goes before a reply."""
        swallows, self._swallows = self._swallows, 0
        return (MARKER * swallows,) if swallows else ()

    def end(self, mark: str) -> Sequence[Message]:
        """Return a mark, and behind it the silence that pushes the reply's end."""
        return (*self.mark(mark), self._push)

    def clear(self) -> Sequence[Message]:
        """Return what empties the buffer; what waits before it is pushed in first, not to sound later."""
        return (self._push, compact(type="killAudio"))

    def mark(self, name: str) -> Sequence[Message]:
        """Return a mark."""
        return (compact(type="mark", data={"name": self._marks.put(name)}),)

    def hang_up(self) -> Sequence[Message]:
        """Return what ends the ``listen``; the application's next verb follows."""
        return (compact(type="disconnect"),)

    def _start(self, message: _Message, fields: dict[str, Any]) -> Told:
        if self._push:
            raise ValueError("a second start")
        rate = message.rate
        if rate not in RATES or message.mix != "mono":
            return Odd(
                f"listen at {rate} Hz, {message.mix[:20]!r}: mono at {RATES} is understood", fatal=True
            )
        self._push = bytes(2 * (PUSH * rate // 8_000))
        pcm = called("pcm16")
        abilities = Abilities(
            rate=rate,
            buffers=True,
            marks=True,
            marks_on_clear=True,
            clears=True,
            transfers=False,
            ahead_us=AHEAD_US,
        )
        encoding = replace(pcm, encode=lambda sound: pcm.encode(_unmarked(sound)))
        return MediaOpened(call_info(message.call, fields), encoding, abilities, rate // FRAMES_A_SECOND)


def _unmarked(sound: Int16) -> Int16:
    """Return *sound* with 0 for −1, which the far side would take for a mark."""
    return np.where(sound == -1, np.int16(0), sound)
