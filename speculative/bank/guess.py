"""A few likely replies with honest odds, from what we said last and what the caller has said so far.

What a caller means is weighed by the sentences of the bank, word by word, against a meaning that nobody knows
yet: words never heard there speak for that one. Each guess is made anew with each partial text.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from speculative.bank.acts import Acts
from speculative.bank.calibration import honest
from speculative.bank.moves import moves, template
from speculative.bank.slots import TEXT, Slot, filled, told
from speculative.bank.words import answered, content

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from speculative.bank.bank import Bank, Caller, Reply, State

MOST: Final = 5
"""More guesses are not given."""
LEAST_ODDS: Final = 0.02
UNLIKE: Final = 0.2
"""Odds of a reply that was only given when more was known, where another was given with as much."""


@dataclass(frozen=True, slots=True)
class Guess:
    """A reply thought likely, ready to be spoken; why, in the bank's own words."""

    text: str
    odds: float
    state: str
    because: str
    reply: Reply


@dataclass(frozen=True, slots=True)
class Candidate:
    """A reply with its odds, which lacks a slot if it has no text."""

    reply: Reply
    caller: Caller
    odds: float
    text: str | None


class Meanings:
    """What callers mean in one state, and how likely each word is if they do."""

    def __init__(self, callers: list[Caller], vocabulary: int) -> None:
        self._callers = callers
        self._base = 1 / vocabulary
        self._words = [
            Counter(word for example in caller.examples for word in set(content(example)))
            for caller in callers
        ]

    def weigh(self, said: str) -> list[tuple[Caller, float]]:
        """Return each meaning with its probability after *said*; they sum to less than one."""
        words = sorted(set(content(said)))
        logs = [0.0]  # a meaning nobody knows yet: one caller, and any words
        logs[0] = math.log(self._base) * len(words)
        for caller, counts in zip(self._callers, self._words, strict=True):
            all_words = counts.total()
            logs.append(
                math.log(caller.count)
                + sum(math.log((counts[word] + self._base) / (all_words + 1)) for word in words)
            )
        top = max(logs)
        shares = [math.exp(log - top) for log in logs]
        total = sum(shares)
        return [(caller, share / total) for caller, share in zip(self._callers, shares[1:], strict=True)]


class Guesser:
    """Guesses from a bank, which it makes ready once; the same for all calls, and changed by none."""

    def __init__(self, bank: Bank) -> None:
        self.bank = bank
        self._states = {state.name: state for state in bank.state}
        self._acts = Acts({state.name: [template(text) for text in state.says] for state in bank.state})
        callers: dict[str, list[Caller]] = defaultdict(list)
        for caller in bank.caller:
            callers[caller.state].append(caller)
        words = {word for caller in bank.caller for text in caller.examples for word in content(text)}
        self._vocabulary = frozenset(words)
        inside: dict[str, set[str]] = defaultdict(set)
        for caller in bank.caller:
            inside[caller.state].update(word for text in caller.examples for word in content(text))
        spread = Counter(word for each in inside.values() for word in each)
        # Words that are said in a state for a text are mostly the texts themselves.
        self._elsewhere = {
            state.name: frozenset(word for word in words if spread[word] > (word in inside[state.name]))
            for state in bank.state
            if state.kind == TEXT
        }
        self._meanings = {name: Meanings(each, len(words) + 1) for name, each in callers.items()}
        self._replies: dict[tuple[str, str], list[Reply]] = defaultdict(list)
        for reply in bank.reply:
            self._replies[reply.state, reply.caller].append(reply)
        self._slots = tuple(dict.fromkeys(Slot(state.asks, state.kind) for state in bank.state if state.asks))

    def knows(self, said: str) -> bool:
        """Whether the bank has a word of *said* at all: it has none of another language."""
        words = [word for word in content(said) if not word.startswith("{")]
        return not words or any(word in self._vocabulary for word in words)

    def state(self, agent_last: str) -> State | None:
        """Return the state that the caller is in after *agent_last*, ``None`` if the bank knows no such.

        "Could you repeat that?" is none: what is then said answers an earlier question.
        """
        said = moves(agent_last, self.bank.classes)
        asking = [move for move in said if move.kind == "question"] or list(said)
        name = self._acts.of(asking[-1]) if asking and not asking[-1].again else ""
        return self._states.get(name)

    def plain(self, state: State, said: str) -> str:
        """Return *said* without its values, as an answer in *state*."""
        others = self._elsewhere.get(state.name, self._vocabulary)
        return answered(said, state.kind, self.bank.classes, others)

    def known(self, state: State, said: str, known: Mapping[str, str]) -> dict[str, str]:
        """Return the slots *known* before, and those that *said* tells."""
        asks = Slot(state.asks, state.kind) if state.asks else None
        return {**known, **told(asks, said, self._slots, self.bank.classes)}

    def candidates(self, state: State, said: str, known: Mapping[str, str]) -> list[Candidate]:
        """Return the replies to *said*, the likeliest first; *known* holds what it tells itself."""
        meanings = self._meanings.get(state.name)
        found = []
        for caller, likely in meanings.weigh(self.plain(state, said)) if meanings else ():
            for reply, share in self._shares(state, caller, known):
                odds = honest(likely * share, self.bank.calibration)
                found.append(Candidate(reply, caller, odds, filled(reply.says, known)))
        return sorted(found, key=lambda each: (-each.odds, each.reply.says))

    def _shares(
        self, state: State, caller: Caller, known: Mapping[str, str]
    ) -> Iterator[tuple[Reply, float]]:
        """Yield the replies to *caller* with their odds, as far as what is *known* tells them apart."""
        replies = self._replies.get((state.name, caller.name), [])
        fits = [all(slot in known for slot in reply.given) for reply in replies]
        rival = UNLIKE if any(fits) else 1
        weights = [reply.odds * (1 if fit else rival) for reply, fit in zip(replies, fits, strict=True)]
        lost = sum(reply.odds for reply in replies) / (sum(weights) or 1)
        yield from ((reply, weight * lost) for reply, weight in zip(replies, weights, strict=True))

    def guesses(self, agent_last: str, partial: str, known: Mapping[str, str]) -> tuple[Guess, ...]:
        """Return the likely replies to a caller who has said *partial* so far, the likeliest first.

        None asks for what is *known*, unless people do, and none has a slot that is not; the partial
        text counts as known.
        """
        state = self.state(agent_last)
        if state is None:
            return ()
        all_known = self.known(state, partial, known)
        found: dict[str, Guess] = {}
        for each in self.candidates(state, partial, all_known):
            known_already = each.reply.asks in all_known and not each.reply.confirms
            if each.text and each.odds >= LEAST_ODDS and not known_already:
                times = f"{each.reply.count} of {each.reply.of} times"
                because = f"{times} after “{each.caller.name}” in state “{state.name}”"
                found.setdefault(each.text, Guess(each.text, each.odds, state.name, because, each.reply))
        return tuple(found.values())[:MOST]
