"""One serving instance, simulated step by step and shared by all calls of a process.

It is an account, settled up to now whenever somebody looks: between two looks nothing can change that was
not known before, so steps, deliveries and departures are the same as if it had run on its own. Of those
who wait for tokens one sleeps for all until the next instant at which anything happens, so a step costs one
timer however many requests there are, and an idle machine costs nothing. Nothing of a finished request is
kept but its place in the prompt cache, which is as large as the memory beside the weights.
"""

from __future__ import annotations

import asyncio
import heapq
import itertools
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from turnbudget.agents.backends.attempt import recorded
from turnbudget.agents.backends.backend import BackendError, Delta, Stopwatch, nobody
from turnbudget.agents.simulated.physics import priced
from turnbudget.agents.simulated.prefixes import pieces, size
from turnbudget.agents.simulated.scheduler import Scheduler, ServedRequest
from turnbudget.agents.simulated.words import Echo
from turnbudget.voice.time import clock

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Sequence

    from turnbudget.agents.backends.backend import Prompt, Timing, Told
    from turnbudget.agents.simulated.hardware import Instance
    from turnbudget.agents.simulated.words import Words
    from turnbudget.voice.time.budget import Budget


W = TypeVar("W")
FORGET: Final = 64
"""How many deadlines of those who left may lie about before they are swept."""


class Engine:
    """A simulated LLM on simulated hardware: a Backend."""

    def __init__(self, instance: Instance, words: Words | None = None, *, seed: int = 0) -> None:
        """Serve *words* (an echo, if none) as *instance* would; same *seed*, same trace."""
        self.name = f"simulated:{instance.name}"
        self.model = instance.model.name
        self.instance = instance
        self.words = words or Echo()
        self._price = priced(instance)
        self._waiters: Waiters[ServedRequest] = Waiters(self._settle, self._due)
        self._scheduler = Scheduler(instance, seed, self._waiters.wake)
        self._deadlines: list[tuple[int, int, ServedRequest]] = []
        self._births = itertools.count()
        self._left = 0
        """About how many of the deadlines are of those who left."""

    def __repr__(self) -> str:
        return f"Engine({self.instance.name!r})"

    async def stream(self, prompt: Prompt, budget: Budget, told: Told = nobody) -> AsyncIterator[Delta]:
        """Yield the answer, each token when it leaves the server; several that waited, as one."""
        watch = Stopwatch(self.name, self.model)
        watch.connected(reused=True)
        with recorded(watch, told):
            text = pieces(self.words.reply(prompt))
            request = self._board(prompt, text[: prompt.max_tokens], budget)
            request.cut = len(text) > prompt.max_tokens
            try:
                while request.taken < request.tokens:
                    arrived = await self._next(request)
                    watch.byte()
                    watch.text(arrived)
                    if arrived:
                        yield Delta(arrived)
            finally:
                self._leave(request)
                request.describe(watch)
                watch.know(headers_us=request.arrived_us if request.admitted_us is not None else None)

    async def prewarm(self, prefix: Prompt, budget: Budget) -> None:
        """Read *prefix* into the prompt cache now: a request of one token, which nobody hears."""
        try:
            request = self._board(prefix, ("",), budget)
            try:
                await self._next(request)
            finally:
                self._leave(request)
        except BackendError:
            pass  # the call will find out, and say so

    async def aclose(self) -> None:
        """Keep nothing open: there is nothing to close."""

    def price(self, timing: Timing) -> float | None:
        """Return what the attempt of *timing* cost in dollars, ``None`` if no price per token is known."""
        cached = timing.tokens_cached or 0
        return self._price.of((timing.tokens_in or 0) - cached, cached, timing.tokens_out or 0)

    def statistics(self) -> dict[str, int]:
        """Return how full it is now: seats taken, requests waiting, tokens of context and of cache."""
        self._scheduler.settle(clock.now())
        return self._scheduler.statistics()

    def _board(self, prompt: Prompt, text: Sequence[str], budget: Budget) -> ServedRequest:
        now = clock.now()
        self._scheduler.settle(now)
        arrives = now + round(self.instance.losses.request_us)
        request = ServedRequest(prompt.messages, size(prompt.messages), text, arrives, budget.ends_us)
        self._scheduler.add(request)
        heapq.heappush(self._deadlines, (request.ends_us, next(self._births), request))
        return request

    async def _next(self, request: ServedRequest) -> str:
        """Return the text that has arrived since the last time, waiting if there is none."""
        self._settle()
        if not request.news:
            await self._waiters.wait(request)
        return request.take()

    def _leave(self, request: ServedRequest) -> None:
        """Free the seat at once; the step under way ends when it would have."""
        self._scheduler.settle(clock.now())
        request.gone = True
        self._scheduler.remove(request)
        self._left += 1
        if self._left > FORGET and 2 * self._left > len(self._deadlines):
            self._deadlines = [entry for entry in self._deadlines if not entry[2].gone]
            heapq.heapify(self._deadlines)
            self._left = 0

    def _settle(self) -> None:
        now = clock.now()
        self._scheduler.settle(now)
        while self._deadlines and (self._deadlines[0][0] <= now or self._deadlines[0][2].gone):
            request = heapq.heappop(self._deadlines)[2]
            if not request.gone:
                request.late = True
                self._waiters.wake(request)

    def _due(self) -> int:
        """Return the next instant at which anything may happen."""
        while self._deadlines and self._deadlines[0][2].gone:
            heapq.heappop(self._deadlines)
        ends = self._deadlines[0][0] if self._deadlines else clock.now()
        happens = self._scheduler.due()
        return ends if happens is None else min(ends, happens)


class Waiters(Generic[W]):
    """Many wait for one machine, and one of them sleeps for all: no task of the machine's own runs free.

    Whoever waits while nobody keeps the watch sleeps until the next instant at which anything happens, then
    settles the machine's account up to now, which wakes those whom it concerns. Whoever leaves hands the
    watch over.
    """

    def __init__(self, settle: Callable[[], None], due: Callable[[], int]) -> None:
        """*settle* brings the machine up to now and calls :meth:`wake`; *due* is when that is next needed."""
        self._settle = settle
        self._due = due
        self._waiting: dict[W, asyncio.Future[bool]] = {}
        self._sentry: W | None = None
        self._until = 0

    def wake(self, who: W) -> None:
        """Tell *who* that there is news; nothing if it does not wait."""
        woken = self._waiting.pop(who, None)
        if woken and not woken.done():
            woken.set_result(True)

    async def wait(self, who: W) -> None:
        """Return when *who* is woken."""
        try:
            while not await self._wait_once(who):
                pass
        finally:
            self._waiting.pop(who, None)
            if self._sentry is who:
                self._sentry = None
            self._hand_over()

    async def _wait_once(self, who: W) -> bool:
        """Wait as a sentry or behind one; say whether there is news."""
        woken: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._waiting[who] = woken
        due = self._due()
        if self._sentry is not None and self._until <= due:
            return await woken
        self._sentry, self._until = who, due
        async with clock.move_on_at(due):
            await woken
        if self._sentry is who:
            self._sentry = None
        if woken.cancelled():  # by the scope: it is time
            again: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
            self._waiting[who] = again
            self._settle()
            return again.done()
        return woken.result()

    def _hand_over(self) -> None:
        """Let one of those who wait keep the watch."""
        if self._sentry is None and self._waiting:
            who = next(iter(self._waiting))
            woken = self._waiting.pop(who)
            if not woken.done():
                woken.set_result(False)
