"""A head start: what a pause is worth, told each time more is known, and never to another pause."""

from __future__ import annotations

import asyncio
import contextlib

import pytest
from guessing import LONG, QUICK, USUAL, Answers, talking
from laws import each
from voices import Voice

from turnbudget.voice.call.responder import Reply
from turnbudget.voice.errors import ComponentError
from turnbudget.voice.hearing.endpoint import Endpointing
from turnbudget.voice.time import clock
from turnbudget.voice.time.clock import MS, SECOND

READY = "Yes, it is."


async def test_the_silence_becomes_short_once_the_reply_is_ready():
    """While nothing is known it is the usual one; it is once the reply has come, until that is rendered."""
    async with talking(Answers(READY, delay_us=50 * MS)) as talk:
        await talk.say("what is my balance")
        assert talk.silences(1) == [USUAL, USUAL, QUICK]


async def test_a_reply_on_the_shelf_is_ready_at_once():
    async with talking(Answers(READY)) as talk:
        await talk.shelf.keep(READY)
        await talk.say("what is my balance", us=1 * MS)
        assert talk.silences(1)[-1] == QUICK
        assert talk.voice.rendered == [READY]


@each(
    ("given", "silence"),
    [
        (Reply(READY, "a"), USUAL),
        (Reply(READY, "a", completeness="whole", acts=True), USUAL),
        (Reply(READY, "a", completeness="part"), Endpointing().part_us),
        (Reply(READY, "a", completeness="lead-in"), LONG),
        (Reply("…", "a", completeness="whole"), USUAL),
        (None, Endpointing().patient_us),
        (ComponentError("down"), Endpointing().patient_us),
        (ZeroDivisionError("odd"), Endpointing().patient_us),
    ],
)
async def test_what_the_reply_is_decides_the_silence(given, silence):
    """TURN-09: what rests on an effect nobody has announced is never said early."""
    async with talking(Answers(given)) as talk:
        await talk.say("what is my balance")
        assert talk.silences(1)[-1] == silence


async def test_who_answers_with_an_error_costs_the_head_start_only_and_is_named():
    async with talking(Answers(ZeroDivisionError("odd"))) as talk:
        ledger = await talk.say("what is my balance")
        assert "ZeroDivisionError: odd" in [one.because for one in ledger.decisions]


async def test_a_voice_that_fails_leaves_the_usual_silence():
    async with talking(Answers(READY), voice=Voice(faults={"Yes": 1})) as talk:
        await talk.say("what is my balance")
        assert talk.silences(1)[-1] == USUAL
        assert not talk.shelf.has(READY)


async def test_only_the_opening_is_rendered_ahead():
    async with talking(Answers(f"{READY} And there is more to it.")) as talk:
        await talk.say("what is my balance")
        assert talk.voice.rendered == [READY]
        assert talk.silences(1)[-1] == QUICK


def stubborn(until_us):
    """Ignores its cancellation, and answers after *until_us*."""

    async def answer():
        until = clock.now() + until_us
        while clock.now() < until:
            with contextlib.suppress(asyncio.CancelledError):
                await clock.sleep_until(until)
        return READY

    return answer


async def test_a_head_start_that_will_not_end_says_nothing_of_the_next_pause():
    """TURN-07: its reply comes in the pause after, and would have ended that at once."""
    async with talking(Answers(stubborn(SECOND), Reply("Go on.", "b"))) as talk:
        talk.listening()
        await talk.pause("move", 200 * MS)
        talk.speculation.went_on()
        await clock.sleep(500 * MS)
        await talk.pause("move it", SECOND)
        assert set(talk.silences(2)) == {USUAL}
        assert talk.silences(1) == [USUAL]
        assert READY not in talk.voice.rendered


async def test_a_reply_that_the_turn_has_joined_says_nothing_of_the_next_pause():
    """Nor does it render what the turn renders."""
    async with talking(Answers(READY, Reply("Go on.", "b"), delay_us=SECOND)) as talk:
        await talk.say("what is my balance", us=600 * MS)
        talk.listening()
        await talk.pause("of my savings", 600 * MS)
        assert set(talk.silences(2)) == {USUAL}
        assert talk.silences(1) == [USUAL]
        assert talk.voice.rendered == []


async def test_after_a_goodbye_nobody_is_waited_for_longest():
    async with talking(Answers(Reply("Bye.", "a"))) as talk:
        talk.listening()
        await talk.pause("and the", parting=True)
        assert set(talk.silences(1)) == {USUAL}


class Listener:
    """A second opinion: *likely*, after *takes_us*; or it raises."""

    name = "listener"

    def __init__(self, likely, takes_us=50 * MS):
        self.likely, self.takes_us, self.heard = likely, takes_us, []

    async def ended(self, sound):
        self.heard.append(sound.size)
        await clock.sleep(self.takes_us)
        if isinstance(self.likely, Exception):
            raise self.likely
        return self.likely


@pytest.mark.parametrize(
    ("likely", "silence"), [(0.01, USUAL), (0.06, QUICK), (0.99, QUICK), (ZeroDivisionError("odd"), QUICK)]
)
async def test_a_second_opinion_may_ask_for_more_silence_and_never_for_less(likely, silence):
    """VAD-02: a voice that sounds unfinished is given the usual silence, however whole its words are."""
    async with talking(Answers(READY), second=Listener(likely)) as talk:
        ledger = await talk.say("what is my balance")
        assert talk.silences(1)[-1] == silence
        named = "no second opinion" in [one.took for one in ledger.decisions]
        assert named == isinstance(likely, Exception)


async def test_a_second_opinion_changes_nothing_where_the_words_are_not_whole():
    async with talking(Answers(Reply(READY, "a", completeness="lead-in")), second=Listener(0.99)) as talk:
        await talk.say("what is my balance")
        assert talk.silences(1)[-1] == LONG


async def test_nothing_is_said_early_before_the_second_opinion_is_there():
    async with talking(Answers(READY), second=Listener(0.99, takes_us=300 * MS)) as talk:
        await talk.say("what is my balance", us=250 * MS)
        assert QUICK not in talk.silences(1)


async def test_a_pause_is_listened_to_once_however_often_its_text_is_heard_anew():
    listener = Listener(0.99)
    async with talking(Answers(READY), second=listener) as talk:
        talk.listening()
        began = clock.now()
        await talk.pause("what is my", us=10 * MS)
        await talk.pause("what is my balance", us=100 * MS, zero_us=began)
        assert len(listener.heard) == 1
        talk.speculation.went_on()
        await talk.pause("what is my balance please", us=100 * MS)
        assert len(listener.heard) == 2
        assert talk.silences(2)[-1] == talk.silences(3)[-1] == QUICK
