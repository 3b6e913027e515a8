"""What every call has around its matter: hello, thanks, goodbye, "are you a robot", "could you repeat that".

Small talk never takes a question away from whoever asked it: it passes on what is expected.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, get_args

from turnbudget.agents.agent import Opinion
from turnbudget.agents.values.heard import plain
from turnbudget.agents.values.words import name as read_name
from turnbudget.voice.errors import ConfigError
from turnbudget.voice.language.language import ENGLISH, Language

if TYPE_CHECKING:
    from collections.abc import Mapping

    from turnbudget.agents.agent import Context
    from turnbudget.agents.values.heard import Heard
    from turnbudget.voice.call.responder import Completeness
    from turnbudget.voice.time.budget import Budget

Kind: TypeAlias = Literal["repeat", "robot", "wait", "there", "goodbye", "more", "thanks", "greeting", "okay"]

KINDS: Final[tuple[Kind, ...]] = get_args(Kind)
_ROWS: Final[tuple[tuple[Kind, float, str], ...]] = (
    ("repeat", 0.9, "smalltalk.repeats"),
    ("robot", 0.9, "smalltalk.robots"),
    ("wait", 0.85, "smalltalk.waits"),
    ("there", 0.85, "smalltalk.there"),
    ("goodbye", 0.9, "smalltalk.farewell"),
    ("goodbye", 0.85, "smalltalk.ends_in_bye"),
    ("goodbye", 0.85, "smalltalk.wants_no_more"),
    ("thanks", 0.8, "smalltalk.gives_thanks"),
    ("greeting", 0.8, "smalltalk.only_hello"),
    ("okay", 0.4, "smalltalk.only_fine"),
)
"""What each kind is told by, and how surely; the first that is found holds."""
UNSURE: Final = 0.5
_LITTLE: Final = 3
"""Words beside a greeting and a name that do not make it more than that."""


@dataclass(frozen=True, slots=True)
class _Meant:
    kind: Kind
    sure: float


class Smalltalk:
    """An agent for greetings, thanks and goodbyes, which belong to no domain."""

    def __init__(
        self, name: str = "smalltalk", says: Mapping[str, str] | None = None, *, language: Language = ENGLISH
    ) -> None:
        """Take other words from *says*, by kind; raises ConfigError for a kind there is not."""
        unknown = sorted(set(says or ()) - set(KINDS))
        if unknown:
            raise ConfigError(
                f"there is no small talk called {unknown[0]!r}",
                where=f"agent {name}",
                remedy=f"there are {', '.join(KINDS)}",
            )
        self.name = name
        self._language = language
        self._says = {kind: language.says(f"small_{kind}") for kind in KINDS} | dict(says or {})

    async def answer(self, utterance: str, context: Context, budget: Budget) -> Opinion | None:  # noqa: ARG002 - it never waits
        """Return the polite thing; ``None`` if the caller says more than that."""
        heard = plain(utterance, self._language)
        meant = _meant(heard, context)
        if meant is None:
            return None
        last = next((line.text for line in reversed(context.history) if line.who != "caller"), "")
        caller = read_name(heard.words, language=heard.language)
        opening = self._says[meant.kind].replace("{last}", last)
        opening = opening.replace("{name}", f", {caller.value}" if caller else "").strip()
        if not opening:
            return None
        ends = meant.kind == "goodbye"
        expects = "" if ends or meant.kind == "more" else context.expects
        completeness: Completeness = "unknown"
        if heard.over and _closes(heard, meant):
            completeness = "whole"
        elif meant.kind == "greeting" and not context.states:
            completeness = "lead-in"  # who greets and has named no matter yet is likely to come to it
        opinion = Opinion(opening, meant.sure, meant.kind, expects=expects, ends_call=ends)
        return replace(opinion, completeness=completeness)

    def fixed(self) -> tuple[str, ...]:
        """Return what it says of itself, without the caller's name and without our last sentence."""
        texts = (text.replace("{name}", "").strip() for text in self._says.values() if "{last}" not in text)
        return tuple(filter(None, dict.fromkeys(texts)))

    def next_openings(self, context: Context) -> tuple[str, ...]:
        """Return what it would say next: to whom we asked whether there is more, and to whom did not hear."""
        last = next((line.text for line in reversed(context.history) if line.who != "caller"), "")
        kinds: tuple[Kind, ...] = ("greeting",)
        if last:
            kinds = (
                ("goodbye", "more", "thanks", "repeat")
                if self._language.pattern("smalltalk.anything_else").search(last)
                else ("repeat",)
            )
        texts = (self._says[kind].replace("{last}", last).replace("{name}", "").strip() for kind in kinds)
        return tuple(filter(None, dict.fromkeys(texts)))


def _closes(heard: Heard, meant: _Meant) -> bool:
    """Say whether the words are whole: a real goodbye, or a plain request to hear it once more."""
    language = heard.language
    if meant.kind == "goodbye":
        return meant.sure > UNSURE and language.pattern("smalltalk.closes").search(heard.words) is not None
    return meant.kind == "repeat" and language.pattern("smalltalk.listens").search(heard.words) is not None


def _meant(heard: Heard, context: Context) -> _Meant | None:
    """Return what kind of small talk this is, ``None`` if none."""
    words, language = heard.words, heard.language
    last = next((line.text for line in reversed(context.history) if line.who != "caller"), "")
    if (
        not context.expects
        and language.pattern("smalltalk.anything_else").search(last)
        and (meant := _anything_else(words, language))
    ):
        return meant
    for kind, sure, pattern in _ROWS:
        if language.pattern(pattern).search(words) and not (kind == "repeat" and not last):
            if kind in {"thanks", "okay"} and context.expects:
                return None
            if kind == "greeting" and context.expects:  # in the middle, "hello?" asks whether we are there
                return (
                    _Meant("there", sure) if language.pattern("smalltalk.hello_word").search(words) else None
                )
            # "that's it" may answer what another agent has asked.
            doubtful = (
                kind == "goodbye"
                and context.expects
                and not language.pattern("smalltalk.bye_word").search(words)
            )
            return _Meant(kind, UNSURE if doubtful else sure)
    return _Meant("greeting", 0.75) if _only_greets(words, language) and not context.expects else None


def _anything_else(words: str, language: Language) -> _Meant | None:
    """Return what an answer to "is there anything else?" means."""
    if language.pattern("smalltalk.only_no").search(words):
        return _Meant("goodbye", 0.95)
    if language.pattern("smalltalk.only_yes").search(words):
        return _Meant("more", 0.9)
    thanks = language.pattern("smalltalk.declines").search(words) and language.pattern(
        "smalltalk.closes"
    ).search(words)
    return _Meant("goodbye", 0.85) if language.pattern("smalltalk.no_more").search(words) or thanks else None


def _only_greets(words: str, language: Language) -> bool:
    """Say whether *words* are a greeting, a name, and hardly more."""
    if not language.pattern("smalltalk.greets").search(words):
        return False
    caller = read_name(words, language=language)
    rest = words[caller.end :] if caller else language.pattern("smalltalk.greets").sub("", words)
    return len(rest.split()) <= _LITTLE
