"""One form for every way to say a thing: what ``meanings.toml`` says is left out, or read as something else.

Pure, and a whitelist: no word is dropped or replaced that is not written there.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import zip_longest
from typing import TYPE_CHECKING, Final, TypeAlias

from msgspec import Struct, convert, to_builtins

from turnbudget.voice.language.language import ENGLISH
from turnbudget.voice.language.text import normal

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

Words: TypeAlias = tuple[str, ...]


class LeftOut(Struct, forbid_unknown_fields=True):
    """What is dropped: anywhere, at the beginning, and around something else."""

    anywhere: list[str]
    mine: list[str]
    like_ordinals: list[str]
    first: list[str]
    before_i: list[str]
    thanks: list[str]
    thanks_not_before: list[str]
    thanks_not_behind: list[str]


class Wishes(Struct, forbid_unknown_fields=True):
    """How a wish begins: to do something, to have something done, to have something."""

    behind: list[str]
    to_do: list[str]
    may_i: list[str]
    may_i_verbs: list[str]
    either_does: list[str]
    of_you: list[str]
    can_you: list[str]
    can_you_verbs: list[str]
    to_have: list[str]


class Names(Struct, forbid_unknown_fields=True):
    """How callers tell their name, and what comes behind it."""

    introduced_by: list[str]
    followed_by: list[str]
    this_is: list[str]
    speaking: list[str]
    then: list[str]


class Equal(Struct, forbid_unknown_fields=True):
    """Phrases that mean the same: anywhere, at the beginning, as the whole utterance."""

    words: list[list[str]]
    first: list[list[str]]
    whole: list[list[str]]


class Around(Struct, forbid_unknown_fields=True):
    """Verbs whose particle may stand at the end."""

    verbs: list[str]
    particles: list[str]


class Known(Struct, forbid_unknown_fields=True):
    """Words that are nobody's name."""

    words: str


class Data(Struct, forbid_unknown_fields=True):
    """The file ``meanings.toml``."""

    left_out: LeftOut
    wishes: Wishes
    names: Names
    equal: Equal
    around: Around
    turning: dict[str, list[str]]
    known: Known


DATA: Final = convert(ENGLISH.meanings, Data)

LONGEST_NAME: Final = 3
LONGEST_AROUND: Final = 3
_DIGITS: Final = re.compile(r"(?<=\d) (?=\d)")
_SWAPPED: Final = re.compile(r"(?<!\S)to (\S+) from (\S+)$")
_MINE: Final = frozenset(DATA.left_out.mine)
_ORDINALS: Final = frozenset((*ENGLISH.numbers.ordinals, *DATA.left_out.like_ordinals))
_ANYWHERE: Final = frozenset(DATA.left_out.anywhere)


class Table:
    """Phrases and what each is read as; the longest holds."""

    def __init__(self, entries: Iterable[tuple[Words, Words]]) -> None:
        self._meant = dict(entries)
        self._lengths: dict[str, tuple[int, ...]] = {}
        for phrase in self._meant:
            lengths = {len(phrase), *self._lengths.get(phrase[0], ())}
            self._lengths[phrase[0]] = tuple(sorted(lengths, reverse=True))

    def find(self, words: Words, at: int = 0) -> tuple[Words, Words] | None:
        """Return the phrase that stands in *words* at *at*, and what it is read as."""
        if at < len(words):
            for length in self._lengths.get(words[at], ()):
                phrase = words[at : at + length]
                if (meant := self._meant.get(phrase)) is not None:
                    return phrase, meant
        return None


@lru_cache(maxsize=8192)
def words_of(text: str) -> Words:
    """Return the words of *text* that are never left out, a number as one word."""
    words = _DIGITS.sub("", normal(text)).split()
    kept: list[str] = []
    for word, following in zip_longest(words, words[1:], fillvalue=""):
        if word not in _ANYWHERE:
            kept.append(word)
        elif word in _MINE and (following.isdecimal() or following in _ORDINALS):
            kept.append("the")
    return tuple(kept)


def form(text: str) -> tuple[Words, Words]:
    """Return *text* in the form of all that mean the same, and the name that the caller told with it."""
    words, name = _shape(words_of(text))
    return _WHOLE.get(words, words), name


def _shape(said: Words) -> tuple[Words, Words]:
    bare = _stripped(_without_thanks(said), _FIRST) or said
    core, name = _introduced(bare)
    core = _stripped(core, _FIRST)
    if not core:
        # A name, a greeting or thanks on their own are what was said.
        core, name = bare, ()
    return _in_order(_begun(_plain(core), _BEGUN)), name


def _plain(words: Words) -> Words:
    """Return *words* with wishes as what is wished and phrases as what they stand for."""
    while (wished := _begun(words, _WISHES)) != words:
        words = wished
    words = _around(words)
    read: list[str] = []
    at = 0
    while at < len(words):
        phrase, meant = _WORDS.find(words, at) or (words[at : at + 1], words[at : at + 1])
        read += meant
        at += len(phrase)
    return tuple(read)


def _begun(words: Words, table: Table) -> Words:
    """Return *words* read by *table* at the beginning and behind words such as "yes"."""
    at = 0
    while at < len(words):
        found = table.find(words, at) if at == 0 or words[at - 1] in _BEHIND else None
        # A wish that is not said to the end stays what it is.
        if found and (found[1] or at + len(found[0]) < len(words)):
            words = (*words[:at], *found[1], *words[at + len(found[0]) :])
        at += 1
    return words


def _without_thanks(words: Words) -> Words:
    """Return *words* without thanks around them; thanks alone stay."""
    rest = _stripped(words, _THANKS, DATA.left_out.thanks_not_before)
    return _stripped(rest[::-1], _THANKS_BACKWARDS, DATA.left_out.thanks_not_behind)[::-1] or words


def _stripped(words: Words, table: Table, but_not_by: Sequence[str] = ()) -> Words:
    """Return *words* without what *table* drops at their beginning, unless one of *but_not_by* follows."""
    while found := table.find(words):
        rest = words[len(found[0]) :]
        if rest and rest[0] in but_not_by:
            break
        words = (*found[1], *rest)
    return words


def _introduced(words: Words) -> tuple[Words, Words]:
    """Return *words* without the caller's introduction, and the name."""
    begins = _NAMED.find(words)
    if not begins:
        return words, ()
    start = end = len(begins[0])
    while end < len(words) and words[end] not in UNDERSTOOD and words[end].isalpha():
        end += 1
    following = words[end] if end < len(words) else ""
    if not 0 < end - start <= LONGEST_NAME or following not in (_SPEAKING if begins[1] else _FOLLOWING):
        return words, ()
    return _stripped(words[end:], _THEN), words[start:end]


def _around(words: Words) -> Words:
    """Return *words* with a particle at their end behind its verb: "turn the alerts on"."""
    if not words or words[-1] not in DATA.around.particles:
        return words
    for at in range(max(0, len(words) - 2 - LONGEST_AROUND), len(words) - 2):
        if words[at] in DATA.around.verbs:
            return (*words[: at + 1], words[-1], *words[at + 1 : -1])
    return words


def _in_order(words: Words) -> Words:
    """Return *words* with "to savings from checking" as "from checking to savings"."""
    return tuple(_SWAPPED.sub(r"from \2 to \1", " ".join(words)).split())


def _texts(value: object) -> Iterable[str]:
    """Return every text in the file's *value*."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | dict):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _texts(part)


def _wishes(wishes: Wishes) -> Iterable[tuple[Words, Words]]:
    """Return how wishes begin, and what they are read as."""
    for text in wishes.to_do:
        yield words_of(text), ("want", "to")
        yield from (((*words_of(text), verb), (verb,)) for verb in wishes.either_does)
    for text in wishes.may_i:
        for verb in wishes.may_i_verbs:
            yield (*words_of(text), verb), (verb,) if verb in wishes.either_does else ("want", "to", verb)
    yield from ((words_of(text), ()) for text in wishes.of_you)
    yield from (
        ((*words_of(text), verb), (verb,)) for text in wishes.can_you for verb in wishes.can_you_verbs
    )
    yield from ((words_of(text), ("want",)) for text in wishes.to_have)


_FIRST: Final = Table(
    [
        *((words_of(text), ()) for text in DATA.left_out.first),
        *(((*words_of(text), "i"), ("i",)) for text in DATA.left_out.before_i),
    ]
)
_THANKS: Final = Table((words_of(text), ()) for text in DATA.left_out.thanks)
_THANKS_BACKWARDS: Final = Table((words_of(text)[::-1], ()) for text in DATA.left_out.thanks)
_NAMED: Final = Table(
    [
        *((words_of(text), ()) for text in DATA.names.introduced_by),
        *((words_of(text), ("",)) for text in DATA.names.this_is),
    ]
)
_THEN: Final = Table((words_of(text), ()) for text in DATA.names.then)
_SPEAKING: Final = frozenset(DATA.names.speaking)
_FOLLOWING: Final = frozenset({"", *DATA.names.followed_by})
_BEHIND: Final = frozenset(DATA.wishes.behind)
_WISHES: Final = Table(_wishes(DATA.wishes))
_WORDS: Final = Table((words_of(text), words_of(line[0])) for line in DATA.equal.words for text in line)
_BEGUN: Final = Table(
    (_plain(words_of(text)), _plain(words_of(line[0]))) for line in DATA.equal.first for text in line[1:]
)
_WHOLE: Final = {
    _shape(words_of(text))[0]: _shape(words_of(line[0]))[0] for line in DATA.equal.whole for text in line
}
KINDS: Final = {word: kind for kind, words in reversed(DATA.turning.items()) for word in words}
"""Of each word that turns a meaning: which kind it is."""
UNDERSTOOD: Final = frozenset(word for text in _texts(to_builtins(DATA)) for word in normal(text).split())
"""Every word of the file."""
