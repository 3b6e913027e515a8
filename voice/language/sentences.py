"""Sentences out of text that is still arriving; the pieces joined are the text, but for white space.

A reply is rendered piece by piece, so the first piece is what the caller waits for: it comes as soon as it
is whole, and long ones are cut at a clause. A mark ends a sentence only when what follows it is known, and
what follows is never guessed: however the text is cut into deltas, the pieces are the same.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final

LIMIT: Final = 200
"""Characters in a piece: espeak-ng's driver fails beyond some 250, and nobody waits for a longer one."""
FIRST: Final = 90
"""Characters in the first piece: Piper renders so many in about a tenth of a second."""
WORDS: Final = 2
"""Fewer words than this are no piece: a clipped "Dr." and a pause."""


def _names(*lines: str) -> frozenset[str]:
    return frozenset(" ".join(lines).split())


_NEVER: Final = _names(
    "dr mr mrs ms mx prof rev hon mt ft sgt capt col gen lt cmdr sen gov pres",
    "e.g i.e eg ie vs cf viz approx ca al fig figs vol pp tel ext",
)
"""Abbreviations with something behind them."""
_MAYBE: Final = _names(
    "inc ltd co corp llc jr sr ph.d m.d b.a m.a u.s u.k u.s.a e.u u.n d.c esq bros dept",
    "st ste ave blvd rd apt jan feb apr jun jul aug sept sep oct nov dec mon tue tues wed thu thur thurs fri",
)
"""Abbreviations that may also end a sentence: they do before a word that begins one."""
_HOURS: Final = _names("a.m p.m am pm etc")
"""These end a sentence before any capital that is not one of a day or a time zone."""
_ZONES: Final = _names("eastern central mountain pacific et ct mt pt est cst pst edt cdt pdt gmt utc")
_ALSO_WORDS: Final = _names("no nos art ch est mar sat sun")
"""These are abbreviations only before a number."""
_STARTS: Final = _names(
    "a about after all also an and any are as at because but can could did do does for from good great he",
    "hello here hi how however i i'd i'll i'm i've if in is it it's its let let's may my next no not now of",
    "oh ok okay on once one or our please she should since so some sorry sure thank thanks that that's the",
    "their then there there's they this those to today tomorrow was we we'll we're we've were what when",
    "where which while who why will with would yes you you'll you're your",
)
"""Words that begin a sentence more often than they follow an abbreviation as a name."""

_MARK: Final = re.compile(r"(?:[.!?…]+|[।॥。．！？؟۔։።။។]+|\n+)[\"'”’»)\]」』】]*")
_WIDE: Final = frozenset("।॥。．！？؟۔։።။។")
"""Marks that end a sentence without a space behind them."""
_TOKEN: Final = re.compile(r"[぀-ヿ㐀-鿿]|[^\s぀-ヿ㐀-鿿]+")
_WORD_BEFORE: Final = re.compile(r"[^\s(\[\"'“‘/–—-]*$")
_NEXT: Final = re.compile(r"\s*[\"'“‘«(\[¿¡]*([\w'’]*)(\W?)")
_CLAUSE: Final = re.compile(
    r"[,;:—–)]+[\"'”’]?(?=\s)|[、，；：]|\s(?=(?:and|but|or|because|which|so|then)\s)"
)
_PEEK: Final = 12
"""Letters of the next word that are enough to know it is none of the words above."""


class Sentences:
    """Takes deltas, gives pieces of at most *limit* characters, the first of at most *first*.

    *eager* gives the first piece at once, even if one lonely word turns out to follow it; later pieces
    wait for two words more, which costs nothing, since the first is still being heard.
    """

    def __init__(self, *, limit: int = LIMIT, first: int = FIRST, eager: bool = True) -> None:
        self._limit = limit
        self._first = min(first, limit)
        self._holds = not eager
        self._begun = False
        self._pending = ""
        self._held = ""

    def feed(self, delta: str) -> list[str]:
        """Return the pieces that *delta* completes."""
        self._pending = (self._pending + delta).lstrip()
        return self._take(ended=False)

    def flush(self) -> list[str]:
        """Return what is left: the text has ended."""
        return self._take(ended=True)

    def _take(self, *, ended: bool) -> list[str]:
        pieces: list[str] = []
        while self._pending.strip():
            cut = _next_cut(self._pending, self._limit if self._begun else self._first, ended=ended)
            if cut is None:
                break
            piece, self._pending = self._pending[:cut].strip(), self._pending[cut:].lstrip()
            pieces += self._pass(piece, last=ended and not self._pending)
        if self._held and (ended or _words(self._pending) >= WORDS):
            pieces.append(self._held)
            self._held = ""
        return pieces

    def _pass(self, piece: str, *, last: bool) -> list[str]:
        """Return what may leave now that *piece* is whole; hold it if a lonely word might follow."""
        if self._held and last and _words(piece) < WORDS:
            both, self._held = _balanced(self._held, piece, self._limit), ""
            return both
        leaving = [self._held] if self._held else []
        self._held = piece
        if not self._begun and not self._holds:
            leaving, self._held = [piece], ""
        self._begun = True
        return leaving


def split(text: str, *, limit: int = LIMIT, first: int = LIMIT) -> list[str]:
    """Return the pieces of a whole *text*; none has one word unless there is no more, or it is endless."""
    sentences = Sentences(limit=limit, first=first, eager=False)
    return sentences.feed(text) + sentences.flush()


def pack(text: str, *, limit: int = LIMIT) -> list[str]:
    """Return a whole *text* in few pieces: as many sentences to a piece as *limit* characters hold."""
    packed: list[str] = []
    for piece in split(text, limit=limit):
        if packed and len(packed[-1]) + 1 + len(piece) <= limit:
            packed[-1] += f" {piece}"
        else:
            packed.append(piece)
    return packed


def _words(text: str) -> int:
    return sum(any(sign.isalnum() for sign in token) for token in _TOKEN.findall(text))


def _next_cut(text: str, limit: int, *, ended: bool) -> int | None:
    """Return where the next piece ends, ``None`` while that is not known."""
    for mark in _MARK.finditer(text):
        end = mark.end()
        if len(text[:end].rstrip()) > limit:
            break
        if end == len(text):
            if not ended:
                return None
            break
        ends = _ends(text, mark, ended=ended)
        if ends is None:
            return None
        if ends and _words(text[:end]) >= WORDS:
            return end
    if len(text.rstrip()) > limit:
        return _cut_within(text, limit)
    return len(text) if ended else None


def _ends(text: str, mark: re.Match[str], *, ended: bool) -> bool | None:
    """Return whether *mark* ends a sentence, ``None`` if too little follows it to know."""
    sign = mark[0][0]
    if sign == "\n":
        return text.count("```", 0, mark.start()) % 2 == 0
    if sign in _WIDE or not text[mark.end()].isspace():
        return sign in _WIDE
    following = _NEXT.match(text, mark.end())
    word, behind = (following[1], following[2]) if following else ("", "")
    if not behind and len(word) < _PEEK and not ended:
        return None
    if sign in "!?":
        return not word[:1].islower()
    if mark[0].startswith(("..", "…")):
        return word[:1].isupper()
    return _stops(text[: mark.start()], word)


def _stops(before: str, word: str) -> bool:
    """Return whether a full stop between *before* and the next *word* ends a sentence."""
    found = _WORD_BEFORE.search(before)
    last = found[0] if found else ""
    name, after = last.lower(), word.lower().replace("’", "'")
    capital = word[:1].isupper()
    item = last.isdigit() and not before[: -len(last)].strip()
    rules = (
        (name in _ALSO_WORDS, not word[:1].isdigit()),
        (name in _NEVER or item, False),
        (name in _HOURS, capital and after not in _ZONES | _MAYBE),
        (name in _MAYBE or (len(last) == 1 and last.isupper()), capital and after in _STARTS),
    )
    return next((verdict for holds, verdict in rules if holds), True)


def _cut_within(text: str, limit: int) -> int:
    """Return where to cut a sentence longer than *limit*: at a clause, else a word, else a character."""
    within = text[:limit]
    clauses = [found.end() for found in _CLAUSE.finditer(text, 0, limit + 1) if found.end() <= limit]
    spaces = [found.start() for found in re.finditer(r"\s", text[: limit + 1])]
    for cut in (*reversed(clauses), *reversed(spaces)):
        if _words(within[:cut]) >= WORDS and not _inside_number(text, cut):
            return cut
    numbers = [cut for cut in spaces if _words(within[:cut]) >= WORDS]
    cut = numbers[-1] if numbers else limit
    while cut > 1 and not numbers and unicodedata.combining(text[cut]):
        cut -= 1
    return cut


def _inside_number(text: str, cut: int) -> bool:
    before, after = text[:cut].rstrip(" ,"), text[cut:].lstrip()
    return before[-1:].isdigit() and after[:1].isdigit()


def _balanced(held: str, tail: str, limit: int) -> list[str]:
    """Return a piece and the lonely word behind it as one, or as two of which none is lonely."""
    whole = f"{held} {tail}"
    if len(whole) <= limit:
        return [whole]
    *most, last = held.rsplit(maxsplit=1)
    if most and _words(most[0]) >= WORDS and len(last) + 1 + len(tail) <= limit:
        return [most[0], f"{last} {tail}"]
    return [held, tail]
