"""Acts: moves that do the same, whatever their words, under one name ("ask company name").

Learned by taking each move to the nearest act there is, the commonest first; found again through an index of
words, so that a bank of thousands of acts is as quick as one of ten.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Final

from turnbudget.speculative.bank.moves import Move, same_move
from turnbudget.speculative.bank.words import content

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

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
