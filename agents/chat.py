"""Talk to one agent alone, as a council would have it talked to: to try it, to test it, to show it."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Final, TextIO

from turnbudget.agents.agent import Context
from turnbudget.voice.call.responder import Said
from turnbudget.voice.time import clock
from turnbudget.voice.time.budget import Budget
from turnbudget.voice.time.clock import MS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from turnbudget.agents.agent import Agent, Opinion

BUDGET_US: Final = 500 * MS
"""How long the agent has for each answer (µs; 500 ms)."""
NOTHING: Final = "(that is not my matter)"
"""What is shown where the agent has nothing to say."""


class AgentChat:
    """A conversation with *agent*: every opinion it has is taken. Its actions are shown, not run."""

    def __init__(self, agent: Agent, facts: Mapping[str, str] | None = None) -> None:
        self.context = Context(facts=facts or {})
        """What the agent knows before the next utterance."""
        self._agent = agent

    async def say(self, utterance: str) -> Opinion | None:
        """Return the agent's opinion on *utterance*, taken as if it had been chosen and heard."""
        opinion = await self._agent.answer(utterance, self.context, Budget.of(BUDGET_US))
        before, name = self.context, self._agent.name
        history = (*before.history, Said("caller", utterance))
        if opinion is None:
            self.context = replace(before, history=history)
            return None
        self.context = replace(
            before,
            history=(*history, Said("agent", " ".join(spoken(opinion)))),
            slots={**before.slots, **opinion.slots},
            states={**before.states, name: opinion.state},
            asked_by=name,
            expects=opinion.expects,
        )
        return opinion


def spoken(opinion: Opinion) -> tuple[str, ...]:
    """Return what is said of *opinion* before the rest: what stands before its action, and the opening."""
    meanwhile = opinion.action.meanwhile if opinion.action else ""
    return (meanwhile, opinion.opening) if meanwhile else (opinion.opening,)


def chat(agent: Agent, source: TextIO = sys.stdin, into: TextIO = sys.stdout) -> None:
    """Talk to *agent* in a terminal: it answers each line of *source* until that ends or it ends the call."""
    clock.run(_chat(agent, source, into))


async def _chat(agent: Agent, source: TextIO, into: TextIO) -> None:
    trial = AgentChat(agent)
    for line in source:
        opinion = await trial.say(line)
        if opinion is None:
            print(NOTHING, file=into)
            continue
        rest = [sentence async for sentence in opinion.rest]
        print(" ".join((*spoken(opinion), *rest)), file=into)
        if opinion.action:
            told = ", ".join(f"{name}={value!r}" for name, value in opinion.action.arguments.items())
            print(f"-> {opinion.action.name}({told})", file=into)
        if opinion.ends_call or opinion.transfer:
            break
