"""A dialogue as exchanges: what the agent said last, what the caller answered, what the agent then replied.

Turns of nothing but noise are none, so what stood on both sides of one is one turn.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING

from turnbudget.voice.asr.text import is_words, spoken

if TYPE_CHECKING:
    from collections.abc import Iterable

Turns = tuple[tuple[str, str], ...]
"""Pairs of role ("caller" or "agent") and text."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """One caller's turn, with what the agent said before it and after it."""

    asked: str
    said: str
    replied: str
    """'' where the dialogue ends with the caller."""


def exchanges(turns: Iterable[tuple[str, str]]) -> tuple[Exchange, ...]:
    """Return the exchanges of *turns*; what a caller says before any agent answers nothing: left out."""
    worded = [(role, spoken(text)) for role, text in turns if is_words(text)]
    joined = [(role, " ".join(text for _, text in said)) for role, said in groupby(worded, key=itemgetter(0))]
    return tuple(
        Exchange(joined[place - 1][1], text, joined[place + 1][1] if place + 1 < len(joined) else "")
        for place, (role, text) in enumerate(joined)
        if role == "caller" and place
    )
