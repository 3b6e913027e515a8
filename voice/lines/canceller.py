"""Takes our own voice out of what the microphone hears: WebRTC's AEC3, from the package pywebrtc-audio.

``bench/echo.py`` measures it. An extra (``aec``): with a headset nobody needs it.

It compares what was played while something was heard, in pairs of equal length. Two threads of a card meet
here: the speaker's runs ahead of the microphone's by a block or two, and how much sound is under way between
them must stay about the same, or the canceller has to look for the echo again.
"""

from __future__ import annotations

import importlib.util
import threading
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from turnbudget.voice.errors import MissingEngine
from turnbudget.voice.sound import audio

if TYPE_CHECKING:
    from turnbudget.voice.sound.audio import Int16

REMEDY: Final = "pip install 'turnbudget[aec]'"
"""What to type where the package is missing."""


def installed() -> bool:
    """Return whether the package is installed."""
    return importlib.util.find_spec("pywebrtc_audio") is not None


class Canceller:
    """One call's echo canceller; raises MissingEngine where the package is not installed."""

    def __init__(self) -> None:
        if not installed():
            raise MissingEngine("no echo canceller is installed", remedy=REMEDY)
        from pywebrtc_audio import AudioProcessor  # noqa: PLC0415 - an extra, imported when used

        self._processor: Any = AudioProcessor(sample_rate=audio.RATE, echo_cancellation=True)

    def clean(self, near: Int16, far: Int16) -> Int16:
        """Return *near* without the echo of *far*, which was played meanwhile; both are of equal length."""
        cleaned: Int16 = np.asarray(self._processor.process(near, far), np.int16)
        return cleaned


LEAST_US: Final = 10_000
"""Sound held back for a speaker thread that comes late (µs; 10 ms): less than any card and air delay."""
MOST_US: Final = 60_000
"""Sound held at most (µs; 60 ms): more means that one card's clock runs faster than the other's."""
SAMPLE: Final = 2
"""Length of a sample (bytes)."""


class Beside:
    """Played sound (16 bit, *rate* Hz) that waits for what was heard meanwhile."""

    def __init__(self, rate: int) -> None:
        self._least = LEAST_US * rate // 1_000_000 * SAMPLE
        self._most = MOST_US * rate // 1_000_000 * SAMPLE
        self._lock = threading.Lock()
        self._held = bytearray(self._least)

    def keep(self, data: bytes) -> None:
        """Add sound that is played next."""
        with self._lock:
            self._held += data
            if len(self._held) > 4 * self._most:  # nobody hears: the microphone's thread stands still
                del self._held[: -self._least]

    def take(self, size: int) -> bytes:
        """Return *size* bytes of played sound, with silence for what is not there yet."""
        with self._lock:
            data = bytes(max(0, size - len(self._held))) + bytes(self._held[:size])
            del self._held[:size]
            if len(self._held) > self._most:
                del self._held[: -self._least]
        return data
