"""How quickly a call reacts to its caller, in virtual time, over calls that differ in all that is chance."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from turnbudget.testing.stage import (
    ASK,
    EIGHT,
    NEVER,
    Answers,
    Late,
    answering,
    began,
    checked,
    murmurs,
    over,
    play,
    says,
    stays,
)
from turnbudget.voice.asr.scripted import ScriptedTranscriber, Take
from turnbudget.voice.call.responder import Reply
from turnbudget.voice.errors import BrokenPromise
from turnbudget.voice.time import clock
from turnbudget.voice.time.clock import MS, SECOND

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator

    from turnbudget.testing.stage import Played
    from turnbudget.voice.call.responder import Question, Said


@dataclass(frozen=True)
class Promise:
    """What is measured, and what it must not exceed (ms)."""

    name: str
    most_ms: int


STOP_END = Promise("silence after the end of a stop word", 200)
STOP_KNOWN = Promise("silence after a stop word is known", 200)
ONSET = Promise("silence after the onset of real speech", 300)
RESUME = Promise("sound again after the end of a cough", 1_000)
TWICE = Promise("sound repeated after a cough", 150)
MAKING = Promise("generation ended after a cut", 100)
PROMISES: Final = (STOP_END, STOP_KNOWN, ONSET, RESUME, TWICE, MAKING)

Measured: TypeAlias = "AsyncIterator[tuple[Promise, int]]"


class Endless:
    """A responder whose first reply streams on and on, and which notes when that ended."""

    name = "endless"
    ended_us: int | None = None

    async def make_ready(self, history: tuple[Said, ...]) -> None:
        """Have nothing to make ready."""

    async def answer(self, question: Question) -> Reply:  # noqa: ARG002 - it says what it says
        """Return the endless reply, and a short one once that has ended."""
        if self.ended_us is not None:
            return Reply("All right.", self.name)
        return Reply("Sentence number one is here.", self.name, rest=self._rest())

    async def _rest(self) -> AsyncGenerator[str, None]:
        try:
            for _ in range(40):
                await clock.sleep(400 * MS)
                yield "Here is one sentence more."
        finally:
            self.ended_us = clock.now()


class Chance:
    """What differs from call to call: when the caller begins, how long a word takes, how late it is known."""

    def __init__(self, seed: int) -> None:
        dice = random.Random(seed)  # noqa: S311 - chance, no secret
        self.at_us = dice.randrange(400 * MS, 4 * SECOND, 7 * MS)
        self.word_us = dice.randrange(220 * MS, 450 * MS, 10 * MS)
        self.lag_us = dice.randrange(100 * MS, 600 * MS, 10 * MS)
        self.final_us = dice.randrange(40 * MS, 400 * MS, 10 * MS)

    def hearing(self, *takes: Take) -> dict[str, Any]:
        """Return the parts that hear so late."""
        return {
            "vad": Late,
            "asr": ScriptedTranscriber(lag_us=self.lag_us, final_us=self.final_us, takes=[Take(), *takes]),
        }


def hushed_us(played: Played, instant: int) -> int:
    """Return when what sounded at *instant* fell silent."""
    return next(ended for start, ended in played.sounds if start <= instant < ended)


async def stop(chance: Chance) -> Measured:
    """Have the caller say "stop"."""
    clip = over(says("stop", pause_us=chance.at_us, word_us=chance.word_us))
    played = checked(await play(ASK, clip, stays(2 * SECOND), responder=answering(EIGHT), **chance.hearing()))
    _hold(len(played.sounds) == 1, f"we sound {len(played.sounds)} times behind a stop word")
    at_us = began(played, "stop")
    silent, end = hushed_us(played, at_us), at_us + chance.word_us
    yield STOP_END, silent - end
    yield STOP_KNOWN, silent - (end + chance.lag_us)


async def speech(chance: Chance) -> Measured:
    """Have the caller speak, and go on."""
    clip = over(says("and what about friday then", pause_us=chance.at_us, word_us=chance.word_us))
    responder = Answers((0, EIGHT), (0, "Friday it is."))
    played = checked(await play(ASK, clip, responder=responder, **chance.hearing()))
    yield ONSET, hushed_us(played, began(played, "and")) - began(played, "and")


async def cough(chance: Chance) -> Measured:
    """Have the caller cough."""
    clip = over(murmurs(chance.word_us, pause_us=chance.at_us))
    quiet = Take(text="", partials=())
    whole = await play(ASK, stays(9 * SECOND), responder=answering(EIGHT))
    played = await play(ASK, clip, stays(9 * SECOND), responder=answering(EIGHT), **chance.hearing(quiet))
    _hold([row.said for row in checked(played).turns] == [EIGHT], "a reply is said once, and whole")
    coughed_us = began(played, "") + chance.word_us
    again = [start for start, _ in played.sounds if start > began(played, "")]
    yield RESUME, again[0] - coughed_us if again else 0
    yield TWICE, abs(sum(end - at for at, end in played.sounds) - sum(end - at for at, end in whole.sounds))


async def stream(chance: Chance) -> Measured:
    """Have the caller speak over a reply that is still being made."""
    clip = over(says("and what about friday then", pause_us=chance.at_us, word_us=chance.word_us))
    responder = Endless()
    played = checked(await play(ASK, clip, responder=responder, **chance.hearing()))
    cut = next(one.at_us for one in played.turns[0].account.decisions if one.took == "broken off")
    yield MAKING, (responder.ended_us or NEVER) - cut


async def measure(count: int, seed: int = 0) -> dict[Promise, list[int]]:
    """Return what was measured (µs) of each promise, over *count* calls of each kind."""
    found: dict[Promise, list[int]] = {promise: [] for promise in PROMISES}
    for number in range(count):
        for act in (stop, speech, cough, stream):
            async for promise, us in act(Chance((seed << 20) + number)):
                found[promise].append(us)
    return found


def _hold(kept: bool, promise: str) -> None:  # noqa: FBT001 - reads as a sentence
    BrokenPromise.unless_kept("the call", [] if kept else [promise])
