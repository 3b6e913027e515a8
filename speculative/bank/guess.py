"""A few likely replies with honest odds, from what we said last and what the caller has said so far.

What a caller means is weighed by the sentences of the bank, word by word, against a meaning that nobody knows
yet: words never heard there speak for that one. Each guess is made anew with each partial text.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from turnbudget.speculative.bank.calibration import honest
from turnbudget.speculative.bank.moves import Acts, moves, template
from turnbudget.speculative.bank.words import TEXT, Slot, answered, content, filled, told

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from turnbudget.speculative.bank.bank import Bank, Caller, Reply, State

MOST: Final = 5
"""More guesses are not given."""
LEAST_ODDS: Final = 0.02
LIKELIEST: Final = 50
"""Of all that callers may mean in a state, so many are looked at: any other is less likely than 0.02."""
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

    def __init__(self, callers: Sequence[tuple[Caller, Examples]], vocabulary: int) -> None:
        self._callers = [caller for caller, _ in callers]
        self._never = math.log(1 / vocabulary)
        """Of a word that was not heard there."""
        self._counts = np.array([math.log(caller.count) for caller in self._callers])
        self._words = np.array([math.log(examples.counts.total() + 1) for _, examples in callers])
        heard: dict[str, list[tuple[int, float]]] = defaultdict(list)
        for place, (_, examples) in enumerate(callers):
            for word, count in examples.counts.items():
                heard[word].append((place, math.log(count + 1 / vocabulary) - self._never))
        self._heard = {word: _columns(found) for word, found in heard.items()}

    def weigh(self, said: str) -> list[tuple[Caller, float]]:
        """Return the likeliest meanings, each with its probability after *said*: less than one together."""
        words = sorted(set(content(said)))
        nobody = self._never * len(words)  # a meaning nobody knows yet: one caller, and any words
        logs = self._counts + len(words) * (self._never - self._words)
        for places, more in (self._heard[word] for word in words if word in self._heard):
            logs[places] += more
        top = max(nobody, logs.max())
        shares = np.exp(logs - top)
        total = shares.sum() + math.exp(nobody - top)
        best = np.argpartition(-shares, min(LIKELIEST, shares.size) - 1)[:LIKELIEST]
        return [(self._callers[place], float(shares[place] / total)) for place in best]


def _columns(found: Sequence[tuple[int, float]]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    places, more = zip(*found, strict=True)
    return np.array(places), np.array(more)


class Guesser:
    """Guesses from a bank, which it makes ready once; the same for all calls, and changed by none."""

    def __init__(self, bank: Bank) -> None:
        self.bank = bank
        self._states = {state.name: state for state in bank.state}
        self._acts = Acts({state.name: [template(text) for text in state.says] for state in bank.state})
        callers: dict[str, list[Caller]] = defaultdict(list)
        for caller in bank.caller:
            callers[caller.state].append(caller)
        self._examples = {(each.state, each.name): Examples(each.examples) for each in bank.caller}
        inside: dict[str, set[str]] = defaultdict(set)
        for (state, _), examples in self._examples.items():
            inside[state].update(examples.counts)
        self._vocabulary = words = frozenset(word for each in inside.values() for word in each)
        spread = Counter(word for each in inside.values() for word in each)
        # Words that are said in a state for a text are mostly the texts themselves.
        self._elsewhere = {
            state.name: frozenset(word for word in words if spread[word] > (word in inside[state.name]))
            for state in bank.state
            if state.kind == TEXT
        }
        self._meanings = {
            name: Meanings([(caller, self._examples[name, caller.name]) for caller in each], len(words) + 1)
            for name, each in callers.items()
        }
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

    def nearest(self, caller: Caller, said: str, most: int) -> list[str]:
        """Return the examples of *caller* that have most words in common with *said*."""
        return self._examples[caller.state, caller.name].nearest(said, most)

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


class Examples:
    """Sentences, each once; *counts* says in how many of them each word is."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._texts = sorted(set(texts))
        words = [frozenset(content(text)) for text in self._texts]
        self.counts = Counter(word for each in words for word in each)
        self._sizes = np.array([len(each) for each in words])
        places: dict[str, list[int]] = defaultdict(list)
        for place, each in enumerate(words):
            for word in each:
                places[word].append(place)
        self._places = {word: np.array(found) for word, found in places.items()}
        self._known = frozenset(self._texts)

    def nearest(self, said: str, most: int) -> list[str]:
        """Return the *most* sentences with most words in common with *said* (Dice), the nearest first."""
        words = frozenset(content(said))
        common = np.zeros(len(self._texts))
        for word in words & self._places.keys():
            common[self._places[word]] += 1
        likeness = 2 * common / np.maximum(self._sizes + len(words), 1)
        least = np.partition(likeness, -most)[-most] if most < likeness.size else 0.0
        above = np.flatnonzero(likeness > least)
        equal = np.flatnonzero(likeness == least)[: most - above.size]
        found = sorted((*above, *equal), key=lambda place: (-likeness[place], place))
        itself = [said] if said in self._known else []
        return [*itself, *(text for place in found if (text := self._texts[place]) != said)][:most]
