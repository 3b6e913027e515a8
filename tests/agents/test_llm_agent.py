"""An LLM among other agents: its first sentence opens, its tools are proposed."""

from __future__ import annotations

import pytest

from turnbudget.agents.agent import Action, Context
from turnbudget.agents.backends.backend import BackendError, Tool, ToolCall
from turnbudget.agents.backends.scripted import ScriptedBackend, Step, fails, says, silent
from turnbudget.agents.check import check_agent
from turnbudget.agents.llm import Llm
from turnbudget.voice.call.responder import Said
from turnbudget.voice.time import clock
from turnbudget.voice.time.budget import Budget
from turnbudget.voice.time.clock import MS, SECOND

ORDER = Tool("order", "Orders a card.", {"type": "object"})


def answer(agent, text="I lost my card", context=None):
    return agent.answer(text, context or Context(), Budget.of(SECOND))


async def test_its_first_sentence_opens_while_the_rest_still_comes():
    backend = ScriptedBackend(
        says("I am sorry to hear. Which card was it?", first_us=100 * MS, each_us=20 * MS)
    )
    opinion = await answer(Llm("llm", backend))
    assert opinion.opening == "I am sorry to hear."
    assert clock.now() < 100 * MS + 20 * MS * 6
    assert [sentence async for sentence in opinion.rest] == ["Which card was it?"]
    assert backend.busy == 0


async def test_it_is_asked_with_its_domain_what_was_heard_and_what_is_known():
    backend = ScriptedBackend(says("Yes, of course."))
    history = (Said("caller", "hi"), Said("agent", "Hello, how may", cut=True))
    context = Context(history=history, slots={"card": "debit"})
    await (await answer(Llm("llm", backend, system="You are a bank."), context=context)).rest.aclose()
    assert [(each.role, each.text) for each in backend.asked[0].messages] == [
        ("system", "You are a bank."),
        ("user", "hi"),
        ("assistant", "Hello, how may …"),
        ("user", "I lost my card\n(Known so far: card = debit)"),
    ]


async def test_a_tool_it_calls_is_proposed_not_run():
    call = ToolCall("1", "order", '{"card": "debit", "count": 2}')
    backend = ScriptedBackend((*says("I will order it."), Step(10 * MS, call)))
    opinion = await answer(Llm("llm", backend, tools=[ORDER], says={"order": "Ordered: {result}."}))
    assert opinion.opening == "Ordered: {result}."
    assert opinion.action == Action("order", {"card": "debit", "count": "2"})
    assert backend.asked[0].tools == (ORDER,)


async def test_a_tool_there_is_not_is_refused():
    backend = ScriptedBackend((Step(0, ToolCall("1", "rob", "{}")),))
    with pytest.raises(BackendError, match="a tool 'rob' that there is not"):
        await answer(Llm("llm", backend, tools=[ORDER]))


async def test_it_stays_out_of_what_it_is_not_for():
    backend = ScriptedBackend()
    assert await answer(Llm("llm", backend, trigger=["mortgage"])) is None
    assert await answer(Llm("llm", backend), "[noise]") is None
    assert backend.asked == []


@pytest.mark.parametrize("script", [fails(), silent()])
async def test_a_backend_that_fails_or_is_silent_is_an_error_inside_the_budget(script):
    with pytest.raises(BackendError):
        await answer(Llm("llm", ScriptedBackend(script)))
    assert clock.now() <= SECOND


async def test_it_keeps_what_an_agent_promises():
    backend = ScriptedBackend(says("It is ten dollars. Anything else?"))
    await check_agent(Llm("llm", backend), ("what is my balance", "[noise]"))
    assert backend.busy == 0
