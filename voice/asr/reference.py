"""The reference: what a person says was spoken, on the caller's own media clock, and how far a text is off.

A line that plays a recording appends each word as it plays it, so scripted engines and the report read
the same truth, wherever gating has moved it to.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import islice, takewhile
from typing import TYPE_CHECKING, Final

from rapidfuzz.distance import Levenshtein

from turnbudget.voice.language.text import normalise
from turnbudget.voice.time import clock

if TYPE_CHECKING:
    from collections.abc import Sequence

    from turnbudget.voice.asr.transcriber import Word

APART_US: Final = 400 * clock.MS
"""Largest difference between the reference's end and the detector's: beyond it the words are others (µs; 400
ms)."""


@dataclass(slots=True)
class Reference:
    """The words spoken so far, in the order of their times, and the spans of the caller's turns."""

    words: list[Word] = field(default_factory=list)
    """The words, on the caller's media clock."""
    turns: list[tuple[int, int]] = field(default_factory=list)
    """Beginning and end of each of the caller's turns (µs of media)."""
    taken: int = 0
    """Number of words that belong to an utterance by now."""

    def announce(self, words: Sequence[Word], turns: Sequence[tuple[int, int]]) -> None:
        """Add the *words* and *turns* that are about to be spoken."""
        self.words.extend(words)
        self.turns.extend(turns)

    def last_end(self, detected_us: int, decided_us: int) -> int | None:
        """Return the last word's end by *decided_us*, if it agrees with *detected_us* (µs of media)."""
        end = max((word.ended_us for word in self.words if word.ended_us <= decided_us), default=None)
        return None if end is None or abs(end - detected_us) > APART_US else end

    def take(self, ended_us: int) -> str:
        """Return the words not taken yet that were spoken by *ended_us*, and take them.

        Each word is taken once, so a word that nobody heard is missing in the utterance after it.
        """
        words = islice(self.words, self.taken, None)
        by_then = [
            word.text for word in takewhile(lambda word: word.began_us + word.ended_us <= 2 * ended_us, words)
        ]
        self.taken += len(by_then)
        return " ".join(by_then)

    def goes_on_after(self, at_us: int) -> bool:
        """Return whether *at_us* lies inside one of the caller's turns."""
        return any(began < at_us < ended for began, ended in self.turns)


@dataclass(frozen=True, slots=True)
class WordErrors:
    """Counts of word errors, which add up over utterances."""

    substituted: int = 0
    """Words heard as others."""
    deleted: int = 0
    """Words not heard."""
    inserted: int = 0
    """Words heard that nobody said."""
    words: int = 0
    """Words in the reference."""

    def __add__(self, other: WordErrors) -> WordErrors:
        return WordErrors(
            self.substituted + other.substituted,
            self.deleted + other.deleted,
            self.inserted + other.inserted,
            self.words + other.words,
        )

    @property
    def errors(self) -> int:
        """All errors together."""
        return self.substituted + self.deleted + self.inserted

    @property
    def rate(self) -> float | None:
        """Errors per word of the reference, above 1 if much was invented; ``None`` without words."""
        return self.errors / self.words if self.words else None


def word_errors(reference: str, hypothesis: str) -> WordErrors:
    """Return the least edits from *reference* to *hypothesis*, both normalised first."""
    said, heard = normalise(reference).split(), normalise(hypothesis).split()
    edits = [edit.tag for edit in Levenshtein.editops(said, heard)]
    return WordErrors(edits.count("replace"), edits.count("delete"), edits.count("insert"), len(said))
