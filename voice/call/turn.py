"""A turn: from the caller's last voiced sample to our answer. This file is the story of its life.

Its reply is chosen, then rendered piece by piece, the opening first, while the turn waits. The turn knows
neither agents nor engines nor lines, only what it asks of them, and it keeps one promise: inside the budget
something sounds. If no answer can, the bridge does, and the answer follows behind it.
"""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal

from turnbudget.voice.call.ledger import Ledger, Owner
from turnbudget.voice.call.responder import Question
from turnbudget.voice.errors import ComponentError, TtsError
from turnbudget.voice.language.sentences import split
from turnbudget.voice.language.speakable import speakable
from turnbudget.voice.sound import audio
from turnbudget.voice.speaking.mouth import Playback, Rendering, at_once
from turnbudget.voice.time import clock
from turnbudget.voice.time.budget import Budget

if TYPE_CHECKING:
    from turnbudget.voice.call.ahead import Ahead
    from turnbudget.voice.call.ledger import Lane, Ledger, Outcome
    from turnbudget.voice.call.parts import TurnParts
    from turnbudget.voice.call.responder import Reply, Said
    from turnbudget.voice.hearing.events import Utterance
    from turnbudget.voice.speaking.mouth import Sounding
    from turnbudget.voice.time.budget import Forecast
    from turnbudget.voice.tts.synthesizer import Speech

PIECE_US: Final = 2 * clock.SECOND
"""Budget for rendering each piece after the first, while earlier ones are heard (µs; 2 s)."""
LOOP: Final = Owner("event loop", "own code")
"""Owner of the time between the end of one task and the beginning of the next."""

BRIDGE: Final = Owner("bridge", "budget")
"""Owner of the time in which a bridge sounds, also where the answer behind it is ready before it ends."""
HELD: Final = Owner("barge_in", "setting")
"""Owner of the time in which a ready reply waits for what the caller's voice means."""


def _open() -> asyncio.Future[None]:
    return asyncio.get_running_loop().create_future()


@dataclass(slots=True, kw_only=True)
class Turn:
    """One turn: its account, its two deadlines, and what the caller heard of it."""

    number: int
    """Number of the turn in the call, from 1."""
    utterance: Utterance
    """What the caller said."""
    said: str
    """Words to answer: the utterance's, behind those of an earlier turn that was never answered."""
    asked: str
    """The same words, without keyed-in digits."""
    ledger: Ledger
    """Its account."""
    budget: Budget
    """By when something must sound."""
    patience: Budget
    """By when the answer must sound, behind a bridge."""
    behind: Owner | None = None
    """Owner of the time in which a protected announcement had to be played first; ``None`` for none."""
    outcome: Outcome | None = None
    """How the turn ended; ``None`` while that is open."""
    heard: Playback = field(default_factory=Playback)
    """What was heard of the answer."""
    aside: Playback = field(default_factory=Playback)
    """What was heard of bridge and apology, which are no part of the conversation."""
    rendering: Rendering = field(default_factory=Rendering)
    """The answer's pieces, as they are rendered."""
    urged: asyncio.Future[None] = field(default_factory=_open)
    """Done when the caller asked whether we are there, so that the bridge goes at once."""
    ends_call: bool = False
    """Whether the answer says goodbye."""
    transfer: str = ""
    """Where the answer sends the caller; '' for nowhere."""
    bridging: bool = False
    """Whether the bridge is sounding, so that an answer that is ready waits for its end."""
    shelved: bool = False
    """Whether the answer's opening was rendered before it was asked for."""
    reply: Lane | None = None
    """Lane of the reply's making; ``None`` until that begins."""
    work: asyncio.Task[None] | None = None
    """Task that makes the reply; ``None`` until it begins."""
    kind: Literal["turn"] = "turn"

    def close(self) -> None:
        """Close the account, with what was made in vain; a second call does nothing."""
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
    """Return a callback that notes the first audible sample in *ledger*, and its cost in *forecast*.

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


async def take_turn(turn: Turn, parts: TurnParts, history: tuple[Said, ...]) -> None:
    """Answer one utterance in time, or at least say something."""
    account_for_listening(turn, parts.ahead)
    rendering, phrases = turn.rendering, parts.phrases
    turn.reply = turn.ledger.lane(f"reply:{parts.responder.name}")
    turn.work = work = parts.crew.create_task(
        prepare(turn, parts, history), name=f"turn {turn.number}: reply"
    )
    try:
        moment = parts.last_moment(turn.budget, phrases.bridge)
        await clock.wait_until([rendering.ready, turn.urged], moment, first=True)
        if not rendering.ready.done() and await silence_is_ours(turn, parts):
            await bridge(turn, parts)
            await clock.wait_until([rendering.ready], parts.last_moment(turn.patience, phrases.apology))
        if rendering.failure:
            work.cancel()
            await apologise(turn, parts, rendering.failure)
        else:
            await deliver(turn, parts)
    finally:
        work.cancel()
        turn.close()


def account_for_listening(turn: Turn, ahead: Ahead | None) -> None:
    """Charge what passed before the turn began: silence, text, guesses."""
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


async def silence_is_ours(turn: Turn, parts: TurnParts) -> bool:
    """Wait while the caller's voice holds us; return whether there is still no answer then."""
    ready, mouth = turn.rendering.ready, parts.mouth
    if mouth.held:
        freed = parts.crew.create_task(mouth.freed(), name=f"turn {turn.number}: held")
        try:
            until = parts.last_moment(turn.patience, parts.phrases.apology)
            await clock.wait_until([ready, freed], until, first=True)
        finally:
            freed.cancel()
    return not ready.done()


async def bridge(turn: Turn, parts: TurnParts) -> None:
    """Play the bridge while the answer is still being made."""
    left, need = turn.budget.left() // clock.MS, parts.needs(parts.phrases.bridge) // clock.MS
    because = f"no answer yet, {left} ms left, and the bridge needs {need} ms"
    turn.ledger.decide("bridge", "the caller asked if we are there" if turn.urged.done() else because)
    turn.ledger.otherwise("deliver", BRIDGE)
    turn.bridging = True
    sounding = tells(turn.ledger, parts.forecast, answer=False)
    await parts.mouth.play(at_once(parts.phrases.bridge), turn.aside, sounding)
    turn.bridging = False
    turn.ledger.otherwise("choose", LOOP)


async def deliver(turn: Turn, parts: TurnParts) -> None:
    """Play the answer; its first audible sample closes the account."""
    turn.ledger.otherwise("deliver", LOOP)
    with turn.ledger.stage("deliver", HELD):
        await parts.mouth.freed()
    sounding = tells(turn.ledger, parts.forecast, answer=True)
    with turn.ledger.stage("deliver", Owner("line", "own code")):
        await parts.mouth.play(turn.rendering.pieces(), turn.heard, sounding)
    if turn.rendering.broken:
        turn.heard.complete = False
    if turn.ledger.first_answer_us is not None:
        alone = turn.ledger.first_sound_us == turn.ledger.first_answer_us
        if not alone:
            turn.outcome = "bridged"
        else:
            turn.outcome = "shelved" if turn.shelved else "answered"


async def apologise(turn: Turn, parts: TurnParts, failure: str) -> None:
    """Play the apology; no answer will come, so the turn has failed."""
    turn.ledger.decide("apology", failure)
    turn.ledger.otherwise("deliver", Owner("apology", "budget"))
    turn.outcome = "failed"
    with turn.ledger.stage("deliver", HELD):
        await parts.mouth.freed()
    sounding = tells(turn.ledger, parts.forecast, answer=False)
    await parts.mouth.play(at_once(parts.phrases.apology), turn.aside, sounding)


async def prepare(turn: Turn, parts: TurnParts, history: tuple[Said, ...]) -> None:
    """Make the reply; whatever goes wrong costs this turn's reply and nothing else."""
    failure = "the reply was broken off"
    try:
        await render(turn, parts, history)
        failure = ""
    except ComponentError as error:
        failure = str(error)
    except Exception as error:  # noqa: BLE001 - an agent may raise anything
        failure = f"{type(error).__name__}: {error}"
    finally:
        if failure:
            turn.ledger.decide("reply given up", failure)
        turn.rendering.end(failure)


async def render(turn: Turn, parts: TurnParts, history: tuple[Said, ...]) -> None:
    """Choose the reply and render it piece by piece, the first as soon as possible."""
    rendering = turn.rendering
    if not turn.said:
        turn.ledger.decide("pardon", f"{turn.utterance.voiced_us // clock.MS} ms of voice without a word")
        await rendering.put(parts.phrases.pardon)
        return
    reply = await choose(turn, parts, history)
    turn.ends_call, turn.transfer = reply.ends_call, reply.transfer
    async with contextlib.aclosing(reply.rest) as rest:
        with turn.ledger.stage("synthesize", Owner(parts.voice.name, "service")):
            pieces = split(speakable(reply.text, parts.language))
            if not pieces:
                raise ComponentError("the reply has no words to speak", where=parts.responder.name)
            opening, left = await render_opening(turn, parts, pieces[0])
            await rendering.put(opening)
        turn.ledger.otherwise("deliver", BRIDGE if turn.bridging else LOOP)
        await clock.sleep(0)  # the Mouth begins before the next piece is asked for
        await render_rest(parts, rendering, [*filter(None, (left,)), *pieces[1:]])
        async for text in rest:
            await render_rest(parts, rendering, split(speakable(text, parts.language)))


async def render_rest(parts: TurnParts, rendering: Rendering, pieces: list[str]) -> None:
    """Render the pieces that follow while the opening is heard."""
    for piece in pieces:
        await rendering.put(await render_piece(parts, piece, Budget.of(PIECE_US)))


async def choose(turn: Turn, parts: TurnParts, history: tuple[Said, ...]) -> Reply:
    """Have the reply chosen, early enough for rendering and delivery."""
    began = clock.now()
    question = ask(parts, turn.said, history, turn.ledger, budget=turn.budget, patience=turn.patience)
    if parts.ahead:
        with turn.ledger.stage("match", Owner("reply bank", "own code")):
            matched = parts.ahead.match(question)
        if matched:
            turn.ledger.decide(f"reply of {matched.by}", matched.because)
            return matched
    with turn.ledger.stage("choose", Owner(parts.responder.name, "agent")):
        reply = await parts.responder.answer(question)
    parts.forecast.note("choose", clock.now() - began)
    if reply is None:
        raise ComponentError("has no reply", where=parts.responder.name)
    turn.ledger.decide(f"reply of {reply.by}", reply.because)
    return reply


def ask(  # noqa: PLR0913 - what a question is made of
    parts: TurnParts,
    said: str,
    history: tuple[Said, ...],
    ledger: Ledger,
    *,
    budget: Budget,
    patience: Budget,
    parting: bool = False,
    guess: bool = False,
) -> Question:
    """Return the question for the responder about what was *said*."""
    synthesis = parts.forecast.of("synthesize").p95_us
    by = patience.keep(synthesis + parts.forecast.of("deliver").p95_us)
    sound_by = Budget(parts.last_moment(budget, parts.phrases.bridge)).keep(synthesis)
    act_at = ledger.zero_us + parts.act_us
    return Question(
        said=said,
        history=history,
        budget=by,
        notes=ledger,
        crew=parts.crew,
        sound_by=sound_by,
        act_at_us=act_at,
        quiet=parts.quiet,
        parting=parting,
        guess=guess,
    )


async def render_opening(turn: Turn, parts: TurnParts, piece: str) -> tuple[Speech, str]:
    """Return the sound of the first piece, and the text of it that is still to be rendered."""
    if parts.ahead and (found := parts.ahead.opening(piece)):
        speech, _ = found
        turn.shelved = True
        turn.ledger.decide("shelf", f"{speech.text!r} is ready")
        turn.ledger.lane("shelf").end("hit", saved_us=speech.cost_us)
        return found
    joined = await join_render(turn, parts, piece)
    speech = joined or await render_piece(parts, piece, turn.patience)
    parts.forecast.note("synthesize", speech.cost_us)
    if speech.padding_us:
        turn.ledger.lane("tts:leading silence").end("trimmed", saved_us=speech.padding_us)
    return speech, ""


async def join_render(turn: Turn, parts: TurnParts, piece: str) -> Speech | None:
    """Return *piece* from a render that was begun ahead; ``None`` if there is none."""
    began = clock.now()
    speech = await parts.ahead.joined(piece, turn.patience) if parts.ahead else None
    if speech:
        turn.ledger.decide("render joined", f"{speech.text!r} was being rendered already")
        saved = max(0, speech.cost_us - (clock.now() - began))
        turn.ledger.lane("shelf", began).end("joined", saved_us=saved)
    return speech


async def render_piece(parts: TurnParts, piece: str, budget: Budget) -> Speech:
    """Render one *piece*; raises TtsError if it takes beyond *budget* or is silent."""
    speech: Speech | None = None
    async with clock.move_on_at(budget.ends_us):
        speech = await parts.voice.render(piece, budget)
    if speech is None:
        raise TtsError("gave no sound in time", where=parts.voice.name)
    if audio.first_audible(speech.samples) is None:
        raise TtsError(f"gave nothing to hear for {piece[:40]!r}", where=parts.voice.name)
    return speech
