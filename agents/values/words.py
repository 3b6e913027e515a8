"""Words that are values: yes and no, one of several choices, names, spelled words, free text."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from rapidfuzz import fuzz

from turnbudget.agents.values.reading import Reading
from turnbudget.voice.language.language import ENGLISH, Language

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_ALIKE: Final = 82.0
"""rapidfuzz's ratio (0-100) from which two words are one misheard: "saving" and "savings" have 92."""


def yes_no(
    text: str,
    *,
    asked: bool = False,  # noqa: ARG001 - a Reader
    before: str = "",  # noqa: ARG001 - a Reader
    language: Language = ENGLISH,
) -> Reading | None:
    """Read "yes" or "no"."""
    if found := language.pattern("words.no_but_yes").search(text):
        return Reading("yes", "yes", found.start(), found.end(), whole=True)
    if found := language.pattern("words.no").search(text):
        return Reading("no", "no", found.start(), found.end(), whole=True)
    if found := language.pattern("words.yes").search(text):
        return Reading("yes", "yes", found.start(), found.end(), whole=True)
    return None


@dataclass(frozen=True, slots=True)
class Choice:
    """Reads one of *choices*: what it is called, and the other words for it."""

    choices: Mapping[str, tuple[str, ...]]
    language: Language = ENGLISH
    _exact: re.Pattern[str] = field(init=False, repr=False)
    _names: Mapping[str, str] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Compile the words."""
        names = {word.lower(): value for value, words in self.choices.items() for word in (value, *words)}
        longest = sorted(names, key=len, reverse=True)
        object.__setattr__(self, "_names", names)
        object.__setattr__(
            self, "_exact", self.language.bounded(rf"\b({'|'.join(re.escape(word) for word in longest)})\b")
        )

    def __call__(self, text: str, *, asked: bool = False, before: str = "") -> Reading | None:  # noqa: ARG002 - a Reader
        """Return the choice named; none if two are ("checking or savings?"), unless one is taken back."""
        found = list(self._exact.finditer(text))
        values = list(dict.fromkeys(self._names[each[1]] for each in found))
        if (
            len(values) > 1
            and asked
            and self.language.pattern("words.or").search(text, found[0].end(), found[-1].start())
        ):
            return None
        if found:
            return Reading(values[0], values[0], found[0].start(), found[0].end(), whole=True)
        return self._alike(text) if asked else None

    def _alike(self, text: str) -> Reading | None:
        """Return the choice that some words of *text* sound most like."""
        tokens = list(re.finditer(r"[\w']+", text))
        best: tuple[float, Reading] | None = None
        for name, value in self._names.items():
            for at, width in _windows(len(tokens), name.count(" ") + 1):
                window = tokens[at : at + width]
                said = "".join(token[0] for token in window)
                alike = fuzz.ratio(name.replace(" ", ""), said, score_cutoff=_ALIKE)
                if alike and (best is None or alike > best[0]):
                    best = alike, Reading(value, value, window[0].start(), window[-1].end(), whole=True)
        return best[1] if best else None


def _windows(count: int, width: int) -> Iterator[tuple[int, int]]:
    """Yield where and how wide *width* words may stand among *count*, one heard as two or two as one."""
    for each in range(max(1, width - 1), width + 2):
        for at in range(count - each + 1):
            yield at, each


def name(
    text: str,
    *,
    asked: bool = False,
    before: str = "",  # noqa: ARG001 - a Reader
    language: Language = ENGLISH,
) -> Reading | None:
    """Read a person's name: "my name is john miller", or, asked for, "john miller"."""
    text = unspelled(text, language)
    found = list(language.pattern("words.named").finditer(text))
    for each in reversed(found):
        if words := _name_words(each[1], language):
            return Reading(words, words, each.start(), each.start(1) + len(words))
    if not asked:
        return None
    lead = language.pattern("words.leads").match(text)
    words = _name_words(text[lead.end() if lead else 0 :], language)
    return Reading(words, words, 0, len(text)) if words else None


def spelled(
    text: str,
    *,
    asked: bool = False,
    before: str = "",  # noqa: ARG001 - a Reader
    language: Language = ENGLISH,
) -> Reading | None:
    """Read a word spelled letter by letter: "s m y t h"; if asked for, the word alone will do."""
    found = list(language.pattern("words.spells").finditer(text))
    if found:
        word = found[-1]["letters"].replace(" ", "")
        return Reading(word, " ".join(word.upper()), found[-1].start(), found[-1].end())
    rest = free(text, asked=asked, language=language)
    if rest is None or " " in rest.value:
        return None
    return rest


def free(
    text: str,
    *,
    asked: bool = False,
    before: str = "",  # noqa: ARG001 - a Reader
    language: Language = ENGLISH,
) -> Reading | None:
    """Read whatever was said, if it was asked for, without lead-in and thanks."""
    if not asked:
        return None
    plain = language.pattern("words.tails").sub("", unspelled(text, language))
    if language.pattern("words.no_answer").search(plain):
        return None
    lead = language.pattern("words.leads").match(plain)
    rest = plain[lead.end() if lead else 0 :].strip()
    if not any(sign.isalnum() for sign in rest):
        return None
    return Reading(rest, rest, 0, len(text))


@dataclass(frozen=True, slots=True)
class Known:
    """Reads free text that is most often one of *known*: those win, others are taken as said."""

    known: Choice
    language: Language = ENGLISH

    def __call__(self, text: str, *, asked: bool = False, before: str = "") -> Reading | None:
        """Return what is known, or if it was asked for, what was said."""
        return self.known(text, asked=asked) or free(text, asked=asked, before=before, language=self.language)


def unspelled(text: str, language: Language = ENGLISH) -> str:
    """Return *text* with "main that's m a i n" as "main": what is spelled takes the place of what is said."""
    return language.pattern("words.spells").sub(_joined, text)


def _joined(found: re.Match[str]) -> str:
    word, letters = found["word"] or "", found["letters"].replace(" ", "")
    if not word or fuzz.ratio(word, letters) >= 50.0:  # noqa: PLR2004 - half alike is one word
        return letters
    return f"{word} {letters}"


def _name_words(text: str, language: Language) -> str:
    words: list[str] = []
    for word in text.split():
        if language.has("words.no_name", word) or not word.replace("'", "").isalpha():
            break
        words.append(word)
    return " ".join(words[-3:]).title()
