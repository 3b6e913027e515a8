"""How a turn's reply is made: chosen, then rendered piece by piece, the opening first."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Final

from turnbudget.voice.call.ledger import Owner
from turnbudget.voice.call.responder import Question
from turnbudget.voice.errors import ComponentError, TtsError
from turnbudget.voice.sound import audio
from turnbudget.voice.time import clock
from turnbudget.voice.time.budget import Budget
from turnbudget.voice.words.sentences import split
from turnbudget.voice.words.text import speakable

if TYPE_CHECKING:
    from turnbudget.voice.call.desk import Desk
    from turnbudget.voice.call.ledger import Ledger
    from turnbudget.voice.call.responder import Reply, Said
    from turnbudget.voice.call.turn import Turn
    from turnbudget.voice.speaking.rendering import Rendering
    from turnbudget.voice.tts.synthesizer import Speech

PIECE_US: Final = 2 * clock.SECOND
"""A piece after the first is given so long, while the ones before it are heard."""
LOOP: Final = Owner("event loop", "own code")
"""Who is charged while one task has ended and the next has not begun."""


async def prepare(turn: Turn, desk: Desk, history: tuple[Said, ...]) -> None:
    """Make the reply; whatever goes wrong in it costs this turn's reply and nothing else."""
    failure = "the reply was broken off"
    try:
        await render(turn, desk, history)
        failure = ""
    except ComponentError as error:
        failure = str(error)
    except Exception as error:  # noqa: BLE001 - an agent may raise anything
        failure = f"{type(error).__name__}: {error}"
    finally:
        if failure:
            turn.ledger.decide("reply given up", failure)
        turn.rendering.end(failure)


async def render(turn: Turn, desk: Desk, history: tuple[Said, ...]) -> None:
    """Choose the reply and render it piece by piece, the first as soon as it can be."""
    rendering = turn.rendering
    if not turn.said:
        turn.ledger.decide("pardon", f"{turn.utterance.voiced_us // clock.MS} ms of voice without a word")
        await rendering.put(desk.phrases.pardon)
        return
    reply = await choose(turn, desk, history)
    turn.ends_call, turn.transfer = reply.ends_call, reply.transfer
    async with contextlib.aclosing(reply.rest) as rest:
        with turn.ledger.stage("synthesize", Owner(desk.voice.name, "service")):
            pieces = split(speakable(reply.text))
            if not pieces:
                raise ComponentError("the reply has no words to speak", where=desk.responder.name)
            opening, left = await render_opening(turn, desk, pieces[0])
            await rendering.put(opening)
        turn.ledger.otherwise("deliver", LOOP)
        await clock.sleep(0)  # the Mouth begins before the next piece is asked for
        await render_rest(desk, rendering, [*filter(None, (left,)), *pieces[1:]])
        async for text in rest:
            await render_rest(desk, rendering, split(speakable(text)))


async def render_rest(desk: Desk, rendering: Rendering, pieces: list[str]) -> None:
    """Render what follows while the opening is heard."""
    for piece in pieces:
        await rendering.put(await render_piece(desk, piece, Budget.of(PIECE_US)))


async def choose(turn: Turn, desk: Desk, history: tuple[Said, ...]) -> Reply:
    """Have the reply chosen before what must still come would be too late."""
    began = clock.now()
    question = ask(desk, turn.said, history, turn.ledger, budget=turn.budget, patience=turn.patience)
    if desk.ahead:
        with turn.ledger.stage("match", Owner("reply bank", "own code")):
            matched = desk.ahead.match(question)
        if matched:
            turn.ledger.decide(f"reply of {matched.by}", matched.because)
            return matched
    with turn.ledger.stage("choose", Owner(desk.responder.name, "agent")):
        reply = await desk.responder.answer(question)
    desk.forecast.note("choose", clock.now() - began)
    if reply is None:
        raise ComponentError("has no reply", where=desk.responder.name)
    turn.ledger.decide(f"reply of {reply.by}", reply.because)
    return reply


def ask(  # noqa: PLR0913 - what a question is made of
    desk: Desk,
    said: str,
    history: tuple[Said, ...],
    ledger: Ledger,
    *,
    budget: Budget,
    patience: Budget,
    parting: bool = False,
    guess: bool = False,
) -> Question:
    """Return the question for the responder: what was *said*, and by when its answer is of use."""
    synthesis = desk.forecast.of("synthesize").p95_us
    by = patience.keep(synthesis + desk.forecast.of("deliver").p95_us)
    sound_by = Budget(desk.last_moment(budget, desk.phrases.bridge)).keep(synthesis)
    act_at = ledger.zero_us + desk.act_us
    return Question(said, history, by, ledger, desk.crew, sound_by, act_at, desk.quiet, parting, guess)


async def render_opening(turn: Turn, desk: Desk, piece: str) -> tuple[Speech, str]:
    """Return the sound of the first piece, which the caller waits for, and what of it is still to render."""
    if desk.ahead and (found := desk.ahead.opening(piece)):
        speech, _ = found
        turn.shelved = True
        turn.ledger.decide("shelf", f"{speech.text!r} is ready")
        turn.ledger.lane("shelf").end("hit", saved_us=speech.cost_us)
        return found
    joined = await join_render(turn, desk, piece)
    speech = joined or await render_piece(desk, piece, turn.patience)
    desk.forecast.note("synthesize", speech.cost_us)
    if speech.padding_us:
        turn.ledger.lane("tts:leading silence").end("trimmed", saved_us=speech.padding_us)
    return speech, ""


async def join_render(turn: Turn, desk: Desk, piece: str) -> Speech | None:
    """Return *piece* from the render of it that is under way, begun ahead; ``None`` if there is none."""
    began = clock.now()
    speech = await desk.ahead.joined(piece, turn.patience) if desk.ahead else None
    if speech:
        turn.ledger.decide("render joined", f"{speech.text!r} was being rendered already")
        saved = max(0, speech.cost_us - (clock.now() - began))
        turn.ledger.lane("shelf", began).end("joined", saved_us=saved)
    return speech


async def render_piece(desk: Desk, piece: str, budget: Budget) -> Speech:
    """Render one piece; a voice that lets *budget* pass, or gives nothing to hear, has failed."""
    speech: Speech | None = None
    async with clock.move_on_at(budget.ends_us):
        speech = await desk.voice.render(piece, budget)
    if speech is None:
        raise TtsError("gave no sound in time", where=desk.voice.name)
    if audio.first_audible(speech.samples) is None:
        raise TtsError(f"gave nothing to hear for {piece[:40]!r}", where=desk.voice.name)
    return speech
