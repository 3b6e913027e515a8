"""What a reader makes of an utterance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from turnbudget.voice.language.language import ENGLISH, Language


@dataclass(frozen=True, slots=True)
class Reading:
    """A value found in a text, from ``start`` to ``end``.

    ``spoken`` is the value as we say it. ``missing`` is what to ask if only a part was said; ``value`` is
    then what the reader wants back as *before*.
    """

    value: str
    spoken: str
    start: int
    end: int
    missing: str = ""
    whole: bool = False
    """Whether no words that may follow would be part of it: "135 dollars" is, "135" is not."""

    def ends(self, text: str) -> bool:
        """Say whether nothing stands behind it in *text*, in which it was found."""
        return not text[self.end :].strip()

    def grows(self, text: str, language: Language = ENGLISH) -> bool:
        """Say whether words may follow *text* that would be part of it: not if it is whole or left behind."""
        return not self.whole and not language.pattern("reading.left_behind").match(text, self.end)


class Reader(Protocol):
    """Finds one kind of value."""

    def __call__(self, text: str, *, asked: bool = False, before: str = "") -> Reading | None:
        """Return the value in *text* (made plain), ``None`` if there is none.

        If the caller was *asked* for it, less will do: "300" is an amount. *before* is what was said of it
        in earlier turns.
        """
        ...
