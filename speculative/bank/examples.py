"""The sentences of one thing that callers mean, by their words: the nearest of ten thousand are quick.

A bank is asked at every partial text, on the loop that all calls share.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING

import numpy as np

from turnbudget.speculative.bank.words import content

if TYPE_CHECKING:
    from collections.abc import Iterable


class Examples:
    """Sentences, each once; *counts* says in how many of them each word is."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._texts = sorted(set(texts))
        words = [frozenset(content(text)) for text in self._texts]
        self.counts = Counter(word for each in words for word in each)
        self._sizes = np.array([len(each) for each in words])
        places: dict[str, list[int]] = defaultdict(list)
        for place, each in enumerate(words):
            for word in each:
                places[word].append(place)
        self._places = {word: np.array(found) for word, found in places.items()}
        self._known = frozenset(self._texts)

    def nearest(self, said: str, most: int) -> list[str]:
        """Return the *most* sentences with most words in common with *said* (Dice), the nearest first."""
        words = frozenset(content(said))
        common = np.zeros(len(self._texts))
        for word in words & self._places.keys():
            common[self._places[word]] += 1
        likeness = 2 * common / np.maximum(self._sizes + len(words), 1)
        least = np.partition(likeness, -most)[-most] if most < likeness.size else 0.0
        above = np.flatnonzero(likeness > least)
        equal = np.flatnonzero(likeness == least)[: most - above.size]
        found = sorted((*above, *equal), key=lambda place: (-likeness[place], place))
        itself = [said] if said in self._known else []
        return [*itself, *(text for place in found if (text := self._texts[place]) != said)][:most]
