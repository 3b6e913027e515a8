"""What of a row those outside may see: all that was measured, and texts only where they are asked for.

A text is whatever may hold words of the caller's or an answer's; a decision's reason may, its name does not.
A row's texts were redacted before any watcher was told of it (:mod:`turnbudget.redaction.redacted`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from turnbudget.runs.records import Row


def shown(row: Row, *, texts: bool) -> Row:
    """Return *row* as it is, or without its *texts*."""
    if texts:
        return row
    return msgspec.structs.replace(
        row,
        heard="",
        asked="",
        said="",
        reference=None,
        decisions=tuple(msgspec.structs.replace(decision, because="") for decision in row.decisions),
        guesses=tuple(msgspec.structs.replace(guess, said="", text="", because="") for guess in row.guesses),
    )
