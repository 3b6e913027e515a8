"""What a response without an answer says: why, and whether and when another try makes sense."""

from __future__ import annotations

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Final

from turnbudget.agents.backends.backend import BackendError
from turnbudget.agents.backends.loose import complaint, loaded
from turnbudget.voice.time import clock
from turnbudget.voice.time.clock import MS, SECOND

if TYPE_CHECKING:
    from collections.abc import Mapping

OK: Final = 200
LIMITED: Final = 429
PASSING: Final = frozenset((408, 425, 500, 502, 503, 504, 529))
"""Refusals that may be over at the next attempt; 429 is one only if it says when."""
REMEDIES: Final = {401: "check the key", 403: "check the key", 404: "check the URL and the model"}


def refused(status: int, body: bytes, headers: Mapping[str, str]) -> BackendError:
    """Return the error that a response with another *status* than OK is."""
    wait_us = retry_after(headers)
    try:
        says = complaint(loaded(body.decode("utf-8", "replace")))
    except BackendError:
        says = ""
    return BackendError(
        f"HTTP {status}: {says}" if says else f"HTTP {status}",
        status=status,
        retry_after_us=wait_us,
        again=status in PASSING or (status == LIMITED and wait_us is not None),
        remedy=REMEDIES.get(status, ""),
    )


def retry_after(headers: Mapping[str, str]) -> int | None:
    """Return the wait that *headers* ask for, in µs: seconds, milliseconds, or a date.

    A date is measured from the response's own ``Date``, so that no two clocks are compared.
    """
    asked = headers.get("retry-after", "").strip()
    for text, unit in ((headers.get("retry-after-ms", ""), MS), (asked, SECOND)):
        if text.replace(".", "", 1).isdecimal() and text.isascii():
            return round(float(text[:12]) * unit)
    try:
        then = parsedate_to_datetime(asked)
        said = headers.get("date") or ""
        today = parsedate_to_datetime(said) if said else datetime.fromisoformat(clock.label() or "")
    except (ValueError, OverflowError):  # a year that no calendar has
        return None
    aware = (day if day.tzinfo else day.replace(tzinfo=UTC) for day in (then, today))
    wait = next(aware) - next(aware)
    return max(0, round(wait.total_seconds() * SECOND))
