"""The scripted backend says what it is told to, when it is told to; the kit finds what a backend breaks."""

from __future__ import annotations

import contextlib

import pytest
from laws import each
from provider import PROMPT, heard

from turnbudget.agents.backends.backend import BackendError, Delta, ToolCall
from turnbudget.agents.backends.check import check_backend
from turnbudget.agents.backends.scripted import ScriptedBackend, Step, fails, says, silent
from turnbudget.voice.errors import BrokenPromise, TurnbudgetError
from turnbudget.voice.time import clock
from turnbudget.voice.time.budget import Budget
from turnbudget.voice.time.clock import MS, SECOND


async def test_it_keeps_the_promises_of_a_backend():
    backend = ScriptedBackend(says("One, two, three."))
    await check_backend(backend)
    assert backend.busy == 0


async def test_words_come_when_they_are_told_to():
    timings = []
    backend = ScriptedBackend(says("It is so. Yes, it is.", first_us=70 * MS, each_us=10 * MS))
    assert await heard(backend, PROMPT, Budget.of(SECOND), timings) == ("It is so. Yes, it is.", [])
    (timing,) = timings
    assert (timing.ttft_us, timing.ended_us) == (70 * MS, 120 * MS)
    assert timing.first_sentence_us == 100 * MS


async def test_the_first_request_gets_the_first_script_and_the_last_one_stays():
    backend = ScriptedBackend(says("a"), says("b"))
    assert [(await heard(backend, PROMPT, Budget.of(SECOND)))[0] for _ in range(3)] == ["a", "b", "b"]


async def test_a_tool_call_may_be_scripted():
    call = ToolCall("c1", "price", "{}")
    assert await heard(ScriptedBackend((Step(5 * MS, call),)), PROMPT, Budget.of(SECOND)) == ("", [call])


@each(
    ("script", "what", "at_us"),
    [
        (silent(), "did not end in time", SECOND),
        (says("Let me") + silent(), "did not end in time", SECOND),
        (fails("HTTP 429", after_us=3 * MS, status=429), "HTTP 429", 3 * MS),
        (says("Let me") + fails(), "failed, as told", 120 * MS),
        ((), "empty", 0),
    ],
)
async def test_faults_come_when_they_are_ordered(script, what, at_us):
    timings = []
    with pytest.raises(BackendError, match=what):
        await heard(ScriptedBackend(script), PROMPT, Budget.of(SECOND), timings)
    assert clock.now() == at_us
    assert timings[0].ending == "failed"


class Bad(ScriptedBackend):
    """A backend that works, but for one thing."""

    def __init__(self, fault):
        super().__init__(says("One, two, three."))
        self.fault = fault

    async def stream(self, prompt, budget, told=print):
        if self.fault == "tells nothing":
            told = str
        if self.fault == "ignores the budget":
            budget = Budget.of(SECOND)
        if self.fault == "raises a foreign error" and budget.left() <= 0:
            raise ValueError("no time")
        if self.fault == "blank":
            yield Delta()
        if self.fault == "says nothing":
            return
        inner = super().stream(prompt, budget, told)
        if self.fault == "leaves its source open":
            self.open = inner
            async for delta in inner:
                yield delta
            return
        try:
            async with contextlib.aclosing(inner) as deltas:
                async for delta in deltas:
                    yield delta
        finally:
            if self.fault == "leaves late":
                await clock.sleep(80 * MS)

    async def prewarm(self, prefix, budget):
        if self.fault == "fails to prewarm":
            raise BackendError("cold")
        await super().prewarm(prefix, budget)


@each(
    ("fault", "finding"),
    [
        ("tells nothing", "no Timing was told"),
        ("ignores the budget", "an answer is given although no time is left"),
        ("raises a foreign error", "ValueError"),
        ("blank", "a delta is empty"),
        ("says nothing", "no Timing"),
        ("leaves its source open", "leaving early leaves no Timing"),
        ("leaves late", "takes 80000 µs"),
        ("fails to prewarm", "a plain prompt raises: cold"),
    ],
)
async def test_the_kit_finds(fault, finding):
    with pytest.raises(BrokenPromise) as caught:
        await check_backend(Bad(fault))
    assert any(finding in line for line in caught.value.promises), caught.value


async def test_the_kit_finds_nothing_wrong_with_what_bad_is_made_of():
    await check_backend(Bad(""))


def test_an_error_of_a_backend_is_one_of_the_tree():
    assert issubclass(BackendError, TurnbudgetError)
