"""Is the caller's turn over at this text? Learned from how far callers had got when they were not.

Every beginning of a caller's turn is one they went on from, and the whole is one they ended with. The
longest stretch of the text that was heard often enough decides: all of it, then its last three words, two,
one; each is smoothed with the next shorter, and counts from the same question come before counts from any.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Final, get_args

from turnbudget.speculative.bank.bank import ANYWHERE, Bank, Ending, Span
from turnbudget.speculative.bank.guess import Guesser
from turnbudget.speculative.bank.words import Classes, general, tokens

if TYPE_CHECKING:
    from collections.abc import Iterable

LAST: Final[tuple[tuple[Span, int], ...]] = (("3", 3), ("2", 2), ("1", 1))
SPANS: Final[tuple[Span, ...]] = get_args(Span)
"""From all of the text to nothing of it."""
TRUST: Final = 2.0
"""So many cases the next shorter stretch counts for."""
LEAST: Final = 2
"""Words heard but once are left out: they tell little, and may be somebody's."""
TELLING: Final[frozenset[Span]] = frozenset({"turn", "3", "2"})
"""Stretches that are about a text; a single word stands in too many."""
LONGEST: Final = 12
"""Words of the longest beginning that is remembered as a whole."""
LONGEST_TURN: Final = 120


def learned(turns: Iterable[tuple[str, str]], choices: Classes) -> tuple[Ending, ...]:
    """Return the endings of *turns*, pairs of a state ('' if none is known) and what a caller said."""
    counts: dict[tuple[str, Span], dict[str, list[int]]] = defaultdict(dict)
    for state, said in turns:
        for prefix, over in prefixes(said):
            text = general(prefix, choices)
            for span, words in stretches(text):
                for where in {state, ANYWHERE}:
                    seen = counts[where, span].setdefault(words, [0, 0])
                    seen[0] += over
                    seen[1] += 1
    return tuple(
        Ending(state=state, span=span, counts=kept)
        for (state, span), seen in sorted(counts.items(), key=_place)
        if (kept := {words: (over, of) for words, (over, of) in sorted(seen.items()) if of >= LEAST})
    )


def _place(each: tuple[tuple[str, Span], object]) -> tuple[str, int]:
    (state, span), _ = each
    return state, SPANS.index(span)


def prefixes(said: str) -> list[tuple[str, bool]]:
    """Return each beginning of *said*, and whether it is all of it."""
    words = said.split()[:LONGEST_TURN]
    whole = len(said.split())
    return [(" ".join(words[:end]), end == whole) for end in range(1, len(words) + 1)]


def stretches(text: str) -> list[tuple[Span, str]]:
    """Return what *text* is looked up by, the longest first; each once, under its widest span."""
    words = tokens(text)
    found: list[tuple[Span, str]] = [("turn", " ".join(words))] if len(words) <= LONGEST else []
    found += [(span, " ".join(words[-size:])) for span, size in LAST if len(words) > size or size == 1]
    return [*found, ("0", "")]


class Endings:
    """Tells from a bank whether a caller who has paused has finished."""

    def __init__(self, bank: Bank, guesser: Guesser | None = None) -> None:
        self._choices = bank.classes
        self._guesser = guesser or Guesser(bank)
        self._counts: dict[tuple[str, Span], dict[str, tuple[int, int]]] = defaultdict(dict)
        for ending in bank.ending:
            self._counts[ending.state, ending.span] |= ending.counts

    def over(self, text: str, agent_last: str) -> float | None:
        """Return how likely a caller who paused after *text*, answering *agent_last*, has finished.

        ``None`` if the bank knows nothing: it has no endings, or no word of the text was ever heard.
        """
        said = general(text, self._choices)
        evidence = self._evidence(said, agent_last)
        if not said or not any(words for _, _, words, _ in evidence):
            return None
        likely = 0.5
        before = (0, 0)
        for _, _, _, counts in reversed(evidence):
            if counts != before:  # the same cases again are no new evidence
                likely = (counts[0] + TRUST * likely) / (counts[1] + TRUST)
            before = counts
        return likely

    def knows(self, text: str, agent_last: str) -> bool:
        """Whether enough of *text* was heard before for the counts to be about it, and not about any."""
        evidence = self._evidence(general(text, self._choices), agent_last)
        return any(span in TELLING and counts[1] >= LEAST for _, span, _, counts in evidence)

    def because(self, text: str, agent_last: str) -> str:
        """Return the counts that decide about *text* most."""
        evidence = self._evidence(general(text, self._choices), agent_last)
        if not evidence or not evidence[0][2]:
            return "the bank knows nothing of it"
        state, span, words, (over, of) = evidence[0]
        where = f"after “{state}”" if state else "anywhere"
        what = "all said" if span == "turn" else "the last words"
        return f"{where} callers were finished {over} of {of} times with “{words}” as {what}"

    def _evidence(self, said: str, agent_last: str) -> list[tuple[str, Span, str, tuple[int, int]]]:
        """Return the counts there are, the most telling first."""
        state = self._guesser.state(agent_last)
        wheres = [state.name, ANYWHERE] if state else [ANYWHERE]
        return [
            (where, span, words, counts)
            for span, words in stretches(said)
            for where in wheres
            if (counts := self._counts.get((where, span), {}).get(words))
        ]
