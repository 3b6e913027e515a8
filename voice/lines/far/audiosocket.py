"""SIMULATED: Asterisk's side of an AudioSocket, as res_audiosocket.c of 22.10.1 was seen to behave.

It drops the call if a message stays half sent for 5 ms, at a kind that is neither audio nor a hang-up, and
after 2 s in which neither side sent. It queues next to nothing: what comes faster than it is played is lost.
How much it holds before that is this file's choice, not a measurement.
"""

from __future__ import annotations

from struct import pack, unpack_from
from typing import TYPE_CHECKING, Final

import numpy as np

from turnbudget.voice.lines.far.side import FarSide

if TYPE_CHECKING:
    from turnbudget.voice.lines.dialect import Message
    from turnbudget.voice.sound.audio import Int16

HEADER: Final = 3
"""Length of a message's header (bytes)."""
HALF_US: Final = 5_000
"""Longest wait for the rest of a message (µs; 5 ms)."""
WATCHDOG_US: Final = 2_000_000
"""Time without a message after which the call is dropped (µs; 2 s)."""
HOLDS: Final = 5
"""Frames that may wait to be played; more are lost."""
KINDS: Final = dict(
    zip(
        (8_000, 12_000, 16_000, 24_000, 32_000, 44_100, 48_000, 96_000, 192_000),
        range(0x10, 0x19),
        strict=True,
    )
)
"""Kind of audio message, by sample rate."""


class FarAudioSocket(FarSide):
    """Asterisk, and a caller whose silence has no frames unless it *transmits_silence*."""

    def __init__(
        self, uuid: bytes, rate: int = 8_000, began_us: int = 0, *, transmits_silence: bool = False
    ) -> None:
        """Connect at *began_us*, and say the call's *uuid* (16 bytes)."""
        super().__init__(rate, began_us, transmits_silence=transmits_silence)
        self._kind = KINDS[rate]
        self._held = bytearray()
        self._half_us: int | None = None
        """By when the rest of a message must come (µs); ``None`` if none is owed."""
        self._active_us = began_us
        self._out.append(pack(">BH", 0x01, 16) + uuid)

    @property
    def next_us(self) -> int:
        """When something happens next by itself (µs)."""
        due = min(self._tick_us, self._active_us + WATCHDOG_US)
        return due if self._half_us is None else min(due, self._half_us)

    def fail(self, code: int) -> None:
        """Send an error and close."""
        self._out.append(pack(">BHB", 0xFF, 1, code))
        self._close(f"error {code:#04x}")

    def _happen(self, now: int) -> None:
        if now == self._half_us:
            self._close("Poll timed out while waiting for data")
        elif now == self._tick_us:
            self._tick(now)
        else:
            self._close("Reached timeout after 2000 ms of no activity")

    def _tick(self, now: int) -> None:
        if self._says or self._transmits_silence:
            self._active_us = now
        super()._tick(now)

    def _take(self, message: Message, now: int) -> None:
        assert isinstance(message, bytes)  # noqa: S101 - TCP carries nothing else
        self._active_us = now
        self._held += message
        while not self.closed and len(self._held) >= HEADER:
            kind, length = unpack_from(">BH", self._held)
            if len(self._held) < HEADER + length:
                break
            payload = bytes(self._held[HEADER : HEADER + length])
            del self._held[: HEADER + length]
            self._obey(kind, payload)
        self._half_us = now + HALF_US if self._held else None

    def _obey(self, kind: int, payload: bytes) -> None:
        if kind == 0x00:
            self._close("we hung up; the dialplan goes on")
        elif kind not in KINDS.values():
            self._close(f"kind {kind:#04x} from us: connection reset")
        elif kind != self._kind:
            self._lose(payload, "audio of another kind than the channel's")
        elif self.playout.queued + len(payload) // 2 > HOLDS * self.frame:
            self._lose(payload, "audio faster than it is played")
        else:
            self.playout.add(np.frombuffer(payload[: len(payload) // 2 * 2], "<i2").astype(np.int16))

    def _lose(self, payload: bytes, why: str) -> None:
        self.playout.lost += len(payload) // 2
        self._refuse(why)

    def _spoken(self, frame: Int16) -> list[Message]:
        data = frame.astype("<i2").tobytes()
        return [pack(">BH", self._kind, len(data)) + data]

    def _pressed(self, digit: str) -> list[Message]:
        return [pack(">BH", 0x03, 1) + digit.encode()]
