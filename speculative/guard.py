"""Two caller sentences may share a reply only if nothing that could turn a meaning is in one of them alone.

What may differ is written in ``meanings.toml``; all else has to be said in the same words and the same order.
Each sentence is brought to one form, and two may share a reply if their forms are equal. So the guard is
symmetric, a "not", a number or a day in one of them is enough for a no, and so is what is not understood.
It knows nothing of the talk so far: "yes" to another question has to be told apart by the state.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from turnbudget.voice.language.text import same
from turnbudget.voice.language.wording import KINDS, UNDERSTOOD, Words, form, words_of

if TYPE_CHECKING:
    from collections.abc import Iterable

WISH: Final = "want"
"""What all wishes are read as. It turns nothing: what is wished for does."""


@dataclass(frozen=True, slots=True)
class ShareVerdict:
    """Whether two sentences may share a reply, and why."""

    passes: bool
    because: str


@dataclass(frozen=True, slots=True)
class Meaning:
    """What all sentences that may share a reply have in common, and the name that a caller told with it."""

    words: Words
    name: Words = ()


def may_share(known: str, said: str, *, reply: str | None = None) -> ShareVerdict:
    """Say whether the *reply* known for one caller sentence also fits what this caller *said*.

    The name a caller introduces himself with makes no difference if *reply* is given and does not hold it.
    """
    one, other = meaning(known), meaning(said)
    if not one.words or not other.words:
        return ShareVerdict(passes=False, because="nothing was said to go by")
    if same(known, said):
        return ShareVerdict(passes=True, because="the same words")
    if one.words != other.words:
        return ShareVerdict(passes=False, because=_difference(one.words, other.words))
    if one.name != other.name and (reply is None or {*one.name, *other.name} & {*words_of(reply)}):
        return ShareVerdict(passes=False, because="name: the reply may hold it")
    return ShareVerdict(passes=True, because=f'both mean "{" ".join(one.words)}"')


def risks(said: str, expected: Iterable[str]) -> str:
    """Return what in *said* is in none of the *expected* sentences; '' if nothing, or only that it is wished.

    For a matcher that knows what kind of answer is expected, but not every sentence that gives it.
    """
    known = {word for sentence in expected for word in meaning(sentence).words}
    return _named(word for word in meaning(said).words if word not in known and word != WISH)


@lru_cache(maxsize=8192)
def meaning(text: str) -> Meaning:
    """Return the meaning of *text*: equal meanings may share a reply, so it may also be looked up by it."""
    return Meaning(*form(text))


def _difference(one: Words, other: Words) -> str:
    only = (Counter(one) - Counter(other)) + (Counter(other) - Counter(one))
    return _named(only) or "the same words in another order"


def _named(words: Iterable[str]) -> str:
    """Return *words* by their kinds: ``negation: "not"; date: "friday"``."""
    return "; ".join(f'{_kind(word)}: "{word}"' for word in dict.fromkeys(words))


def _kind(word: str) -> str:
    if word.isdecimal():
        return "number"
    return KINDS.get(word) or ("another word" if word in UNDERSTOOD else "unknown word")
