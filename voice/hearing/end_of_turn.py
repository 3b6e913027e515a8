"""A second opinion on a pause, by its sound alone: how likely it is that the caller has ended.

It hears what no text tells, a voice that stays up or drags, and is often wrong; so it may only ask for more
silence, never for less (:mod:`turnbudget.speculative.spend`).
"""

from __future__ import annotations

import asyncio
import importlib.util
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

import numpy as np

from turnbudget.voice.errors import MissingEngine
from turnbudget.voice.sound import audio

if TYPE_CHECKING:
    from collections.abc import Callable

    from turnbudget.voice.sound.audio import Int16

LISTENS_US: Final = 8_000_000
"""Latest sound of the caller that the model hears (µs; 8 s)."""
REMEDY: Final = "pip install 'turnbudget[silero]'; pip install --no-deps pipecat-ai==1.14.0"
"""What to type where the model is missing."""


class EndOfTurn(Protocol):
    """A model that hears whether a turn is over; all calls may share one."""

    name: str
    """Its name, as settings call it."""

    async def ended(self, sound: Int16) -> float:
        """Return 0–1: how likely it is that whoever is heard in *sound* has ended.

        *sound* is 16 kHz, from the utterance's beginning to the pause, its last 8 s at most.
        """
        ...


class SmartTurn:
    """Smart Turn v3.2 by onnxruntime, in a thread of its own: some 50 ms of CPU a pause.

    Model and its features' code (BSD-2) stand inside the package ``pipecat-ai``, nothing else of which is
    imported or need be installed. Window and padding as in its ``local_smart_turn_v3.py``.
    """

    name = "smart-turn"
    _WINDOW: Final = audio.samples(LISTENS_US)

    def __init__(self) -> None:
        """Load the model; raises MissingEngine."""
        self._session, self._features = _loaded()
        self._worker = ThreadPoolExecutor(1, thread_name_prefix=self.name)

    async def ended(self, sound: Int16) -> float:
        """Return 0–1: how likely it is that the turn is over."""
        return await asyncio.get_running_loop().run_in_executor(self._worker, self._judge, sound)

    def _judge(self, sound: Int16) -> float:
        heard = np.zeros(self._WINDOW, np.float32)
        last = sound[-self._WINDOW :]
        heard[heard.size - last.size :] = last / np.float32(32768)
        [likely] = self._session.run(None, {"input_features": self._features(heard)[None]})
        return float(likely.item())

    async def aclose(self) -> None:
        """End the thread."""
        self._worker.shutdown(wait=False, cancel_futures=True)


@lru_cache(maxsize=1)
def _loaded() -> tuple[Any, Callable[[Any], Any]]:
    """Return the model's session, and the function that makes its input from 8 s of sound."""
    package = importlib.util.find_spec("pipecat")
    if package is None or not package.origin or importlib.util.find_spec("onnxruntime") is None:
        raise MissingEngine("the end-of-turn model is not installed", remedy=REMEDY)
    place = Path(package.origin).parent / "audio" / "turn" / "smart_turn"
    features, model = place / "_whisper_features.py", place / "data" / "smart-turn-v3.2-cpu.onnx"
    if not (features.is_file() and model.is_file()):
        raise MissingEngine("this pipecat-ai does not hold Smart Turn v3.2", remedy=REMEDY)
    import onnxruntime  # noqa: PLC0415 - an extra, imported when used

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
    return session, _module(features).compute_whisper_log_mel_features


def _module(path: Path) -> Any:
    """Return the module in the file at *path*, without its package."""
    spec = importlib.util.spec_from_file_location("turnbudget_smart_turn_features", path)
    if spec is None or spec.loader is None:  # pragma: no cover - it is a Python file
        raise MissingEngine(f"{path} cannot be read", remedy=REMEDY)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
