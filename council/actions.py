"""Actions run once: after the turn is final and the reply that promises them is chosen, never before.

An action is known by its key: the call, the caller's words it answers, and what it would do. Asked for again
under the same key (the caller spoke before the reply had sounded, so the words are asked about once more) it
gives the result it gave, or will give. It runs on the call's crew, so that a turn broken off does not break
it off, and it never raises: a failure is something to say.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from turnbudget.voice.errors import ConfigError
from turnbudget.voice.time import clock

if TYPE_CHECKING:
    import asyncio

    from turnbudget.agents.agent import Action
    from turnbudget.voice.call.responder import Notes
    from turnbudget.voice.time.crew import Crew

Tool: TypeAlias = Callable[[Mapping[str, str], str], Awaitable[str]]
"""Does the thing: arguments and idempotency key in, what ``{result}`` stands for out; raises if it cannot."""


@dataclass(frozen=True, slots=True)
class Done:
    """What came of an action: what it returned, or why it failed."""

    result: str = ""
    """What the tool returned."""
    failure: str = ""
    """Why it failed; '' if it did not."""


class Actions:
    """The tools of a call, and what has been done with them."""

    def __init__(self, tools: Mapping[str, Tool], call: str) -> None:
        """*call* is the call's id: it keeps the keys of two calls apart. Raises ConfigError."""
        for name, tool in tools.items():
            if not callable(tool):
                raise ConfigError(
                    f"{name!r} cannot be called", where="council.tools", remedy="give a function"
                )
        self._tools = dict(tools)
        self._call = call
        self._begun: dict[str, asyncio.Task[Done]] = {}

    def begun(self, key: str) -> bool:
        """Say whether an action was begun under *key*."""
        return key in self._begun

    def key(self, action: Action, exchange: int) -> str:
        """Return the idempotency key of *action* in the call's *exchange*."""
        content = json.dumps([action.name, sorted(action.arguments.items())])
        return f"{self._call}:{exchange}:{hashlib.sha256(content.encode()).hexdigest()[:16]}"

    def run(
        self, action: Action, key: str, crew: Crew, notes: Notes, then: Callable[[Done], None]
    ) -> asyncio.Task[Done]:
        """Begin *action*, or return it as begun under *key*; *then* is told once, when it has ended."""
        if key in self._begun:
            notes.decide(f"{action.name} not run again", "it was begun under the same key")
        else:
            work = self._do(action, key, notes, then)
            self._begun[key] = crew.create_task(work, name=f"action:{action.name}")
        return self._begun[key]

    async def _do(self, action: Action, key: str, notes: Notes, then: Callable[[Done], None]) -> Done:
        lane = notes.lane(f"action:{action.name}")
        done = Done(failure="broken off")
        try:
            done = await self._attempt(action, key)
        finally:
            lane.end("failed" if done.failure else "done")
            took_ms = ((lane.ended_us or lane.began_us) - lane.began_us) // clock.MS
            how = f"failed after {took_ms} ms: {done.failure}" if done.failure else f"done in {took_ms} ms"
            notes.decide(f"action {action.name}", how)
            then(done)
        return done

    async def _attempt(self, action: Action, key: str) -> Done:
        tool = self._tools.get(action.name)
        if tool is None:
            return Done(failure="there is no such tool")
        try:
            result: Any = await tool(action.arguments, key)
        except Exception as error:  # noqa: BLE001 - a tool may raise anything
            return Done(failure=f"{type(error).__name__}: {error}")
        return Done("" if result is None else str(result))
