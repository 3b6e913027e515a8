"""Recognisers' models, made ready before the first call rather than in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from turnbudget.voice import cache
from turnbudget.voice.asr import moonshine, moonshine_convert, vosk_models

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def make_model(engine: str, progress: Callable[[int, int, str], None]) -> Path:
    """Return the folder of *engine*'s model, converted or fetched if it was not there. Blocks."""
    if engine == "vosk":
        return vosk_models.fetch(progress)
    packaged = moonshine_convert.source()
    return cache.keep(moonshine.FOLDER, lambda made: moonshine_convert.convert(packaged, made, progress))
