"""The kinds of values a slot can have, by the name a user writes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from turnbudget.agents.values.address import CITY, GO_ON, POSTCODE, STREET, Address
from turnbudget.agents.values.numbers import TELEPHONE, TOO_MANY, Digits, amount, number
from turnbudget.agents.values.when import day, time
from turnbudget.agents.values.words import Choice, Known, free, name, spelled, yes_no
from turnbudget.voice.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from turnbudget.agents.values.reading import Reader

KINDS: Final = (
    *("address", "amount", "choice", "date", "digits", "name", "number", "phone", "spelled", "text"),
    *("time", "yes_no"),
)
WORDY: Final = frozenset(("name", "spelled", "text", "yes_no"))
"""Kinds read from the words as said, not from numbers turned to digits."""
MISSING: Final[Mapping[str, tuple[str, ...]]] = {
    "address": (CITY, POSTCODE, GO_ON, STREET),
    "digits": (TOO_MANY,),
    "phone": (TOO_MANY,),
}
"""What is asked for the rest of a value, by kind: those texts that hold no part of it."""
_PLAIN: Final[Mapping[str, Reader]] = {
    "amount": amount,
    "date": day,
    "name": name,
    "number": number,
    "spelled": spelled,
    "time": time,
    "yes_no": yes_no,
}


def reader(kind: str, choices: Mapping[str, tuple[str, ...]], digits: int, where: str) -> Reader:
    """Return what reads a *kind* of value; raises ConfigError for one that is not known."""
    if kind == "choice":
        if not choices:
            raise ConfigError("a choice has no choices", where=where, remedy="say choices = [...]")
        return Choice(choices)
    if kind == "digits":
        return Digits(digits)
    if kind == "phone":
        return Digits(digits or TELEPHONE)
    if kind == "address":
        return Address(Choice(choices) if choices else None)
    if kind == "text":
        return Known(Choice(choices)) if choices else free
    if kind not in _PLAIN:
        raise ConfigError(
            f"no slot type is called {kind!r}", where=where, remedy=f"there are {', '.join(KINDS)}"
        )
    return _PLAIN[kind]
