"""The sixteen keys of a telephone, and nothing else, are digits."""

from __future__ import annotations

from typing import Final

from turnbudget.voice.lines.dialect import Dtmf, Odd

KEYS: Final = frozenset("0123456789*#ABCD")


def pressed(digit: str) -> Dtmf | Odd:
    """Return the key that *digit* names, or what is wrong with it, unquoted: it may be a secret."""
    key = digit.upper()
    return Dtmf(key) if key in KEYS else Odd("a key that no telephone has")
