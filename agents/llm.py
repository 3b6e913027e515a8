"""An LLM as one agent among others: a domain prompt, its tools, and its first sentence as the opening.

What it may do stays proposed: a tool it calls becomes the opinion's action. With tools its whole answer is
awaited, since a call may come behind a sentence that promises it; without, the rest streams on.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from turnbudget.agents.agent import Action, Opinion
from turnbudget.agents.backends.backend import BackendError, Message, Prompt, nobody
from turnbudget.agents.phrases import found, patterns
from turnbudget.agents.spoken import speak
from turnbudget.agents.values.heard import plain
from turnbudget.voice.call.ledger import Lane
from turnbudget.voice.time import clock

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping, Sequence

    from turnbudget.agents.agent import Context
    from turnbudget.agents.backends.backend import Backend, Told, Tool, ToolCall
    from turnbudget.voice.time.budget import Budget

SYSTEM: Final = (
    "You answer the telephone. Answer in one or two short sentences, in plain words that can be spoken aloud."
    " Ask for one missing detail at a time. Never invent facts about the caller."
)
CONFIDENCE: Final = 0.6


class _Aside:
    """Lanes that nobody reads: an agent's own times are in the lane of its seat."""

    def lane(self, name: str, began_us: int | None = None) -> Lane:
        return Lane(name, clock.now() if began_us is None else began_us)

    def decide(self, took: str, because: str) -> None:
        del took, because


class Llm:
    """An agent that asks a backend."""

    def __init__(  # noqa: PLR0913 - each is a line of the user's file
        self,
        name: str,
        backend: Backend,
        *,
        system: str = SYSTEM,
        tools: Sequence[Tool] = (),
        says: Mapping[str, str] | None = None,
        trigger: Sequence[str] = (),
        confidence: float = CONFIDENCE,
        max_tokens: int = 80,
        told: Told = nobody,
    ) -> None:
        """Ask *backend* with *system* before the conversation.

        *tools* are offered to the model in its provider's format; *says* has for each what is said with its
        ``{result}``. With *trigger* patterns it speaks only where one is found. *told* gets every attempt's
        record.
        """
        self.name = name
        self._backend = backend
        self._system = system
        self._tools = tuple(tools)
        self._says = says or {}
        self._trigger = patterns(trigger, f"agent {name}")
        self._confidence = confidence
        self._max_tokens = max_tokens
        self._told = told

    async def answer(self, utterance: str, context: Context, budget: Budget) -> Opinion | None:
        """Return its first sentence once that is whole; raises BackendError if the backend fails."""
        words = plain(utterance).words
        if not words or (self._trigger and not found(self._trigger, words)):
            return None
        opened = await speak(self._backend, self._prompt(utterance, context), budget, _Aside(), self._told)
        if not self._tools:
            return Opinion(opened.opening, self._confidence, "first sentence whole", opened.rest)
        others = [sentence async for sentence in opened.rest]
        if not opened.calls:
            return Opinion(opened.opening, self._confidence, "no tool wanted", _each(others))
        return self._called(opened.calls[0], opened.opening)

    def _called(self, call: ToolCall, said: str) -> Opinion:
        """Return the opinion that proposes what the model called; of several calls the first."""
        if not any(tool.name == call.name for tool in self._tools):
            raise BackendError(f"asked for a tool {call.name!r} that there is not", where=self.name)
        told = json.loads(call.arguments or "{}")
        arguments = {
            key: value if isinstance(value, str) else json.dumps(value) for key, value in told.items()
        }
        says = self._says.get(call.name, "{result}" if not said else f"{said} {{result}}")
        return Opinion(says, self._confidence, f"calls {call.name}", action=Action(call.name, arguments))

    def _prompt(self, utterance: str, context: Context) -> Prompt:
        """Return what is asked; what is known stands last, so that the prefix stays as it was."""
        known = "; ".join(f"{name} = {value}" for name, value in sorted(context.slots.items()))
        heard = (
            Message(
                "user" if line.who == "caller" else "assistant", f"{line.text} …" if line.cut else line.text
            )
            for line in context.history
        )
        last = f"{utterance}\n(Known so far: {known})" if known else utterance
        messages = (Message("system", self._system), *heard, Message("user", last))
        return Prompt(messages, self._max_tokens, tools=self._tools)


async def _each(sentences: Sequence[str]) -> AsyncGenerator[str, None]:
    for sentence in sentences:
        yield sentence
