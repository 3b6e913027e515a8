"""Speculation: one call's work ahead of the caller's last word. This file is the story of a guess.

While the caller speaks, the likeliest replies are rendered. At a pause the responder gets a head start on the
words so far, and the silence is chosen by what that brings. When the turn is final, what fits is taken up
and the rest told as waste. Nothing here is said, done or counted by a guess alone.
"""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from turnbudget.speculative.bank.endings import Endings
from turnbudget.speculative.bank.guess import Guesser
from turnbudget.speculative.bank.match import Match, match
from turnbudget.speculative.headstart import HeadStart, second_opinion
from turnbudget.speculative.prepare import Likely, Prepare
from turnbudget.speculative.shelf.pieces import pieces, plain
from turnbudget.voice.call.ledger import Guess, Ledger
from turnbudget.voice.call.responder import Foresees, Reply
from turnbudget.voice.errors import TtsError
from turnbudget.voice.hearing.end_of_turn import LISTENS_US
from turnbudget.voice.language.text import same
from turnbudget.voice.time import clock
from turnbudget.voice.time.crew import Crew

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Sequence

    from turnbudget.speculative.bank.bank import Bank
    from turnbudget.speculative.prepare import Ranks
    from turnbudget.speculative.shelf.shelf import CallShelf
    from turnbudget.voice.call.responder import Notes, Question, Responder, Said
    from turnbudget.voice.hearing.end_of_turn import EndOfTurn
    from turnbudget.voice.hearing.endpoint import Endpointing
    from turnbudget.voice.sound.audio import Int16
    from turnbudget.voice.time.budget import Budget
    from turnbudget.voice.tts.synthesizer import Speech


PAUSES: Final = 4
"""How many of this caller's latest pauses are remembered."""
NAME: Final = "reply bank"
"""Who is said to have chosen a reply of the bank."""
PAUSE_SHARE: Final = 0.16
"""Of the places between two words of a turn so many have a pause of 150 ms or more: 44 of 278, in the turns
of 8 recorded telephone callers."""


class Speculation:
    """One call's work ahead; see :class:`~turnbudget.voice.call.ahead.Ahead`."""

    def __init__(  # noqa: PLR0913 - what a guess is made of
        self,
        responder: Responder,
        shelf: CallShelf,
        *,
        bounds: Endpointing,
        ranks: Ranks,
        bank: CallBank | None = None,
        second: EndOfTurn | None = None,
    ) -> None:
        self._responder = responder
        self._shelf = shelf
        self._bounds = bounds
        self._ranks = ranks
        self._bank = bank
        self._asked = ""
        self._foreseen: list[Likely] = []
        self._mined: Sequence[Likely] = ()
        self._openings: list[str] = []
        self._starts: list[HeadStart] = []
        self._pauses: deque[int] = deque(maxlen=PAUSES)
        self._told: list[Guess] = []
        self._second = second
        self._opinion: asyncio.Task[float | None] | None = None
        self._opinion_of = 0
        self.listens_us = LISTENS_US if second else 0
        self._crew = Crew()
        """The call's own, once it has begun; until then nothing is started."""
        self._prepare = Prepare(shelf, self._crew)

    def begin(self, crew: Crew) -> None:
        """Begin the call, whose tasks are started in *crew*."""
        self._crew = crew
        self._prepare = Prepare(self._shelf, crew)

    def listening(self, history: tuple[Said, ...]) -> None:
        """Foresee what may be said next, and begin to render it."""
        for start in self._starts:
            start.over = True
        self._asked = asked(history)
        foreseen = self._responder.foreseen() if isinstance(self._responder, Foresees) else ()
        self._foreseen = [
            Likely(text, self._ranks.odds(rank), f"foreseen, rank {rank + 1}")
            for rank, text in enumerate(foreseen)
        ]
        self._openings = [opening(likely.text) for likely in self._foreseen]
        self.heard("")

    def heard(self, said: str) -> None:
        """Bring the guesses up to date with what was *said* so far."""
        self._mined = self._bank.likely(self._asked, said) if self._bank else ()
        self._prepare.want((*self._foreseen, *self._mined))

    def paused(
        self, question: Question, draft: Ledger, wait: Callable[[int, str], None], sound: Int16
    ) -> None:
        """Give the responder a head start; one on other words of this pause is dropped."""
        self._prepare.rest()
        if self._starts and not self._starts[-1].over:
            self._starts[-1].drop()
        ended, matched = self._known(question)
        start = HeadStart(
            question=question,
            draft=draft,
            wait=wait,
            ended=ended,
            began_us=clock.now(),
            matched=matched,
            opinion=self._heard_out(draft, sound),
        )
        self._starts.append(start)
        start.task = self._crew.create_task(
            start.run(self._responder, self._shelf, tuple(self._pauses), self._bounds), name="head start"
        )

    def _known(self, question: Question) -> tuple[float | None, Reply | None]:
        """Return whether the caller has ended, and what to say if so, by the bank alone.

        That a reply is known does not make the words whole: only the share of those who ended there does.
        """
        if not self._bank:
            return None, None
        before, said = asked(question.history), question.said
        matched = self._bank.reply(before, said, Ledger(clock.now()))  # why there is none, the turn will note
        return self._bank.ended(before, said), matched and replace(matched, completeness="unknown")

    def _heard_out(self, draft: Ledger, sound: Int16) -> asyncio.Task[float | None] | None:
        """Ask for a second opinion on this pause, once; ``None`` if there is nobody to ask."""
        if self._second and (self._opinion is None or self._opinion_of != draft.zero_us):
            self._let_go()
            asking = second_opinion(self._second, sound, draft)
            self._opinion = self._crew.create_task(asking, name="second opinion")
            self._opinion_of = draft.zero_us
        return self._opinion

    def _let_go(self) -> None:
        if self._opinion:
            self._opinion.cancel()
            self._opinion = None

    def went_on(self) -> None:
        """Drop the head start, if this pause had one: its words were not all."""
        if self._starts and not self._starts[-1].over:
            start = self._starts[-1]
            start.drop()
            self._pauses.append(clock.now() - start.draft.zero_us)
            self._let_go()

    def settle(self, said: str, ledger: Ledger) -> None:
        """Take up the head start on what was *said*, and tell what every guess came to."""
        self._prepare.rest()
        for start in self._starts:
            final = start is self._starts[-1] and not start.dropped and same(start.said, said)
            self._settle(start, ledger, final=final)
        self._starts = []
        self._let_go()
        spent = self._prepare.take_spent()
        likely = {one.text: one for one in (*self._mined, *self._foreseen)}
        for text in dict.fromkeys((*likely, *spent)):
            known = likely.get(text)
            because = known.because if known else "likely for a while, and then no more"
            odds = known.odds if known else None
            ready, cost = self._shelf.has(text), spent.get(text, 0)
            ledger.guesses.append(Guess("", text, odds, ready=ready, because=because, wasted_us=cost))
        self._told = ledger.guesses
        self._charge()

    def _settle(self, start: HeadStart, ledger: Ledger, *, final: bool) -> None:
        cost = start.cost_us()
        text = start.reply.text if start.reply else ""
        guess = Guess(start.said, text, start.ended, ready=start.ready_us is not None, because=start.because)
        lane = ledger.lane("head start", start.began_us)
        if final:
            ledger.adopt(start.draft)
            ledger.decide("silence", start.because)
        if final and not start.failed:
            start.over = True
            waited = max(0, clock.now() - max(start.began_us, ledger.zero_us))
            # What its rendering saved is told where the shelf is asked.
            lane.end("kept", start.done_us, saved_us=min(max(0, cost - start.rendered_us), waited))
            guess.outcome, guess.saved_us = "kept", lane.saved_us
        else:
            start.drop()
            lane.end("dropped", start.done_us, wasted_us=cost)
            guess.outcome, guess.wasted_us = "dropped", cost
        ledger.guesses.append(guess)

    def _charge(self) -> None:
        """Charge each render's CPU to one guess: to the head start kept, to what may be said, or to waste."""
        cpu = self._shelf.take_cpu()
        for guess in sorted(self._told, key=lambda guess: guess.outcome == "dropped") if cpu else ():
            spent = sum(cpu.pop(piece, 0) for piece in pieces(guess.text))
            guess.cpu_us = 0 if guess.outcome == "kept" else spent

    def match(self, question: Question) -> Reply | None:
        """Return the bank's reply, if one is sure enough."""
        if not self._bank:
            return None
        before = asked(question.history)
        reply = self._bank.reply(before, question.said, question.notes)
        self._bank.learn(before, question.said)
        return reply

    def opening(self, piece: str) -> tuple[Speech, str] | None:
        """Return what the shelf has of *piece*; the first piece of a reply tells which guess was right."""
        piece = plain(piece)
        self._ranks.count(self._openings, piece)
        found = self._shelf.opening(piece)
        if found:
            self._came(piece, found[0].cost_us)
        return found

    async def joined(self, piece: str, budget: Budget) -> Speech | None:
        """Return what a render of *piece* that is under way comes to."""
        piece = plain(piece)
        if not self._shelf.renders(piece):
            return None
        began = clock.now()
        try:
            speech = await self._shelf.keep(piece, budget)
        except TtsError:
            return None
        self._came(piece, max(0, speech.cost_us - (clock.now() - began)))
        return speech

    def _came(self, piece: str, saved_us: int) -> None:
        """Know that *piece* sounds, and what its early render has saved."""
        for guess in self._told:
            if opening(guess.text) == piece:
                guess.cpu_us = 0  # it sounds, whoever had it rendered
                if not guess.said:
                    guess.outcome, guess.saved_us, guess.wasted_us = "said", saved_us, 0

    def hang_up(self) -> None:
        """Forget the call, and every sound that holds its caller's data."""
        for start in self._starts:
            start.drop()
        self._let_go()
        self._prepare.stop()
        self._shelf.close()


def asked(history: Sequence[Said]) -> str:
    """Return what we said last, by *history*."""
    return next((said.text for said in reversed(history) if said.who == "agent"), "")


def opening(text: str) -> str:
    """Return the piece of *text* that sounds first; '' if there is nothing to speak."""
    return next(iter(pieces(text)), "")


class SharedBank:
    """A bank made ready once for all calls; *alone*, it may answer by itself, from odds of *threshold* on."""

    def __init__(self, bank: Bank, threshold: float, *, alone: bool) -> None:
        self.guesser = Guesser(bank)
        self.endings = Endings(bank, self.guesser)
        self.threshold = threshold
        self.alone = alone


class CallBank:
    """One call's view of the *library*, for it remembers what this caller has said of the bank's slots."""

    def __init__(self, library: SharedBank) -> None:
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
        return None if share is None else share / (share + (1 - share) * PAUSE_SHARE)

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
        return Reply(found.text, NAME, found.because, completeness="whole")

    def learn(self, asked: str, said: str) -> None:
        """Remember what the caller *said* of the slots when *asked*."""
        guesser = self._library.guesser
        state = guesser.state(asked)
        if state:
            self._known = guesser.known(state, said, self._known)
