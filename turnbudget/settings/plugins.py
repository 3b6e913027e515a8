"""A person's own code, named on a command line or in a file: ``module:name``."""

from __future__ import annotations

import importlib
import sys
from typing import Any

from turnbudget.voice.errors import ConfigError, TurnbudgetError


def load(spec: str, *, where: str) -> Any:
    """Return what *spec* (``module:name``) names, looked for beside the person first; raises ConfigError."""
    module, _, attribute = spec.partition(":")
    if not module or not attribute:
        raise ConfigError(f"{spec!r} names nothing", where=where, remedy="write module:name")
    if "" not in sys.path:
        sys.path.insert(0, "")
    try:
        found: Any = importlib.import_module(module)
        for part in attribute.split("."):
            found = getattr(found, part)
    except TurnbudgetError:
        raise
    except Exception as error:
        raise ConfigError(
            f"{spec} cannot be loaded ({type(error).__name__}: {error})", where=where
        ) from error
    return found


def make(spec: str, *, where: str, **given: Any) -> Any:
    """Return what *spec* names or, if that can be called, what it makes of *given*; raises ConfigError."""
    found = load(spec, where=where)
    try:
        return found(**given) if callable(found) else found
    except TurnbudgetError:
        raise
    except Exception as error:
        raise ConfigError(f"{spec} cannot be made ({type(error).__name__}: {error})", where=where) from error
