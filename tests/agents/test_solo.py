"""An LLM alone as a responder: what it is told was heard, what making ready spares, what a cut frees."""

from __future__ import annotations

import asyncio

import msgspec
from talking import WHOLE, alone, first, talk

from turnbudget.agents.backends.backend import BackendError, ToolCall
from turnbudget.agents.backends.scripted import ScriptedBackend, Step, says, silent
from turnbudget.agents.llm import LlmResponder
from turnbudget.agents.simulated.endpoint import Endpoint
from turnbudget.agents.simulated.engine import Engine
from turnbudget.agents.simulated.make import find, make
from turnbudget.agents.simulated.words import Script
from turnbudget.testing.stage import ASK, after, hangs_up, lane, murmurs, over, prepared
from turnbudget.testing.stage import says as caller
from turnbudget.voice.time import clock
from turnbudget.voice.time.clock import MS, SECOND
from turnbudget.voice.time.crew import Crew

LONG = "You answer the telephone for a bank, and you know its terms. " * 500
"""Some 7,500 tokens: 0.9 s of prefill for 70B on four H100."""
QUICK = {"first_us": 20 * MS, "each_us": 5 * MS}
SLOW = (
    *says("Your balance is ten dollars. Your", **QUICK),
    *says(" savings are forty two dollars.", each_us=SECOND),
)
"""Still streaming when its first sentence is being heard."""


class Unready(LlmResponder):
    """Makes nothing ready."""

    async def make_ready(self, history):
        """Do nothing."""


def simulated(name="gpu-batched"):
    """A simulated engine that says one thing."""
    return make(name, text=Script([WHOLE]))


def roles(prompt):
    return [(message.role, message.text) for message in prompt.messages]


async def test_the_model_is_told_what_was_said_and_heard():
    backend = first(says("It is ten. Anything else?"))
    await talk(backend, ASK, caller("no thanks"), greeting=None)
    assert roles(backend.asked[1]) == [
        ("system", "Be brief."),
        ("user", "what is my balance please"),
        ("assistant", "It is ten. Anything else?"),
        ("user", "no thanks"),
    ]


async def test_what_was_cut_is_told_as_far_as_it_was_heard_and_marked():
    """The caller breaks in two thirds of a second into the reply."""
    backend = first(says(WHOLE, **QUICK), says("Right.", **QUICK))
    stop = over(caller("tell me more", pause_us=700 * MS))
    talked = await talk(backend, ASK, stop)
    assert talked.outcomes == ["cut", "answered"]
    (*_, heard, asked) = roles(backend.asked[1])
    assert asked == ("user", "tell me more")
    assert heard[0] == "assistant"
    assert heard[1].endswith(" …")
    assert WHOLE.startswith(heard[1].removesuffix(" …"))
    assert 0 < len(heard[1].split()) < len(WHOLE.split())


async def test_bridge_and_apology_are_not_in_what_the_model_is_told():
    """LLM-10: it would repeat them."""
    backend = first(says("Late.", first_us=2 * SECOND), silent(), says("Yes."))
    talked = await talk(backend, ASK, ASK, ASK)
    assert talked.outcomes == ["bridged", "failed", "answered"]
    question = ("user", "what is my balance please")
    assert roles(backend.asked[2])[1:] == [question, ("assistant", "Late."), question, question]


async def test_what_is_made_ready_is_the_prompt_that_comes_without_its_question():
    backend = first(says("It is ten.", **QUICK))
    await talk(backend, ASK, ASK)
    assert [roles(prompt) for prompt in backend.warmed] == [roles(prompt)[:-1] for prompt in backend.asked]


def first_token_us(row):
    (found,) = [one for one in row.account.lanes if one.name.endswith("first token")]
    return found.ended_us - found.began_us


async def test_making_ready_moves_uncached_prefill_out_of_the_turn_and_the_row_shows_how_much():
    """What the lane claims is what a turn without it takes longer, to 5 %."""
    without = await talk(simulated(), ASK, system=LONG, kind=Unready)
    with_it = await talk(simulated(), ASK, system=LONG)
    cold, warm = first_token_us(without.rows[0]), first_token_us(with_it.rows[0])
    assert cold > 800 * MS
    assert warm < 60 * MS
    prewarm = lane(with_it.rows[0].account, "llm:simulated:gpu-batched prewarm")
    assert prewarm.outcome == "used"
    assert after(with_it.rows[0].account, prewarm.ended_us) < 0
    assert 0.95 * (cold - warm) < prewarm.saved_us <= cold - warm
    assert (without.outcomes, with_it.outcomes) == (["bridged"], ["answered"])


async def test_making_ready_what_is_ready_claims_nothing():
    talked = await talk(simulated(), ASK, ASK, system=LONG)
    again = lane(talked.rows[1].account, "llm:simulated:gpu-batched prewarm")
    assert (again.outcome, again.saved_us) == ("spared nothing", 0)


async def test_a_handshake_that_was_made_early_is_shown_as_saved():
    far = find("api-gpt-4.1")
    changes = {"handshake_us": 400 * MS, "ttft_median_us": 100 * MS, "ttft_sigma": 0, "stall": 0}
    backend = Endpoint(msgspec.structs.replace(far, **changes), Script([WHOLE]))
    talked = await talk(backend, ASK)
    assert talked.timings[0].reused
    assert lane(talked.rows[0].account, "llm:simulated:api-gpt-4.1 prewarm").saved_us == 400 * MS


class Warming(ScriptedBackend):
    """A backend whose prewarm does as it is told."""

    def __init__(self, does):
        super().__init__(says("It is ten.", **QUICK))
        self.does = does

    async def prewarm(self, *_):
        await self.does()


async def hang():
    await asyncio.get_running_loop().create_future()


async def refuse():
    raise BackendError("no")


async def err():
    raise ZeroDivisionError


async def test_making_ready_that_hangs_or_raises_costs_nothing():
    usual = await talk(first(says("It is ten.", **QUICK)), ASK, ASK, kind=Unready)
    for does in (hang, refuse, err):
        talked = await talk(Warming(does), ASK, ASK)
        assert talked.outcomes == ["answered", "answered"]
        assert talked.first_sounds() == usual.first_sounds()
        assert "prewarm" not in talked.told(0) + talked.told(1)
        assert not talked.played.call.dangling


async def test_making_ready_that_is_under_way_when_the_question_comes_is_left():
    """The same prefix twice at once would take the server half as long again as once."""
    short = caller("yes", word_us=100 * MS)
    busy = []

    class Watched(LlmResponder):
        async def answer(self, question):
            busy.append(backend.statistics()["riding"])
            return await super().answer(question)

    backend = simulated()
    talked = await talk(backend, short, system=LONG * 2, kind=Watched)
    without = await talk(simulated(), short, system=LONG * 2, kind=Unready)
    assert busy == [1]
    chunk_us = 200 * MS
    assert first_token_us(talked.rows[0]) < first_token_us(without.rows[0]) + chunk_us
    assert "prewarm" not in talked.told()


async def test_what_was_made_ready_for_a_turn_before_is_not_claimed_by_the_next():
    """The first is ready only after its question, the second never: neither saves the turn anything."""
    takes = iter((4 * SECOND, 3_600 * SECOND))
    talked = await talk(Warming(lambda: clock.sleep(next(takes))), ASK, ASK)
    assert "prewarm" not in talked.told(0) + talked.told(1)


async def test_a_caller_who_speaks_in_spurts_has_it_made_ready_once_at_a_time():
    asked = []

    async def slow():
        asked.append(clock.now())
        await clock.sleep(4 * SECOND)

    talked = await talk(Warming(slow), murmurs(120 * MS), ASK)
    assert talked.outcomes == ["answered"]
    assert len(asked) == 1


async def cut(backend, **more):
    """A call whose first reply is cut while it streams; the records and the moment of the cut."""
    stop = over(caller("tell me more", pause_us=200 * MS))
    talked = await talk(backend, ASK, stop, **more)
    assert talked.outcomes[0] == "cut"
    (broken,) = [one for one in talked.rows[0].account.decisions if one.took == "broken off"]
    return talked, broken.at_us


async def test_a_caller_who_cuts_in_closes_the_stream_at_once():
    """LLM-19: also under a mode."""
    for backend in (first(SLOW, says("Right.", **QUICK)), alone(first(SLOW, says("Right.", **QUICK)))):
        talked, at = await cut(backend)
        left = talked.timings[0]
        assert (left.ending, left.ended_us) == ("cancelled", at)
        assert talked.outcomes[1] == "answered"
        heard = talked.rows[0].said
        assert heard
        assert WHOLE.startswith(heard)


async def test_a_caller_who_cuts_in_frees_the_simulated_seat_at_once():
    """LLM-19: on a machine with one seat the next question does not wait behind the old answer."""
    seats = []

    class Counting(Engine):
        async def stream(self, prompt, budget, told=lambda _: None):
            def tell(timing):
                seats.append(self.statistics()["riding"])
                told(timing)

            async for delta in super().stream(prompt, budget, tell):
                yield delta

    instance = find("gpu-batched")
    single = msgspec.structs.replace(
        instance,
        schedule=msgspec.structs.replace(instance.schedule, seats=1),
        losses=msgspec.structs.replace(instance.losses, step_us=400 * MS),
    )
    backend = Counting(single, Script([WHOLE]))
    talked, at = await cut(backend, kind=Unready, patience_us=20 * SECOND)
    assert (talked.timings[0].ending, talked.timings[0].ended_us) == ("cancelled", at)
    assert seats[0] == 0
    assert talked.timings[1].server_queue_us <= 500 * MS  # the step under way when it came
    assert backend.statistics() | {"cached": 0} == {"riding": 0, "waiting": 0, "reserved": 0, "cached": 0}


async def test_a_caller_who_goes_on_before_a_word_closes_the_stream():
    backend = first(says("It is ten.", first_us=2 * SECOND))
    more = caller("and my savings", when="at once", pause_us=700 * MS)
    talked = await talk(backend, ASK, more)
    assert talked.outcomes[0] in {"superseded", "cut"}
    assert talked.timings[0].ending == "cancelled"
    assert backend.asked[1].messages[-1].text == "what is my balance please and my savings"


async def test_hanging_up_closes_the_stream():
    backend = first(SLOW)
    await talk(backend, ASK, hangs_up(100 * MS, when="sounding"))
    assert backend.busy == 0


async def test_an_empty_answer_or_only_a_tool_call_is_apologised_for_in_time():
    """LLM-20, LLM-13: and the next turn works."""
    call = Step(80 * MS, ToolCall("c1", "slots", '{"d": "fri"}'))
    for script in ((), (Step(50 * MS, " \n"),), (call,)):
        talked = await talk(first(script, says("Yes.")), ASK, ASK)
        assert talked.outcomes == ["failed", "answered"]
        assert talked.said == ["Sorry, I can not help with that.", "Yes."]


async def test_a_long_answer_is_heard_to_its_end_however_late_it_is_read():
    """Read as the Mouth plays, the last words would be asked for after the turn's time is over."""
    long = " ".join(f"This is sentence {number}." for number in range(1, 9))
    talked = await talk(alone(first(says(long, **QUICK))), ASK, patience_us=2 * SECOND)
    assert talked.said == [long]


async def both(backend, *clips, responders=2):
    """Two calls at once on one *backend*."""
    timings, calls = [], []
    async with Crew() as crew:
        for number in range(responders):
            responder = LlmResponder(backend, system="Be brief.", told=timings.append)
            call, _, rows = prepared(*clips, responder=responder)
            calls.append(rows)
            crew.create_task(call.run(), name=f"call {number}")
        while len(crew):
            await clock.sleep(100 * MS)
    return calls, timings


async def test_two_calls_at_once_share_one_backend():
    """The second one finds the first one's prompt cached, and neither hears the other's words."""
    for backend in (simulated("gpu-low-batch"), alone(first(says(WHOLE, **QUICK)))):
        calls, timings = await both(backend, ASK, ASK)
        assert [[row.account.outcome for row in rows] for rows in calls] == [["answered"] * 2] * 2
        assert [[row.said for row in rows] for rows in calls] == [[WHOLE] * 2] * 2
        assert [timing.ending for timing in timings] == ["done"] * 4


async def test_a_call_that_hangs_up_takes_nothing_from_the_other():
    backend = simulated("gpu-low-batch")
    leaving, staying = [], []
    async with Crew() as crew:
        for clips, rows in (((ASK, hangs_up(50 * MS, when="sounding")), leaving), ((ASK, ASK), staying)):
            call, _, told = prepared(*clips, responder=LlmResponder(backend))
            rows.append(told)
            crew.create_task(call.run(), name="call")
        while len(crew):
            await clock.sleep(100 * MS)
    assert [row.account.outcome for row in staying[0]] == ["answered", "answered"]
    assert [row.said for row in staying[0]] == [WHOLE, WHOLE]
