"""Word errors: how many words of the reference were heard as others, not at all, or out of nothing."""

from __future__ import annotations

from dataclasses import dataclass

from rapidfuzz.distance import Levenshtein

from turnbudget.voice.asr.text import normalise


@dataclass(frozen=True, slots=True)
class WordErrors:
    """Counts that add up over utterances."""

    substituted: int = 0
    deleted: int = 0
    inserted: int = 0
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
        """Errors per word of the reference (above 1 if much was invented); ``None`` without a word."""
        return self.errors / self.words if self.words else None


def word_errors(reference: str, hypothesis: str) -> WordErrors:
    """Return the least edits from *reference* to *hypothesis*, both normalised first."""
    said, heard = normalise(reference).split(), normalise(hypothesis).split()
    edits = [edit.tag for edit in Levenshtein.editops(said, heard)]
    return WordErrors(edits.count("replace"), edits.count("delete"), edits.count("insert"), len(said))
