"""What a reply bank tells one call: likely replies, whether the caller has ended, and the reply that is sure.

One a call, for it remembers what this caller has said of the bank's slots; the bank behind it is everybody's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from turnbudget.speculative.bank.endings import Endings
from turnbudget.speculative.bank.guess import Guesser
from turnbudget.speculative.bank.match import Match, match
from turnbudget.speculative.prepare import Likely
from turnbudget.voice.call.responder import Reply

if TYPE_CHECKING:
    from turnbudget.speculative.bank.bank import Bank
    from turnbudget.voice.call.responder import Notes

NAME: Final = "reply bank"
PAUSES: Final = 0.16
"""Of the places between two words of a turn so many have a pause of 150 ms or more: 44 of 278, in the turns
of 8 recorded telephone callers."""


class Library:
    """A bank made ready once for all calls; *alone*, it may answer by itself, from odds of *threshold* on."""

    def __init__(self, bank: Bank, threshold: float, *, alone: bool) -> None:
        self.guesser = Guesser(bank)
        self.endings = Endings(bank, self.guesser)
        self.threshold = threshold
        self.alone = alone


class Lore:
    """One call's view of the *library*."""

    def __init__(self, library: Library) -> None:
        self._library = library
        self._known: dict[str, str] = {}

    def likely(self, asked: str, said: str) -> tuple[Likely, ...]:
        """Return the replies likely to come after what we *asked* and the caller has *said* so far."""
        guesses = self._library.guesser.guesses(asked, said, self._known)
        return tuple(Likely(guess.text, guess.odds, guess.because) for guess in guesses)

    def ended(self, asked: str, said: str) -> float | None:
        """Return how likely a caller who paused after they *said* this, when *asked* that, has ended.

        ``None`` if the bank does not know. Its counts are of words: of those who got as far, how many went
        no further. Who has ended pauses for certain, and who goes on does so rarely.
        """
        endings = self._library.endings
        share = endings.over(said, asked) if endings.knows(said, asked) else None
        return None if share is None else share / (share + (1 - share) * PAUSES)

    def reply(self, asked: str, said: str, notes: Notes) -> Reply | None:
        """Return the one reply that is sure enough to be said unasked, if the guard lets it pass.

        What announces that something was done is for those to say who do it. *notes* gets why there is none.
        """
        if not self._library.alone:
            return None
        found = match(self._library.guesser, asked, said, self._library.threshold, known=self._known)
        if not isinstance(found, Match):
            notes.decide("no match", found.because)
            return None
        if found.reply.announces:
            notes.decide("no match", f"{found.text!r} announces what the bank does not do")
            return None
        return Reply(found.text, NAME, found.because, settled=True)

    def learn(self, asked: str, said: str) -> None:
        """Remember what the caller *said* of the slots when *asked*."""
        guesser = self._library.guesser
        state = guesser.state(asked)
        if state:
            self._known = guesser.known(state, said, self._known)
