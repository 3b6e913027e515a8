"""Held-back dialogues rehearsed with a bank: where it would have spoken, and whether that fits.

A turn is one of the caller's that an agent answered. It is a hit if the bank's reply passes threshold and
guard; hits and wrong hits are both shares of all turns. The judge is mechanical, and stricter than a reader:

- ``same``: the person did the same thing: the same question, the same announcement, a farewell;
- ``misfit``: the person told of something first ("it has been sent"), and the reply passes over it;
- ``other``: the person did something else, but this reply, too, was given to such words in that state (twice
  or more, and in a fifth of the cases), and it asks for nothing that the caller has told already;
- ``misfit``: anything else, too; for a person to judge.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Final, Literal

from turnbudget.speculative.bank.calibration import Trial
from turnbudget.speculative.bank.match import Match, Miss, match
from turnbudget.speculative.bank.moves import ALIKE, moves, same_move, told_something
from turnbudget.voice.language.text import is_words, spoken

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator, Mapping, Sequence

    from turnbudget.speculative.bank.bank import Reply
    from turnbudget.speculative.bank.guess import Guesser
    from turnbudget.speculative.bank.words import Classes

THRESHOLDS: Final = (0.0, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95)


@dataclass(frozen=True, slots=True)
class Rehearsed:
    """One caller's turn, what the bank would have said, and the verdict on it; '' for a miss."""

    call: str
    exchange: Exchange
    found: Match | Miss
    verdict: ReplyVerdict | None
    trial: Trial | None
    """The likeliest guess, whether or not it may be spoken."""


@dataclass(frozen=True, slots=True)
class Point:
    """Hits and wrong hits at one threshold, of so many turns."""

    threshold: float
    turns: int
    hits: int
    same: int
    wrong: int
    """Misfits, before a person has judged them."""
    announcing: int
    """Hits that announce what somebody has to do first."""


def rehearse(guesser: Guesser, dialogues: Iterable[tuple[str, Turns]]) -> tuple[Rehearsed, ...]:
    """Return every answered turn of *dialogues*, pairs of a name and turns, at threshold 0."""
    return tuple(each for name, turns in dialogues for each in _call(guesser, name, turns))


def _call(guesser: Guesser, name: str, turns: Turns) -> Iterator[Rehearsed]:
    known: Mapping[str, str] = {}
    for exchange in exchanges(turns):
        before = known
        trial, known = _trial(guesser, exchange, known)
        if not exchange.replied:
            continue
        found = match(guesser, exchange.asked, exchange.said, 0.0, known=before)
        verdict = None
        if isinstance(found, Match):
            verdict = judge(found.reply, exchange.replied, known, guesser.bank.classes)
        yield Rehearsed(name, exchange, found, verdict, trial)


def _trial(
    guesser: Guesser, exchange: Exchange, known: Mapping[str, str]
) -> tuple[Trial | None, Mapping[str, str]]:
    """Return how the likeliest guess does, and what is known after the caller's turn."""
    state = guesser.state(exchange.asked)
    if state is None:
        return None, known
    known = guesser.known(state, exchange.said, known)
    candidates = guesser.candidates(state, exchange.said, known)
    if not candidates or not exchange.replied:
        return None, known
    verdict = judge(candidates[0].reply, exchange.replied, known, guesser.bank.classes)
    return Trial(candidates[0].odds, verdict == "same"), known


def trials(guesser: Guesser, turns: Turns) -> tuple[Trial, ...]:
    """Return how the likeliest guess did at each turn of one dialogue."""
    return tuple(each.trial for each in _call(guesser, "", turns) if each.trial)


def curve(rehearsed: Sequence[Rehearsed], thresholds: Iterable[float] = THRESHOLDS) -> tuple[Point, ...]:
    """Return hits and wrong hits by threshold."""
    return tuple(_point(rehearsed, threshold) for threshold in thresholds)


def _point(rehearsed: Sequence[Rehearsed], threshold: float) -> Point:
    hits = [
        (each.found, each.verdict)
        for each in rehearsed
        if isinstance(each.found, Match) and each.found.odds >= threshold
    ]
    return Point(
        threshold,
        len(rehearsed),
        len(hits),
        sum(verdict == "same" for _, verdict in hits),
        sum(verdict == "misfit" for _, verdict in hits),
        sum(found.reply.announces for found, _ in hits),
    )


ReplyVerdict = Literal["same", "other", "misfit"]

OFTEN: Final = 2
SHARE: Final = 0.2


def judge(reply: Reply, replied: str, known: Container[str], choices: Classes) -> ReplyVerdict:
    """Return whether *reply* fits where a person *replied* that, the slots *known* having been told."""
    does, did = moves(reply.says, choices)[:1], moves(replied, choices)
    if not reply.announces and not reply.asks and any(told_something(move) for move in did):
        return "misfit"
    if any(same_move(one, other) > ALIKE for one in does for other in did):
        return "same"
    usual = reply.count >= OFTEN and reply.count >= SHARE * reply.of
    return "other" if usual and (reply.confirms or reply.asks not in known) else "misfit"


Turns = tuple[tuple[str, str], ...]
"""Pairs of role ("caller" or "agent") and text."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """One caller's turn, with what the agent said before it and after it."""

    asked: str
    said: str
    replied: str
    """'' where the dialogue ends with the caller."""


def exchanges(turns: Iterable[tuple[str, str]]) -> tuple[Exchange, ...]:
    """Return the exchanges of *turns*; what a caller says before any agent answers nothing: left out."""
    worded = [(role, spoken(text)) for role, text in turns if is_words(text)]
    joined = [(role, " ".join(text for _, text in said)) for role, said in groupby(worded, key=itemgetter(0))]
    return tuple(
        Exchange(joined[place - 1][1], text, joined[place + 1][1] if place + 1 < len(joined) else "")
        for place, (role, text) in enumerate(joined)
        if role == "caller" and place
    )
