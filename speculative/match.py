"""The fast path: a reply that may be spoken without asking anybody else, or the reason why none may.

A wrong hit is worse than any miss. So the state must be known, the words must be of this bank, the odds beyond
the threshold, every slot told in this call, and the guard must find nothing in the sentence that could turn
its meaning against a sentence which had that reply in that very state.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from speculative.guard import may_share, risks
from speculative.words import alike, content, general

if TYPE_CHECKING:
    from collections.abc import Mapping

    from speculative.bank import Reply, State
    from speculative.guess import Candidate, Guesser

THRESHOLD: Final = 0.8
"""Odds from which a reply may be spoken; chosen on held-out dialogues, see ``turnbudget mine``."""
AGREES: Final = 0.5
"""Words in common with the nearest example (Dice), where the guard does not find the same sentence."""
NEAREST: Final = 8
"""So many examples are shown to the guard."""


@dataclass(frozen=True, slots=True)
class Match:
    """A reply that fits, and why."""

    text: str
    odds: float
    state: str
    because: str
    reply: Reply


@dataclass(frozen=True, slots=True)
class Miss:
    """No reply may be spoken from the bank, and why."""

    because: str


def match(
    guesser: Guesser,
    agent_last: str,
    said: str,
    threshold: float = THRESHOLD,
    *,
    known: Mapping[str, str] | None = None,
) -> Match | Miss:
    """Return the reply to *said*, the final text, after *agent_last*; *known* are this call's slots by name.

    A reply that announces what was done (``reply.announces``) is a match as well; it may be spoken only by
    who does it.
    """
    state = guesser.state(agent_last)
    if state is None:
        return Miss(f"state: the bank does not know “{agent_last}”")
    plain = general(said, guesser.bank.classes)
    if not plain or not guesser.knows(plain):
        return Miss("language: no word of it is in the bank")
    all_known = guesser.known(state, said, known or {})
    found = guesser.candidates(state, said, all_known)
    if not found:
        return Miss(f"state: the bank has no reply in “{state.name}”")
    best = found[0]
    if fault := _fault(best, threshold, all_known, known or {}):
        return Miss(fault)
    agreed = _agreed(best, state, plain)
    if isinstance(agreed, Miss):
        return agreed
    because = f"odds {best.odds:.2f} in state “{state.name}”, {agreed}"
    return Match(best.text or "", best.odds, state.name, because, best.reply)


def _fault(best: Candidate, threshold: float, known: Mapping[str, str], before: Mapping[str, str]) -> str:
    """Return what speaks against the *best* reply, apart from the caller's words; '' if nothing."""
    reply = best.reply
    if best.odds < threshold:
        return f"odds: {best.odds:.2f} for “{reply.says}”"
    if best.text is None:
        missing = next(slot for slot in reply.slots if slot not in known)
        return f"slots: this call has not told {missing} for “{reply.says}”"
    if reply.asks and reply.asks in known:
        return f"slots: “{reply.says}” asks for {reply.asks}, which is known"
    return ""


def _agreed(best: Candidate, state: State, said: str) -> str | Miss:
    """Return how *said* agrees with a sentence that had this reply in this state, or why it does not."""
    examples = _nearest(best.caller.examples, said)
    for example in examples:
        if may_share(_readable(example), _readable(said), reply=best.text).passes:
            return f"the guard takes it for “{example}”"
    nearest = next((example for example in examples if _values(example) == _values(said)), None)
    if nearest is None:
        return Miss(f"text: it tells other things than callers do in “{state.name}”")
    likeness = alike(frozenset(content(nearest)), frozenset(content(said)))
    if likeness < AGREES:
        return Miss(f"text: too little in common with “{nearest}” ({likeness:.2f})")
    if risk := risks(_readable(said), _all_readable(best.caller.examples)):
        return Miss(f"guard: {risk}")
    return f"{likeness:.2f} of its words in common with “{nearest}”, nothing for the guard to object to"


def _nearest(examples: tuple[str, ...], said: str) -> list[str]:
    """Return the examples that have most words in common with *said*."""
    words = frozenset(content(said))
    return sorted(
        examples, key=lambda example: (-alike(words, _content(example)), example != said, example)
    )[:NEAREST]


@lru_cache(maxsize=65_536)
def _content(example: str) -> frozenset[str]:
    return frozenset(content(example))


def _values(text: str) -> frozenset[str]:
    """Return the kinds of values told; a name makes no difference."""
    return frozenset(re.findall(r"\{([\w ]+)\}", text)) - {"name"}


@lru_cache(maxsize=4096)
def _all_readable(examples: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(map(_readable, examples))


def _readable(text: str) -> str:
    """Return a general text with words for its holes: what stood there is a slot's, not the guard's."""
    return re.sub(r"\{(?:\d+ )?(\w+)\}", r"\1", text)
