"""What a person names in a setting or an option: ``package.module:attribute`` or ``file.py:attribute``."""

from __future__ import annotations

import importlib
import importlib.util
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from turnbudget.voice.errors import ConfigError

if TYPE_CHECKING:
    from types import ModuleType

SPEC: Final = re.compile(r"(?:.+\.py|[^\W\d]\w*(?:\.[^\W\d]\w*)*):[^\W\d]\w*(?:\.[^\W\d]\w*)*")
"""The form of such a name."""


def is_spec(name: str) -> bool:
    """Return whether *name* has the form ``module:attribute`` or ``file.py:attribute``."""
    return SPEC.fullmatch(name) is not None


def find(spec: str) -> Any:
    """Return what ``package.module:attribute`` or ``file.py:attribute`` names; raises as its import does."""
    where, _, attribute = spec.rpartition(":")
    found: Any = _from_file(Path(where)) if where.endswith(".py") else importlib.import_module(where)
    for part in attribute.split("."):
        found = getattr(found, part)
    return found


def _from_file(path: Path) -> ModuleType:
    """Return the module in the file at *path*, loaded once, under a name that no import can mean."""
    name = str(path.resolve())
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ConfigError("not a Python file", where=str(path))
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # where dataclasses look for what their annotations mean
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module
