"""The kinds of values a slot can have, by the name a user writes."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from turnbudget.agents.values.address import Address
from turnbudget.agents.values.numbers import TELEPHONE, Digits, amount, number
from turnbudget.agents.values.when import day, time
from turnbudget.agents.values.words import Choice, Known, free, name, spelled, yes_no
from turnbudget.voice.errors import ConfigError
from turnbudget.voice.language.language import ENGLISH, Language

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from turnbudget.agents.values.reading import Reader, Reading

KINDS: Final = (
    *("address", "amount", "choice", "date", "digits", "name", "number", "phone", "spelled", "text"),
    *("time", "yes_no"),
)
WORDY: Final = frozenset(("name", "spelled", "text", "yes_no"))
"""Kinds read from the words as said, not from numbers turned to digits."""
MISSING: Final[Mapping[str, tuple[str, ...]]] = {
    "address": ("city", "postcode", "go_on", "street"),
    "digits": ("too_many_digits",),
    "phone": ("too_many_digits",),
}
"""What is asked for the rest of a value, by kind, as the language's names of it: what holds no part of it."""
_PLAIN: Final[Mapping[str, Callable[..., Reading | None]]] = {
    "amount": amount,
    "date": day,
    "name": name,
    "number": number,
    "spelled": spelled,
    "time": time,
    "yes_no": yes_no,
}


def reader(
    kind: str, choices: Mapping[str, tuple[str, ...]], digits: int, where: str, language: Language = ENGLISH
) -> Reader:
    """Return what reads a *kind* of value; raises ConfigError for one that is not known."""
    if kind == "choice":
        if not choices:
            raise ConfigError("a choice has no choices", where=where, remedy="say choices = [...]")
        return Choice(choices, language)
    if kind == "digits":
        return Digits(digits, language)
    if kind == "phone":
        return Digits(digits or TELEPHONE, language)
    if kind == "address":
        return Address(Choice(choices, language) if choices else None, language)
    if kind == "text":
        return Known(Choice(choices, language), language) if choices else partial(free, language=language)
    if kind not in _PLAIN:
        raise ConfigError(
            f"no slot type is called {kind!r}", where=where, remedy=f"there are {', '.join(KINDS)}"
        )
    return partial(_PLAIN[kind], language=language)
