"""The one reader of numbers: each word of a text with its kind, value, digits and place, and what runs mean.

Numbers that follow one another are joined as said ("nineteen ninety two" is 1992), leading zeros are kept,
and "oh" is a zero only between or after digits. The language's ``numbers.toml`` says which words are numbers.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeAlias

from turnbudget.voice.language.language import ENGLISH, HUNDRED, TENS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from turnbudget.voice.language.language import Language

Kind: TypeAlias = Literal[
    "cardinal", "scale", "ordinal", "times", "dictated", "alike", "point", "between", "written", "word"
]
"""``dictated``: a digit only where digits are dictated. ``alike``: only between digits. ``between``: it may
stand between two digits of one number. ``written``: in digits. ``word``: anything else."""


class Token(NamedTuple):
    """A word of a text: what it is as a number, and where it stands (characters)."""

    text: str
    """In lower case; digits as 0-9, whatever their script."""
    kind: Kind
    value: int
    """Its number; of a word that repeats, how often; -1 for no number."""
    digits: str
    """Its number as digits; '' for none."""
    start: int
    end: int
    alone: bool
    """Whether only space or a hyphen is beside it."""
    joined: bool
    """Whether nothing but space or a hyphen parts it from the token before."""
    paused: bool
    """Whether punctuation does."""

    @property
    def written(self) -> bool:
        """Whether it stands in digits."""
        return self.kind == "written"


_MARKED: Final = re.compile(r"(?<!\S)(\d+)\.(\d+)(?= )")
_GAPS: Final = " -\t\n"
CLOSE: Final = re.compile(r"[\s\-‐-―]*")
"""What parts two words of one number."""
PAUSE: Final = re.compile(r"[^\w\s]")
"""A sign of punctuation."""


def tokens(text: str, language: Language = ENGLISH) -> Iterator[Token]:
    """Yield every word and number of *text*, in order; the work is linear in its length."""
    word, kinds = _tables(language)
    behind = 0
    for found in word.finditer(text):
        said, start, end = found[0].lower(), found.start(), found.end()
        gap, behind = text[behind:start], end
        joined, paused = CLOSE.fullmatch(gap) is not None, PAUSE.search(gap) is not None
        alone = text[max(0, start - 1) : start] in _GAPS and text[end : end + 1] in _GAPS
        if said[0].isdecimal():
            digits = "".join(str(unicodedata.digit(each)) for each in said)
            yield Token(digits, "written", int(digits[:18]), digits, start, end, alone, joined, paused)
        else:
            kind, value, digits = kinds.get(said, _NONE)
            yield Token(said, kind, value, digits, start, end, alone, joined, paused)


THOUSAND: Final = 1_000
_NONE: Final[tuple[Kind, int, str]] = ("word", -1, "")


@lru_cache(maxsize=16)
def _tables(language: Language) -> tuple[re.Pattern[str], Mapping[str, tuple[Kind, int, str]]]:
    """Return what a word is in *language*, and the kind, value and digits of those that have one."""
    known, more = language.numbers, language.letters
    word = re.compile(
        rf"\d+|[^\W\d_](?:[^\W\d_]|[{more}])*(?:['’](?:[^\W\d_]|[{more}])+)*" if more else _WORD
    )
    kinds: dict[str, tuple[Kind, int, str]] = dict.fromkeys(known.between, ("between", -1, ""))
    kinds |= dict.fromkeys(known.point, ("point", -1, ""))
    kinds |= {each: ("alike", int(digits), digits) for each, digits in known.alike.items()}
    kinds |= {each: ("dictated", int(digits), digits) for each, digits in known.dictated.items()}
    kinds |= {each: ("times", value, "") for each, value in known.times.items()}
    kinds |= {each: ("ordinal", value, str(value)) for each, value in known.ordinals.items()}
    kinds |= {each: ("scale", value, "") for each, value in known.scales.items()}
    kinds |= {each: ("cardinal", value, str(value)) for each, value in known.cardinals.items()}
    return word, kinds


_WORD: Final = r"\d+|[^\W\d_]+(?:['’][^\W\d_]+)*"


def ordinal_words(language: Language = ENGLISH) -> Mapping[int, str]:
    """Return how each ordinal up to 31 is said: "twenty first"."""
    known = {value: word for word, value in language.numbers.ordinals.items()}
    tens = {value: word for word, value in language.numbers.cardinals.items() if value in TENS}
    composed = {
        ten + one: f"{tens[ten]} {known[one]}"
        for ten in tens
        for one in range(1, 10)
        if one in known and ten + one <= 31  # noqa: PLR2004 - days of a month
    }
    return composed | known


def read_numbers(text: str, language: Language = ENGLISH, *, point: bool = False) -> str:
    """Return *text* (words without punctuation) with each run of numbers as one string of digits.

    With *point*, "two point five" is 2.5, and "2.5 million" 2500000.
    """
    text = text.replace("-", " ")
    if point:
        text = _MARKED.sub(rf"\1 {language.numbers.point[0]} \2", text) if language.numbers.point else text
    reader = _Reader(list(tokens(text, language)), language, point=point)
    out: list[str] = []
    at, behind = 0, 0
    while at < len(reader.tokens):
        digits, after = reader.run(at)
        if digits:
            out += [text[behind : reader.tokens[at].start], digits]
            behind = reader.tokens[after - 1].end
        at = max(after, at + 1)
    return " ".join("".join((*out, text[behind:])).split())


class _Reader:
    """Reads runs of numbers out of the tokens of one text."""

    def __init__(self, found: Sequence[Token], language: Language, *, point: bool) -> None:
        self.tokens = found
        self._joins = frozenset(language.numbers.joins)
        self._zeros = frozenset(language.numbers.zeros)
        self._point = point
        self._lone = language.numbers.lone

    def run(self, at: int) -> tuple[str, int]:
        """Return the digits that begin at the token *at*, and where what follows them begins; '' if none."""
        digits, begun, parts = "", at, 0
        while (token := self._at(at, begins=at == begun)) is not None:
            following = self._at(at + 1)
            if token.kind == "times" and following and following.kind == "cardinal" and following.value < 10:  # noqa: PLR2004 - a digit
                digits += following.digits * token.value
                at += 2
            elif token.text in self._zeros and (len(digits) > 1 or (digits and self._goes_on(at + 1))):
                digits += "0"
                at += 1
            elif (
                token.kind == "point" and self._point and parts == 1 and (read := self._fraction(at, digits))
            ):
                return read
            elif token.kind in {"cardinal", "written"} or (token.kind == "scale" and self._lone):
                read_here, at = self._cardinal(at)
                digits += read_here
            else:
                break
            parts += 1
        return digits, max(begun, at)

    def _at(self, at: int, *, begins: bool = False) -> Token | None:
        """Return the token *at*, if it stands alone and, unless it *begins* a number, goes on with one."""
        token = self.tokens[at] if at < len(self.tokens) else None
        return token if token and token.alone and (begins or token.joined) else None

    def _goes_on(self, at: int) -> bool:
        token = self._at(at)
        return token is not None and (token.kind in {"cardinal", "times"} or token.text in self._zeros)

    def _cardinal(self, at: int) -> tuple[str, int]:
        """Return the one number that begins at the token *at*, and where what follows it begins."""
        first = self.tokens[at]
        scale = self._at(at + 1)
        if first.written and not (scale and scale.kind == "scale" and first.value < THOUSAND):
            return first.digits, at + 1
        whole, rest, begun = 0, int(first.kind == "scale"), at
        # What comes next belongs to the same number only if it is less than this.
        room, least = HUNDRED, 0
        while token := self._at(at, begins=at == begun):
            if token.kind == "cardinal" and token.value < room and (token.value or at == begun):
                rest += token.value
                room = 10 if token.value in TENS else 1
            elif token.written and at == begun:
                rest, room = token.value, 1
            elif token.kind == "scale" and token.value == HUNDRED and 0 < rest < HUNDRED:
                rest *= HUNDRED
                room = HUNDRED
            elif (
                token.kind == "scale"
                and token.value > HUNDRED
                and rest
                and (not least or token.value < least)
            ):
                whole, rest, least = whole + rest * token.value, 0, token.value
                room = HUNDRED
            elif not (token.text in self._joins and at > begun and room == HUNDRED and self._goes_on(at + 1)):
                break
            at += 1
        return str(whole + rest), at

    def _fraction(self, at: int, whole: str) -> tuple[str, int] | None:
        """Return *whole* with the digits behind the point *at*, times a scale behind; ``None`` if none do."""
        digits, at = "", at + 1
        while (token := self._at(at)) and (
            token.kind in {"cardinal", "written"} or token.text in self._zeros
        ):
            digits += token.digits
            at += 1
        if not 0 < len(digits) <= 2:  # noqa: PLR2004 - more are dictated, and no part of a whole
            return None
        scale = self._at(at)
        if scale and scale.kind == "scale":
            return str(int(whole + digits) * scale.value // 10 ** len(digits)), at + 1
        return f"{whole}.{digits}", at
