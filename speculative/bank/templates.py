"""What agents said, many times and in many words, becomes one text with slots, in the commonest wording.

A value that the caller had told before is a slot; one that never changes is part of the text; any other is
``{result}``: somebody looked it up.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from turnbudget.agents.values.when import time
from turnbudget.speculative.bank.bank import HOLE, RESULT
from turnbudget.speculative.bank.slots import TEXT, Slot, same_value

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from turnbudget.speculative.bank.moves import Move

MOST: Final = 0.6
"""A hole is the slot that it was filled from in so many of the cases."""
HALF: Final = 0.5
CONSTANT: Final = frozenset(("number", "time"))
"""Kinds of which a value may be the house's own, such as opening hours; others are some caller's."""
_PAUSES: Final = re.compile(r" (?=(?:you )?have an? |good ?bye\b|bye\b)")
_I: Final = re.compile(r"\bi(?=\b)")

Place = tuple[str, int]
"""A hole: its kind, and the how-manieth of that kind it is."""


@dataclass(frozen=True, slots=True)
class Said:
    """One move as it was said: what was known then, and the offer that followed in the same turn."""

    move: Move
    known: Mapping[str, str]
    offer: str


@dataclass(frozen=True, slots=True)
class Template:
    """The text of an act."""

    says: str
    announces: bool


def template(said: Sequence[Said], slots: Iterable[Slot]) -> Template:
    """Return the one text for all that was *said* of one act."""
    texts = {slot.name for slot in slots if slot.kind == TEXT}
    worded = [(_worded(each, texts), each) for each in said]
    meaning = _meaning(worded)
    counts = Counter(_filled(text, meaning) for text, _ in worded)
    kind = said[0].move.kind
    # Of wordings said equally often a question takes the fullest, an announcement the one that says least.
    full = -1 if kind == "question" else 1
    text = min(counts, key=lambda text: (-counts[text], full * len(text), text))
    offers = Counter(each.offer for each in said if each.offer)
    says = sentence(text, asks=kind == "question")
    if kind == "statement" and offers.total() >= HALF * len(said):
        says = f"{says} {sentence(offers.most_common(1)[0][0], asks=True)}"
    return Template(says, announces=kind == "statement")


def sentence(text: str, *, asks: bool) -> str:
    """Return words without case or stops as a sentence that can be spoken and read."""
    text = _I.sub("I", _PAUSES.sub(". ", text))
    parts = (part[:1].upper() + part[1:] for part in text.split(". "))
    return ". ".join(parts) + ("?" if asks else ".")


def _worded(said: Said, texts: set[str]) -> str:
    """Return the text of *said* with slots for the words that the caller told, such as a company's name."""
    text = said.move.text
    for slot, value in said.known.items():
        if slot in texts and value and not re.search(r"\d", value):
            text = re.sub(rf"\b{re.escape(value.lower())}\b", f"{{{slot}}}", text)
    return text


def _meaning(worded: Iterable[tuple[str, Said]]) -> dict[Place, str]:
    """Return what each hole stands for: a slot in braces, the value it always has, or ``{result}``."""
    votes: dict[Place, Counter[str]] = defaultdict(Counter)
    values: dict[Place, Counter[str]] = defaultdict(Counter)
    for _, said in worded:
        for place, value in zip(_places(said.move.text), said.move.values, strict=True):
            values[place][value] += 1
            votes[place].update(slot for slot, told in said.known.items() if same_value(told, value))
    meaning = {}
    for place, seen in values.items():
        slot, count = min(votes[place].items(), key=lambda each: (-each[1], each[0]), default=("", 0))
        if count >= MOST * seen.total():
            meaning[place] = f"{{{slot}}}"
        else:
            always = place[0] in CONSTANT and len(seen) == 1 and seen.total() > 1
            meaning[place] = _spoken(place[0], next(iter(seen))) if always else f"{{{RESULT}}}"
    return meaning


def _spoken(kind: str, value: str) -> str:
    """Return a value as it is said in a sentence that can be read: "9:30 AM" for "930 a m"."""
    found = time(value) if kind == "time" else None
    return found.spoken if found else value


def _places(text: str) -> list[Place]:
    before: Counter[str] = Counter()
    places = []
    for kind in HOLE.findall(text):
        places.append((kind, before[kind]))
        before[kind] += 1
    return places


def _filled(text: str, meaning: Mapping[Place, str]) -> str:
    places = iter(_places(text))
    return HOLE.sub(lambda found: meaning.get(next(places), found[0]), text)
