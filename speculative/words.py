"""What a sentence is once its values are taken out: one form for all callers, and it holds nobody's data.

"Hi, my name is Mary Smith, I lost my credit card" is "hi my name is {name} i lost my {card} card": what is
learned from it holds for other names, and a bank of such sentences can be shown around.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from agents.phrases import words_in
from agents.values.heard import plain
from agents.values.numbers import amount
from agents.values.when import day, time
from agents.values.words import free

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agents.values.reading import Reader

Classes = tuple[tuple[str, tuple[str, ...]], ...]
"""Choices: what each is called, and the words it is chosen from."""

CHOICES: Final[Classes] = (("account", ("checking", "savings")), ("card", ("credit", "debit")))
"""Where nobody says otherwise; a bank names its own under ``[choices]``."""

FUNCTION_WORDS: Final = words_in(
    "a an the and or so um uh of for to in on at with from by is are was were be been it it's its this that",
    "i i'm i'd i'll i've you your you're my me we our would will could can may do did does have has had am",
    "please okay ok alright well oh just now then also like gonna going hi hello hey there today get too",
)
"""Words that any sentence may have; negations, yes and no, and question words are not among them."""

_NO_NAME: Final = FUNCTION_WORDS | words_in(
    "what which how when where who why need want lost calling wondering trying looking not no yes thank",
    "thanks but last first name sorry",
)
_NAME: Final = re.compile(
    r"\b(my (?:full |first |last )?name is(?: also)?|my name's|name is|this is|last name) "
    r"([a-z'-]+)(?: ([a-z'-]+))?"
)
_VALUES: Final = (
    (re.compile(r"\b\d+(?:\.\d+)? (?:dollars?|bucks)\b(?: (?:and )?\d{1,2} cents)?"), "{amount}"),
    (re.compile(r"\b\d{1,4} ?[ap] m\b|\b\d{1,2}:\d\d(?: [ap] m)?"), "{time}"),
    (re.compile(r"\b(?:(?:sun|mon|tues|wednes|thurs|fri|satur)day|tomorrow)\b"), "{day}"),
    (re.compile(r"\b\d{5,}\b"), ""),
    (re.compile(r"(?<!\{)\b\d+(?:[.:/]\d+)*\b"), "{number}"),
)
_READERS: Final[Mapping[str, Reader]] = {"amount": amount, "day": day, "time": time}
"""Classes whose values have a form of their own."""


@lru_cache(maxsize=8192)
def general(text: str, choices: Classes = CHOICES) -> str:
    """Return *text* made plain, with ``{name}``, ``{amount}``, ``{account}`` and the like for its values."""
    said = _NAME.sub(_nameless, plain(text).text)
    for pattern, hole in _VALUES:
        # How many digits tells a telephone number from half of one.
        said = pattern.sub(hole or (lambda found: f"{{{len(found[0])} digits}}"), said)
    for name, words in choices:
        said = re.sub(rf"\b(?:{'|'.join(map(re.escape, words))})\b", f"{{{name}}}", said)
    return " ".join(said.replace(",", " ").split())


def _nameless(found: re.Match[str]) -> str:
    lead, first, last = found.groups()
    if first in _NO_NAME:
        return found[0]
    return f"{lead} {{name}} {last if last and last in _NO_NAME else ''}"


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
            return tuple(dict.fromkeys(re.findall(rf"\b(?:{'|'.join(map(re.escape, words))})\b", said)))
    read = _READERS.get(kind, free)
    found = read(said, asked=asked)
    return (found.spoken,) if found else ()
