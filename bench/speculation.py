"""What a reply costs its turn, made ready before it and not: ``python bench/speculation.py [TURNS]``.

Whole calls on the wall's clock, with a council and a real voice; the caller and the recogniser are scripted,
for what is measured begins at the endpoint decision: until the first frame of the reply is handed to the
line. A head start is measured on the demonstration bank's council: from the pause to the silence chosen.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

import click
from facts import facts

from turnbudget.agents.agent import Context, Opinion
from turnbudget.council.convene import Seat
from turnbudget.council.council import Council
from turnbudget.demos.bank.bank import open_bank
from turnbudget.speculative.prepare import Ranks
from turnbudget.speculative.shelf.shelf import Shelf
from turnbudget.speculative.speculation import Speculation
from turnbudget.voice.asr.reference import Reference
from turnbudget.voice.asr.scripted import ScriptedTranscriber
from turnbudget.voice.asr.transcriber import Word
from turnbudget.voice.call.call import Call
from turnbudget.voice.call.ledger import Ledger
from turnbudget.voice.call.parts import CallRow, CallSettings, Parts, Phrases
from turnbudget.voice.call.responder import Question
from turnbudget.voice.errors import MissingEngine
from turnbudget.voice.hearing.endpoint import Endpointing
from turnbudget.voice.hearing.vad import ScriptedVad
from turnbudget.voice.lines.recording import Clip, RecordedLine
from turnbudget.voice.sound import audio
from turnbudget.voice.time import clock
from turnbudget.voice.time.budget import Budget, Cost, Forecast, nearest_rank
from turnbudget.voice.time.clock import MS, SECOND
from turnbudget.voice.time.crew import Crew
from turnbudget.voice.tts.choose import choose
from turnbudget.voice.tts.scripted import tone

if TYPE_CHECKING:
    from turnbudget.voice.sound.audio import Int16
    from turnbudget.voice.tts.synthesizer import Synthesizer

TURNS: Final = 30
STARTS: Final = 200
LEAVES_US: Final = 2 * MS
"""The promise: a reply on the shelf leaves so soon after the endpoint decision."""
SAID, SAYS = "yes", "Alright, thank you."
WISH: Final = "I would like to order a new debit card please"
BOUNDS: Final = Endpointing()
PRIORS: Final = {stage: Cost(0, 20 * MS) for stage in ("choose", "synthesize", "deliver")}


class Answers:
    """An agent that says one thing, and takes all words for whole."""

    name = "answers"

    async def answer(self, utterance: str, context: Context, budget: Budget) -> Opinion:
        """Return its opinion at once."""
        del utterance, context, budget
        return Opinion(SAYS, 0.9, completeness="whole")


class Line(RecordedLine):
    """A line that knows when each frame was handed to it."""

    def __init__(self, clips: list[Clip], reference: Reference) -> None:
        super().__init__(clips, reference, audio.silence(0))
        self.sent: list[int] = []

    def send(self, frame: Int16) -> None:
        """Take a frame of ours."""
        del frame
        self.sent.append(clock.now())


def caller(turns: int) -> list[Clip]:
    """Return a caller who says one word again and again."""
    said, quiet = audio.samples(300 * MS), audio.samples(100 * MS)
    samples = audio.join([tone(said), audio.silence(quiet)])
    clip = Clip(samples, (Word(SAID, 0, 300 * MS),), ((0, 300 * MS),), pause_us=100 * MS)
    return [clip] * turns


async def call(voice: Synthesizer, turns: int, *, ahead: bool) -> list[int]:
    """Return what passed from each endpoint decision until a frame left, ascending."""
    phrase = await voice.render("One moment.")
    shelf, reference = Shelf(voice), Reference()
    await shelf.warm([SAYS])
    line, rows = Line(caller(turns), reference), list[CallRow]()
    responder = Council([Seat(Answers())], call="bench")
    parts = Parts(
        line=line,
        vad=ScriptedVad(reference.words),
        transcriber=ScriptedTranscriber(reference.words, final_us=20 * MS),
        endpointing=BOUNDS,
        responder=responder,
        voice=voice,
        forecast=Forecast(PRIORS),
        phrases=Phrases(phrase, phrase, phrase),
        ahead=Speculation(responder, shelf.for_call(), bounds=BOUNDS, ranks=Ranks()) if ahead else None,
    )
    one = Call(parts, CallSettings(), rows.append)
    line.follow(one)
    await one.run()
    await shelf.aclose()
    wanted = "shelved" if ahead else "answered"
    decided = [row.utterance.decided_us for row in rows if row.utterance and row.account.outcome == wanted]
    return sorted(next(at for at in line.sent if at >= instant) - instant for instant in decided)


async def head_starts(voice: Synthesizer) -> tuple[list[int], int]:
    """Return what each head start took until it had chosen a silence, ascending, and the CPU of one."""
    make, shelf = await clock.offload(open_bank), Shelf(voice)
    async with Crew() as crew:
        budget = Budget.of(SECOND)
        reply = await make().answer(
            Question(
                said=WISH,
                history=(),
                budget=budget,
                notes=Ledger(clock.now()),
                crew=crew,
                sound_by=budget,
                guess=True,
            )
        )
        await shelf.keep(reply.text if reply else SAYS)
        used = clock.cpu()
        took = [await head_start(make(), shelf, crew) for _ in range(STARTS)]
        used = clock.cpu() - used
    await shelf.aclose()
    return sorted(took), used // STARTS


async def head_start(council: Council, shelf: Shelf, crew: Crew) -> int:
    """Return how long after a pause the silence was chosen that a ready reply is worth."""
    speculation = Speculation(council, shelf.for_call(), bounds=BOUNDS, ranks=Ranks())
    speculation.begin(crew)
    began, chosen = clock.now(), asyncio.Event()
    draft, budget = Ledger(began), Budget.of(SECOND)

    def wait(silence_us: int, _: str) -> None:
        if silence_us == BOUNDS.settled_us:
            chosen.set()

    question = Question(
        said=WISH, history=(), budget=budget, notes=draft, crew=crew, sound_by=budget, guess=True
    )
    speculation.paused(question, draft, wait, audio.silence(0))
    await chosen.wait()
    took = clock.now() - began
    speculation.hang_up()
    return took


def told(name: str, took: list[int]) -> str:
    """Return a line with the spread of *took*."""
    p50, p99 = nearest_rank(took, 50), nearest_rank(took, 99)
    return f"{name}: p50 {p50 / MS:.2f} ms, p99 {p99 / MS:.2f} ms (n {len(took)})"


async def measured(turns: int) -> None:
    """Print the figures of one voice."""
    try:
        voice, why = choose()
    except MissingEngine as missing:
        print(f"nothing to measure with: {missing}")
        return
    await voice.warm()
    try:
        ready = await call(voice, turns, ahead=True)
        made = await call(voice, turns, ahead=False)
        starts, cpu = await head_starts(voice)
    finally:
        await voice.aclose()
    print(why)
    print("from the endpoint decision to the reply's first frame")
    kept = sum(us <= LEAVES_US for us in ready)
    print(f"  {told('on the shelf', ready)}; {kept} of {len(ready)} within {LEAVES_US // MS} ms")
    print(f"  {told('chosen and rendered then', made)}")
    ratio = nearest_rank(made, 50) / max(1, nearest_rank(ready, 50))
    print(f"  {ratio:.1f} times sooner at the median, beside a shorter silence")
    print(f"from a pause to its silence, {told('a head start on the bank, its reply on the shelf', starts)}")
    print(f"  {cpu / MS:.2f} ms of CPU each")


@click.command()
@click.argument("turns", metavar="[TURNS]", type=click.IntRange(1), default=TURNS)
def main(turns: int) -> None:
    """Print what is ready and what is not."""
    print(facts())
    clock.run(measured(turns))


if __name__ == "__main__":
    main()
