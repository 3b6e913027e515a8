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
        if version := _installed(name):
            found[name] = version
    return found


def _installed(name: str) -> str:
    """Return the version of the distribution *name*; "" if it is not installed."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ""


__version__: Final = _installed("turnbudget")
"""The installed version of turnbudget; "" where its files are used without having been installed."""
