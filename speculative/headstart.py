"""A head start: at a pause the responder is asked about the words so far, and its reply is made ready.

If the pause turns out to be the end, and the final text says the same, the work is kept; else it is dropped
unheard, and what it cost is told.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from turnbudget.speculative.spend import Words, silence
from turnbudget.voice.errors import ComponentError
from turnbudget.voice.language.sentences import split
from turnbudget.voice.language.speakable import speakable
from turnbudget.voice.time import clock

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from turnbudget.speculative.shelf.shelf import CallShelf
    from turnbudget.voice.call.ledger import Ledger
    from turnbudget.voice.call.responder import Question, Reply, Responder
    from turnbudget.voice.hearing.end_of_turn import EndOfTurn
    from turnbudget.voice.hearing.endpoint import Endpointing
    from turnbudget.voice.sound.audio import Int16

HELD: Final = "head start"
"""The name of a head start's lane."""


@dataclass(slots=True, kw_only=True)
class HeadStart:
    """One pause's work: what was asked, what came of it, and what it cost."""

    question: Question
    """What the responder is asked."""
    draft: Ledger
    """The account of a turn that would begin at this pause."""
    wait: Callable[[int, str], None]
    """Is told how long the silence is worth waiting for (µs), and by which setting."""
    ended: float | None
    """How many of those who said this had ended, by the reply bank."""
    began_us: int
    """When the pause was noticed (µs on the clock)."""
    matched: Reply | None = None
    """What the reply bank would say by itself: then nobody else need be asked."""
    opinion: asyncio.Task[float | None] | None = None
    """How likely its pause is an end, by its sound; ``None``: nobody was asked."""
    task: asyncio.Task[None] | None = None
    """The work."""
    reply: Reply | None = None
    """What came of it."""
    ready_us: int | None = None
    """When the reply's opening could sound."""
    rendered_us: int = 0
    """How much of the work was its rendering."""
    done_us: int | None = None
    """When the work was over (µs on the clock)."""
    because: str = ""
    """Why the silence was chosen."""
    over: bool = False
    """Whether its pause is: whatever still comes of it says nothing of another one."""
    dropped: bool = False
    """Whether it was broken off at work."""
    failed: bool = False
    """Whether whoever was asked has raised something: nothing can be taken up."""

    @property
    def said(self) -> str:
        """The words it was asked about."""
        return self.question.said

    def drop(self) -> None:
        """End it: nobody will hear of it."""
        self.over = True
        if self.task and not self.task.done():
            self.dropped = True
            self.task.cancel()

    def cost_us(self) -> int:
        """Return how long it has worked."""
        return (clock.now() if self.done_us is None else self.done_us) - self.began_us

    async def run(
        self, responder: Responder, shelf: CallShelf, pauses_us: Sequence[int], bounds: Endpointing
    ) -> None:
        """Ask, make ready, and say how long this silence is worth waiting for, each time more is known.

        Once the pause is over, a reply that comes late is for the turn that joined it, or for nobody.
        """

        def choose() -> None:
            if self.over:
                return
            reply = self.reply
            known = Words(
                self.said,
                completeness=reply.completeness if reply else "unknown",
                understood=reply is not None or self.done_us is None,
                acts=bool(reply and reply.acts),
                ready=self.ready_us is not None,
                ended=self.ended,
                parting=self.question.parting,
                sounds_ended=self._sounds_ended(),
            )
            chosen = silence(known, pauses_us, bounds)
            self.because = f"{chosen.us // clock.MS} ms: {chosen.because}"
            self.wait(chosen.us, chosen.rule)

        choose()
        try:
            self.reply = self.matched or await responder.answer(self.question)
            if self.reply and not self.over:
                choose()
                await self._make_ready(self.reply, shelf)
                if self.opinion:
                    await asyncio.wait([self.opinion])
        except ComponentError as error:
            self.failed = self.reply is None
            self.draft.decide("no head start", str(error))
        except Exception as error:  # noqa: BLE001 - an agent may raise anything; it costs the head start only
            self.failed = self.reply is None
            self.draft.decide("no head start", f"{type(error).__name__}: {error}")
        finally:
            self.done_us = clock.now()
        choose()

    def _sounds_ended(self) -> float | None:
        """Return the second opinion; ``None`` where there is none, or it failed."""
        known = self.opinion and self.opinion.done() and not self.opinion.cancelled()
        return self.opinion.result() if self.opinion and known else None

    async def _make_ready(self, reply: Reply, shelf: CallShelf) -> None:
        """Render the reply's opening, if the shelf does not have it."""
        pieces = split(speakable(reply.text))
        if not pieces:
            return
        began = clock.now()
        if not shelf.opening(pieces[0]):
            await shelf.keep(pieces[0], self.question.budget)
        self.ready_us = clock.now()
        self.rendered_us = self.ready_us - began


async def second_opinion(model: EndOfTurn, sound: Int16, draft: Ledger) -> float | None:
    """Return how likely *sound* ends there, by *model*; whatever it raises costs the opinion only."""
    try:
        return await model.ended(sound)
    except Exception as error:  # noqa: BLE001 - a model may raise anything
        draft.decide("no second opinion", f"{type(error).__name__}: {error}")
        return None
