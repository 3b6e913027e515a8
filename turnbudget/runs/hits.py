"""A hit is a turn whose answer's opening came from the shelf; this file says which hits were wrong.

A hit is wrong if it began before the caller's real end (a false cut), or if the words it answered were not
what was heard of the caller in the end. It is computed from the rows alone.

It does not say whether a reply fits: misheard words can be answered rightly to the letter.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from turnbudget.voice.language.text import same

if TYPE_CHECKING:
    from collections.abc import Sequence

    from turnbudget.runs.records import Row


def verdicts(rows: Sequence[Row]) -> list[str | None]:
    """Return, for each of *rows*, why its hit was wrong: '' if it was right, ``None`` if it is no hit.

    The rows of a call stand in the order of its turns.
    """
    after: dict[str, Row] = {}
    found: list[str | None] = []
    for row in reversed(rows):
        turn = row.kind == "turn"
        found.append(_wrong(row, after.get(row.call)) if turn and row.hit else None)
        if turn:
            after[row.call] = row
    return found[::-1]


def told(row: Row, verdict: str | None) -> str:
    """Return in words whether *row* was a hit, given its *verdict*."""
    if verdict is not None:
        return f"wrong hit: {verdict}" if verdict else "hit"
    return "no answer sounded" if row.first_answer_us is None else "miss: its opening was not ready"


def _wrong(row: Row, after: Row | None) -> str:
    """Say why the hit of *row* was wrong, knowing the turn *after* it; '' if it was right."""
    if row.false_cut:
        return "begun before the caller's real end"
    asked = row.asked or row.heard
    if after and after.asked != after.heard and after.asked.startswith(f"{asked} "):
        return "the caller had more to say, and the words came again in the next turn"
    other = next(
        (guess for guess in row.guesses if guess.outcome == "kept" and not same(guess.said, asked)), None
    )
    return f"the head start kept was on {other.said!r}, and {asked!r} was heard" if other else ""
