"""A provider's JSON taken without trust: whatever it holds, a value of the wrong kind is no value."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any, Final

from turnbudget.agents.backends.backend import BackendError

if TYPE_CHECKING:
    from collections.abc import Mapping

LONG: Final = 1_000
"""Characters of a provider's own words that are looked at; fewer are told."""
MOST: Final = 1 << 53
"""A count or a span above this is none."""


def loaded(text: str) -> Any:
    """Return the JSON value in *text*; raises BackendError if it is none."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise BackendError(f"sent what is no JSON: {text[:LONG]!r}", again=True) from None


def table(value: Any) -> Mapping[str, Any]:
    """Return *value* if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def rows(value: Any) -> list[Any]:
    """Return *value* if it is an array, else an empty one."""
    return value if isinstance(value, list) else []


def words(value: Any) -> str:
    """Return *value* if it is a string, else an empty one."""
    return value if isinstance(value, str) else ""


def count(value: Any) -> int | None:
    """Return *value* if it counts something."""
    whole = isinstance(value, int) and not isinstance(value, bool)
    return value if whole and 0 <= value < MOST else None


def span(value: Any, unit_us: int) -> int | None:
    """Return *value* (in units of *unit_us*) in microseconds, if it is a span of time."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    fits = 0 <= value < MOST and math.isfinite(value)
    return round(value * unit_us) if fits else None


def known(**facts: Any) -> dict[str, Any]:
    """Return those *facts* that are known."""
    return {name: fact for name, fact in facts.items() if fact is not None}


def complaint(value: Any) -> str:
    """Return the error that an answer holds, in the provider's own words, empty if it holds none.

    Shapes: ``{"error": {"message": …}}``, ``{"error": "…"}``, ``{"object": "error", "message": …}``,
    ``{"type": "error", …}`` and ``{"detail": …}``.
    """
    told = table(value)
    error = told.get("error")
    if not error and (told.get("object") == "error" or told.get("type") == "error" or "detail" in told):
        error = told.get("message") or told.get("detail") or told
    if not error:
        return ""
    inner = table(error)
    says = words(inner.get("message")) or words(inner.get("code")) or words(error) or json.dumps(error)
    return " ".join(says[:LONG].split())
