"""Recorded dialogues become a reply bank: which reply follows what the caller said, to which question.

Sentences are stored without names, numbers, addresses and choices; a reply keeps as slots what the caller
told before, and as ``{result}`` what nobody can know before it is looked up. What else callers told in their
own words is in the examples: read a bank before you pass it on.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING, Final

import msgspec

from turnbudget.speculative.bank import learn
from turnbudget.speculative.bank.bank import Bank, Caller, Reply, State
from turnbudget.speculative.bank.calibration import Trial, calibrated
from turnbudget.speculative.bank.endings import learned
from turnbudget.speculative.bank.guess import Guesser
from turnbudget.speculative.bank.learn import Said, Template, template
from turnbudget.speculative.bank.moves import Acts, Move, moves, told_something
from turnbudget.speculative.bank.rehearse import Exchange, Turns, exchanges, trials
from turnbudget.speculative.bank.words import CHOICES, Classes, Slot, answered, content, named, told

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

FOLDS: Final = 5
SEED: Final = 5
LEAST: Final = 2
"""A reply said but once is an accident."""
EXAMPLES: Final = 500


@dataclass(frozen=True, slots=True)
class Seen:
    """One exchange, understood."""

    state: str
    said: str
    act: str
    """What was replied; '' for what no act is known of, or for nothing."""
    given: frozenset[str]
    """The slots known when it was replied."""


@dataclass(slots=True)
class Learning:
    """What the dialogues are read with: acts, slots, and the replies as they were said."""

    choices: Classes
    acts: Acts
    slots: Mapping[frozenset[str], Slot]
    counts: Counter[str] = field(default_factory=Counter)
    said: dict[str, list[Said]] = field(default_factory=lambda: defaultdict(list))
    seen: list[Seen] = field(default_factory=list)
    turns: list[tuple[str, str]] = field(default_factory=list)
    """Each caller's turn as it was said, with its state."""
    states: dict[str, Counter[Move]] = field(default_factory=lambda: defaultdict(Counter))

    def slot(self, move: Move | None) -> Slot | None:
        """Return the slot that *move* asks for."""
        return self.slots.get(frozenset(move.asked)) if move else None

    def main(self, text: str, known: Mapping[str, str]) -> tuple[str, Move | None, bool]:
        """Return the act that an agent's turn is known by, its move, and whether an offer follows it.

        What only says over what the caller told is none: it belongs to that caller.
        """
        told = {word for value in known.values() for word in content(value.lower())}
        said = moves(text, self.choices)
        asks = [move for move in said if move.kind == "question" and not move.offers]
        tells = [
            move
            for move in said
            if move.kind == "statement"
            and self._counts(move) >= LEAST
            and not (move.echoes or move.words <= told)
        ]
        offers = [move for move in said if move.offers]
        leaves = [move for move in said if move.kind == "farewell"]
        if offers and not asks and not tells and any(told_something(move) for move in said):
            return "", None, False  # it told of something, and nobody knows yet what that was
        best = [asks[-1]] if asks else [max(tells, key=self._counts)] if tells else offers[-1:] or leaves[:1]
        return (self.acts.of(best[0]), best[0], bool(offers)) if best else ("", None, False)

    def _counts(self, move: Move) -> int:
        return self.counts[self.acts.of(move)]


def mine(
    dialogues: Sequence[Turns],
    choices: Classes = CHOICES,
    *,
    heard: Callable[[int, int], None] = lambda *_: None,
) -> Bank:
    """Return the bank of *dialogues*; *heard* is told how many of how many passes are done."""
    passes = FOLDS + 1 if len(dialogues) >= 2 * FOLDS else 1
    shuffled = Random(SEED).sample(dialogues, len(dialogues))  # noqa: S311 - folds are no secret
    tried: list[Trial] = []
    for fold in range(passes - 1):
        kept = [turns for number, turns in enumerate(shuffled) if number % FOLDS != fold]
        guesser = Guesser(_mined(kept, choices))
        for turns in shuffled[fold::FOLDS]:
            tried += trials(guesser, turns)
        heard(fold + 1, passes)
    bank = msgspec.structs.replace(_mined(dialogues, choices), calibration=calibrated(tried))
    heard(passes, passes)
    return bank


def _mined(dialogues: Sequence[Turns], choices: Classes) -> Bank:
    calls = [exchanges(turns) for turns in dialogues]
    learning = _learning(calls, choices)
    for call in calls:
        _read(call, learning)
    return _bank(learning, len(dialogues))


def _learning(calls: Sequence[Sequence[Exchange]], choices: Classes) -> Learning:
    """Return what the agents' moves in *calls* can be read with."""
    said = [[move for text in _agent(call) for move in moves(text, choices)] for call in calls]
    acts = Acts.learned(move for call in said for move in call)
    slots = named([[move.asked for move in call if move.asked] for call in said], choices)
    counts = Counter(acts.of(move) for call in said for move in call)
    return Learning(choices, acts, slots, counts)


def _agent(call: Sequence[Exchange]) -> Iterator[str]:
    """Yield what the agent said, each turn once."""
    for exchange in call:
        yield exchange.asked
    if call and call[-1].replied:
        yield call[-1].replied


def _read(call: Sequence[Exchange], learning: Learning) -> None:
    """Take in one call: in which states what was said, and what was replied with what then was known."""
    known: dict[str, str] = {}
    for exchange in call:
        said = moves(exchange.asked, learning.choices)
        asking = ([move for move in said if move.kind == "question"] or list(said))[-1:]
        # What is said again answers an earlier question, so the last one is no state.
        state = learning.acts.of(asking[0]) if asking and not asking[0].again else ""
        slot = learning.slot(asking[0]) if asking else None
        known |= told(slot, exchange.said, learning.slots.values(), learning.choices)
        learning.turns.append((state, exchange.said))
        plain = answered(exchange.said, slot.kind if slot else "", learning.choices)
        if _not_heard(exchange.replied, learning.choices):
            continue
        act, move, offered = learning.main(exchange.replied, known)
        if asking:
            learning.states[state][asking[0]] += 1
        if move:
            offer = next((each.text for each in moves(exchange.replied, learning.choices) if each.offers), "")
            learning.said[act].append(Said(move, dict(known), offer if offered else ""))
        learning.seen.append(Seen(state, plain, act, frozenset(known)))


def _not_heard(replied: str, choices: Classes) -> bool:
    """Say whether the agent asked to hear it again, which tells nothing of what it should be replied."""
    return any(move.again for move in moves(replied, choices))


def _bank(learning: Learning, dialogues: int) -> Bank:
    texts = {act: template(said, learning.slots.values()) for act, said in learning.said.items()}
    by_state: dict[str, list[Seen]] = defaultdict(list)
    for each in learning.seen:
        by_state[each.state].append(each)
    states, all_callers, replies = [], [], []
    for name, seen in sorted(by_state.items(), key=lambda each: (-len(each[1]), each[0])):
        if not name or len(seen) < LEAST:
            continue
        states.append(_state(name, learning))
        found = learn.groups((each.said, each.act) for each in seen)
        for caller, examples in learn.examples(found, EXAMPLES).items():
            if examples:
                count = found[caller].replies.total()
                all_callers.append(Caller(state=name, name=caller, count=count, examples=examples))
                replies += _replies(name, caller, found[caller], seen, texts, learning)
    kept = {state.name for state in states}
    turns = ((state if state in kept else "", said) for state, said in learning.turns)
    return Bank(
        dialogues=dialogues,
        choices=dict(learning.choices),
        state=tuple(states),
        caller=tuple(all_callers),
        reply=tuple(replies),
        ending=learned(turns, learning.choices),
    )


def _state(name: str, learning: Learning) -> State:
    asking = learning.states[name]
    slot = learning.slot(asking.most_common(1)[0][0])
    says = tuple(move.text for move, _ in asking.most_common())
    return State(name=name, says=says, asks=slot.name if slot else "", kind=slot.kind if slot else "")


def _replies(  # noqa: PLR0913, PLR0917 - a reply is made of all these
    state: str,
    caller: str,
    group: learn.Group,
    seen: Sequence[Seen],
    texts: Mapping[str, Template],
    learning: Learning,
) -> list[Reply]:
    of = group.replies.total()
    found = []
    for act, count in sorted(group.replies.items(), key=lambda each: (-each[1], each[0])):
        if not act or learning.counts[act] < LEAST:
            continue
        move = learning.said[act][0].move
        slot = learning.slot(move)
        givens = [each.given for each in seen if each.act == act and each.said in group.sentences]
        asks = slot.name if slot else ""
        again = sum(asks in given for given in givens)
        found.append(
            Reply(
                state=state,
                caller=caller,
                says=texts[act].says,
                act=act,
                count=count,
                of=of,
                odds=round(count / (of + 1), 4),
                asks=asks,
                given=tuple(sorted(frozenset.intersection(*givens) - {asks})),
                announces=texts[act].announces,
                confirms=again >= LEAST and again > len(givens) / 2,
            )
        )
    return found
