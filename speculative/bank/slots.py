"""Slots: what a question asks for, by what name, and what a caller told.

A slot is called after its noun ("amount" for the transfer amount), unless that noun alone is asked for as
well: then it goes by what tells it apart ("source" beside "account").
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from turnbudget.speculative.bank.words import Classes, values

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

Asked = tuple[str, ...]

_NAMES_OF_NAMES: Final = frozenset(("name", "number", "code", "kind", "type"))
"""Nouns that say nothing themselves: a phone number is a phone."""
OFTEN: Final = 2
"""What was asked but once is a slip of the tongue."""
FORMED: Final = frozenset(("amount", "day", "time"))
"""Kinds whose values have a form of their own."""
TEXT: Final = "text"


@dataclass(frozen=True, slots=True)
class Slot:
    """A slot's name, and of which kind its values are."""

    name: str
    kind: str


def named(calls: Iterable[Sequence[Asked]], choices: Classes) -> dict[frozenset[str], Slot]:
    """Return the slot of each thing asked for in *calls*, whichever way round it was put."""
    counts: Counter[Asked] = Counter()
    for call in calls:
        counts.update(set(call))
    orders: dict[frozenset[str], Asked] = {}
    for asked, _ in sorted(counts.items(), key=lambda each: (-each[1], each[0])):
        orders.setdefault(frozenset(asked), asked)
    plain = {asked[0] for asked, count in counts.items() if len(asked) == 1 and count >= OFTEN}
    known = {name for name, _ in choices} | FORMED
    return {
        words: Slot(_name(asked, plain, orders.values()), asked[-1] if asked[-1] in known else TEXT)
        for words, asked in orders.items()
    }


def _name(asked: Asked, plain: set[str], others: Iterable[Asked]) -> str:
    head, qualifier = asked[-1], asked[:-1]
    if head in _NAMES_OF_NAMES and qualifier:
        return "_".join(qualifier)
    if not qualifier or head not in plain:
        return head
    taken = any(other != asked and other[:1] == asked[:1] for other in others)
    return "_".join(asked if taken else qualifier)


def told(asks: Slot | None, said: str, slots: Iterable[Slot], choices: Classes) -> dict[str, str]:
    """Return the slots that *said* tells: the one asked for, and those of which it can only be one.

    Two values of a choice in one sentence tell nothing: one of them may be taken back.
    """
    kinds: dict[str, list[str]] = defaultdict(list)
    for slot in slots:
        if slot.kind != TEXT and slot.name not in kinds[slot.kind]:
            kinds[slot.kind].append(slot.name)
    found = {
        names[0]: value
        for kind, names in kinds.items()
        if len(names) == 1 and (value := _only(said, kind, choices, asked=False))
    }
    if asks and (value := _only(said, asks.kind, choices, asked=True)):
        found[asks.name] = value
    return found


def _only(said: str, kind: str, choices: Classes, *, asked: bool) -> str:
    several = values(said, kind, choices, asked=asked)
    return several[0] if len(several) == 1 else ""


def same_value(one: str, other: str) -> bool:
    """Say whether two ways to say a value are one value: all digits equal, or else all letters."""
    digits = re.sub(r"\D", "", one), re.sub(r"\D", "", other)
    if any(digits):
        return digits[0] == digits[1]
    return one.casefold() == other.casefold()


def filled(says: str, known: Mapping[str, str]) -> str | None:
    """Return a reply with its slots filled from what is *known*; ``None`` if one is not."""
    holes = re.findall(r"\{([\w ]+)\}", says)
    if any(hole not in known or not known[hole] for hole in holes):
        return None
    return re.sub(r"\{([\w ]+)\}", lambda found: _spoken(found[1], str(known[found[1]])), says)


def _spoken(slot: str, value: str) -> str:
    if slot == "amount" and re.fullmatch(r"\d[\d,]*(?:\.\d+)?", value):
        return f"{value} dollar" if value == "1" else f"{value} dollars"
    return value
