"""What every call has around its matter: hello, thanks, goodbye, "are you a robot", "could you repeat that".

Small talk never takes a question away from whoever asked it: it passes on what is expected.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from turnbudget.agents.agent import Opinion
from turnbudget.agents.phrases import any_of
from turnbudget.agents.values.heard import plain
from turnbudget.agents.values.words import name as read_name
from turnbudget.voice.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from turnbudget.agents.agent import Context
    from turnbudget.agents.values.heard import Heard
    from turnbudget.voice.call.responder import Completeness
    from turnbudget.voice.time.budget import Budget

Kind: TypeAlias = Literal["repeat", "robot", "wait", "there", "goodbye", "more", "thanks", "greeting", "okay"]

SAYS: Final[Mapping[Kind, str]] = {
    "repeat": "{last}",
    "robot": "I'm an automated assistant. {last}",
    "wait": "Sure, take your time.",
    "there": "Yes, I'm here. {last}",
    "goodbye": "Thank you for calling. Have a great day.",
    "more": "What else can I help you with?",
    "thanks": "You're welcome. Is there anything else I can help you with?",
    "greeting": "Hello{name}. How can I help you?",
    "okay": "Is there anything else I can help you with?",
}
"""What is said: ``{last}`` is our last sentence once more, ``{name}`` the caller's with a comma."""

# Possessive (*+): what a prefix has taken it keeps, so that no utterance is tried in every way.
_DAY: Final = "have a (?:great|good|nice) (?:day|one|night|evening)"
_BYE: Final = any_of(
    "good ?bye? | bye(?: bye)?+(?: now)? | you too | you as well | same to you | take care | good night", _DAY
)
_SOFT: Final = any_of(
    "please | thank you | thanks | very much | so much | a lot | again | today | for (?:your|the) help | and",
    "mm mm | okay | alright | great | well | actually | oh | i think",
)
_NO: Final = any_of("no | nope | nah")
_BEFORE: Final = rf"^(?:(?:{_SOFT}|{_NO}) )*+"
_AFTER: Final = rf"(?: (?:{_SOFT}|{_NO}|{_BYE}))*+$"
_BE: Final = any_of(
    "is | was | were | are | be | will be | would be | actually | gonna be | gonna do", "going to be"
)
_THAT: Final = any_of(
    "that's | that is | that'll | that will | that was | that would | that | it | this | those"
)
_ALL: Final = any_of("it | all | everything | enough | do")
_I_NEED: Final = r"(?: (?:the help )?(?:that )?i (?:need|needed|wanted)(?: (?:help )?with)?)?"
_FOR_NOW: Final = r"(?: (?:actually|i think|then|for (?:me|now|today)))*+"
_ENOUGH: Final = rf"{_THAT}(?: {_BE})*+(?: {_ALL})?{_I_NEED}{_FOR_NOW}"
_NOTHING: Final = any_of(
    "nothing(?: else)? | i'm good | i'm fine | i'm all set | i'm done | i don't think so | not today",
    "all set | not right now | not at the moment",
)
_LISTENING: Final = any_of(
    "repeat (?:that|it|this|please|the question|what you) | (?:can|could) you repeat",
    "say (?:that|it) again | come again | what was that | what did you (?:say|ask) | pardon | one more time",
    "(?:didn't|did not|couldn't|can't) (?:catch|hear|understand|get) (?:that|you|it)",
)
_ROBOT: Final = any_of(
    "robot | human | real | person | machine | computer | bot | ai | a i | recording | automated"
)
_WAIT: Final = any_of(
    "hold on | hang on | (?:one|just a|give me a|give me one) (?:second|moment|minute|sec)",
    "let me (?:see|check|look|think)",
)
_FINE: Final = any_of(
    "okay | ok | alright | great | perfect | good | fine | cool | mhm | certainly | awesome"
)
_HELLO: Final = any_of("hello | hi | hey | good (?:morning|afternoon|evening) | yes | yeah | there")


def _row(kind: Kind, sure: float, pattern: str) -> tuple[Kind, float, re.Pattern[str]]:
    return kind, sure, re.compile(pattern)


_TABLE: Final = (
    _row("repeat", 0.9, rf"\b{_LISTENING}\b|^(?:what|sorry|i'm sorry|excuse me)$"),
    _row(
        "robot",
        0.9,
        rf"\b(?:are you|is this|am i (?:talking|speaking) (?:to|with)) (?:a |an |really )*{_ROBOT}\b",
    ),
    _row("wait", 0.85, rf"^(?:\w+ )?{_WAIT}\b"),
    _row("there", 0.85, r"\b(?:are you (?:still )?there|can you hear me|anybody there)\b"),
    _row("goodbye", 0.9, rf"{_BEFORE}{_BYE}{_AFTER}"),
    _row("goodbye", 0.85, r"\b(?:good ?bye?|bye)$"),
    _row("goodbye", 0.85, rf"{_BEFORE}(?:{_ENOUGH}|{_NOTHING}){_AFTER}"),
    _row("thanks", 0.8, rf"^(?:(?:{_FINE}|oh|yes|well) )*(?:thank you|thanks)\b"),
    _row("greeting", 0.8, rf"^(?:{_HELLO} ?)+$"),
    _row("okay", 0.4, rf"^(?:{_FINE} ?)+$|^(?:yes )?(?:that's )?(?:correct|right)$"),
)
_LISTENS: Final = re.compile(rf"\b{_LISTENING}\b")
_CLOSES: Final = re.compile(
    rf"(?:^| )(?:thank you|thanks|good ?bye?|bye|take care|good night|{_DAY})(?: (?:{_SOFT}|{_BYE}))*+$"
)
"""Words that end a call; behind a mere "no, that was it" or "you too" a caller's own are still to come."""
_ONLY_NO: Final = re.compile(rf"^(?:{_SOFT} )*+{_NO}{_AFTER}")
_NO_MORE: Final = re.compile(
    rf"\b{_NO} (?:(?:{_SOFT}) )*+{_THAT}(?: {_BE})*+ {_ALL}\b|\ball (?:that )?i need"
)
_DECLINES: Final = re.compile(r"^(?:(?:ah|oh|well|um|uh) )*(?:no|nope|nah|not)\b")
"""How one begins who wants nothing more, whatever a recogniser made of the rest."""
_ONLY_YES: Final = re.compile(
    r"^(?:yes|yeah|yep|sure|actually|please|there is|i do)(?: (?:yes|please|there is|i do|actually))*$"
)
_ANYTHING_ELSE: Final = re.compile(
    r"\banything else\b|\bwhat else\b|\bhow (?:can|may) i help\b|\bhow else\b", re.IGNORECASE
)
_GREETS: Final = re.compile(
    r"^(?:yes |oh |okay )*(?:hello|hi|hey|good (?:morning|afternoon|evening)|my name is|this is)\b"
)
UNSURE: Final = 0.5
_LITTLE: Final = 3
"""Words beside a greeting and a name that do not make it more than that."""


@dataclass(frozen=True, slots=True)
class _Meant:
    kind: Kind
    sure: float


class Smalltalk:
    """An agent for greetings, thanks and goodbyes, which belong to no domain."""

    def __init__(self, name: str = "smalltalk", says: Mapping[str, str] | None = None) -> None:
        """Take other words from *says*, by kind; raises ConfigError for a kind there is not."""
        unknown = sorted(set(says or ()) - set(SAYS))
        if unknown:
            raise ConfigError(
                f"there is no small talk called {unknown[0]!r}",
                where=f"agent {name}",
                remedy=f"there are {', '.join(SAYS)}",
            )
        self.name = name
        self._says: dict[str, str] = dict(SAYS) | dict(says or {})

    async def answer(self, utterance: str, context: Context, budget: Budget) -> Opinion | None:  # noqa: ARG002 - it never waits
        """Return the polite thing; ``None`` if the caller says more than that."""
        heard = plain(utterance)
        meant = _meant(heard, context)
        if meant is None:
            return None
        last = next((line.text for line in reversed(context.history) if line.who != "caller"), "")
        caller = read_name(heard.words)
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
            kinds = ("goodbye", "more", "thanks", "repeat") if _ANYTHING_ELSE.search(last) else ("repeat",)
        texts = (self._says[kind].replace("{last}", last).replace("{name}", "").strip() for kind in kinds)
        return tuple(filter(None, dict.fromkeys(texts)))


def _closes(heard: Heard, meant: _Meant) -> bool:
    """Say whether the words are whole: a real goodbye, or a plain request to hear it once more."""
    if meant.kind == "goodbye":
        return meant.sure > UNSURE and _CLOSES.search(heard.words) is not None
    return meant.kind == "repeat" and _LISTENS.search(heard.words) is not None


def _meant(heard: Heard, context: Context) -> _Meant | None:
    """Return what kind of small talk this is, ``None`` if none."""
    words = heard.words
    last = next((line.text for line in reversed(context.history) if line.who != "caller"), "")
    if not context.expects and _ANYTHING_ELSE.search(last) and (meant := _anything_else(words)):
        return meant
    for kind, sure, pattern in _TABLE:
        if pattern.search(words) and not (kind == "repeat" and not last):
            if kind in {"thanks", "okay"} and context.expects:
                return None
            if kind == "greeting" and context.expects:  # in the middle, "hello?" asks whether we are there
                return _Meant("there", sure) if "hello" in words else None
            # "that's it" may answer what another agent has asked.
            doubtful = kind == "goodbye" and context.expects and "bye" not in words
            return _Meant(kind, UNSURE if doubtful else sure)
    return _Meant("greeting", 0.75) if _only_greets(words) and not context.expects else None


def _anything_else(words: str) -> _Meant | None:
    """Return what an answer to "is there anything else?" means."""
    if _ONLY_NO.search(words):
        return _Meant("goodbye", 0.95)
    if _ONLY_YES.search(words):
        return _Meant("more", 0.9)
    thanks = _DECLINES.search(words) and _CLOSES.search(words)
    return _Meant("goodbye", 0.85) if _NO_MORE.search(words) or thanks else None


def _only_greets(words: str) -> bool:
    """Say whether *words* are a greeting, a name, and hardly more."""
    if not _GREETS.search(words):
        return False
    caller = read_name(words)
    rest = words[caller.end :] if caller else _GREETS.sub("", words)
    return len(rest.split()) <= _LITTLE
