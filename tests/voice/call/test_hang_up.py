"""However and whenever a call ends, each turn has its row, and nothing of the call is left."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import pytest
from laws import each

from turnbudget.testing.stage import (
    ASK,
    BRIDGE,
    NEVER,
    Answers,
    after,
    answering,
    check_account,
    hangs_up,
    over,
    play,
    prepared,
    says,
    speech,
    stays,
)
from turnbudget.voice.asr.scripted import Take
from turnbudget.voice.call.responder import Reply
from turnbudget.voice.errors import LineError
from turnbudget.voice.sound import audio
from turnbudget.voice.time import clock
from turnbudget.voice.time.clock import MS, SECOND
from turnbudget.voice.tts.scripted import ScriptedSynthesizer

NOW = says("what is my balance please", when="at once", pause_us=0)
HELLO = speech("Good day, how can I help?", 3 * SECOND)
LONG = " ".join(f"Sentence number {name} goes on for a while." for name in "abcdefghijkl")


PHASES = {
    "in the greeting": ({"greeting": HELLO, "at": 1_000}, [("greeting", "cut")]),
    "while he speaks": ({"at": 500}, []),
    "while the text is made": ({"takes": [Take(never=True)], "at": 2_100}, [("turn", "superseded")]),
    "while the reply is chosen": ({"responder": Answers((NEVER, "")), "at": 2_150}, [("turn", "superseded")]),
    "while the voice renders": (
        {"voice": ScriptedSynthesizer(cost_us=SECOND), "at": 2_150},
        [("turn", "superseded")],
    ),
    "in the bridge": ({"responder": Answers((NEVER, "")), "at": 2_600}, [("turn", "cut")]),
    "behind the bridge": ({"responder": Answers((NEVER, "")), "at": 4_000}, [("turn", "cut")]),
    "in the apology": ({"responder": Answers((NEVER, "")), "at": 7_000}, [("turn", "failed")]),
    "in the answer": ({"responder": answering(LONG), "at": 4_000}, [("turn", "cut")]),
    "after the answer": ({"at": 7_000}, [("turn", "answered")]),
}


@each(("given", "expected"), PHASES.values(), ids=PHASES)
@each("how", ["the caller hangs up", "the run is cancelled"])
async def test_whenever_the_call_ends_each_turn_has_a_row_and_no_task_is_left(given, expected, how):
    given = dict(given)
    at_us = given.pop("at") * MS
    clips = [NOW] if given.get("greeting") is None else []
    call, line, rows = prepared(*clips, stays(60 * SECOND), **given)
    before = asyncio.all_tasks()
    run = asyncio.get_running_loop().create_task(call.run())
    listening = line.listen

    async def until():
        async with asyncio.timeout(None):
            async for frame in listening():
                if clock.now() >= at_us and how == "the caller hangs up":
                    return
                yield frame

    line.listen = until
    await clock.sleep_until(at_us + MS)
    if how == "the run is cancelled":
        run.cancel()
    with suppress(asyncio.CancelledError):
        await run
    assert clock.now() <= at_us + 100 * MS
    assert [(row.kind, row.account.outcome) for row in rows] == expected
    for row in rows:
        check_account(row)
    assert asyncio.all_tasks() == before
    assert call.dangling == ()


async def test_a_hang_up_while_we_speak_keeps_the_turn():
    """TURN-13: 3.2 s into an answer of ten."""
    reply = "One two three four five six seven eight nine ten. " * 4
    played = await play(ASK, hangs_up(3_200 * MS, "sounding"), responder=answering(reply))
    [row] = played.turns
    check_account(row)
    assert row.account.outcome == "cut"
    assert after(row.account, row.account.first_sound_us) <= 800 * MS
    spoken = [at for at, _ in played.line.sent]
    assert abs(spoken[-1] - spoken[0] - 3_200 * MS) <= 60 * MS
    assert reply.startswith(row.said)
    assert 8 <= len(row.said.split()) <= 20


class Stubborn(Answers):
    """A responder that swallows its cancellation for five seconds."""

    async def make_ready(self, _):
        """Have nothing to make ready."""

    async def answer(self, *_):
        until = clock.now() + 60 * SECOND
        with suppress(asyncio.CancelledError):
            await clock.sleep_until(until)
        with suppress(asyncio.CancelledError):
            await clock.sleep(5 * SECOND)


async def test_a_stage_that_will_not_end_does_not_hold_the_call():
    """MET-16: closed within two seconds, the task is named, and what was said was heard."""
    before = asyncio.all_tasks()
    played = await play(NOW, hangs_up(1_500 * MS, "sounding"), responder=Stubborn())
    [row] = played.turns
    check_account(row)
    assert row.said == BRIDGE
    hung_up_us = played.line.sent[0][0] + 1_500 * MS
    assert clock.now() <= hung_up_us + 2_100 * MS
    assert played.call.dangling == ("turn 1: reply",)
    await clock.sleep(5 * SECOND)
    assert asyncio.all_tasks() == before


async def test_a_line_that_breaks_ends_the_call_and_keeps_its_turn():
    call, line, rows = prepared(NOW, stays(20 * SECOND), responder=answering(LONG))
    send = line.send

    def broken(frame):
        if clock.now() > 4 * SECOND:
            raise LineError("the line broke")
        send(frame)

    line.send = broken
    with pytest.raises(LineError):
        await call.run()
    assert [row.account.outcome for row in rows] == ["cut"]
    check_account(rows[0])
    assert call.ended == "broken off"


async def test_nobody_is_on_hold_for_longer_than_a_call_may_be():
    """A tab that was left asleep keeps its place no longer than one that talks."""
    call, _, _ = prepared(ASK, stays(600 * SECOND), longest_us=60 * SECOND)
    clock.call_at(clock.now() + 5 * SECOND, lambda: call.hold(on=True))
    began = clock.now()
    await call.run()
    assert call.ended == "the call was too long"
    assert clock.now() - began < 61 * SECOND


async def test_who_was_put_on_hold_before_the_call_began_is_greeted_when_they_are_back():
    call, line, _ = prepared(stays(6 * SECOND), greeting=speech("Hello, how can I help you today?"))
    call.hold(on=True)
    clock.call_at(clock.now() + 3 * SECOND, lambda: call.hold(on=False))
    began = clock.now()
    await call.run()
    loud = [at - began for at, frame in line.sent if abs(frame.astype(int)).max() > audio.AUDIBLE]
    assert min(loud, default=0) >= 3 * SECOND - 200 * MS


PUT_THROUGH = Reply("I will put you through to someone who knows all of it.", "answers", transfer="+15550123")
GOODBYE = Reply("Thank you very much for calling us today and goodbye.", "answers", ends_call=True)


@pytest.mark.parametrize("breaks_in", [False, True])
@pytest.mark.parametrize(
    ("reply", "end"), [(PUT_THROUGH, "the caller was sent on"), (GOODBYE, "we said goodbye")]
)
async def test_only_a_reply_that_was_heard_whole_sends_the_caller_on_or_ends_the_call(reply, end, breaks_in):
    """A caller who says "stop" into it stays on the line."""
    stop = over(says("stop", pause_us=500 * MS, word_us=350 * MS))
    played = await play(
        ASK,
        stop if breaks_in else stays(0),
        stays(6 * SECOND),
        responder=Answers((0, reply)),
        transfers=True,
        parting_us=2 * SECOND,
    )
    assert played.turns[0].account.outcome == ("cut" if breaks_in else "answered")
    assert (played.call.ended == end) is not breaks_in
    assert bool(played.call.transfer) is (reply is PUT_THROUGH and not breaks_in)
