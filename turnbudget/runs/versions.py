"""What a run was measured with: the versions of what its numbers depend on."""

from __future__ import annotations

import platform
from importlib import metadata
from typing import Final

MEASURED_WITH: Final = ("turnbudget", "numpy", "onnxruntime", "soundfile", "soxr", "vosk", "pyttsx3")
"""Distributions whose versions a summary names."""


def versions(*more: str) -> dict[str, str]:
    """Return the versions of Python, of MEASURED_WITH and of *more*, as far as they are installed."""
    found = {"python": platform.python_version()}
    for name in (*MEASURED_WITH, *more):
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found
