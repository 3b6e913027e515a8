"""Asterisk's AudioSocket: kind, length, payload, over TCP; everything that is known of its bytes is here.

Asterisk connects to us and says the call's UUID first. It does not buffer, so we pace; it drops the call if a
message stays half written for 5 ms, if it gets a kind it does not know, and after 2 s in which nobody sends
(res_audiosocket.c of 22.10.1). It never says that a caller hung up: the socket just ends.
"""

from __future__ import annotations

import uuid
from struct import Struct
from typing import TYPE_CHECKING, Final, Literal

from turnbudget.voice.errors import ConfigError
from turnbudget.voice.lines.dialect import Abilities, AudioIn, CallInfo, Hangup, Odd, Started
from turnbudget.voice.lines.wire import FRAMES_A_SECOND, Framed, Joined, pressed
from turnbudget.voice.sound.encoding import called

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from turnbudget.voice.lines.dialect import Inbound, Message
    from turnbudget.voice.sound.audio import Int16

HANG_UP: Final = 0x00
"""Kind of the message that ends the call."""
UUID: Final = 0x01
"""Kind of the message with the call's id."""
DTMF: Final = 0x03
"""Kind of the message with a pressed key."""
ERROR: Final = 0xFF
"""Kind of the message with an error code."""
RATES: Final[Mapping[int, int]] = {
    0x10: 8_000,
    0x11: 12_000,
    0x12: 16_000,
    0x13: 24_000,
    0x14: 32_000,
    0x15: 44_100,
    0x16: 48_000,
    0x17: 96_000,
    0x18: 192_000,
}
"""Kinds of audio, s16le, and their rates; all but the first from the channel driver only (Asterisk 22.10.1).

0x11 was documented as 16 kHz once (asterisk/documentation#158).
"""
ERRORS: Final[Mapping[int, str]] = {
    0x01: "the caller hung up",
    0x02: "a frame could not be forwarded",
    0x04: "out of memory",
}
"""Meaning of an error's code, by code."""
HEADER: Final = Struct(">BH")
"""A message's header: kind and length of the payload."""
FIRST: Final = HEADER.pack(UUID, 16)
"""Bytes that a stream begins with; 16 bytes of UUID follow."""


class AudioSocket:
    """One call's AudioSocket; each message with audio is one 20 ms frame, to be written at once."""

    name = "audiosocket"
    transport: Literal["websocket", "tcp"] = "tcp"

    def __init__(self, rate: int = 8_000) -> None:
        """Speak at *rate* Hz, that of the dialled codec; raises ConfigError if there is no such kind.

        The application ``AudioSocket()`` speaks 8 kHz, ``Dial(AudioSocket/…/c(slin16))`` 16 kHz. Nothing in
        the stream tells which before the caller's first frame, and ours are owed before that.
        """
        kinds = {known: kind for kind, known in RATES.items()}
        if rate not in kinds:
            raise ConfigError(
                f"AudioSocket has no kind of audio at {rate} Hz",
                remedy=f"use one of {', '.join(map(str, kinds))}",
            )
        self._kind = kinds[rate]
        pcm = called("pcm16")
        self._abilities = Abilities(
            rate=rate,
            buffers=False,
            marks=False,
            marks_on_clear=False,
            clears=False,
            transfers=False,
            keeps_alive=True,
        )
        self._heard = Joined(pcm)
        self._said = Framed(pcm, rate // FRAMES_A_SECOND)
        self._held = bytearray()
        """The beginning of a message that is not complete (65,537 bytes at most)."""
        self._begun = False
        self._has_heard = False
        self._over = False

    @property
    def abilities(self) -> Abilities:
        """What Asterisk can do: play at once what it gets, and no more."""
        return self._abilities

    def receive(self, message: Message) -> Sequence[Inbound]:
        """Return what a piece of the stream means; a message may come in any number of pieces."""
        if self._over:
            return ()
        if isinstance(message, str):
            return (Odd("text on a socket that carries none"),)
        self._held += message
        head = bytes(self._held[: len(FIRST)])
        if not self._begun and not FIRST.startswith(head):
            return self._refuse(f"the stream begins with {head.hex(' ')}, not with a call's UUID")
        events: list[Inbound] = []
        start = 0
        while len(self._held) - start >= HEADER.size:
            kind, length = HEADER.unpack_from(self._held, start)
            end = start + HEADER.size + length
            if end > len(self._held):
                break
            events += self._read(kind, bytes(self._held[start + HEADER.size : end]))
            start = end
        del self._held[:start]
        return events

    def ended(self) -> Sequence[Inbound]:
        """Return the caller's hang-up, which Asterisk tells by ending the stream."""
        if self._over:
            return ()
        self._over = True
        half = (
            (Odd(f"the stream ended inside a message, {len(self._held)} bytes of it"),) if self._held else ()
        )
        return (*half, Hangup("the caller hung up"))

    def audio(self, samples: Int16) -> Sequence[Message]:
        """Return messages of 20 ms each; what does not fill one waits for more."""
        return self._frames(self._said.feed(samples)) if self._begun and not self._over else ()

    def begin_reply(self) -> Sequence[Message]:
        """Return nothing: a reply begins with its first frame."""
        return ()

    def end_reply(self, mark: str) -> Sequence[Message]:  # noqa: ARG002 - Asterisk knows no marks here
        """Return the reply's last frame, filled up with silence, if something of it waits."""
        return self._frames(self._said.fill()) if self._begun and not self._over else ()

    def clear(self) -> Sequence[Message]:
        """Return nothing: Asterisk has queued nothing."""
        self._said.drop()
        return ()

    def mark(self, name: str) -> Sequence[Message]:  # noqa: ARG002 - likewise
        """Return nothing: the pacer's own clock says what was played."""
        return ()

    def dtmf(self, digit: str) -> Sequence[Message]:  # noqa: ARG002 - Asterisk drops the call at a key from us
        """Return nothing: keys come from Asterisk only."""
        return ()

    def transfer(self, target: str) -> Sequence[Message]:  # noqa: ARG002 - the dialplan asks for it
        """Return nothing: hang up, and the dialplan goes on at its next line."""
        return ()

    def hang_up(self) -> Sequence[Message]:
        """Return the message that gives the call back to the dialplan."""
        return () if self._over else (HEADER.pack(HANG_UP, 0),)

    def _frames(self, frames: Sequence[bytes]) -> list[bytes]:
        return [HEADER.pack(self._kind, len(frame)) + frame for frame in frames]

    def _read(self, kind: int, payload: bytes) -> Sequence[Inbound]:
        """Return what one whole message means."""
        if kind in RATES:
            return self._listen(kind, payload)
        if kind == DTMF:
            return (pressed(payload.decode("latin-1")),)
        if kind == UUID and not self._begun:
            self._begun = True
            return (Started(CallInfo(str(uuid.UUID(bytes=payload)))),)
        if kind == HANG_UP:
            self._end()
            return (Hangup("Asterisk hung up"),)
        if kind == ERROR:
            self._end()
            code = payload[:1].hex() or "no code"
            return (
                Hangup(f"AudioSocket error {code}: {ERRORS.get(payload[0] if payload else 0, 'unknown')}"),
            )
        return (
            Odd("a second UUID" if kind == UUID else f"kind {kind:#04x}, {len(payload)} bytes, is not known"),
        )

    def _listen(self, kind: int, payload: bytes) -> Sequence[Inbound]:
        """Return the caller's audio, or why it is refused at another rate than ours."""
        if kind != self._kind:
            why = f"audio at {RATES[kind]} Hz ({kind:#04x}) on a socket set to {self._abilities.rate} Hz"
            return (Odd(why),) if self._has_heard else self._refuse(f"{why}; set its rate, or dial its codec")
        samples = self._heard.feed(payload)
        self._has_heard = True
        return (AudioIn(samples),) if samples.size else ()

    def _refuse(self, why: str) -> Sequence[Inbound]:
        self._end()
        return (Odd(why, fatal=True),)

    def _end(self) -> None:
        """Read no further, and forget what was held."""
        self._over = True
        self._held.clear()
