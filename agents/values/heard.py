"""What was heard, made plain: one form for a human's transcript and for any recogniser's.

Lower case, no punctuation, no fillers, no broken-off words; ``text`` with every spoken number as digits (for
values), ``words`` without (for phrases). Where callers mend their own words ("checking, sorry, savings") the
parts are told apart: what comes later holds.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from turnbudget.voice.language.numbers import read_numbers
from turnbudget.voice.language.openend import open_end
from turnbudget.voice.language.text import spoken

if TYPE_CHECKING:
    from collections.abc import Iterable

    from turnbudget.voice.language.openend import OpenEnd

_BRACKETED: Final = re.compile(r"\((\d+)\)")
_BROKEN: Final = re.compile(r"\b[\w']+~|\b\w+-(?=\s|$)")
_MONEY: Final = re.compile(r"\$ ?(\d[\d,]*(?:\.\d+)?)")
_THOUSANDS: Final = re.compile(r"(?<=\d),(?=\d{3}\b)")
_GROUPS: Final = re.compile(r"\b(\d{3})[-.](\d{3,4})(?:[-.](\d{4}))?\b")
_HALF_DAY: Final = re.compile(r"\b([ap])\. ?m\b\.?")
_HALF_DAY_BEHIND: Final = re.compile(r"(?<=\d) ?([ap])m\b")
_PUNCTUATION: Final = re.compile(r"[^\w' .:/]|_")
_LOOSE: Final = re.compile(r"(?<!\d)[.:/]|[.:/](?!\d)|(?<!\w)'|'(?!\w)")
_FILLERS: Final = re.compile(r"\b(?:u+h+m*|u+m+|e+r+m*|a+h+|h+m+|mm+)\b")
_HALT: Final = " , "
"""What stands for a filler between two numbers, which are then two."""
_WITHIN_CARDINAL: Final = re.compile(
    r"\b(hundred|thousand|twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety|and) ,(?= )"
)
_AGAIN: Final = re.compile(r"\b([a-z']{2,}(?: [a-z']{2,})??)(?: \1\b)+")
_A_HUNDRED: Final = re.compile(r"\ba (?=hundred\b|thousand\b)")
_LETTER_O: Final = re.compile(r"\bo\b(?!'? ?clock)")
_MENDS: Final = re.compile(
    r"\b(?:no wait|wait no|no no|no sorry|no actually|i mean|i meant|scratch that|make that|i'm sorry"
    r"|im sorry|sorry|excuse me|actually|correction|rather|no|wait)\b"
)
_NUMBERS: Final = frozenset(
    (
        *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven"),
        *("twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"),
        *("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety", "hundred", "oh"),
        *("double", "triple"),
    )
)


@dataclass(frozen=True, slots=True)
class Heard:
    """An utterance made plain: ``words`` as said, ``text`` with numbers as digits."""

    words: str
    text: str
    parts: tuple[str, ...]
    """``text`` cut where the caller mends it; what is left of a leading "no" is ``''``."""
    last_words: str
    """The words behind the last mending."""
    mends: str
    """The mending that the utterance begins with, such as "no" or "actually"; '' if none."""
    ends: OpenEnd | None = None
    """How it ends openly; ``None`` if it does not."""

    @property
    def over(self) -> bool:
        """Whether it ends neither openly nor in taking something back."""
        return self.ends is None and not self.taking_back

    @property
    def taking_back(self) -> bool:
        """Whether it ends in taking back what was said: "checking, no"."""
        return len(self.parts) > 1 and bool(self.parts[0]) and not self.parts[-1]


@lru_cache(maxsize=512)
def plain(text: str) -> Heard:
    """Return *text* made plain."""
    said = spoken(_BRACKETED.sub(r" \1 ", text.replace("’", "'").lower()))
    said = _MONEY.sub(r"\1 dollars", _BROKEN.sub(" ", said))
    said = _THOUSANDS.sub("", said)
    said = _GROUPS.sub(lambda found: " ".join(filter(None, found.groups())), said)
    said = _HALF_DAY.sub(r"\1 m", said).replace("%", " percent ").replace("&", " and ")
    said = _LOOSE.sub(" ", _PUNCTUATION.sub(" ", said))
    halting = " ".join(_FILLERS.sub(_HALT, said).split())
    halting = _HALF_DAY_BEHIND.sub(r" \1 m", _AGAIN.sub(_once, halting))
    words = " ".join(halting.replace(_HALT.strip(), " ").split())
    words, digits = _AGAIN.sub(_once, words), _digits(halting)
    begins = _MENDS.match(words)
    return Heard(
        words,
        digits,
        tuple(part.strip() for part in _MENDS.split(digits)),
        _MENDS.split(words)[-1].strip(),
        begins[0] if begins else "",
        open_end(text),
    )


def _digits(said: str) -> str:
    """Return *said* with its numbers as digits; a halt stays only between two of them."""
    said = _WITHIN_CARDINAL.sub(r"\1", _LETTER_O.sub("oh", _A_HUNDRED.sub("one ", said)))
    digits = _HALF_DAY_BEHIND.sub(r" \1 m", read_numbers(said))
    digits = re.sub(r"(?<!\d) ?,|^,|,(?! ?\d)", " ", digits)
    return " ".join(digits.split())


def _once(found: re.Match[str]) -> str:
    """Return a stuttered word once; numbers are dictated, not stuttered."""
    return found[0] if set(found[1].split()) & _NUMBERS else found[1]


def cut(text: str, spans: Iterable[tuple[int, int]]) -> str:
    """Return *text* with *spans* taken out; a bar stands for each, so that nothing is read across it."""
    for start, end in sorted(spans, reverse=True):
        text = f"{text[:start]} | {text[end:]}"
    return text
