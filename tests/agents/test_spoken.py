"""An LLM's answer as it is spoken: the opening as soon as it is whole, and every attempt in the account."""

from __future__ import annotations

import asyncio
import contextlib

import pytest
from talking import first, healthy

from turnbudget.agents.backends import modes
from turnbudget.agents.backends.backend import BackendError, Message, Prompt, Timing, ToolCall
from turnbudget.agents.backends.scripted import ScriptedBackend, Step, fails, says, silent
from turnbudget.agents.llm import account, speak
from turnbudget.voice.call.ledger import Ledger
from turnbudget.voice.time import clock
from turnbudget.voice.time.budget import Budget
from turnbudget.voice.time.clock import MS, SECOND
from turnbudget.voice.time.crew import Crew

PROMPT = Prompt((Message("user", "How much?"),))


def lanes(ledger):
    """What the lanes say: name, begin and end from now's zero in ms, outcome."""
    return [
        (lane.name, lane.began_us // MS, None if lane.ended_us is None else lane.ended_us // MS, lane.outcome)
        for lane in ledger.lanes
    ]


async def spoken(backend, budget_us=5 * SECOND):
    """The opening, when it was there, what followed, the ledger and the records."""
    ledger, timings = Ledger(clock.now()), []
    opened = await speak(backend, PROMPT, Budget.of(budget_us), ledger, timings.append)
    at = clock.now()
    async with contextlib.aclosing(opened.rest) as rest:
        following = [text async for text in rest]
    return opened, at, following, ledger, timings


async def test_the_opening_is_there_as_soon_as_it_is_known_to_be_whole():
    """Ten words at 20 ms, the first after 100: behind the third a sentence ends, known with the fourth."""
    opened, at, following, *_ = await spoken(
        ScriptedBackend(says("It is ten. And forty in all. Good bye then."))
    )
    assert (opened.opening, at) == ("It is ten.", 160 * MS)
    assert following == ["And forty in all.", "Good bye then."]


async def test_an_answer_of_one_sentence_has_no_rest():
    opened, at, following, *_ = await spoken(ScriptedBackend(says("It is ten dollars")))
    assert (opened.opening, following, at) == ("It is ten dollars", [], 160 * MS)


async def test_an_attempt_fills_its_lanes():
    *_, ledger, timings = await spoken(ScriptedBackend(says("It is ten. And forty in all.")))
    assert lanes(ledger) == [
        ("llm:scripted first token", 0, 100, "came"),
        ("llm:scripted first sentence", 100, 160, "done"),
        ("llm:scripted", 0, 220, "done"),
    ]
    assert [timing.ending for timing in timings] == ["done"]


async def test_what_the_server_tells_of_itself_lies_in_lanes_one_behind_the_other():
    ledger = Ledger(0)
    told = Timing(
        "x",
        "m",
        1_000,
        attempt=1,
        retry_of=0,
        reused=False,
        connected_us=3_000,
        server_queue_us=2_000,
        server_prefill_us=40_000,
        first_token_us=50_000,
        first_sentence_us=70_000,
        ended_us=90_000,
        ending="failed",
        error="x: lost",
        flags=("usage missing",),
    )
    account(told, ledger)
    assert lanes(ledger) == [
        ("llm:x attempt 2 connect", 1, 3, "done"),
        ("llm:x attempt 2 queue", 1, 3, "told by the server"),
        ("llm:x attempt 2 prefill", 3, 43, "told by the server"),
        ("llm:x attempt 2 first sentence", 50, 70, "done"),
        ("llm:x attempt 2", 1, 90, "failed"),
    ]
    assert [(one.took, one.because) for one in ledger.decisions] == [
        ("llm:x attempt 2", "usage missing"),
        ("llm:x attempt 2", "x: lost"),
    ]


async def test_a_lost_race_is_wasted_and_the_answer_that_was_heard_is_not():
    mode = modes.race(first(says("It is ten dollars. Truly it is so, believe me.")), healthy())
    *_, ledger, _ = await spoken(mode)
    wasted = {lane.name: lane.wasted_us for lane in ledger.lanes if lane.wasted_us}
    assert wasted == {"llm:first": 200 * MS}


async def test_an_attempt_that_was_left_while_silent_is_wasted():
    *_, ledger, _ = await spoken(modes.fast(first(silent()), healthy()))
    (dropped,) = [lane for lane in ledger.lanes if lane.wasted_us]
    assert (dropped.name, dropped.outcome, dropped.wasted_us) == ("llm:first", "cancelled", 400 * MS)


async def test_an_answer_that_was_listened_to_and_cut_is_not_wasted():
    ledger = Ledger(clock.now())
    backend = ScriptedBackend(says("It is ten. And forty in all."))
    opened = await speak(backend, PROMPT, Budget.of(SECOND), ledger, lambda _: None)
    await opened.rest.aclose()
    assert [(lane.outcome, lane.wasted_us) for lane in ledger.lanes if lane.name == "llm:scripted"] == [
        ("cancelled", 0)
    ]


@pytest.mark.parametrize("script", [(), (Step(0, " \n"),)], ids=["nothing", "white space"])
async def test_an_answer_without_a_word_is_an_error(script):
    """LLM-20."""
    ledger = Ledger(clock.now())
    with pytest.raises(BackendError, match=r"scripted: (answered without a word|the answer is empty)"):
        await speak(ScriptedBackend(script), PROMPT, Budget.of(SECOND), ledger, lambda _: None)
    assert all(lane.ended_us is not None for lane in ledger.lanes)


async def test_a_tool_call_alone_is_no_error_and_nothing_to_say():
    """LLM-13: neither its name nor its JSON is text."""
    call = ToolCall("c1", "slots", '{"d": "fri"}')
    opened, _, following, ledger, _ = await spoken(ScriptedBackend((Step(50 * MS, call),)))
    assert (opened.opening, following, opened.calls) == ("", [], [call])
    assert lanes(ledger)[0] == ("llm:scripted first token", 0, 50, "no word came")


async def test_tool_calls_behind_the_words_are_there_when_the_rest_has_ended():
    call = ToolCall("c1", "slots", "{}")
    opened, *_ = await spoken(ScriptedBackend((*says("Let me see. One moment."), Step(10 * MS, call))))
    assert (opened.opening, opened.calls) == ("Let me see.", [call])


async def test_a_failure_before_the_opening_is_raised_and_the_wait_is_called_failed():
    ledger = Ledger(clock.now())
    with pytest.raises(BackendError, match="scripted: overloaded"):
        await speak(
            ScriptedBackend(fails("overloaded", after_us=30 * MS)),
            PROMPT,
            Budget.of(SECOND),
            ledger,
            lambda _: None,
        )
    assert lanes(ledger)[0] == ("llm:scripted first token", 0, 30, "failed")
    assert ("llm:scripted", 0, 30, "failed") in lanes(ledger)


async def test_a_failure_behind_the_opening_is_raised_to_whoever_reads_the_rest():
    backend = ScriptedBackend((*says("It is ten. And so"), *fails("lost")))
    opened = await speak(backend, PROMPT, Budget.of(SECOND), Ledger(0), lambda _: None)
    assert opened.opening == "It is ten."
    with pytest.raises(BackendError, match="lost"):
        await anext(opened.rest)


@pytest.mark.parametrize("wait_ms", [50, 110], ids=["before a word", "in the first sentence"])
async def test_cancelling_the_wait_closes_the_stream_at_once(wait_ms):
    """LLM-19."""
    backend, ledger, timings = ScriptedBackend(says("It is ten. And forty.")), Ledger(clock.now()), []
    async with Crew() as crew:
        work = crew.create_task(
            speak(backend, PROMPT, Budget.of(SECOND), ledger, timings.append), name="asking"
        )
        await clock.sleep(wait_ms * MS)
        work.cancel()
        await asyncio.wait([work])
    assert (backend.busy, clock.now()) == (0, wait_ms * MS)
    assert [timing.ending for timing in timings] == ["cancelled"]
    assert lanes(ledger)[0][3] == ("cancelled" if wait_ms == 50 else "came")


async def test_leaving_the_rest_unread_closes_the_stream_at_once():
    backend = ScriptedBackend(says("It is ten. And forty in all."))
    opened = await speak(backend, PROMPT, Budget.of(SECOND), Ledger(0), lambda _: None)
    assert backend.busy == 1
    await opened.rest.aclose()
    assert (backend.busy, clock.now()) == (0, 160 * MS)
