"""A turn: from the caller's last voiced sample to our answer. This file is the story of its life.

It knows neither agents nor engines nor lines, only what it asks of them, and it keeps one promise: inside
the budget something sounds. If no answer can, the bridge does, and the answer follows behind it.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal

from turnbudget.voice.call.ledger import Ledger, Owner
from turnbudget.voice.call.reply import LOOP, prepare
from turnbudget.voice.speaking.mouth import Heard, at_once
from turnbudget.voice.speaking.rendering import Rendering
from turnbudget.voice.time import clock

if TYPE_CHECKING:
    from turnbudget.voice.call.ahead import Ahead
    from turnbudget.voice.call.desk import Desk
    from turnbudget.voice.call.ledger import Lane, Outcome
    from turnbudget.voice.call.responder import Said
    from turnbudget.voice.hearing.events import Utterance
    from turnbudget.voice.speaking.mouth import Sounding
    from turnbudget.voice.time.budget import Budget
    from turnbudget.voice.time.forecast import Forecast

HELD: Final = Owner("barge_in", "setting")
"""Who is charged while a reply that could sound waits for what the caller's voice will turn out to be."""


def _open() -> asyncio.Future[None]:
    return asyncio.get_running_loop().create_future()


@dataclass(slots=True)
class Turn:
    """One turn, its account, its two deadlines, and what the caller heard of it."""

    number: int
    utterance: Utterance
    said: str
    """What to answer: the utterance, with words of a turn before it that was never answered."""
    asked: str
    """The same as it may be written."""
    ledger: Ledger
    budget: Budget
    """By when something must sound."""
    patience: Budget
    """By when the answer must, behind a bridge."""
    behind: Owner | None = None
    """What had to be heard to its end before this could be answered."""
    outcome: Outcome | None = None
    heard: Heard = field(default_factory=Heard)
    """What was heard of the answer."""
    aside: Heard = field(default_factory=Heard)
    """What was heard of bridge and apology: sounds, no answers, so no part of the conversation."""
    rendering: Rendering = field(default_factory=Rendering)
    urged: asyncio.Future[None] = field(default_factory=_open)
    """Done when the caller asked if we are there: then the bridge goes at once."""
    ends_call: bool = False
    """Whether its answer says goodbye."""
    transfer: str = ""
    """Where its answer sends the caller."""
    shelved: bool = False
    """Whether the answer's opening was ready before it was asked for."""
    reply: Lane | None = None
    """The making of the reply, beside the path."""
    work: asyncio.Task[None] | None = None
    """Who makes it."""
    kind: Literal["turn"] = "turn"

    def close(self) -> None:
        """End the account, with what was made in vain; closing twice changes nothing."""
        if self.reply:
            now = clock.now()
            ended = self.rendering.ready_us or now
            if self.ledger.first_answer_us is None:
                self.reply.end("dropped", ended, wasted_us=ended - self.reply.began_us)
            elif self.heard.complete:
                self.reply.end("said", ended)
            else:
                self.reply.end("cut", ended, wasted_us=self.rendering.unheard_us())
        self.ledger.close()


def tells(ledger: Ledger, forecast: Forecast, *, answer: bool) -> Sounding:
    """Return what tells *ledger* that the first audible sample has left, and *forecast* what that took.

    What a stalled loop took is no cost of delivery: one stall would else send a bridge before each of the
    next twenty answers.
    """
    began = clock.now()

    def tell(by_clock: int, by_tape: int) -> None:
        if ledger.witness_us is None:
            ledger.witness_us = by_tape
        ledger.sounded(by_clock, answer=answer)
        stalled = sum(
            min(stall.ended_us, by_clock) - max(stall.began_us, began)
            for stall in clock.stalls(began, by_clock)
        )
        forecast.note("deliver", max(0, by_clock - began - stalled))

    return tell


async def take_turn(turn: Turn, desk: Desk, history: tuple[Said, ...]) -> None:
    """Answer one utterance, in time; in any case say something."""
    account_for_listening(turn, desk.ahead)
    rendering, phrases = turn.rendering, desk.phrases
    turn.reply = turn.ledger.lane(f"reply:{desk.responder.name}")
    turn.work = work = desk.crew.create_task(prepare(turn, desk, history), name=f"turn {turn.number}: reply")
    try:
        moment = desk.last_moment(turn.budget, phrases.bridge)
        await clock.wait_until([rendering.ready, turn.urged], moment, first=True)
        if not rendering.ready.done() and await silence_is_ours(turn, desk):
            await bridge(turn, desk)
            await clock.wait_until([rendering.ready], desk.last_moment(turn.patience, phrases.apology))
        if rendering.failure:
            work.cancel()
            await apologise(turn, desk, rendering.failure)
        else:
            await deliver(turn, desk)
    finally:
        work.cancel()
        turn.close()


def account_for_listening(turn: Turn, ahead: Ahead | None) -> None:
    """Charge what passed before the turn could begin: the silence waited for, the text, what was guessed."""
    heard, ledger = turn.utterance, turn.ledger
    ledger.charge("endpoint", Owner(heard.rule, "setting"), heard.decided_us)
    ledger.charge("transcribe", Owner(heard.transcriber, "service"), heard.text_us)
    if turn.behind:
        ledger.charge("deliver", turn.behind, clock.now())
    dropped = [work for work in heard.work if not work.used]
    for work in heard.work:
        if work.used:
            cost = work.ended_us - work.began_us
            waited = max(0, work.ended_us - heard.decided_us)
            lane = ledger.lane(f"asr:{heard.transcriber}", work.began_us)
            lane.end("used", work.ended_us, saved_us=max(0, cost - waited))
    if dropped:
        lane = ledger.lane(f"asr:{heard.transcriber} partials", dropped[0].began_us)
        wasted = sum(work.ended_us - work.began_us for work in dropped)
        lane.end("dropped", dropped[-1].ended_us, wasted_us=wasted)
    if heard.because:
        ledger.decide("partial text", heard.because)
    if ahead:
        ahead.settle(turn.said, ledger)
    ledger.otherwise("choose", LOOP)


async def silence_is_ours(turn: Turn, desk: Desk) -> bool:
    """Wait while the caller's voice holds us; say whether there is still nothing to answer by then."""
    ready, mouth = turn.rendering.ready, desk.mouth
    if mouth.held:
        freed = desk.crew.create_task(mouth.freed(), name=f"turn {turn.number}: held")
        try:
            until = desk.last_moment(turn.patience, desk.phrases.apology)
            await clock.wait_until([ready, freed], until, first=True)
        finally:
            freed.cancel()
    return not ready.done()


async def bridge(turn: Turn, desk: Desk) -> None:
    """Keep the promise with a sound; the answer is still being made."""
    left, need = turn.budget.left() // clock.MS, desk.needs(desk.phrases.bridge) // clock.MS
    because = f"no answer yet, {left} ms left, and the bridge needs {need} ms"
    turn.ledger.decide("bridge", "the caller asked if we are there" if turn.urged.done() else because)
    turn.ledger.otherwise("deliver", Owner("bridge", "budget"))
    sounding = tells(turn.ledger, desk.forecast, answer=False)
    await desk.mouth.play(at_once(desk.phrases.bridge), turn.aside, sounding)
    turn.ledger.otherwise("choose", LOOP)


async def deliver(turn: Turn, desk: Desk) -> None:
    """Play the answer; its first audible sample closes the account."""
    turn.ledger.otherwise("deliver", LOOP)
    with turn.ledger.stage("deliver", HELD):
        await desk.mouth.freed()
    sounding = tells(turn.ledger, desk.forecast, answer=True)
    with turn.ledger.stage("deliver", Owner("line", "own code")):
        await desk.mouth.play(turn.rendering.pieces(), turn.heard, sounding)
    if turn.rendering.broken:
        turn.heard.complete = False
    if turn.ledger.first_answer_us is not None:
        alone = turn.ledger.first_sound_us == turn.ledger.first_answer_us
        if not alone:
            turn.outcome = "bridged"
        else:
            turn.outcome = "shelved" if turn.shelved else "answered"


async def apologise(turn: Turn, desk: Desk, failure: str) -> None:
    """Say that no answer will come; it is a sound, not an answer, so the turn has failed."""
    turn.ledger.decide("apology", failure)
    turn.ledger.otherwise("deliver", Owner("apology", "budget"))
    turn.outcome = "failed"
    with turn.ledger.stage("deliver", HELD):
        await desk.mouth.freed()
    sounding = tells(turn.ledger, desk.forecast, answer=False)
    await desk.mouth.play(at_once(desk.phrases.apology), turn.aside, sounding)
