"""The fast path: a reply that may be spoken without asking anybody else, or the reason why none may.

A wrong hit is worse than any miss. So the state must be known, the words must be of this bank, the odds
beyond the threshold, every slot told in this call, and the guard must find nothing in the sentence that could
turn its meaning against a sentence which had that reply in that very state.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from turnbudget.speculative.bank.words import alike, content, tokens
from turnbudget.speculative.guard import may_share, risks
from turnbudget.voice.language.language import ENGLISH

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from turnbudget.speculative.bank.bank import Reply, State
    from turnbudget.speculative.bank.guess import Candidate, Guesser

THRESHOLD: Final = 0.4
"""Odds from which a reply may be spoken; chosen on held-out dialogues, see ``turnbudget mine``."""
OFTEN: Final = 2
"""A reply said less often in a state is an accident."""
AGREES: Final = 0.5
"""Words in common with the nearest example (Dice), where the guard does not find the same sentence."""
NEAREST: Final = 16
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
    plain = guesser.plain(state, said)
    if not plain or not guesser.knows(plain):
        return Miss("words: the bank has none of them; another language?")
    all_known = guesser.known(state, said, known or {})
    found = guesser.candidates(state, said, all_known)
    if not found:
        return Miss(f"state: the bank has no reply in “{state.name}”")
    best = found[0]
    if fault := _fault(best, threshold, all_known):
        return Miss(fault)
    agreed = _agreed(best, state, plain, guesser.nearest(best.caller, plain, NEAREST))
    if isinstance(agreed, Miss):
        return agreed
    because = f"odds {best.odds:.2f} in state “{state.name}”, {agreed}"
    return Match(best.text or "", best.odds, state.name, because, best.reply)


def _fault(best: Candidate, threshold: float, known: Mapping[str, str]) -> str:
    """Return what speaks against the *best* reply, apart from the caller's words; '' if nothing."""
    reply = best.reply
    if best.odds < threshold:
        return f"odds: {best.odds:.2f} for “{reply.says}”"
    if reply.count < OFTEN:
        return f"odds: “{reply.says}” was said but once"
    if best.text is None:
        missing = next(slot for slot in reply.slots if slot not in known)
        return f"slots: this call has not told {missing} for “{reply.says}”"
    if lacking := [slot for slot in reply.given if slot not in known]:
        return f"task: “{reply.says}” was only said where {lacking[0]} was known"
    if reply.asks in known and not reply.confirms:
        return f"slots: “{reply.says}” asks for {reply.asks}, which is known"
    return ""


def _agreed(best: Candidate, state: State, said: str, examples: Sequence[str]) -> str | Miss:
    """Return how *said* agrees with *examples* that had this reply in this state, or why it does not."""
    asked = _asked(state)
    for example in examples:
        if may_share(_readable(example, asked), _readable(said, asked), reply=best.text).passes:
            return f"the guard takes it for “{example}”"
    nearest = next((example for example in examples if _values(example) == _values(said)), None)
    if nearest is None:
        return Miss(f"text: it tells other things than callers do in “{state.name}”")
    likeness = alike(frozenset(content(nearest)), frozenset(content(said)))
    if likeness < AGREES:
        return Miss(f"text: too little in common with “{nearest}” ({likeness:.2f})")
    if risk := risks(_readable(said, asked), [_readable(example, asked) for example in examples]):
        return Miss(f"guard: {risk}")
    return f"{likeness:.2f} of its words in common with “{nearest}”, nothing for the guard to object to"


def _values(text: str) -> frozenset[str]:
    """Return the kinds of values told; a name makes no difference."""
    return frozenset(re.findall(r"\{([\w ]+)\}", text)) - {"name"}


@lru_cache(maxsize=65_536)
def _readable(text: str, asked: frozenset[str]) -> str:
    """Return a general text for the guard: a name told is left out, and so is what leads to an answer.

    The words that stand for other values are slots, which the guard need not compare.
    """
    words = tokens(ENGLISH.pattern("bank_match.introduced").sub("", text).strip() or text)
    lead = next((at for at, word in enumerate(words) if word.startswith("{")), 0)
    if (
        asked
        and {*words[:lead]} <= ENGLISH.set("bank_match.leading") | asked
        and words[0] not in ENGLISH.set("bank_match.inverted")
    ):
        words = words[lead:]
    return re.sub(r"\{(?:\d+ )?(\w+)\}", r"\1", " ".join(words))


@lru_cache(maxsize=4096)
def _asked(state: State) -> frozenset[str]:
    """Return the words of a question for a slot, which an answer may repeat."""
    return frozenset(word for text in state.says for word in content(text)) if state.asks else frozenset()
