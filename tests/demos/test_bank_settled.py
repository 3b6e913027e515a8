"""Where the bank takes a caller's words for whole: at the ends of turns, and at no pause within one."""

from __future__ import annotations

import json
from itertools import groupby, pairwise
from operator import itemgetter

from turnbudget.demos.bank.bank import open_bank
from turnbudget.voice.call.ledger import Ledger
from turnbudget.voice.call.responder import Question, Said
from turnbudget.voice.language.text import is_words
from turnbudget.voice.time import clock
from turnbudget.voice.time.budget import Budget
from turnbudget.voice.time.crew import Crew

PAUSE_MS = 100


class Talk:
    """A call with the bank, each turn of which may be asked about before it is said."""

    def __init__(self, crew, make):
        self.crew = crew
        self.council = make()
        self.history = []

    async def ask(self, text, *, guess):
        budget = Budget.of(5 * clock.SECOND)
        notes = Ledger(clock.now())
        asked = Question(
            said=text,
            history=tuple(self.history),
            budget=budget,
            notes=notes,
            crew=self.crew,
            sound_by=budget,
            guess=guess,
        )
        return await self.council.answer(asked)

    async def settled(self, text):
        """Whether the words so far are taken for whole."""
        reply = await self.ask(text, guess=True)
        return reply is not None and reply.completeness == "whole"

    async def say(self, text):
        reply = await self.ask(text, guess=False)
        self.history.append(Said("caller", text))
        if reply:
            said = " ".join([reply.text, *[piece async for piece in reply.rest]])
            self.history.append(Said("agent", said))


async def held(*turns):
    """Say *turns*; return for each whether it was settled."""
    async with Crew() as crew:
        talk = Talk(crew, open_bank())
        settled = []
        for text in turns:
            settled.append(await talk.settled(text))
            await talk.say(text)
    return settled


async def test_a_call_that_goes_as_it_should_is_settled_at_every_turn():
    assert (
        await held(
            "Hi, my name is Robert Johnson. I would like to transfer money between my accounts.",
            "Ah, the amount is one hundred and thirty-five dollars.",
            "Savings.",
            "My checking account.",
            "No, thank you.",
        )
        == [True] * 5
    )


async def test_a_caller_who_dictates_is_waited_for():
    """VAD-01: each piece of an address is waited for, the zip code's last digit is not."""
    assert await held(
        "I need a new checkbook.", "My address is zero, zero, one.", "Main, that's M, a, I, n.", "Street,",
        "And that's in Forest Ranch,", "California,", "The zip code is seven, zero, zero.", "Two, three.",
    ) == [True, *[False] * 6, True]  # fmt: skip


async def test_a_guess_moves_no_money():
    """TURN-09: however often it is asked on a guess."""
    async with Crew() as crew:
        talk = Talk(crew, open_bank())
        for _ in range(4):
            reply = await talk.ask("transfer 50 dollars from checking to savings", guess=True)
            assert reply.text == "Okay, 50 dollars from checking to savings."
        await talk.ask("my checking balance please", guess=False)
        assert "amount" not in talk.council.known.slots


def words(segments):
    """The words of one turn: what, and from when to when in the call (ms)."""
    for segment in segments:
        times = list(zip(segment["word_offsets_ms"], segment["word_durations_ms"], strict=True))
        texts = (segment[key].split() for key in ("human_transcript", "transcript"))
        said = next(text for text in texts if len(text) == len(times))
        for word, (offset, took) in zip(said, times, strict=True):
            if is_words(word):
                began = segment["offset_ms"] + offset
                yield word, began, began + took


async def test_at_no_pause_within_a_recorded_turn_is_a_caller_taken_to_be_done(recordings):
    """The 8 calls, every pause of 100 ms or more that the recogniser's word times show."""
    make = open_bank()
    pauses, ends, whole = 0, 0, 0
    for path in sorted((recordings / "harper-valley" / "transcript").glob("*.json")):
        segments = sorted(json.loads(path.read_text("utf-8")), key=itemgetter("offset_ms"))
        async with Crew() as crew:
            talk = Talk(crew, make)
            for role, group in groupby(segments, itemgetter("speaker_role")):
                said = list(words(group)) if role == "caller" else []
                for at, ((_, _, ended), (_, began, _)) in enumerate(pairwise(said), 1):
                    if began - ended >= PAUSE_MS:
                        pauses += 1
                        so_far = " ".join(word for word, _, _ in said[:at])
                        assert not await talk.settled(so_far), so_far
                if said:
                    text = " ".join(word for word, _, _ in said)
                    ends += 1
                    whole += await talk.settled(text)
                    await talk.say(text)
    assert pauses >= 40
    assert whole >= 0.6 * ends
