"""Drafts are refined only when two more calls can land before the deadline, and never what they would do."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass, field, replace

import pytest
from laws import each
from panel import FIRST_US, Says, Stream, table

from turnbudget.agents.agent import Action, Opinion
from turnbudget.agents.backends.backend import BackendError, Delta, Stopwatch
from turnbudget.council.choose import policy
from turnbudget.council.refine import Refiner
from turnbudget.voice.time import clock
from turnbudget.voice.time.budget import Cost, Forecast
from turnbudget.voice.time.clock import MS

REFINED = "It is ten dollars. Anything else?"


@dataclass
class Fast:
    """A scripted backend that takes *ttft_us* for every call."""

    ttft_us: int = 50 * MS
    answers: tuple = ("agree: ten dollars", REFINED)
    name: str = "fast"
    begun: list = field(default_factory=list)

    async def stream(self, _prompt, _budget, told):
        watch = Stopwatch(self.name, self.name)
        self.begun.append(clock.now())
        await clock.sleep(self.ttft_us)
        answer = self.answers[(len(self.begun) - 1) % 2]
        if isinstance(answer, Exception):
            raise answer
        watch.text(answer)
        yield Delta(answer)
        told(watch.end("done"))


def refining(fast, expected_us=None):
    p95 = fast.ttft_us if expected_us is None else expected_us
    return policy("refine", Refiner(fast, Forecast({"ttft:fast": Cost(p95, p95)})))


DRAFTS = (Says("a", "Ten dollars.", 0.7, 20 * MS), Says("b", "It is ten.", 0.8, 30 * MS))


async def asked(fast, *agents, expected_us=None, **more):
    async with table(*agents, policy=refining(fast, expected_us)) as call:
        began = clock.now()
        reply = await call.ask(**more)
        rest = [text async for text in reply.rest]
        return " ".join((reply.text, *rest)), reply.by, clock.now() - began, call


async def test_drafts_are_distilled_into_one_answer():
    fast = Fast()
    text, by, took_us, call = await asked(fast, *DRAFTS)
    assert (text, by, took_us) == (REFINED, "b", 130 * MS)
    assert "refined" in call.took
    assert call.lanes["fast"] == "used"


@each("ttft_ms", range(0, 400, 15))
@each("draft_ms", [0, 100, 260, 480])
async def test_it_never_runs_when_it_cannot_land(ttft_ms, draft_ms):
    """Whenever it has begun, two TTFTs fit before the deadline; and the answer is in time in any case."""
    fast = Fast(ttft_us=ttft_ms * MS)
    drafts = (Says("a", "Ten.", 0.7, draft_ms * MS), Says("b", "It is ten.", 0.8, draft_ms * MS))
    text, _, took_us, _ = await asked(fast, *drafts)
    fits = ttft_ms > 0 and draft_ms + 2 * ttft_ms < FIRST_US // MS
    assert bool(fast.begun) == fits
    assert all(begun + 2 * fast.ttft_us <= FIRST_US for begun in fast.begun[:1])
    assert took_us <= FIRST_US
    assert text == (REFINED if fits else "It is ten.")


async def test_a_backend_slower_than_its_forecast_is_cut_at_the_deadline():
    fast = Fast(ttft_us=400 * MS)
    text, _, took_us, call = await asked(fast, *DRAFTS, expected_us=20 * MS)
    assert (text, took_us) == ("It is ten.", FIRST_US)
    assert call.lanes["fast"] == "dropped"


@dataclass(frozen=True)
class Held(Refiner):
    """Refines to an opinion whose rest the test holds, and holds the loop up for *stall_us* then."""

    rest: object = None
    stall_us: int = 0

    async def refine(self, said, drafts, best, budget):
        del said, drafts, budget
        await clock.sleep(100 * MS)
        asyncio.get_running_loop().block(self.stall_us)
        return replace(best, opening=REFINED, rest=self.rest)


@pytest.mark.parametrize(("stall_us", "says"), [(0, REFINED), (FIRST_US, "It is ten.")])
async def test_what_is_open_in_the_words_that_are_not_spoken_is_closed(stall_us, says):
    """The draft's if it was refined in time; what was refined, if the loop was held up past the deadline."""
    draft, refined = Stream(), Stream()
    rests = [stream.pieces() for stream in (draft, refined)]
    for rest in rests:
        await anext(rest)
    best = Says("b", Opinion("It is ten.", 0.8, rest=rests[0]), after_us=30 * MS)
    forecast = Forecast({"ttft:fast": Cost(50 * MS, 50 * MS)})
    plan = policy("refine", Held(Fast(), forecast, rest=rests[1], stall_us=stall_us))
    async with table(DRAFTS[0], best, policy=plan) as call:
        assert (await call.ask()).text == says
        await clock.sleep(MS)
        assert (draft.closed, refined.closed) == (says == REFINED, says != REFINED)
        for rest in rests:
            await rest.aclose()


class Unruly(Held):
    """Refines though it was cancelled, and opens a stream then."""

    async def refine(self, said, drafts, best, budget):
        del said, drafts, budget
        with contextlib.suppress(asyncio.CancelledError):
            await clock.sleep(10_000 * MS)
        await clock.sleep(200 * MS)
        return replace(best, opening=REFINED, rest=self.rest)


async def test_what_is_refined_after_nobody_waits_for_it_is_closed():
    refined = Stream()
    rest = refined.pieces()
    await anext(rest)
    plan = policy("refine", Unruly(Fast(), Forecast({"ttft:fast": Cost(50 * MS, 50 * MS)}), rest=rest))
    async with table(*DRAFTS, policy=plan) as call:
        assert (await call.ask()).text == "It is ten."
        assert not refined.closed
        await clock.sleep(201 * MS)
        assert refined.closed


async def test_what_it_really_cost_is_learned():
    fast = Fast(ttft_us=200 * MS)
    plan = refining(fast, 20 * MS)
    async with table(*DRAFTS, policy=plan) as call:
        await call.talk()
        before = len(fast.begun)
        await call.talk()
        assert (before, plan.refiner.needs_us()) == (2, 400 * MS)
        learned = [plan.refiner.forecast.of(f"{stage}:fast").p95_us for stage in ("ttft", "distil", "write")]
        assert learned == [200 * MS, 200 * MS, 200 * MS]
        await call.talk(first_us=300 * MS)
        assert len(fast.begun) == 4


@pytest.mark.parametrize(
    "answers", [(BackendError("is down"), ""), ("notes", BackendError("is down")), ("", ""), ("notes", "...")]
)
async def test_a_backend_that_fails_leaves_the_best_draft(answers):
    text, by, _, _ = await asked(Fast(answers=answers), *DRAFTS)
    assert (text, by) == ("It is ten.", "b")


@pytest.mark.parametrize(
    "more",
    [{"action": Action("pay")}, {"expects": "amount"}, {"transfer": "desk"}, {"ends_call": True}],
    ids=str,
)
async def test_what_an_opinion_would_do_is_never_reworded(more):
    async def pay(*_):
        return ""

    fast = Fast()
    best = Says("best", Opinion("I do that.", 0.95, **more))
    async with table(*DRAFTS, best, policy=refining(fast), tools={"pay": pay}) as call:
        assert (await call.ask()).text == "I do that."
    assert fast.begun == []


async def test_one_draft_is_nothing_to_distil():
    fast = Fast()
    text, _, _, _ = await asked(fast, DRAFTS[0], Says("none"))
    assert (text, fast.begun) == ("Ten dollars.", [])
