"""Modes over scripted backends: who starts, who is followed, who is dropped, and when."""

from __future__ import annotations

import asyncio
import contextlib

import pytest
from laws import each
from provider import heard

from turnbudget.agents.backends import modes
from turnbudget.agents.backends.backend import BackendError, Message, Prompt, ToolCall
from turnbudget.agents.backends.check import check_backend
from turnbudget.agents.backends.contest import Patience
from turnbudget.agents.backends.openai import OpenAIBackend
from turnbudget.agents.backends.scripted import ScriptedBackend, Step, fails, says, silent
from turnbudget.voice.errors import ConfigError
from turnbudget.voice.time import clock
from turnbudget.voice.time.budget import Budget, Cost, Forecast
from turnbudget.voice.time.clock import MS, SECOND

PROMPT = Prompt((Message("user", "How much is it?"),))
QUICK = says("It is forty euros. Can I do anything else for you in the meantime, sir? Just say so, please.")
CAREFUL = says("That would be forty-two euros. Anything else?", first_us=200 * MS)
TURN = 800 * MS


def two(quick, careful):
    return ScriptedBackend(quick, name="quick"), ScriptedBackend(careful, name="careful")


async def first_token(backend, budget_us=5 * SECOND):
    """When the first delta comes, and which."""
    began = clock.now()
    async with contextlib.aclosing(backend.stream(PROMPT, Budget.of(budget_us))) as deltas:
        async for delta in deltas:
            return clock.now() - began, delta.text
    return None


def by_number(timings):
    return sorted(timings, key=lambda timing: timing.attempt)


@each(
    "mode",
    [
        lambda: modes.fast(*two(QUICK, CAREFUL)),
        lambda: modes.accurate(*two(QUICK, CAREFUL)),
        lambda: modes.race(*two(QUICK, CAREFUL)),
        lambda: modes.hedge(*two(QUICK, CAREFUL)),
        lambda: modes.hedge(modes.fast(*two(silent(), CAREFUL)), ScriptedBackend(QUICK)),
    ],
    ids=["fast", "accurate", "race", "hedge", "nested"],
)
async def test_every_mode_keeps_the_promises_of_a_backend(mode):
    await check_backend(mode())


async def test_fast_asks_the_fast_one_and_nobody_else():
    quick, careful = two(QUICK, CAREFUL)
    text, _ = await heard(modes.fast(quick, careful), PROMPT, Budget.of(5 * SECOND))
    assert text.startswith("It is forty euros. Can I")
    assert (len(quick.asked), len(careful.asked)) == (1, 0)


async def test_accurate_asks_the_accurate_one_and_nobody_else():
    quick, careful = two(QUICK, CAREFUL)
    text, _ = await heard(modes.accurate(quick, careful), PROMPT, Budget.of(5 * SECOND))
    assert text.startswith("That would")
    assert (len(quick.asked), len(careful.asked)) == (0, 1)


@pytest.mark.parametrize("build", [modes.fast, modes.race, modes.hedge])
async def test_a_silent_provider_with_a_healthy_second_one_answers_inside_the_budget(build):
    """LLM-21: the first token decides, not the headers; the backup's comes inside the turn."""
    quick, careful = two(silent(), CAREFUL)
    at_us, text = await first_token(build(quick, careful))
    assert text == "That "
    assert at_us <= TURN - 200 * MS
    assert (quick.busy, careful.busy) == (0, 0)


async def test_accurate_falls_back_to_the_fast_one_when_silent():
    """LLM-21."""
    quick, careful = two(QUICK, silent())
    assert await first_token(modes.accurate(quick, careful)) == (500 * MS, "It ")


async def test_race_takes_the_accurate_answer_if_its_first_sentence_is_whole_by_the_checkpoint():
    quick, careful = two(QUICK, CAREFUL)
    timings = []
    mode = modes.race(quick, careful)
    text, _ = await heard(mode, PROMPT, Budget.of(5 * SECOND), timings)
    assert text.startswith("That would be forty-two")
    loser, winner = by_number(timings)
    assert (loser.backend, loser.ending, loser.flags) == ("quick", "cancelled", ("lost to attempt 1",))
    assert winner.flags == ("won: first sentence after 300 ms",)
    assert winner.retry_of is None


async def test_race_takes_the_fast_answer_at_the_checkpoint_and_drops_the_other():
    late = says("That would be forty-two euros. Bye.", first_us=400 * MS)
    quick, careful = two(QUICK, late)
    timings = []
    at_us, text = await first_token(modes.race(quick, careful))
    assert (at_us, text) == (450 * MS, "It ")
    await heard(modes.race(quick, careful), PROMPT, Budget.of(5 * SECOND), timings)
    assert [t.ending for t in by_number(timings)] == ["done", "cancelled"]
    assert by_number(timings)[1].flags == ("no first sentence by 450 ms", "lost to attempt 0")
    assert careful.busy == 0


async def test_a_first_sentence_exactly_at_the_checkpoint_is_in_time():
    quick, careful = two(QUICK, says("It is so. Yes.", first_us=390 * MS))
    _, text = await first_token(modes.race(quick, careful, checkpoint_us=450 * MS))
    assert text == "It "
    at_us, _ = await first_token(modes.race(quick, careful, checkpoint_us=449 * MS))
    assert at_us == 449 * MS


async def test_race_does_not_wait_for_an_accurate_one_that_failed():
    quick, careful = two(QUICK, fails(after_us=50 * MS))
    assert await first_token(modes.race(quick, careful)) == (100 * MS, "It ")


async def test_a_checkpoint_behind_the_turns_own_watchdog_is_drawn_in():
    mode = modes.race(*two(QUICK, silent()), patience=Patience(turn_us=300 * MS))
    assert await first_token(mode) == (300 * MS, "It ")


async def test_an_error_that_is_no_providers_fault_is_not_answered_by_the_other():
    quick, careful = OpenAIBackend("http://127.0.0.1:9/v1", "m"), ScriptedBackend(CAREFUL)
    with pytest.raises(ConfigError, match="virtual time has none"):
        await first_token(modes.fast(quick, careful))
    assert not careful.asked


async def test_race_waits_for_the_accurate_one_if_the_fast_one_failed():
    quick, careful = two(fails(), says("Later, but true.", first_us=700 * MS))
    at_us, text = await first_token(modes.race(quick, careful))
    assert (at_us, text) == (700 * MS, "Later, ")


async def test_hedge_starts_the_second_when_the_first_token_is_late_and_keeps_the_first():
    """LLM-21, variant: the first one's token comes 50 ms after the other was started, and wins."""
    quick, careful = two(says("Here I am.", first_us=350 * MS), CAREFUL)
    timings = []
    text, _ = await heard(modes.hedge(quick, careful), PROMPT, Budget.of(5 * SECOND), timings)
    assert text == "Here I am."
    first, second = by_number(timings)
    assert first.flags == ("no first token after 300 ms: hedged",)
    assert (second.ending, second.flags, second.retry_of) == ("cancelled", ("lost to attempt 0",), 0)
    assert second.began_us - first.began_us == 300 * MS
    assert second.ended_us - first.began_us == 350 * MS


async def test_never_two_voices_when_the_first_speaks_after_fail_over():
    """LLM-21, variant, with fail-over: the one that was given up is gone, and says nothing any more."""
    quick, careful = two(says("Here I am.", first_us=450 * MS), CAREFUL)
    text, _ = await heard(modes.fast(quick, careful), PROMPT, Budget.of(5 * SECOND))
    assert text == "That would be forty-two euros. Anything else?"
    assert quick.busy == 0


async def test_hedge_learns_when_late_is():
    forecast = Forecast({"quick": Cost(0, 300 * MS)})
    quick, careful = two(says("Hello there.", first_us=40 * MS), CAREFUL)
    mode = modes.hedge(quick, careful, forecast=forecast)
    for _ in range(20):
        await heard(mode, PROMPT, Budget.of(5 * SECOND))
    assert forecast.of("quick") == Cost(40 * MS, 40 * MS)
    assert not careful.asked
    slow = ScriptedBackend(says("Hello there.", first_us=90 * MS), name="quick")
    await heard(modes.hedge(slow, careful, forecast=forecast), PROMPT, Budget.of(5 * SECOND))
    assert len(careful.asked) == 1


async def test_a_backend_given_up_again_and_again_is_known_to_be_slow():
    forecast = Forecast({})
    for _ in range(3):
        quick, careful = two(silent(), CAREFUL)
        await heard(modes.fast(quick, careful, forecast=forecast), PROMPT, Budget.of(5 * SECOND))
    assert forecast.of("quick").p95_us == 400 * MS


@pytest.mark.parametrize("wait_us", [30 * SECOND, None])
async def test_a_429_is_never_waited_for(wait_us):
    """LLM-10: with another backend it is asked at once; without one the turn is told at once."""
    limited = fails(
        "HTTP 429", after_us=20 * MS, status=429, retry_after_us=wait_us, again=wait_us is not None
    )
    quick, careful = two(limited, CAREFUL)
    assert await first_token(modes.fast(quick, careful)) == (220 * MS, "That ")
    began = clock.now()
    with pytest.raises(BackendError) as raised:
        await first_token(modes.fast(ScriptedBackend(limited)))
    assert clock.now() - began == 20 * MS
    assert (raised.value.status, raised.value.retry_after_us) == (429, wait_us)


async def test_a_short_retry_after_is_waited_for_if_there_is_nobody_else():
    """LLM-10, Retry-After: 0, and 503 once."""
    for wait_us in (0, 100 * MS, None):
        once = ScriptedBackend(fails("HTTP 503", again=True, retry_after_us=wait_us), QUICK, name="quick")
        timings = []
        text, _ = await heard(modes.fast(once), PROMPT, Budget.of(5 * SECOND), timings)
        first, second = timings
        assert text.startswith("It is")
        assert (first.attempt, second.attempt, second.retry_of) == (0, 1, 0)
        assert second.began_us - first.ended_us == (wait_us or 0)


async def test_nobody_is_asked_more_than_twice():
    down = ScriptedBackend(fails("HTTP 503", again=True), name="down")
    also = ScriptedBackend(fails("HTTP 500", again=True), name="also")
    with pytest.raises(BackendError) as raised:
        await first_token(modes.fast(down, also))
    assert (len(down.asked), len(also.asked)) == (2, 2)
    assert str(raised.value) == "fast: down: HTTP 503; also: HTTP 500; down: HTTP 503; also: HTTP 500"


async def test_no_retry_is_begun_that_cannot_land():
    forecast = Forecast({"careful": Cost(700 * MS, 900 * MS)})
    quick, careful = two(fails(after_us=200 * MS), CAREFUL)
    with pytest.raises(BackendError):
        await first_token(modes.fast(quick, careful, forecast=forecast), 800 * MS)
    assert not careful.asked


async def test_a_silent_turn_ends_at_its_own_watchdog():
    """LLM-11: of a silent provider the turn hears within two seconds, whatever the budget."""
    with pytest.raises(BackendError, match="no first token in time"):
        await first_token(modes.fast(ScriptedBackend(silent())), 60 * SECOND)
    assert clock.now() == 2 * SECOND


async def test_a_slow_backend_without_another_is_left_its_time():
    slow = ScriptedBackend(says("At last.", first_us=1_500 * MS))
    assert await first_token(modes.fast(slow)) == (1_500 * MS, "At ")


async def test_a_gap_inside_an_answer_ends_it():
    """LLM-11: "Let me" and then nothing for two minutes, at the second try too."""
    stuck = ScriptedBackend(says("Let me ") + silent(), name="stuck")
    with pytest.raises(BackendError, match="in mid-answer"):
        await heard(modes.fast(stuck), PROMPT, Budget.of(60 * SECOND))
    assert stuck.busy == 0
    assert clock.now() == 2 * (120 * MS + 1_200 * MS)


async def test_a_pause_within_the_gap_is_no_fault():
    """LLM-21: a pause inside an answer is judged by another limit than the first token."""
    thinking = ScriptedBackend((*says("Let me see. "), Step(1_100 * MS, "Yes.")))
    assert (await heard(modes.fast(thinking), PROMPT, Budget.of(5 * SECOND)))[0] == "Let me see. Yes."


async def test_an_answer_that_breaks_off_goes_on_where_it_was():
    """LLM-12: only the missing part is added."""
    said = []
    broken = says("The total is forty") + fails("reset", again=True)
    backend = ScriptedBackend(broken, says("The total is forty two euros."), name="quick")
    timings = []
    async with contextlib.aclosing(
        modes.fast(backend).stream(PROMPT, Budget.of(5 * SECOND), timings.append)
    ) as deltas:
        said = [delta.text async for delta in deltas]
    assert "".join(said) == "The total is forty two euros."
    assert [(t.ending, t.retry_of) for t in timings] == [("failed", None), ("done", 0)]


@pytest.mark.parametrize("second", ["That makes forty-two euros.", "The total"])
async def test_an_answer_that_breaks_off_and_differs_ends_with_an_error_and_no_word_twice(second):
    """LLM-12: never the whole answer again behind its own beginning."""
    broken = says("The total is forty") + fails("reset", again=True)
    said = []

    async def listen():
        async with contextlib.aclosing(
            modes.fast(ScriptedBackend(broken, says(second))).stream(PROMPT, Budget.of(5 * SECOND))
        ) as deltas:
            async for delta in deltas:
                said.append(delta.text)  # noqa: PERF401 - what was said before the error counts

    with pytest.raises(BackendError, match="something else"):
        await listen()
    assert "".join(said) == "The total is forty"


async def test_a_tool_is_never_asked_for_twice():
    call = ToolCall("c1", "pay", "{}")
    backend = ScriptedBackend((Step(10 * MS, call), *fails("reset", again=True)))
    with pytest.raises(BackendError, match="reset"):
        await heard(modes.fast(backend), PROMPT, Budget.of(5 * SECOND))
    assert len(backend.asked) == 1


async def test_the_budget_ends_an_answer():
    long = ScriptedBackend(says("one two three four five", each_us=300 * MS))
    began = clock.now()
    with pytest.raises(BackendError, match="did not end in time"):
        await heard(modes.fast(long), PROMPT, Budget.of(600 * MS))
    assert clock.now() - began == 600 * MS


async def test_leaving_frees_every_seat():
    """LLM-19: a barge-in while both run."""
    quick, careful = two(says("Once upon a time " * 40), says("There was once " * 40, first_us=SECOND))
    mode = modes.race(quick, careful)

    async def listen():
        await heard(mode, PROMPT, Budget.of(60 * SECOND))

    async with asyncio.TaskGroup() as group:
        task = group.create_task(listen())
        await clock.sleep(300 * MS)
        assert (quick.busy, careful.busy) == (1, 1)
        task.cancel()
    assert (quick.busy, careful.busy) == (0, 0)
    assert clock.now() == 300 * MS


async def test_a_slow_listener_does_not_make_a_stream_look_stalled():
    patience = Patience(gap_us=100 * MS)
    backend = ScriptedBackend(says("one two three"))
    timings, text = [], ""
    mode = modes.fast(backend, patience=patience)
    async with contextlib.aclosing(mode.stream(PROMPT, Budget.of(5 * SECOND), timings.append)) as deltas:
        async for delta in deltas:
            await clock.sleep(500 * MS)
            text += delta.text
    assert text == "one two three"
    assert timings[0].ended_us == 140 * MS


async def test_prewarm_reads_the_prefix_where_it_will_be_needed_and_only_connects_the_other():
    quick, careful = two(QUICK, CAREFUL)
    await modes.fast(quick, careful).prewarm(PROMPT, Budget.of(SECOND))
    assert (quick.warmed, careful.warmed) == ([PROMPT], [Prompt(())])
    await modes.race(quick, careful).prewarm(PROMPT, Budget.of(SECOND))
    assert careful.warmed[-1] == PROMPT


async def test_an_empty_answer_is_a_failure_and_another_is_asked():
    """LLM-20."""
    quick, careful = two((), CAREFUL)
    assert await first_token(modes.fast(quick, careful)) == (200 * MS, "That ")
