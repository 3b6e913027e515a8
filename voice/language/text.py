"""What was said, out of what a recogniser or a person wrote; and whether two such texts say the same.

Recognisers write things that nobody said; what was said, however short, is kept. Two transcripts say the same
when they differ only in how they are written, in no word that was said: work begun on a partial text may be
kept for such a final text. Case, punctuation, white space, fillers, the spelling of contractions and of
numbers make no difference; any other word added, lost or changed does, and in doubt two texts are different.
Text in letters that are not the language's keeps its fillers, and one in a script with marks that the
language does not write is compared as it is written.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final
from unicodedata import category, normalize

from turnbudget.voice.language.numbers import ordinal_words, read_numbers

if TYPE_CHECKING:
    from collections.abc import Iterable

_MARKERS: Final = re.compile(r"\[[^\]]*\]|\([^)]*\)|<[^>]*>|\*[^*]*\*|[♪♫]+")
"""``[noise]``, ``(wind blowing)``, ``<unk>``, ``*coughs*``, ♪: what recognisers and annotators put for
sounds."""


def spoken(text: str) -> str:
    """Return *text* without the markers that stand for sounds."""
    return " ".join(_MARKERS.sub(" ", text).split())


@lru_cache(4096)
def is_words(text: str) -> bool:
    """Say whether *text* holds a word or a number, be it only "you": a lone "." or "[noise]" does not."""
    return any(letter.isalnum() for letter in spoken(text))


def merge(finals: Iterable[str]) -> str:
    """Return one text from the finals of an engine that restates, each time, all it has heard so far.

    A final that begins with all the words so far, case and punctuation apart, takes their place; another
    is added. For such engines only: elsewhere "no" followed by "no, thank you" is said twice.
    """
    merged = ""
    for final in filter(is_words, finals):
        restates = _words(final)[: len(_words(merged))] == _words(merged)
        merged = final.strip() if restates else f"{merged} {final.strip()}"
    return merged


def normalise(text: str) -> str:
    """Return *text* for comparing what was said with what was heard.

    Lower case, no punctuation, no markers, and every number as its digits: "$132" and "one hundred and
    thirty-two dollars" become "1 3 2 dollars", "11 a.m." and "eleven a m" become "1 1 a m".
    """
    plain = _MARKERS.sub(" ", text.lower()).replace("’", "'")
    plain = re.sub(r"\$\s?(\d[\d,]*(?:\.\d+)?)", r"\1 dollars", plain)
    plain = re.sub(r"(?<=\d),(?=\d{3})", "", plain).replace("%", " percent ")
    plain = re.sub(r"(?<=\d)(?=[a-z])|(?<=[a-z])(?=\d)", " ", plain)
    plain = re.sub(r"\b([ap])\. ?m\b\.?", r"\1 m", plain)
    plain = re.sub(r"[^\w' ]|_", " ", plain)
    digits = re.sub(r"\d", r" \g<0> ", read_numbers(plain))
    return " ".join(re.sub(r"(?<=\d  )([ap])m\b", r"\1 m", digits).split())


def _words(text: str) -> list[str]:
    return re.sub(r"[^\w' ]", " ", text.casefold()).split()


_APOSTROPHES: Final = str.maketrans(dict.fromkeys("‘’ʼ´`′", "'"))
_CURRENCIES: Final = {"$": "dollars", "€": "euros", "£": "pounds", "¥": "yen"}
_MONEY: Final = re.compile(r"([$€£¥])\s?(\d[\d,.]*\d|\d)|(\d)\s?([€£¥])")
_SAID: Final = tuple(
    (re.compile(written), spoken)
    for written, spoken in (
        # A human's or a recogniser's mark for a word that it did not understand is a word.
        (r"[<\[]unk[>\]]", " unk "),
        # Between these a transcriber writes sounds, but others write words, so they are kept.
        (r"[()*]", " "),
        (r"(?<=\d),(?=\d{3}(?!\d))", ""),
        # "1.5" is not 15, "1/2" is not 12, "3-4" is not 34, and "-5" is not 5.
        (r"(?<=\d)[.,](?=\d)", " point "),
        (r"(?<=\d)\s*/\s*(?=\d)", " slash "),
        (r"(?<=\d{3})\s?-\s?(?=\d{3})", " "),
        (r"(?<=\d)\s*[-–]\s*(?=\d)", " to "),
        (r"(?<!\S)[-−–](?=\d)", " minus "),
        (r"\+", " plus "),
        (r"&", " and "),
        (r"@", " at "),
        (r"\ba (?=(?:hundred|thousand)\b)", "one "),
    )
)
_SIGN: Final = re.compile(r"[^\w\s.,!?'’]|\d[.,]\d|\bunk\b|\ba (?:hundred|thousand)\b")
"""Where none is found, nothing of _SAID is either."""

_ORDINALS: Final = ordinal_words()
_ORDINAL: Final = re.compile(r"\b(\d{1,2})(?:st|nd|rd|th)\b")

_FILLER: Final = r"(?:u+h+m*|u+m+|e+r+m*|h+m+)"
_FILLERS: Final = re.compile(
    # "uh uh" is a no and "uh huh" a yes; a filler between two digits keeps them two numbers.
    rf"(?<!\S)(?P<kept>uh+ uh+|(?:u+h+|u+m+|h+m+|m+h*m+) (?:huh|hum|h+m+|m+h*m+)|uh+ oh"
    rf"|(?<=\d )(?:{_FILLER} )+(?=\d))|(?<!\S){_FILLER}(?: |$)"
)

_NEGATED: Final = (
    *("do", "does", "did", "is", "are", "was", "were", "has", "have", "had"),
    *("could", "would", "should", "must", "need"),
)
_ENDS: Final = {"is": "s", "are": "re", "will": "ll", "have": "ve"}
_CONTRACTED: Final = {
    "is": "what that it there here where who how when he she",
    "are": "you they we",
    "will": "you they it that there i he she we",
    "have": "i you we they could would should might must",
}
_MARKED: Final = frozenset({"he's", "she's", "we're", "i'll", "he'll", "she'll", "we'll"})
"""What is another word without its apostrophe: "were" is no "we're"."""
_FULL: Final = {
    f"{who}'{_ENDS[verb]}": f"{who} {verb}" for verb, all_ in _CONTRACTED.items() for who in all_.split()
}
_SPELLINGS: Final = {
    **{f"{verb}n{mark}t": f"{verb} not" for verb in _NEGATED for mark in ("'", "")},
    **_FULL,
    **{short.replace("'", ""): full for short, full in _FULL.items() if short not in _MARKED},
    **dict.fromkeys(("can't", "cant", "cannot"), "can not"),
    **dict.fromkeys(("won't", "wont"), "will not"),
    **dict.fromkeys(("i'm", "im"), "i am"),
    **dict.fromkeys(("let's", "lets"), "let us"),
    "gonna": "going to",
    "wanna": "want to",
    "ok": "okay",
}
_WOULD: Final = re.compile(
    r"(?<!\S)(?:(i)'?|(we|you|he|she|they|that|it)')d (?=(?:like|love|prefer|rather|appreciate)\b)"
)
_STUTTERS: Final = re.compile(
    # Only words that nobody says twice on purpose; "no no", "very very" and "a a" (letters) may be meant.
    r"(?<!\S)(and|at|for|from|is|it|my|of|the|to|we|with|your)(?: \1)+(?!\S)"
    r"|(?<!\S)(i)(?: i)+(?= (?:want|need|would|have|had|am|was|did|do|can|could|lost|think)\b)"
)


def same(one: str, other: str) -> bool:
    """Say whether both transcripts say the same, so that work begun on one may be kept for the other."""
    return one == other or normal(one) == normal(other)


@lru_cache(maxsize=4096)
def normal(text: str) -> str:
    """Return the one form of everything that says the same as *text*: plain words, numbers digit by digit."""
    plain = normalize("NFC", text).translate(_APOSTROPHES).lower()
    if not plain.isascii() and any(category(letter)[0] == "M" for letter in plain):
        return " ".join(plain.split())
    plain = _ORDINAL.sub(_ordinal, plain)
    if _SIGN.search(plain):
        plain = _MONEY.sub(_money, plain)
        for written, said in _SAID:
            plain = written.sub(said, plain)
    words = [word.strip("'") for word in normalise(plain).split()]
    unfilled = " ".join(filter(None, words))
    if unfilled.isascii():
        # What is nothing but a filler stays: "hm?" is not silence.
        unfilled = _FILLERS.sub(_kept, unfilled).strip() or unfilled
    spelt = " ".join(_SPELLINGS.get(word, word) for word in unfilled.split())
    return _STUTTERS.sub(r"\1\2", _WOULD.sub(r"\1\2 would ", spelt))


def _kept(found: re.Match[str]) -> str:
    return found["kept"] or ""


def _money(found: re.Match[str]) -> str:
    if found[1]:
        return f"{found[2]} {_CURRENCIES[found[1]]}"
    return f"{found[3]} {_CURRENCIES[found[4]]}"


def _ordinal(found: re.Match[str]) -> str:
    return _ORDINALS.get(int(found[1]), found[0])
