"""What callers mean in one state, learned from what was replied to them.

Sentences with one reply are one act; two acts in much the same words are one, and its replies share the odds.
What agents said, many times and in many words, becomes one text with slots, in the commonest wording: a value
that the caller had told before is a slot, one that never changes is part of the text, and any other is
``{result}``: somebody looked it up.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from itertools import combinations
from typing import TYPE_CHECKING, Final

from turnbudget.agents.values.when import time
from turnbudget.speculative.bank.bank import HOLE, RESULT
from turnbudget.speculative.bank.words import TEXT, Slot, content, same_value
from turnbudget.voice.language.language import ENGLISH

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from turnbudget.speculative.bank.moves import Move

ONE: Final = 0.7
"""Cosine from which two groups of sentences are one."""
NEAR: Final = 0.5
"""Cosine from which a sentence that stands alone joins a group."""
VALUE_WEIGHT: Final = 3.0
"""What a value weighs: to a question it is the answer, whatever the words around it."""
LEAST: Final = 2
"""A group has so many sentences."""
LONGEST_NAME: Final = 3


@dataclass(slots=True)
class Group:
    """Sentences, with what was replied to them."""

    sentences: Counter[str] = field(default_factory=Counter)
    replies: Counter[str] = field(default_factory=Counter)
    words: Counter[str] = field(default_factory=Counter)

    def add(self, other: Group) -> None:
        """Take in all of *other*."""
        self.sentences += other.sentences
        self.replies += other.replies
        self.words += other.words

    @property
    def surely(self) -> str:
        """The reply that is more likely than not; '' if none is."""
        reply, count = self.replies.most_common(1)[0]
        return reply if count > (self.replies.total() + 1) / 2 else ""

    def name(self, weights: Mapping[str, float]) -> str:
        """Return the words that tell it from the other groups of its state."""
        best = sorted(self.words, key=lambda word: (-self.words[word] * weights[word], word))
        return " ".join(best[:LONGEST_NAME]) or "…"


def groups(seen: Iterable[tuple[str, str]]) -> dict[str, Group]:
    """Return the groups of the sentences *seen*, pairs of a sentence and its reply ('' if it had none)."""
    large, singles = _begin(seen)
    weights = _weights([*large, *singles])
    merged = _merged(large, weights)
    alone = []
    for single in singles:
        nearest = max(merged, key=lambda group: _cosine(group.words, single.words, weights), default=None)
        if nearest and _cosine(nearest.words, single.words, weights) >= NEAR:
            nearest.add(single)
        else:
            alone.append(single)
    merged += [group for group in _merged(alone, weights) if group.replies.total() >= LEAST]
    found: dict[str, Group] = {}
    for group in merged:
        name, number = group.name(weights), 2
        unique = name
        while unique in found:
            unique, number = f"{name} ({number})", number + 1
        found[unique] = group
    return found


def examples(found: Mapping[str, Group], most: int) -> dict[str, tuple[str, ...]]:
    """Return the sentences that stand for each group, the commonest *most* of them.

    A hesitation alone, which leaves no text, stands for nothing. One that was surely replied to in two ways
    stands for the group it was said in more often than in all
    the others, or for none: whatever was said to it would contradict what was said to somebody else.
    """
    surely = {name: reply for name, group in found.items() if (reply := group.surely)}
    said: dict[str, Counter[str]] = defaultdict(Counter)
    for name in surely:
        for sentence, count in found[name].sentences.items():
            said[sentence][name] = count

    def stands(sentence: str, name: str) -> bool:
        rivals = said[sentence] if name in surely else Counter[str]()
        one = len({surely[rival] for rival in rivals}) <= 1
        return one or rivals[name] > rivals.total() / 2

    return {
        name: tuple([text for text, _ in group.sentences.most_common() if text and stands(text, name)][:most])
        for name, group in found.items()
    }


def _begin(seen: Iterable[tuple[str, str]]) -> tuple[list[Group], list[Group]]:
    """Return the groups by reply, and what stands alone."""
    alone: list[Group] = []
    together: dict[str, Group] = defaultdict(Group)
    for sentence, reply in seen:
        one = Group(Counter([sentence]), Counter([reply]), Counter(set(content(sentence))))
        if reply:
            together[reply].add(one)
        else:
            alone.append(one)
    large = [group for group in together.values() if group.replies.total() >= LEAST]
    alone += [group for group in together.values() if group.replies.total() < LEAST]
    return sorted(large, key=lambda group: -group.replies.total()), alone


def _merged(found: list[Group], weights: Mapping[str, float]) -> list[Group]:
    while True:
        pairs = (
            (_cosine(one.words, other.words, weights), -first, -second)
            for (first, one), (second, other) in combinations(enumerate(found), 2)
        )
        likeness, first, second = max(pairs, default=(0.0, 0, 0))
        if likeness < ONE:
            return found
        found[-first].add(found.pop(-second))


def _weights(found: list[Group]) -> dict[str, float]:
    """Return how much each word tells: a word of every sentence little, a rare one much."""
    total = sum(group.replies.total() for group in found)
    counts = sum((group.words for group in found), Counter[str]())
    return {
        word: VALUE_WEIGHT if word.startswith("{") and word != "{name}" else math.log(1 + total / count)
        for word, count in counts.items()
    }


def _cosine(one: Mapping[str, int], other: Mapping[str, int], weights: Mapping[str, float]) -> float:
    dot = sum(count * other.get(word, 0) * weights[word] ** 2 for word, count in one.items())
    lengths = [math.sqrt(sum((n * weights[word]) ** 2 for word, n in side.items())) for side in (one, other)]
    return dot / (lengths[0] * lengths[1]) if all(lengths) else 0.0


MOST: Final = 0.6
"""A hole is the slot that it was filled from in so many of the cases."""
HALF: Final = 0.5
CONSTANT: Final = frozenset(("number", "time"))
"""Kinds of which a value may be the house's own, such as opening hours; others are some caller's."""

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
    text = ENGLISH.pattern("bank_learn.i").sub("I", ENGLISH.pattern("bank_learn.pauses").sub(". ", text))
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
