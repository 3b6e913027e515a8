"""An agent's turn cut into its moves: a question, a statement, a farewell, each as a template.

"Okay, it has been sent. Is there anything else I can help you with?" is two moves, and the caller answers the
last question. The cutting knows the language's questions and nothing of any trade. Moves that do the same,
whatever their words, are one *act* ("ask company name"): each is taken to the nearest act there is, the
commonest first, and found again through an index of words: a bank of thousands is as quick as one of ten.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Final, Literal

from turnbudget.speculative.bank.words import CHOICES, Classes, alike, content, emptied, unnumbered
from turnbudget.voice.language.language import ENGLISH

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

Kind = Literal["question", "statement", "farewell"]

_SENTENCES: Final = re.compile(r"(?<=[\w\])}])([.?!])(?=\s|$)")
LEAST_TOLD: Final = 2
"""Words that tell something; "you're welcome" has none."""
SHORTEST: Final = 3
"""Words of the shortest question."""


@dataclass(frozen=True)
class Move:
    """One thing an agent says, its values taken out."""

    text: str
    kind: Kind
    values: tuple[str, ...] = field(default=(), compare=False)
    """What stood in its holes."""

    @cached_property
    def words(self) -> frozenset[str]:
        """The words that tell it from others; its holes only where there is nothing else."""
        words = content(self.text)
        return frozenset(word for word in words if not word.startswith("{")) or frozenset(words)

    @cached_property
    def asked(self) -> tuple[str, ...]:
        """What a question asks for, as words: ("company", "name"); () where it asks for no thing."""
        found = ENGLISH.pattern("bank_moves.asked").match(self.text) if self.kind == "question" else None
        if not found:
            return ()
        noun = ENGLISH.pattern("bank_moves.of").sub(r"\2 \1", found[1])
        words = tuple(
            word
            for word in content(noun)
            if word not in ENGLISH.set("bank_moves.bare") and not word.startswith("{")
        )
        return words if len(words) <= 3 else ()  # noqa: PLR2004 - more is a clause, not a thing

    @property
    def offers(self) -> bool:
        """Whether it asks what else there is to do."""
        return self.kind == "question" and "else" in self.words

    @property
    def echoes(self) -> bool:
        """Whether it only says over what the caller said: "so that's five five five one two three four"."""
        words = content(self.text)
        plain = [word for word in words if not word.startswith("{")]
        return (
            self.kind == "statement"
            and len(plain) < len(words)
            and ENGLISH.set("bank_moves.echoes").issuperset(plain)
        )

    @property
    def again(self) -> bool:
        """Whether it asks to hear again what was said."""
        return bool(ENGLISH.pattern("bank_moves.again").search(self.text))


def same_move(one: Move, other: Move) -> float:
    """Return how surely two moves do the same: questions for a thing only if it is the same thing."""
    if one.kind != other.kind or one.offers != other.offers:
        return 0.0
    if one.asked or other.asked:
        return float(frozenset(one.asked) == frozenset(other.asked))
    if one.echoes or other.echoes:
        return float(one.echoes and other.echoes)
    if one.offers:
        return 1.0
    smaller = min(len(one.words), len(other.words))
    common = len(one.words & other.words)
    holds = smaller >= 3 and common == smaller  # noqa: PLR2004 - two words are in many sentences
    return 0.9 if holds else alike(one.words, other.words)


def told_something(move: Move) -> bool:
    """Say whether *move* tells the caller what they did not say themselves."""
    return move.kind == "statement" and not move.echoes and len(move.words) >= LEAST_TOLD


@lru_cache(maxsize=8192)
def moves(text: str, choices: Classes = CHOICES) -> tuple[Move, ...]:
    """Return the moves of an agent's turn; acknowledgements ("okay, one second") are none."""
    found: list[Move] = []
    parts = _SENTENCES.split(text)
    for said, stop in zip(parts[::2], [*parts[1::2], ""], strict=True):
        holed, values = emptied(said, choices)
        cuts = _cuts(holed)
        for start, end in zip(cuts, [*cuts[1:], len(holed)], strict=True):
            _add(found, holed[start:end], values, asks=stop == "?" and end == len(holed))
    return tuple(dict.fromkeys(found))


def _cuts(said: str) -> list[int]:
    """Return where the moves of *said* begin; "would you" two words behind "which card" begins none."""
    cuts = [0]
    for match in ENGLISH.pattern("bank_moves.openers").finditer(said):
        goes_on = (
            ENGLISH.pattern("bank_moves.question").match(said, cuts[-1])
            and said[cuts[-1] : match.start()].count(" ") < SHORTEST
        )
        if match.start() and not goes_on:
            cuts.append(match.start())
    return cuts


def _add(found: list[Move], piece: str, values: tuple[str, ...], *, asks: bool) -> None:
    holed = ENGLISH.pattern("bank_moves.links").sub(
        "",
        ENGLISH.pattern("bank_moves.between").sub(
            "", ENGLISH.pattern("bank_moves.leads").sub("", piece.strip())
        ),
    )
    text = unnumbered(holed)
    inside = tuple(values[int(place)] for place in re.findall(r"#(\d+)\}", holed))
    if ENGLISH.pattern("bank_moves.farewell").match(text):
        if found and found[-1].kind == "farewell":
            before = found.pop()
            text, inside = f"{before.text} {text}", (*before.values, *inside)
        found.append(Move(text, "farewell", inside))
    elif content(text) and not set(content(text)) <= ENGLISH.set("bank_moves.bare"):
        found.append(
            Move(
                text,
                "question" if asks or ENGLISH.pattern("bank_moves.question").match(text) else "statement",
                inside,
            )
        )


def template(text: str) -> Move:
    """Return the move that a template of a bank is."""
    if ENGLISH.pattern("bank_moves.farewell").match(text):
        return Move(text, "farewell")
    return Move(
        text,
        "question"
        if ENGLISH.pattern("bank_moves.question").match(text) or text.endswith("?")
        else "statement",
    )


ALIKE: Final = 0.6
"""Two moves with so much in common are one act: "a new check book has been sent" and "a new checkbook has
been sent to your home" have 0.73."""
ECHO: Final = "echo"
"""The act of all that only says over what the caller said."""
LONGEST_NAME: Final = 4
NEAREST: Final = 50
"""So many templates, those with most words in common, are looked at closely."""


class Acts:
    """Names of acts, and the templates each is known by."""

    def __init__(self, templates: Mapping[str, Sequence[Move]] | None = None) -> None:
        self._known: list[tuple[str, Move]] = []
        self._by_word: dict[str, list[int]] = defaultdict(list)
        self._exact: dict[Move, str] = {}
        self._echoes = False
        for name, known in (templates or {}).items():
            for move in known:
                self._add(name, move)

    @classmethod
    def learned(cls, seen: Iterable[Move]) -> Acts:
        """Return the acts that the moves *seen* fall into."""
        acts = cls()
        for move, _ in sorted(Counter(seen).items(), key=lambda each: (-each[1], each[0].text)):
            name = acts.of(move) or acts._new_name(move)
            acts._add(name, move)
        return acts

    def of(self, move: Move) -> str:
        """Return the name of the act of *move*; '' if it is like none."""
        if exact := self._exact.get(move):
            return exact
        if move.echoes:
            return ECHO if self._echoes else ""
        votes = Counter(index for word in move.words for index in self._by_word.get(word, ()))
        best, name = ALIKE, ""
        for index, _ in sorted(votes.items(), key=lambda vote: (-vote[1], vote[0]))[:NEAREST]:
            likeness = same_move(move, self._known[index][1])
            if likeness > best or (likeness == best and not name):
                best, name = likeness, self._known[index][0]
        return name

    def templates(self, name: str) -> tuple[str, ...]:
        """Return the texts that the act *name* is known by, the commonest first."""
        return tuple(move.text for known, move in self._known if known == name)

    def _add(self, name: str, move: Move) -> None:
        if move in self._exact:
            return
        self._exact[move] = name
        self._echoes = self._echoes or move.echoes
        for word in move.words:
            self._by_word[word].append(len(self._known))
        self._known.append((name, move))

    def _new_name(self, move: Move) -> str:
        if move.echoes:
            return ECHO
        words = move.asked or [word for word in content(move.text) if not word.startswith("{")]
        name = " ".join(list(words)[:LONGEST_NAME]) or move.text
        name = f"ask {name}" if move.asked else name
        taken = {known for known, _ in self._known}
        number = 2
        unique = name
        while unique in taken:
            unique, number = f"{name} ({number})", number + 1
        return unique
