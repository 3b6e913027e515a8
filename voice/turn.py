"""A turn: from the caller's last voiced sample to our answer. This file is the story of its life.

It knows neither agents nor engines nor lines, only what it asks of them, and it keeps one promise: inside
the budget something sounds. If no answer can, the bridge does, and the answer follows behind it.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Protocol

from voice import audio, clock
from voice.errors import ComponentError
from voice.ledger import Ledger, Owner
from voice.sentences import split
from voice.speak import Heard, at_once
from voice.text import speakable

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from voice.budget import Budget
    from voice.crew import Crew
    from voice.events import Utterance
    from voice.forecast import Forecast
    from voice.ledger import Outcome
    from voice.speak import Mouth
    from voice.tts.synthesizer import Speech, Synthesizer

AHEAD: Final = 4
"""Pieces of a reply rendered ahead of its playing."""
LOOP: Final = Owner("event loop", "own code")
"""Who is charged while one task has ended and the next has not begun."""


@dataclass(frozen=True, slots=True)
class Said:
    """One side's words in the history, as they were *heard*; ``cut`` if they were broken off."""

    who: str
    text: str
    cut: bool = False


@dataclass(frozen=True, slots=True)
class Reply:
    """What to say, who chose it, and why."""

    text: str
    by: str
    because: str = ""


class Responder(Protocol):
    """Whoever chooses the reply: a scripted table, an agent, a council."""

    name: str

    async def answer(self, said: str, history: tuple[Said, ...], budget: Budget) -> Reply | None:
        """Return the reply to *said* before *budget* ends, ``None`` if there is none."""
        ...


@dataclass(frozen=True, slots=True)
class Desk:
    """What a turn works with; one a call."""

    crew: Crew
    responder: Responder
    voice: Synthesizer
    mouth: Mouth
    forecast: Forecast
    phrases: Phrases


@dataclass(frozen=True, slots=True)
class Phrases:
    """The sentences that must never be waited for, rendered before the call."""

    bridge: Speech
    """Said when no answer can be in time."""
    pardon: Speech
    """The answer to speech without words."""
    apology: Speech
    """Said when no answer comes at all."""


@dataclass(slots=True)
class Turn:
    """One turn, its account, its two deadlines, and what the caller heard of it."""

    number: int
    utterance: Utterance
    said: str
    """What to answer: the utterance, with words of a turn before it that was never answered."""
    ledger: Ledger
    budget: Budget
    """By when something must sound."""
    patience: Budget
    """By when the answer must, behind a bridge."""
    outcome: Outcome | None = None
    heard: Heard = field(default_factory=Heard)

    def sounding(self, *, answer: bool) -> _Sounding:
        """Return what tells the ledger that the first audible sample has left."""
        return _Sounding(self.ledger, answer)


@dataclass(frozen=True, slots=True)
class _Sounding:
    ledger: Ledger
    answer: bool

    def __call__(self, by_clock: int, by_tape: int) -> None:
        if self.ledger.witness_us is None:
            self.ledger.witness_us = by_tape
        self.ledger.sounded(by_clock, answer=self.answer)


async def take_turn(turn: Turn, desk: Desk, history: tuple[Said, ...]) -> None:
    """Answer one utterance, in time; in any case say something."""
    account_for_listening(turn)
    rendering = Rendering()
    work = desk.crew.create_task(prepare(turn, desk, history, rendering), name=f"turn {turn.number}: reply")
    try:
        if not await clock.wait_until([rendering.ready], bridge_at(turn, desk)):
            await bridge(turn, desk)
            by = turn.patience.keep(audio.us(desk.phrases.apology.onset)).ends_us
            await clock.wait_until([rendering.ready], by)
        if rendering.failure:
            await apologise(turn, desk, rendering.failure)
        else:
            await deliver(turn, desk, rendering)
    finally:
        work.cancel()
        turn.ledger.close()


def account_for_listening(turn: Turn) -> None:
    """Charge what passed before the turn could begin: the silence waited for, and the text."""
    heard, ledger = turn.utterance, turn.ledger
    ledger.charge("endpoint", Owner(heard.rule, "setting"), heard.decided_us)
    ledger.charge("transcribe", Owner(heard.transcriber, "service"), heard.text_us)
    dropped = [work for work in heard.work if not work.used]
    for work in heard.work:
        if work.used:
            cost = work.ended_us - work.began_us
            waited = max(0, work.ended_us - max(heard.decided_us, work.began_us))
            lane = ledger.lane(f"asr:{heard.transcriber}", work.began_us)
            lane.end("used", work.ended_us, saved_us=max(0, cost - waited))
    if dropped:
        lane = ledger.lane(f"asr:{heard.transcriber} partials", dropped[0].began_us)
        wasted = sum(work.ended_us - work.began_us for work in dropped)
        lane.end("dropped", dropped[-1].ended_us, wasted_us=wasted)
    if heard.because:
        ledger.decide("partial text", heard.because)
    ledger.otherwise("choose", LOOP)


def bridge_at(turn: Turn, desk: Desk) -> int:
    """Return the last instant at which the bridge can begin and still sound inside the budget."""
    deliver = desk.forecast.of("deliver").p95_us
    return turn.budget.keep(deliver + audio.us(desk.phrases.bridge.onset)).ends_us


async def bridge(turn: Turn, desk: Desk) -> None:
    """Keep the promise with a sound; the answer is still being made."""
    left = turn.budget.left() // clock.MS
    turn.ledger.decide("bridge", f"no answer yet, and {left} ms left are what the bridge needs")
    turn.ledger.otherwise("deliver", Owner("bridge", "budget"))
    await desk.mouth.play(at_once(desk.phrases.bridge), turn.heard, turn.sounding(answer=False))
    turn.ledger.otherwise("choose", LOOP)


async def prepare(turn: Turn, desk: Desk, history: tuple[Said, ...], rendering: Rendering) -> None:
    """Make the reply; whatever goes wrong in it costs this turn's reply and nothing else."""
    try:
        await render(turn, desk, history, rendering)
        failure = "" if rendering.ready.done() else "the reply has no words to speak"
    except ComponentError as error:
        failure = str(error)
    except Exception as error:  # noqa: BLE001 - an agent may raise anything
        failure = f"{type(error).__name__}: {error}"
    if failure:
        turn.ledger.decide("reply given up", failure)
    await rendering.end(failure)


async def render(turn: Turn, desk: Desk, history: tuple[Said, ...], rendering: Rendering) -> None:
    """Choose the reply and render it piece by piece, the first as soon as it can be."""
    if not turn.said:
        turn.ledger.decide("pardon", f"{turn.utterance.voiced_us // clock.MS} ms of voice without a word")
        await rendering.put(desk.phrases.pardon)
        return
    reply = await choose(turn, desk, history)
    with turn.ledger.stage("synthesize", Owner(desk.voice.name, "service")):
        opening, *rest = split(speakable(reply.text)) or [""]
        await rendering.put(await render_opening(turn, desk, opening))
    turn.ledger.otherwise("deliver", LOOP)
    await clock.sleep(0)  # the Mouth begins before the next piece is asked for
    for piece in rest:
        await rendering.put(await desk.voice.render(piece, turn.patience))


async def choose(turn: Turn, desk: Desk, history: tuple[Said, ...]) -> Reply:
    """Have the reply chosen before what must still come would be too late."""
    began = clock.now()
    budget = turn.patience.keep(desk.forecast.of("synthesize").p95_us + desk.forecast.of("deliver").p95_us)
    with turn.ledger.stage("choose", Owner(desk.responder.name, "agent")):
        reply = await desk.responder.answer(turn.said, history, budget)
    desk.forecast.note("choose", clock.now() - began)
    if reply is None:
        raise ComponentError("has no reply", where=desk.responder.name)
    turn.ledger.decide(f"reply of {reply.by}", reply.because)
    return reply


async def render_opening(turn: Turn, desk: Desk, piece: str) -> Speech:
    """Render the first piece, which the caller waits for."""
    speech = await desk.voice.render(piece, turn.patience)
    desk.forecast.note("synthesize", speech.cost_us)
    if speech.padding_us:
        turn.ledger.lane("tts:leading silence").end("trimmed", saved_us=speech.padding_us)
    return speech


async def deliver(turn: Turn, desk: Desk, rendering: Rendering) -> None:
    """Play the answer; its first audible sample closes the account."""
    began = clock.now()
    turn.ledger.otherwise("deliver", LOOP)
    with turn.ledger.stage("deliver", Owner("line", "own code")):
        await desk.mouth.play(rendering.pieces(), turn.heard, turn.sounding(answer=True))
    if turn.outcome is None and turn.ledger.first_answer_us is not None:
        if turn.ledger.first_sound_us == turn.ledger.first_answer_us:
            desk.forecast.note("deliver", turn.ledger.first_answer_us - began)
            turn.outcome = "answered"
        else:
            turn.outcome = "bridged"


async def apologise(turn: Turn, desk: Desk, failure: str) -> None:
    """Say that no answer will come; it is a sound, not an answer, so the turn has failed."""
    turn.ledger.decide("apology", failure)
    turn.ledger.otherwise("deliver", Owner("apology", "budget"))
    turn.outcome = "failed"
    await desk.mouth.play(at_once(desk.phrases.apology), turn.heard, turn.sounding(answer=False))


class Rendering:
    """A reply on its way to sound: its pieces come as they are rendered, a few ahead of the Mouth."""

    def __init__(self) -> None:
        self.ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Done when the first piece is there, or none will be."""
        self.failure = "no answer came in time"
        """Why there is nothing to play; '' once a piece is there."""
        self._pieces: asyncio.Queue[Speech | None] = asyncio.Queue(AHEAD)

    async def put(self, speech: Speech) -> None:
        """Add the next piece; waits while enough are ahead."""
        self._settle("")
        await self._pieces.put(speech)

    async def end(self, failure: str) -> None:
        """Say that no further piece will come."""
        self._settle(failure)
        await self._pieces.put(None)

    def _settle(self, failure: str) -> None:
        if not self.ready.done():
            self.failure = failure
            self.ready.set_result(None)

    async def pieces(self) -> AsyncIterator[Speech]:
        """Yield the pieces in order, until the end."""
        while (piece := await self._pieces.get()) is not None:
            yield piece
