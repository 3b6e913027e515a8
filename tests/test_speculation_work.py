"""Whole calls whose guesses do work: actions that must run once, streams that must be joined or closed."""

from __future__ import annotations

import pytest
from laws import each
from panel import Says, council
from speculating import Pitched, Revising, Table, speak, spoken

from turnbudget.agents.agent import Action, Opinion
from turnbudget.agents.backends.scripted import ScriptedBackend, fails, says
from turnbudget.agents.llm import Llm, LlmResponder
from turnbudget.testing.stage import after, check_account, hangs_up, spent
from turnbudget.voice.hearing.endpoint import Endpointing
from turnbudget.voice.time import clock
from turnbudget.voice.time.clock import MS, SECOND

ACT_US = Endpointing().silence_us
SETTLED_MS = Endpointing().settled_us // MS + 20
BOOKED, ALRIGHT = "It is booked.", "Alright, Friday."
WHOLE = "Your balance is ten dollars. Your savings are forty two dollars."


class Booking:
    """A tool that books, and remembers when."""

    def __init__(self):
        self.ran = []

    async def __call__(self, arguments, key):
        del key
        self.ran.append((clock.now(), arguments["day"]))
        await clock.sleep(100 * MS)


def books(meanwhile="", whole=("book it on friday",)):
    """An agent that would book for the last word said; only *whole* texts are settled."""

    def answer(said, _):
        action = Action("book", {"day": said.split()[-1]}, meanwhile=meanwhile)
        return Opinion(BOOKED, 0.9, action=action, completeness="whole" if said in whole else "unknown")

    return Says("booking", answer)


async def booked(*clips, agent, **more):
    """Play a call with *agent*; return it with what was booked."""
    tool = Booking()
    responder = council(agent, tools={"book": tool})
    return await speak(*clips, responder=responder, warm=[BOOKED, ALRIGHT], **more), tool.ran


# --- actions ----------------------------------------------------------------------------------------


async def test_what_four_guesses_would_do_is_done_once_after_the_turn_is_final():
    """TURN-09: the work of the three dropped ones is waste, and no latency of the turn."""
    agent = books()
    spoke, ran = await booked(spoken("book", 200, "it", 200, "on", 200, "friday"), agent=agent)
    [row] = spoke.turns
    assert len(agent.asked) == 4
    assert [day for _, day in ran] == ["friday"]
    assert after(row.account, ran[0][0]) >= ACT_US
    assert ran[0][0] >= row.utterance.decided_us
    assert spoke.texts == [BOOKED]
    assert [outcome for _, outcome in spoke.guesses()] == ["dropped"] * 3 + ["kept"]
    check_account(row)


async def test_work_that_was_dropped_is_told_as_waste():
    """TURN-09: a seat that takes 150 ms is asked four times; the turn waits for the last one alone."""
    agent = books()
    agent.after_us = 150 * MS
    spoke, ran = await booked(spoken("book", 200, "it", 200, "on", 200, "friday"), agent=agent)
    [row] = spoke.turns
    starts = [lane for lane in row.account.lanes if lane.name == "head start"]
    assert [lane.outcome for lane in starts] == ["dropped"] * 3 + ["kept"]
    assert all(lane.wasted_us >= 80 * MS for lane in starts[:3])
    assert starts[3].saved_us >= 150 * MS
    assert spent(row.account, "choose") <= ACT_US
    assert len(ran) == 1


async def test_an_agent_that_cannot_foresee_costs_nothing_but_its_guesses():
    class Blind(Says):
        def fixed(self):
            return ()

        def next_openings(self, _):
            raise KeyError("odd")

    class Seer(Blind):
        def next_openings(self, _):
            return ["Ten dollars."]

    responder = council(Blind("blind", None), Seer("seer", lambda *_: Opinion("Ten dollars.", 0.9)))
    spoke = await speak(spoken("what is my balance"), responder=responder)
    assert (spoke.outcomes, spoke.texts) == (["shelved"], ["Ten dollars."])
    assert [guess.text for guess in spoke.turns[0].account.guesses if not guess.said] == ["Ten dollars."]


async def test_flapping_partials_do_nothing():
    """ASR-09: what "cancel" would do is not done when it was "can you sell my ticket"."""
    ran = []

    async def cancel(*_):
        ran.append(clock.now())

    def answer(said, _):
        if "cancel" in said:
            return Opinion("Cancelled.", 0.9, completeness="whole", action=Action("cancel"))
        return Opinion("Yes, I can.", 0.9, completeness="whole" if "ticket" in said else "unknown")

    flaps = ["cancel", "cancel my", "can you sell my", "can you sell my ticket"]
    clip = spoken("can you", 200, "sell", 200, "my", 200, "ticket")
    responder = council(Says("seller", answer), tools={"cancel": cancel})
    spoke = await speak(clip, responder=responder, asr=Revising(flaps), warm=["Cancelled."])
    assert [said for said, _ in spoke.guesses()] == flaps
    assert (spoke.texts, ran) == (["Yes, I can."], [])


async def test_what_was_understood_sounds_at_once_and_is_done_when_the_caller_cannot_be_going_on():
    spoke, ran = await booked(spoken("book it on friday"), agent=books(ALRIGHT))
    [row] = spoke.turns
    assert spoke.texts == [ALRIGHT, BOOKED]
    assert spoke.first_answers()[0] <= SETTLED_MS
    assert [day for _, day in ran] == ["friday"]
    assert after(row.account, ran[0][0]) >= ACT_US


@each("pause_ms", [180, 240, 300, 360, 420])
def test_what_the_caller_mends_before_it_is_done_is_never_done(pause_ms):
    """The caller goes on before the usual silence is over: only what they meant in the end is booked."""
    agent = books(ALRIGHT, whole=("book it on friday", "book it on friday no wait on monday"))
    clip = spoken("book it on friday", pause_ms, "no wait on monday")
    spoke, ran = clock.run(booked(clip, agent=agent), "virtual")
    assert [day for _, day in ran] == ["monday"], spoke.history
    assert spoke.texts[-1] == BOOKED


async def test_nothing_is_done_for_a_caller_who_hangs_up_first():
    clips = spoken("book it on friday"), hangs_up(100 * MS, when="sounding")
    _, ran = await booked(*clips, agent=books(ALRIGHT))
    assert ran == []


# --- an LLM -----------------------------------------------------------------------------------------


def timed(backend, timings):
    return LlmResponder(backend, system="Be brief.", told=timings.append)


def as_seat(backend, timings):
    return council(Llm("llm", backend, told=timings.append))


RESPONDERS = pytest.mark.parametrize("kind", [timed, as_seat])


def asked(backend):
    return [prompt.messages[-1].text for prompt in backend.asked]


def talk(kind, backend, *clips, **more):
    timings = []
    spoke = clock.run(speak(*clips, responder=kind(backend, timings), **more), "virtual")
    for row in spoke.turns:
        check_account(row)
    assert backend.busy == 0
    return spoke, timings


@RESPONDERS
@pytest.mark.parametrize("first_us", [100 * MS, 500 * MS, 2 * SECOND])
def test_a_head_start_is_joined_by_the_turn_and_the_llm_asked_once(kind, first_us):
    backend = ScriptedBackend(says(WHOLE, first_us=first_us))
    spoke, timings = talk(kind, backend, spoken("what is my balance"))
    off, _ = talk(
        kind, ScriptedBackend(says(WHOLE, first_us=first_us)), spoken("what is my balance"), on=False
    )
    assert len(backend.asked) == 1
    assert (spoke.texts, spoke.history) == (off.texts, off.history)
    assert [timing.ending for timing in timings] == ["done"]
    assert spoke.first_answers()[0] <= off.first_answers()[0] - min(first_us, 300 * MS) // MS


@RESPONDERS
@pytest.mark.parametrize("first_us", [20 * MS, 700 * MS])
def test_a_head_start_on_other_words_is_dropped_and_its_stream_closed(kind, first_us):
    """Also one whose first sentence was there already."""
    slow = says("Which one? I have two of them.", first_us=first_us, each_us=200 * MS)
    backend = ScriptedBackend(slow, says(WHOLE))
    spoke, timings = talk(kind, backend, spoken("what is", 400, "my balance"))
    assert len(backend.asked) == 2
    assert [timing.ending for timing in timings] == ["cancelled", "done"]
    assert spoke.history[0][1] == "what is my balance"
    assert "Which one?" not in spoke.texts


@RESPONDERS
def test_a_head_start_that_failed_is_tried_once_more_by_the_turn(kind):
    backend = ScriptedBackend(fails("HTTP 503", status=503, again=True), says(WHOLE))
    spoke, _ = talk(kind, backend, spoken("what is my balance"))
    assert len(backend.asked) == 2
    assert spoke.history[-1][1] == WHOLE


@RESPONDERS
@pytest.mark.parametrize("first_us", [20 * MS, 5 * SECOND])
def test_hanging_up_in_a_pause_closes_the_stream_of_the_head_start(kind, first_us):
    backend = ScriptedBackend(says(WHOLE, first_us=first_us, each_us=SECOND // 2))
    gone = hangs_up(0, when="at once")
    spoke, timings = talk(kind, backend, spoken("what is my balance", after_us=400 * MS), gone)
    assert (spoke.texts, spoke.call.dangling) == ([], ())
    assert [timing.ending for timing in timings] == ["cancelled"]


@RESPONDERS
def test_who_goes_on_while_the_turn_waits_for_its_head_start_closes_that(kind):
    backend = ScriptedBackend(says("Which one?", first_us=2 * SECOND), says(WHOLE))
    spoke, timings = talk(kind, backend, spoken("what is", 900, "my balance"))
    assert timings[0].ending == "cancelled"
    assert "Which one?" not in spoke.texts


# --- renders ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("faults", "renders", "outcome"), [({}, 1, "answered"), ({0: "raise"}, 2, "bridged")]
)
async def test_a_render_that_is_under_way_at_the_turns_end_is_joined(faults, renders, outcome):
    """CA-07: a voice takes 600 ms a sentence; nothing is rendered twice but what failed."""
    voice = Pitched(cost_us=600 * MS, faults=faults)
    spoke = await speak(spoken("balance"), responder=Table({"balance": "Ten dollars."}), voice=voice)
    [row] = spoke.turns
    assert (voice.rendered, row.account.outcome) == (renders, outcome)
    assert row.said.endswith("Ten dollars.")
    assert ("render joined" in spoke.took()) == (renders == 1)
    joined = [lane for lane in row.account.lanes if lane.outcome == "joined"]
    assert len(joined) == (renders == 1)
    for lane in joined:  # what the turn waited for all the same was not saved
        waited = lane.ended_us - lane.began_us
        assert waited > 100 * MS
        assert lane.saved_us == 600 * MS - waited
    check_account(row)
