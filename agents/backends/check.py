"""What any backend owes an agent, as a check that its maker can run: ``await check_backend(mine)``."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Final

from turnbudget.agents.backends.backend import Backend, BackendError, Message, Prompt
from turnbudget.agents.backends.contest import closing
from turnbudget.voice.errors import BrokenPromise
from turnbudget.voice.promises import closed, lacking, tried
from turnbudget.voice.time import clock
from turnbudget.voice.time.budget import Budget
from turnbudget.voice.time.clock import MS, SECOND

if TYPE_CHECKING:
    from turnbudget.agents.backends.backend import Timing

PROMPT: Final = Prompt((Message("system", "You are brief."), Message("user", "Count from one to ten.")))
LONG_US: Final = 30 * SECOND
"""Budget of an answer (µs; 30 s)."""
LONGEST_US: Final = 10 * LONG_US
"""Longest that all answers together may take (µs; 300 s)."""
GRACE_US: Final = 100 * MS
"""A refusal may come so long after the Budget has ended: the loop has other things to do."""
GONE_US: Final = 50 * MS
"""How long leaving may take."""


async def check_backend(backend: Backend, prompt: Prompt = PROMPT) -> None:
    """Raise :class:`BrokenPromise`, which lists all that *backend* breaks of what a backend promises.

    It asks *prompt*, which should have an answer of several words, eight times, and closes the backend.
    """
    whose = f"backend {getattr(backend, 'name', '')!r}"
    BrokenPromise.unless_kept(whose, lacking(backend, Backend))
    broken: list[str] = []
    broken += await tried(
        _ask(backend, prompt, broken),
        LONGEST_US,
        f"an answer does not end, however long its budget has ended ({LONGEST_US} µs)",
        "a plain prompt raises: {}",
    )
    broken += await closed(backend)
    BrokenPromise.unless_kept(whose, broken)


async def _ask(backend: Backend, prompt: Prompt, broken: list[str]) -> None:
    """Add to *broken* what is wrong with what is answered."""
    await backend.prewarm(prompt, Budget.of(LONG_US))
    await backend.prewarm(prompt, Budget.of(0))
    began_us = clock.now()
    broken += await _answers(backend, prompt)
    took_us = clock.now() - began_us
    async with asyncio.TaskGroup() as group:
        both = [group.create_task(_answers(backend, prompt)) for _ in range(2)]
    broken += [f"overlapping: {fault}" for task in both for fault in task.result()]
    broken += await _leaves(backend, prompt)
    broken += await _cancels(backend, prompt)
    broken += await _refuses(backend, prompt)
    broken += await _stops(backend, prompt, took_us // 2)
    broken += await _answers(backend, prompt)


async def _answers(backend: Backend, prompt: Prompt) -> list[str]:
    timings: list[Timing] = []
    text, empty = "", 0
    async with closing(backend.stream(prompt, Budget.of(LONG_US), timings.append)) as deltas:
        async for delta in deltas:
            text += delta.text
            empty += not (delta.text or delta.call)
    last = timings[-1] if timings else None
    if last is None:
        return ["no Timing was told"]
    instants = [last.began_us, last.first_token_us, last.first_sentence_us, last.ended_us]
    known = [instant for instant in instants if instant is not None]
    checks = {
        "the answer has no words": bool(text.strip()),
        "a delta is empty": not empty,
        "an attempt has no end": all(timing.ended_us is not None for timing in timings),
        "no attempt ended as done": any(timing.ending == "done" for timing in timings),
        "the first token is not known": any(timing.first_token_us is not None for timing in timings),
        f"the instants are out of order: {last}": known == sorted(known),
        "two attempts have the same number": len({timing.attempt for timing in timings}) == len(timings),
    }
    return [fault for fault, holds in checks.items() if not holds]


async def _leaves(backend: Backend, prompt: Prompt) -> list[str]:
    """Return what is wrong when a listener leaves behind the first delta."""
    timings: list[Timing] = []
    async with closing(backend.stream(prompt, Budget.of(LONG_US), timings.append)) as deltas:
        async for _ in deltas:
            break
        left_us = clock.now()
    return _gone("leaving early", timings, left_us)


async def _cancels(backend: Backend, prompt: Prompt) -> list[str]:
    """Return what is wrong when the listener's task is cancelled."""
    timings: list[Timing] = []
    begun = asyncio.Event()

    async def listen() -> None:
        async with closing(backend.stream(prompt, Budget.of(LONG_US), timings.append)) as deltas:
            async for _ in deltas:
                begun.set()
                await asyncio.get_running_loop().create_future()

    async with asyncio.TaskGroup() as group:
        task = group.create_task(listen())
        async with clock.move_on_at(clock.now() + LONG_US):
            await begun.wait()
        left_us = clock.now()
        task.cancel()
    if not task.cancelled():
        return ["a cancelled listener is not cancelled"]
    return _gone("cancelling", timings, left_us)


def _gone(what: str, timings: list[Timing], left_us: int) -> list[str]:
    took_us = clock.now() - left_us
    checks = {
        f"{what} leaves no Timing": bool(timings),
        f"{what} ends as {[timing.ending for timing in timings]}, not cancelled": not timings
        or any(timing.ending == "cancelled" for timing in timings),
        f"{what} takes {took_us} µs": took_us <= GONE_US,
    }
    return [fault for fault, holds in checks.items() if not holds]


async def _refuses(backend: Backend, prompt: Prompt) -> list[str]:
    """Return what is wrong if there is no time left."""
    budget = Budget.of(0)
    try:
        async with closing(backend.stream(prompt, budget)) as deltas:
            async for _ in deltas:
                return ["an answer is given although no time is left"]
    except BackendError:
        late = clock.now() > budget.ends_us + GRACE_US
        return ["refused long after its budget had ended"] if late else []
    except Exception as error:  # noqa: BLE001 - whatever else it raises is the finding
        return [f"raises {error!r} instead of BackendError when no time is left"]
    return ["ends as if whole although no time was left"]


async def _stops(backend: Backend, prompt: Prompt, us: int) -> list[str]:
    """Return what is wrong when a budget of *us* ends in the middle of the answer."""
    budget = Budget.of(us)
    with contextlib.suppress(BackendError):
        async with closing(backend.stream(prompt, budget)) as deltas:
            async for _ in deltas:
                pass
    late_us = clock.now() - budget.ends_us
    return [f"an answer goes on for {late_us} µs behind the end of its budget"] if late_us > GRACE_US else []
