"""A person takes over when one is asked for, when the caller is angry, or when nothing is understood."""

from __future__ import annotations

from laws import each

from turnbudget.agents.agent import Context
from turnbudget.agents.check import check_agent
from turnbudget.agents.handoff import Handoff
from turnbudget.voice.call.responder import Said
from turnbudget.voice.time.budget import Budget


async def say(text, context=None, **settings):
    return await Handoff(**settings).answer(text, context or Context(), Budget(0))


@each(
    ("text", "reason"),
    [
        ("let me talk to a real person", "asks for a person"),
        ("Can I speak with a representative, please?", "asks for a person"),
        ("operator", "asks for a person"),
        ("i want a human", "asks for a person"),
        ("this is ridiculous", "is angry"),
        ("i already told you that three times", "is angry"),
    ],
)
async def test_it_transfers(text, reason):
    opinion = await say(text, to="desk")
    assert opinion.transfer == "desk"
    assert opinion.because == f"the caller {reason}"


@each(
    "text", ["transfer money to my savings", "are you a real person", "send it to another person", "no", ""]
)
async def test_it_keeps_out_of_the_rest(text):
    assert await say(text) is None


async def test_who_was_not_understood_three_times_is_transferred():
    states = {"bill": {"misses": 2}}
    opinion = await say("banana", Context(states=states, asked_by="bill"))
    assert opinion.because == "the caller was not understood 2 times"
    assert await say("banana", Context(states={"bill": {"misses": 1}}, asked_by="bill")) is None


async def test_saying_the_same_thing_three_times_is_failing():
    history = (Said("agent", "Sorry?"), Said("caller", "banana")) * 3
    assert (await say("banana", Context(history=history))).transfer == "operator"


async def test_whoever_takes_over_is_told_what_is_known():
    context = Context(slots={"amount": "135"}, expects="source")
    opinion = await say("agent please", context, action="transfer_call", to="desk")
    assert opinion.action.name == "transfer_call"
    assert opinion.action.arguments == {
        "to": "desk",
        "reason": "asks for a person",
        "summary": "The caller asks for a person. Known: amount: 135. We had asked for: source."
        " Last words: 'agent please'.",
    }


async def test_it_keeps_what_an_agent_promises():
    await check_agent(Handoff(), ("agent", "hello", "this is ridiculous"))
