"""Recognisers write things that nobody said; what was said, however short, is kept.

Numbers are left as the recogniser wrote them; :mod:`turnbudget.voice.asr.numbers` reads them where digits are
asked.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from turnbudget.voice.asr.numbers import read_numbers

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
