"""What runs inside a worker process: an engine is a class that turns one text into raw sound, and blocks.

It is loaded by name, so that the worker need not know the engines there are.
"""

from __future__ import annotations

import importlib
import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol, cast

from turnbudget.voice.errors import ConfigError

if TYPE_CHECKING:
    from types import ModuleType

    import numpy as np
    import numpy.typing as npt

ENGINES: Final = {
    "pyttsx3": "turnbudget.voice.tts.pyttsx3:Pyttsx3",
    "piper": "turnbudget.voice.tts.piper:Piper",
}


class Raw(NamedTuple):
    """Sound as the engine made it: full scale is ±1, ``rate`` is read from the sound, not from a setting."""

    samples: npt.NDArray[np.float32]
    rate: int


class Engine(Protocol):
    """One voice, used from one thread."""

    pace: float
    """How long it takes for a text, against 200 words a minute."""

    def say(self, text: str) -> Raw:
        """Return *text* as sound; whatever it raises costs the worker its place."""
        ...


def load(name: str, options: dict[str, Any]) -> Engine:
    """Return the engine of that *name*: a known one, ``package.module:Class`` or ``file.py:Class``."""
    where, _, made = ENGINES.get(name, name).rpartition(":")
    if not where:
        raise ConfigError(f"no speech engine is called {name!r}", remedy=f"known are {', '.join(ENGINES)}")
    module = _from_file(Path(where)) if where.endswith(".py") else importlib.import_module(where)
    return cast("Engine", getattr(module, made)(**options))


def _from_file(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise ConfigError("not a Python file", where=str(path))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
