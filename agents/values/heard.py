"""What was heard, made plain: one form for a human's transcript and for any recogniser's.

Lower case, no punctuation, no fillers, no broken-off words; ``text`` with every spoken number as digits (for
values), ``words`` without (for phrases). Where callers mend their own words ("checking, sorry, savings") the
parts are told apart: what comes later holds.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Final
from unicodedata import normalize

from turnbudget.voice.language.language import ENGLISH, Language
from turnbudget.voice.language.numbers import read_numbers
from turnbudget.voice.language.openend import open_end
from turnbudget.voice.language.text import spoken

if TYPE_CHECKING:
    from collections.abc import Iterable

    from turnbudget.voice.language.openend import OpenEnd

_BRACKETED: Final = re.compile(r"\((\d+)\)")
_THOUSANDS: Final = re.compile(r"(?<=\d),(?=\d{3}\b)")
_GROUPS: Final = re.compile(r"\b(\d{3})[-.](\d{3,4})(?:[-.](\d{4}))?\b")
_LOOSE: Final = re.compile(r"(?<!\d)[.:/]|[.:/](?!\d)|(?<!\w)'|'(?!\w)")
_HALT: Final = " , "
"""What stands for a filler between two numbers, which are then two."""


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
    language: Language = ENGLISH
    """The language it is in."""

    @property
    def over(self) -> bool:
        """Whether it ends neither openly nor in taking something back."""
        return self.ends is None and not self.taking_back

    @property
    def taking_back(self) -> bool:
        """Whether it ends in taking back what was said: "checking, no"."""
        return len(self.parts) > 1 and bool(self.parts[0]) and not self.parts[-1]


@lru_cache(maxsize=512)
def plain(text: str, language: Language = ENGLISH) -> Heard:
    """Return *text* made plain."""
    once = partial(_once, language)
    said = spoken(_BRACKETED.sub(r" \1 ", normalize("NFC", text).replace("’", "'").lower()))
    said = language.pattern("heard.money").sub(
        rf"\1 {language.word('signs.dollars')}", language.pattern("heard.broken").sub(" ", said)
    )
    said = _THOUSANDS.sub("", said)
    said = _GROUPS.sub(lambda found: " ".join(filter(None, found.groups())), said)
    said = (
        language.pattern("heard.half_day")
        .sub(r"\1 m", said)
        .replace("%", f" {language.word('signs.percent')} ")
    )
    said = said.replace("&", f" {language.word('signs.and')} ")
    said = _LOOSE.sub(" ", language.outside("' .:/").sub(" ", said))
    halting = " ".join(language.pattern("heard.fillers").sub(_HALT, said).split())
    halting = language.pattern("heard.half_day_behind").sub(
        r" \1 m", language.pattern("heard.again").sub(once, halting)
    )
    words = " ".join(halting.replace(_HALT.strip(), " ").split())
    words, digits = language.pattern("heard.again").sub(once, words), _digits(halting, language)
    begins = language.pattern("heard.mends").match(words)
    return Heard(
        words,
        digits,
        tuple(part.strip() for part in language.pattern("heard.mends").split(digits)),
        language.pattern("heard.mends").split(words)[-1].strip(),
        begins[0] if begins else "",
        open_end(text, language),
        language,
    )


def _digits(said: str, language: Language) -> str:
    """Return *said* with its numbers as digits; a halt stays only between two of them."""
    said = language.pattern("heard.within_cardinal").sub(
        r"\1",
        language.pattern("heard.letter_o").sub(
            language.word("heard.zeros"),
            language.pattern("heard.a_hundred").sub(language.word("heard.one"), said),
        ),
    )
    digits = language.pattern("heard.half_day_behind").sub(r" \1 m", read_numbers(said, language, point=True))
    digits = re.sub(r"(?<!\d) ?,|^,|,(?! ?\d)", " ", digits)
    return " ".join(digits.split())


def _once(language: Language, found: re.Match[str]) -> str:
    """Return a stuttered word once; numbers are dictated, not stuttered."""
    numbers = (
        language.has("number.words", word) or language.has("heard.zeros", word) for word in found[1].split()
    )
    return found[0] if any(numbers) else found[1]


def cut(text: str, spans: Iterable[tuple[int, int]]) -> str:
    """Return *text* with *spans* taken out; a bar stands for each, so that nothing is read across it."""
    for start, end in sorted(spans, reverse=True):
        text = f"{text[:start]} | {text[end:]}"
    return text
