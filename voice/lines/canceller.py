"""Takes our own voice out of what the microphone hears: WebRTC's AEC3, from the package pywebrtc-audio.

``bench/echo.py`` measures it. An extra (``aec``): with a headset nobody needs it.
"""

from __future__ import annotations

import importlib.util
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
