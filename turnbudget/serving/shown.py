"""What of a row those outside may see: all that was measured, and texts only where they are asked for.

A text is whatever may hold words of the caller's or an answer's; a decision's reason may, its name does not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from turnbudget.serving.redact import redact

if TYPE_CHECKING:
    from turnbudget.records import Row


def shown(row: Row, *, texts: bool) -> Row:
    """Return *row* with its *texts* redacted, or without any."""
    hide = redact if texts else _nothing
    return msgspec.structs.replace(
        row,
        heard=hide(row.heard),
        asked=hide(row.asked),
        said=hide(row.said),
        reference=None if row.reference is None or not texts else redact(row.reference),
        decisions=tuple(
            msgspec.structs.replace(decision, because=hide(decision.because)) for decision in row.decisions
        ),
        guesses=tuple(
            msgspec.structs.replace(
                guess, said=hide(guess.said), text=hide(guess.text), because=hide(guess.because)
            )
            for guess in row.guesses
        ),
    )


def _nothing(text: str) -> str:
    del text
    return ""
