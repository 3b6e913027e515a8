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


def installed() -> bool:
    """Say whether the package is here."""
    return importlib.util.find_spec("pywebrtc_audio") is not None


class Canceller:
    """One call's echo canceller; raises MissingEngine where the package is not installed."""

    def __init__(self) -> None:
        if not installed():
            raise MissingEngine("no echo canceller is installed", remedy=REMEDY)
        from pywebrtc_audio import AudioProcessor  # noqa: PLC0415 - an extra, imported when used

        self._processor: Any = AudioProcessor(sample_rate=audio.RATE, echo_cancellation=True)

    def clean(self, near: Int16, far: Int16) -> Int16:
        """Return *near* without what comes of *far*, which was played meanwhile; both are of equal length."""
        cleaned: Int16 = np.asarray(self._processor.process(near, far), np.int16)
        return cleaned


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
