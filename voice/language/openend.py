"""How an utterance ends openly: in a hesitation, in an unfinished clause, amid digits or spelled letters.

A recogniser puts a full stop or a comma behind whatever it has, so neither proves anything; a question mark
closes a clause that ends in a preposition or a verb ("what is it for?"), but none that ends in "the". The
tables are data: what is in them has a caller waited for a little longer, what is missing may cut one off.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final, Literal, NamedTuple, TypeAlias, get_args

from turnbudget.voice.language.language import ENGLISH, Language
from turnbudget.voice.language.text import spoken

Kind: TypeAlias = Literal["hesitation", "unfinished", "digits", "spelling"]
KINDS: Final[tuple[Kind, ...]] = get_args(Kind)


class OpenEnd(NamedTuple):
    """That more is to come: of what kind, and the word that says so."""

    kind: Kind
    word: str


@lru_cache(maxsize=512)
def open_end(text: str, language: Language = ENGLISH) -> OpenEnd | None:
    """Return how *text*, as a recogniser wrote it, ends openly; ``None`` if it does not."""
    said = spoken(text).replace("’", "'").lower()
    words = [
        word
        for each in language.pattern("openend.signs").sub(" ", said).split()
        if (word := each.strip(".,:'/")).strip("-")
    ]
    if not words:
        return None
    last, phrase = words[-1].rstrip("-"), " ".join(words)
    asked = said.rstrip("\"'”’ ").endswith("?")
    if dictated := _dictated(words, language):
        return OpenEnd(dictated, last)
    if language.pattern("openend.filler").fullmatch(last) or (
        not asked and _hesitates(last, phrase, language)
    ):
        return OpenEnd("hesitation", last)
    if _is_unfinished(last, phrase, language, asked=asked):
        return OpenEnd("unfinished", last)
    trailing = language.pattern("openend.trailing").search(said)
    return OpenEnd("unfinished", trailing[0].strip()) if trailing else None


def _hesitates(last: str, phrase: str, language: Language) -> bool:
    if language.pattern("openend.finished").search(phrase) or language.pattern("openend.clauses").search(
        phrase
    ):
        return False
    return (
        language.has("openend.hesitations", last)
        or language.pattern("openend.thinking").search(phrase) is not None
    )


def _is_unfinished(last: str, phrase: str, language: Language, *, asked: bool) -> bool:
    """Say whether the clause at the end of *phrase* lacks something; one that is *asked* may end so."""
    if language.pattern("openend.finished").search(phrase):
        return False
    return language.has("openend.always", last) or (
        not asked
        and bool(
            language.has("openend.unless_asked", last)
            or language.pattern("openend.contracted").fullmatch(last)
            or language.pattern("openend.clauses").search(phrase)
        )
    )


def _dictated(words: list[str], language: Language) -> Kind | None:
    """Return what is being dictated at the end of *words*, digits or letters."""
    last, before = words[-1].rstrip("-"), words[-2] if len(words) > 1 else ""
    behind = _is_number(before, language)
    if _is_number(last, language) and not (
        language.has("openend.noun", last)
        and before
        and not behind
        and not language.has("openend.into_one", before)
    ):
        return "digits"
    if (
        language.has("openend.also_digits", last)
        and behind
        and (not language.has("openend.prepositions", last) or _is_number(" ".join(words[-3:-2]), language))
    ):
        return "digits"
    return "spelling" if _is_spelled(words, language) else None


def _is_number(word: str, language: Language) -> bool:
    """Say whether *word* is a number, of those that could go on: "$135" and "11:30" could not."""
    parts = word.strip("-").split("-")
    return (
        all(language.has("number.words", part) for part in parts)
        or language.pattern("openend.numeral").fullmatch(word) is not None
    )


def _is_spelled(words: list[str], language: Language) -> bool:
    """Say whether *words* end in letters that are no word and no abbreviation."""
    if language.pattern("openend.as_in").search(" ".join(words)):
        return True
    letters = ""
    for word in reversed(words):
        if len(word) > 1 and not language.pattern("openend.letters").fullmatch(word):
            break
        letters = re.sub(r"[.-]", "", word) + letters
    return letters.isalpha() and not language.has("openend.abbreviations", letters)
