"""Words that are values: yes and no, one of several choices, names, spelled words, free text."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from rapidfuzz import fuzz

from turnbudget.agents.phrases import words_in
from turnbudget.agents.values.reading import Reading

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_YES: Final = re.compile(
    r"\b(?:yes|yeah|yep|yup|yah|ya|sure|correct|right|exactly|absolutely|definitely|certainly|of course"
    r"|okay|ok|alright|please do|go ahead|do it|that's it|sounds good|fine|perfect|mhm|uh huh|indeed"
    r"|affirmative)\b"
)
_NO: Final = re.compile(
    r"\b(?:no|nope|nah|not|don't|do not|never|wrong|incorrect|isn't|neither|negative|cancel)\b"
)
_NO_BUT_YES: Final = re.compile(
    r"\bno(?:pe)? (?:that's|that is|it's|you're) (?:right|correct|fine|good|perfect)|\bnot? (?:a )?problem\b"
    r"|\bno worries\b|\bwhy not\b"
)
_LEADS: Final = re.compile(
    r"^(?:(?:yes|yeah|okay|ok|sure|well|so|oh|hi|hello|and|the|it|it's|its|it is|that is|that's|that'd|be"
    r"|would|is|will|this|my|name|company|address|called|for|please|gonna|going|to|i|i'd|like|want|am|i'm"
    r"|also)(?![\w']) ?)+"
)
_TAILS: Final = re.compile(r"(?: (?:please|thank you|thanks|thank you very much|thanks a lot))+$")
_SPELLS: Final = re.compile(
    r"(?:\b(?P<word>[a-z']{2,}) )?(?:that's |that is |spelled |spelt |it's |as in )*"
    r"(?P<letters>(?:\b[a-z] ){2,}[a-z]\b)"
)
_NAMED: Final = re.compile(
    r"\b(?:my (?:full |first |last )?name is|my name's|the name is|the name's|name is|name's|this is|i am|i'm"
    r"|it's|call me) (?=((?:[a-z'-]+ ?){1,4}))"
)
_NO_NAME: Final = words_in(
    "a an and also but calling i i'd i'm is it my need not on please so the to want was wanna wondering",
    "would hi hello here speaking trying looking just for with in last first name from",
)
_NO_ANSWER: Final = re.compile(
    r"\b(?:what was that|what did you|repeat|say (?:that|it) again|come again|pardon|excuse me|one moment"
    r"|(?:didn't|couldn't|can't) (?:catch|hear|get)|hold on|one second|just a (?:second|moment|minute)"
    r"|are you (?:there|a)|don't know|not sure)\b"
    r"|^(?:yes|yeah|no|nope|okay|ok|hello|hi|what|huh|again|wait|(?:i'm |i am )?sorry|thanks?|thank you|bye"
    r"|goodbye|bye bye)$"
    r"|^(?:what|where|when|who|how|why|can|could|do|does|is|are|may)\b.*\b(?:you|your|i|we|my|it|the)\b"
)
"""Words of a caller who does not answer: a question back, or a mere sign of life."""
_ALIKE: Final = 82.0
"""rapidfuzz's ratio (0-100) from which two words are one misheard: "saving" and "savings" have 92."""


def yes_no(text: str, *, asked: bool = False, before: str = "") -> Reading | None:  # noqa: ARG001 - a Reader
    """Read "yes" or "no"."""
    if found := _NO_BUT_YES.search(text):
        return Reading("yes", "yes", found.start(), found.end(), whole=True)
    if found := _NO.search(text):
        return Reading("no", "no", found.start(), found.end(), whole=True)
    if found := _YES.search(text):
        return Reading("yes", "yes", found.start(), found.end(), whole=True)
    return None


@dataclass(frozen=True, slots=True)
class Choice:
    """Reads one of *choices*: what it is called, and the other words for it."""

    choices: Mapping[str, tuple[str, ...]]
    _exact: re.Pattern[str] = field(init=False, repr=False)
    _names: Mapping[str, str] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Compile the words."""
        names = {word.lower(): value for value, words in self.choices.items() for word in (value, *words)}
        longest = sorted(names, key=len, reverse=True)
        object.__setattr__(self, "_names", names)
        object.__setattr__(
            self, "_exact", re.compile(rf"\b({'|'.join(re.escape(word) for word in longest)})\b")
        )

    def __call__(self, text: str, *, asked: bool = False, before: str = "") -> Reading | None:  # noqa: ARG002 - a Reader
        """Return the choice named; none if two are ("checking or savings?"), unless one is taken back."""
        found = list(self._exact.finditer(text))
        values = list(dict.fromkeys(self._names[each[1]] for each in found))
        if len(values) > 1 and asked and " or " in text[found[0].end() : found[-1].start()]:
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


def name(text: str, *, asked: bool = False, before: str = "") -> Reading | None:  # noqa: ARG001 - a Reader
    """Read a person's name: "my name is john miller", or, asked for, "john miller"."""
    text = unspelled(text)
    found = list(_NAMED.finditer(text))
    for each in reversed(found):
        if words := _name_words(each[1]):
            return Reading(words, words, each.start(), each.start(1) + len(words))
    if not asked:
        return None
    lead = _LEADS.match(text)
    words = _name_words(text[lead.end() if lead else 0 :])
    return Reading(words, words, 0, len(text)) if words else None


def spelled(text: str, *, asked: bool = False, before: str = "") -> Reading | None:  # noqa: ARG001 - a Reader
    """Read a word spelled letter by letter: "s m y t h"; if asked for, the word alone will do."""
    found = list(_SPELLS.finditer(text))
    if found:
        word = found[-1]["letters"].replace(" ", "")
        return Reading(word, " ".join(word.upper()), found[-1].start(), found[-1].end())
    rest = free(text, asked=asked)
    if rest is None or " " in rest.value:
        return None
    return rest


def free(text: str, *, asked: bool = False, before: str = "") -> Reading | None:  # noqa: ARG001 - a Reader
    """Read whatever was said, if it was asked for, without lead-in and thanks."""
    if not asked:
        return None
    plain = _TAILS.sub("", unspelled(text))
    if _NO_ANSWER.search(plain):
        return None
    lead = _LEADS.match(plain)
    rest = plain[lead.end() if lead else 0 :].strip()
    if not re.search(r"[a-z0-9]", rest):
        return None
    return Reading(rest, rest, 0, len(text))


@dataclass(frozen=True, slots=True)
class Known:
    """Reads free text that is most often one of *known*: those win, others are taken as said."""

    known: Choice

    def __call__(self, text: str, *, asked: bool = False, before: str = "") -> Reading | None:
        """Return what is known, or if it was asked for, what was said."""
        return self.known(text, asked=asked) or free(text, asked=asked, before=before)


def unspelled(text: str) -> str:
    """Return *text* with "main that's m a i n" as "main": what is spelled takes the place of what is said."""
    return _SPELLS.sub(_joined, text)


def _joined(found: re.Match[str]) -> str:
    word, letters = found["word"] or "", found["letters"].replace(" ", "")
    if not word or fuzz.ratio(word, letters) >= 50.0:  # noqa: PLR2004 - half alike is one word
        return letters
    return f"{word} {letters}"


def _name_words(text: str) -> str:
    words: list[str] = []
    for word in text.split():
        if word in _NO_NAME or not word.replace("'", "").isalpha():
            break
        words.append(word)
    return " ".join(words[-3:]).title()
