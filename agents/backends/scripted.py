"""A backend for virtual time: stated deltas at stated times, with faults on order.

Scripted, not simulated: it has no model of a server, only a list of what happens when.
"""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from turnbudget.agents.backends.attempt import note, recorded
from turnbudget.agents.backends.backend import BackendError, Delta, Stopwatch, ToolCall, nobody
from turnbudget.voice.time import clock
from turnbudget.voice.time.clock import MS

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from turnbudget.agents.backends.backend import Prompt, Told
    from turnbudget.voice.time.budget import Budget

FIRST_US: Final = 100 * MS
"""When the first word comes, where a script does not say (µs; 100 ms)."""
EACH_US: Final = 20 * MS
"""How long each further word takes, where a script does not say (µs; 20 ms)."""


class Silence:
    """From here on nothing comes, and nothing ends."""


@dataclass(frozen=True, slots=True)
class Step:
    """One event of a scripted answer: *what*, *after_us* (µs) after the step before or the request."""

    after_us: int
    what: str | ToolCall | BackendError | Silence


def says(text: str, *, first_us: int = FIRST_US, each_us: int = EACH_US) -> tuple[Step, ...]:
    """Return *text* word by word, the first after *first_us*, each other *each_us* behind the one before."""
    words = re.findall(r"\S+\s*", text)
    return tuple(Step(each_us if number else first_us, word) for number, word in enumerate(words))


def silent() -> tuple[Step, ...]:
    """Return a provider that takes the request and never says a word."""
    return (Step(0, Silence()),)


def fails(
    what: str = "failed, as told",
    *,
    after_us: int = 0,
    again: bool = False,
    status: int | None = None,
    retry_after_us: int | None = None,
) -> tuple[Step, ...]:
    """Return a failure; put it behind :func:`says` for one in mid-sentence."""
    error = BackendError(what, again=again, status=status, retry_after_us=retry_after_us)
    return (Step(after_us, error),)


class ScriptedBackend:
    """A backend that answers its first request with the first script, and so on; the last script stays."""

    def __init__(self, *scripts: tuple[Step, ...], name: str = "scripted", prewarm_us: int = 0) -> None:
        self.name = name
        self.asked: list[Prompt] = []
        """Prompts so far."""
        self.warmed: list[Prompt] = []
        """Prefixes that were prewarmed."""
        self.busy = 0
        """Answers under way: what a cancelled one must free."""
        self._scripts = scripts or (says("Yes, of course."),)
        self._prewarm_us = prewarm_us

    async def stream(self, prompt: Prompt, budget: Budget, told: Told = nobody) -> AsyncIterator[Delta]:
        """Yield what the script says; see :class:`~turnbudget.agents.backends.backend.Backend`."""
        script = self._scripts[min(len(self.asked), len(self._scripts) - 1)]
        self.asked.append(prompt)
        watch = Stopwatch(self.name, "script")
        self.busy += 1
        try:
            with recorded(watch, told):
                due_us = clock.now()
                for step in script:
                    due_us += step.after_us
                    delta = await self._happen(step, due_us, budget)
                    note(watch, delta)
                    yield delta
                if not watch.answered:
                    raise BackendError("the answer is empty", where=self.name, again=True)
        finally:
            self.busy -= 1

    async def prewarm(self, prefix: Prompt, budget: Budget) -> None:
        """Take *prefix* as read, after the stated time."""
        async with clock.move_on_at(budget.ends_us):
            await clock.sleep(self._prewarm_us)
            self.warmed.append(prefix)

    async def aclose(self) -> None:
        """Return at once: there is nothing to close."""

    async def _happen(self, step: Step, due_us: int, budget: Budget) -> Delta:
        """Return the delta of *step* at *due_us*; how late the one before was read does not count."""
        happened = False
        async with clock.move_on_at(budget.ends_us):
            if isinstance(step.what, Silence):
                await asyncio.get_running_loop().create_future()
            await clock.sleep_until(due_us)
            happened = True
        if not happened or isinstance(step.what, Silence):
            raise BackendError("the answer did not end in time", where=self.name)
        if isinstance(step.what, BackendError):
            raise BackendError(
                step.what.what,
                where=self.name,
                status=step.what.status,
                retry_after_us=step.what.retry_after_us,
                again=step.what.again,
            )
        return Delta(step.what) if isinstance(step.what, str) else Delta(call=step.what)
