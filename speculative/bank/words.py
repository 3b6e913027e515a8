"""What a sentence is once its values are taken out: one form for all callers.

"Hi, my name is Mary Smith, I lost my credit card" is "hi my name is {name} i lost my {card} card": what is
learned from it holds for other names. What a question asks for is a *slot*, called after its noun ("amount"
for the transfer amount), unless that noun alone is asked for as well: then it goes by what tells it apart.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from turnbudget.agents.values.address import Address
from turnbudget.agents.values.heard import plain
from turnbudget.agents.values.numbers import amount
from turnbudget.agents.values.when import day, time
from turnbudget.agents.values.words import free
from turnbudget.voice.language.language import ENGLISH

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Mapping, Sequence

    from turnbudget.agents.values.reading import Reader

Classes = tuple[tuple[str, tuple[str, ...]], ...]
"""Choices: what each is called, and the words it is chosen from."""

CHOICES: Final[Classes] = (("account", ("checking", "savings")), ("card", ("credit", "debit")))
"""Where nobody says otherwise; a bank names its own under ``[choices]``."""


MOST_ADDRESSES: Final = 3
LONGEST_VALUE: Final = 3
"""Words of a name of which nothing is known; more words are a sentence."""
FUNCTION_WORDS: Final = ENGLISH.set("bank_words.function_words")
"""Words that any sentence may have; negations, yes and no, and question words are not among them."""
_NO_NAME: Final = FUNCTION_WORDS | ENGLISH.set("bank_words.no_name")
_VALUES: Final = (
    (ENGLISH.pattern("bank_words.amount"), "amount"),
    (ENGLISH.pattern("bank_words.time"), "time"),
    (ENGLISH.pattern("bank_words.day"), "day"),
    (re.compile(r"\b\d{5,}\b"), ""),
    (re.compile(r"\b\d+(?:[.:/]\d+)*\b"), "number"),
)
_ADDRESS: Final = Address()
_READERS: Final[Mapping[str, Reader]] = {"amount": amount, "day": day, "time": time}
"""Classes whose values have a form of their own."""


@lru_cache(maxsize=8192)
def emptied(text: str, choices: Classes = CHOICES) -> tuple[str, tuple[str, ...]]:
    """Return *text* made plain with numbered holes, ``{account#0}``, and what stood in each."""
    taken: list[tuple[str, str]] = []

    def take(kind: str, value: str) -> str:
        taken.append((kind or f"{len(value)} digits", value))
        return f" \0{chr(0xE000 + len(taken) - 1)} "

    said = ENGLISH.pattern("bank_words.name").sub(lambda found: _nameless(found, take), plain(text).text)
    said = ENGLISH.pattern("bank_words.one").sub(ENGLISH.word("openend.noun"), said)
    for _ in range(MOST_ADDRESSES):
        whole = _ADDRESS(said)
        if not whole or whole.missing:
            break
        said = said[: whole.start] + take("address", said[whole.start : whole.end]) + said[whole.end :]
    for pattern, kind in _VALUES:
        said = pattern.sub(lambda found, kind=kind: take(kind, found[0]), said)  # type: ignore[misc]
    for kind, words in choices:
        said = _any_of(words).sub(lambda found, kind=kind: take(kind, found[0]), said)  # type: ignore[misc]
    order = [ord(mark) - 0xE000 for mark in re.findall(r"\0(.)", said)]
    for place, index in enumerate(order):
        said = said.replace(f"\0{chr(0xE000 + index)}", f"{{{taken[index][0]}#{place}}}")
    return " ".join(said.replace(",", " ").split()), tuple(taken[index][1] for index in order)


@lru_cache(maxsize=8192)
def general(text: str, choices: Classes = CHOICES) -> str:
    """Return *text* made plain, with ``{name}``, ``{amount}``, ``{account}`` and the like for its values."""
    return unnumbered(emptied(text, choices)[0])


def unnumbered(text: str) -> str:
    """Return *text* with ``{account}`` for ``{account#0}``."""
    return re.sub(r"#\d+(?=\})", "", text)


@lru_cache(maxsize=64)
def _any_of(words: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{'|'.join(map(re.escape, words))})\b")


def _nameless(found: re.Match[str], take: Callable[[str, str], str]) -> str:
    lead, first, last = found.groups()
    if first in _NO_NAME:
        return found[0]
    if last and last in _NO_NAME:
        return f"{lead}{take('name', first)}{last}"
    return lead + take("name", f"{first} {last or ''}".strip())


def tokens(text: str) -> list[str]:
    """Return the words of a general text; a hole such as ``{5 digits}`` is one."""
    return re.findall(r"\{[^}]*\}|[^\s{]+", text)


def content(text: str) -> list[str]:
    """Return the words of a general text that tell it from others."""
    return [word for word in tokens(text) if word not in FUNCTION_WORDS]


def alike(one: frozenset[str], other: frozenset[str]) -> float:
    """Return how much two sets of words have in common: 0 nothing, 1 everything (Dice)."""
    both = len(one) + len(other)
    return 2 * len(one & other) / both if both else 0.0


def values(text: str, kind: str, choices: Classes = CHOICES, *, asked: bool) -> tuple[str, ...]:
    """Return the values of a *kind* in *text*, each once; a choice's are all found, of others the last.

    *asked* says that the caller was asked for it, so that less will do: "300" is an amount.
    """
    said = plain(text).text
    for name, words in choices:
        if name == kind:
            return tuple(dict.fromkeys(_any_of(words).findall(said)))
    if read := _READERS.get(kind):
        found = read(said, asked=asked)
    else:
        holed, taken = emptied(text, choices)
        whole = [
            value for hole, value in zip(re.findall(r"\{([^#]+)", holed), taken, strict=True) if _long(hole)
        ]
        if whole:
            return (whole[-1],)
        found = free(said, asked=asked)
        if found and found.value.count(" ") >= LONGEST_VALUE:
            return ()
    return (found.spoken,) if found else ()


def _long(hole: str) -> bool:
    """Say whether what a hole holds is an answer by itself: an address, a number that is a name."""
    return hole == "address" or hole.endswith(" digits")


def answered(text: str, kind: str, choices: Classes, others: Container[str] = FUNCTION_WORDS) -> str:
    """Return *text* general, as the answer to a question for a *kind* of value.

    Where any words will do, two or three that no rule knows are the value, ``{text}``, unless they are among
    *others*: words that mean something of their own.
    """
    said = general(text, choices)
    found = free(said, asked=True) if kind == "text" and "{" not in said else None
    words = found.value.split() if found else []
    if not 0 < len(words) <= LONGEST_VALUE or any(word in FUNCTION_WORDS or word in others for word in words):
        return said
    return re.sub(rf"\b{re.escape(' '.join(words))}\b", "{text}", said)


Asked = tuple[str, ...]

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
    if head in ENGLISH.set("bank_words.names_of_names") and qualifier:
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
