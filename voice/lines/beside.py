"""What was played while something was heard, in pairs of equal length: what an echo canceller compares.

Two threads of a card meet here. The speaker's runs ahead of the microphone's by a block or two; how much
sound is under way between them must stay about the same, or the canceller has to look for the echo again.
"""

from __future__ import annotations

import threading
from typing import Final

LEAST_US: Final = 10_000
"""Held back for a speaker's thread that comes late; less than sound takes through any card and the air."""
MOST_US: Final = 60_000
"""More than this is no block under way, it is a clock that runs faster than the other."""
SAMPLE: Final = 2
"""Bytes."""


class Beside:
    """Played sound at *rate* Hz, 16-bit, waiting for what was heard meanwhile."""

    def __init__(self, rate: int) -> None:
        self._least = LEAST_US * rate // 1_000_000 * SAMPLE
        self._most = MOST_US * rate // 1_000_000 * SAMPLE
        self._lock = threading.Lock()
        self._held = bytearray(self._least)

    def keep(self, data: bytes) -> None:
        """Take what is played next."""
        with self._lock:
            self._held += data
            if len(self._held) > 4 * self._most:  # nobody hears: the microphone's thread stands still
                del self._held[: -self._least]

    def take(self, size: int) -> bytes:
        """Return *size* bytes of what was played; what is not there yet is silence."""
        with self._lock:
            data = bytes(max(0, size - len(self._held))) + bytes(self._held[:size])
            del self._held[:size]
            if len(self._held) > self._most:
                del self._held[: -self._least]
        return data
