"""What a stretch of the caller's words means to somebody who is speaking. Pure; a language is data.

A word list is cut, longest phrase first, into the classes of a :class:`WordClasses`; what is in no class is
content. Only the classes decide: "okay" is a listener's noise, "okay stop" tells us to stop, "don't stop" to
go on, "stop the report for room four" is a sentence like any other.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from turnbudget.voice.errors import ConfigError
from turnbudget.voice.language.language import MARKS, Language, language
from turnbudget.voice.language.text import spoken

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Sense: TypeAlias = Literal["nothing", "open", "backchannel", "presence", "stop", "speech"]
"""``nothing``: no word, or only "um". ``open``: the text so far may yet become harmless ("don't", "makes").
``backchannel``: a listener's noise, or "go on". ``presence``: "hello?", "are you there?"."""

_Kind: TypeAlias = Literal[
    "stop", "backchannels", "encouragements", "presence", "negations", "softeners", "fillers", "content"
]
_Words: TypeAlias = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class WordClasses:
    """The phrases of a language that have a meaning of their own while somebody else speaks.

    A language without lists is one in which every word is content.
    """

    stop: tuple[str, ...] = ()
    """They want silence, at once."""
    backchannels: tuple[str, ...] = ()
    """A listener's noises: they ask for nothing and want no answer."""
    encouragements: tuple[str, ...] = ()
    """They ask us to speak on."""
    presence: tuple[str, ...] = ()
    """They ask whether anybody is there."""
    negations: tuple[str, ...] = ()
    """Before a stop phrase they make it an encouragement."""
    softeners: tuple[str, ...] = ()
    """They may stand beside a stop phrase, an encouragement or a "hello?"; alone they are content."""
    fillers: tuple[str, ...] = ()
    """Hesitation: as if it had not been said."""


def word_classes(code: str) -> WordClasses:
    """Return the lists for the language *code*, such as ``en-GB``; for one without lists, none."""
    try:
        return _classes(language(code))
    except ConfigError:
        return WordClasses()


@lru_cache(16)
def _classes(known: Language) -> WordClasses:
    return WordClasses(**{field.name: known.words(f"speaking.{field.name}") for field in fields(WordClasses)})


ENGLISH: Final = word_classes("en")


def plain_words(text: str) -> _Words:
    """Return the words of *text*: lower case, no punctuation, no markers for sounds."""
    return tuple(_LOOSE.sub(" ", spoken(text).casefold().replace("’", "'")).split())


_LOOSE: Final = re.compile(rf"[^\w'{MARKS}]|_|(?<!\w)'|'(?!\w)")


@lru_cache(512)
def sense_of(text: str, classes: WordClasses, *, whole: bool) -> Sense:
    """Return what *text* means to a speaker; unless it is *whole*, more words may follow."""
    words, table = plain_words(text), _table(classes)
    kinds = _negated([kind for kind in _cut(words, table) if kind != "fillers"])
    sense = _sense(kinds)
    return "open" if sense == "speech" and not whole and _may_be_harmless(words, kinds, table) else sense


@lru_cache(32)
def _table(classes: WordClasses) -> Mapping[_Words, _Kind | None]:
    """Return the class of each phrase, and ``None`` for what only begins one."""
    phrases: dict[_Words, _Kind | None] = {
        plain_words(phrase): field.name
        for field in reversed(fields(classes))
        for phrase in getattr(classes, field.name)
    }
    begins = {words[:size]: None for words in phrases for size in range(1, len(words))}
    return begins | phrases


def _cut(words: _Words, table: Mapping[_Words, _Kind | None]) -> list[_Kind]:
    """Return the class of each phrase in *words*, the longest phrase first."""
    kinds: list[_Kind] = []
    at = 0
    while at < len(words):
        size, kind = 1, table.get(words[at : at + 1])
        end = at + 1
        while end < len(words) and words[at:end] in table:
            end += 1
            if longer := table.get(words[at:end]):
                size, kind = end - at, longer
        kinds.append(kind or "content")
        at += size
    return kinds


def _negated(kinds: Sequence[_Kind]) -> list[_Kind]:
    """Return *kinds* with each negated stop ("don't stop") as the encouragement it is."""
    read: list[_Kind] = []
    for kind in kinds:
        if kind == "stop" and read and read[-1] == "negations":
            read[-1] = "encouragements"
        else:
            read.append(kind)
    return read


def _sense(kinds: Sequence[_Kind]) -> Sense:
    """Return what a stretch made of *kinds* means: the first row that holds."""
    if not kinds:
        return "nothing"
    if "content" in kinds or "negations" in kinds:
        return "speech"
    if "stop" in kinds:
        return "stop"
    if "presence" in kinds:
        return "presence"
    if "encouragements" in kinds:
        return "backchannel"
    return "speech" if "softeners" in kinds else "backchannel"


def _may_be_harmless(words: _Words, kinds: Sequence[_Kind], table: Mapping[_Words, _Kind | None]) -> bool:
    """Say whether more words could take the content out of *words*, which are speech as they stand.

    Either nothing in them is content yet ("no", "don't"), or their end begins a phrase ("okay makes"). A stop
    phrase in a longer sentence ("wait, I") is never taken back.
    """
    if "stop" in kinds:
        return False
    if "content" not in kinds:
        return True
    longest = max(map(len, table), default=0)
    return any(
        words[-size:] in table and "content" not in _cut(words[:-size], table)
        for size in range(1, min(longest, len(words) + 1))
    )
