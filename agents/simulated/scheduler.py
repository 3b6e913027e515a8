"""Who rides which step: the state of a simulated instance, advanced to any instant, on no clock of its own.

A continuous batch takes newcomers at any step, a chunk of their prefill at a time; a bus leaves at a window's
end and rides until its longest answer is done. A token leaves the server one decode step after the step that
made it (measured on vLLM: TTFT is 2.5 steps, half of one to wait, its own, and one of output).
"""

from __future__ import annotations

from collections import deque
from random import Random
from typing import TYPE_CHECKING, Final

from turnbudget.agents.backends.backend import BackendError, Message
from turnbudget.agents.simulated import physics
from turnbudget.agents.simulated.prefixes import Prefixes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from turnbudget.agents.backends.backend import Stopwatch
    from turnbudget.agents.simulated.hardware import Instance, Speculation


CUT: Final = "cut at max_tokens"
"""The flag of an answer that would have gone on."""


class ServedRequest:
    """What the scheduler knows of a request, and what its consumer has been given of it."""

    __slots__ = (
        "admitted_us",
        "arrived_us",
        "cached",
        "cut",
        "ends_us",
        "first_us",
        "given",
        "gone",
        "last_us",
        "late",
        "made",
        "messages",
        "pieces",
        "reserved",
        "size",
        "taken",
        "to_prefill",
    )

    def __init__(
        self, messages: Sequence[Message], size: int, pieces: Sequence[str], arrived_us: int, ends_us: int
    ) -> None:
        """*size* is the prompt's tokens, *pieces* the answer's; an empty answer still takes one token."""
        self.messages = messages
        self.size = size
        self.pieces = pieces or ("",)
        self.arrived_us = arrived_us
        self.ends_us = ends_us
        self.reserved = 0
        self.cached = 0
        self.to_prefill = 0
        self.made = 0
        """Tokens computed."""
        self.given = 0
        """Tokens that have left the server."""
        self.taken = 0
        """Tokens that the consumer has read."""
        self.admitted_us: int | None = None
        self.first_us: int | None = None
        self.last_us: int | None = None
        self.gone = False
        """Its consumer left, or its time is over."""
        self.late = False
        self.cut = False
        """The answer is longer than was asked for."""

    @property
    def tokens(self) -> int:
        """How many tokens the answer has."""
        return len(self.pieces)

    @property
    def conversation(self) -> Sequence[Message]:
        """The prompt and its answer, as the next prompt will begin."""
        text = "".join(self.pieces)
        return (*self.messages, Message("assistant", text)) if text else self.messages

    @property
    def news(self) -> bool:
        """Whether there is something to tell the consumer."""
        return self.given > self.taken or self.late

    def take(self) -> str:
        """Return the text that has arrived since the last time; raises BackendError when time is up."""
        if self.given > self.taken:
            text = "".join(self.pieces[self.taken : self.given])
            self.taken = self.given
            return text
        if self.taken:
            raise BackendError("the answer did not end in time")
        raise BackendError("no first token in time")

    def describe(self, watch: Stopwatch) -> None:
        """Say where the server's time went, as a server does."""
        watch.know(tokens_in=self.size, tokens_out=self.taken)
        if self.cut and self.taken == self.tokens:
            watch.flag(CUT)
        if self.admitted_us is None:
            return
        watch.know(server_queue_us=self.admitted_us - self.arrived_us, tokens_cached=self.cached)
        if self.first_us is not None and self.last_us is not None:
            watch.know(
                server_prefill_us=self.first_us - self.admitted_us,
                server_decode_us=self.last_us - self.first_us,
            )


class Scheduler:
    """The queue, the batch, the step under way and the tokens on their way out."""

    def __init__(self, instance: Instance, seed: int, wake: Callable[[ServedRequest], None]) -> None:
        """Call *wake* for each request that has been given tokens."""
        self._of = instance
        self._wake = wake
        self._rng = Random(seed)  # noqa: S311 - a simulation, no secret
        self._static = instance.schedule.policy == "static"
        self._room = int(instance.kv_tokens)
        self._prefixes = Prefixes(instance.schedule.prefix_ttl_us)
        self._queue: dict[ServedRequest, None] = {}
        self._prefilling: dict[ServedRequest, None] = {}
        self._decoding: dict[ServedRequest, None] = {}
        self._leaving: deque[tuple[int, list[tuple[ServedRequest, int]]]] = deque()
        """Tokens computed and not yet delivered: when they leave, and whose."""
        self._emitting: list[tuple[ServedRequest, int]] = []
        self._ends: int | None = None
        """When the step under way ends; ``None`` while idle."""
        self._free_us = 0
        """When the last step ended."""
        self._lag = 0
        self._reserved = 0
        self._context = 0
        self._bus = 0
        """Seats of the bus under way, those whose passengers are through included."""

    def add(self, request: ServedRequest) -> None:
        """Queue *request*; raises BackendError for one that can never be served."""
        request.reserved = request.size + request.tokens
        if request.reserved > self._room:
            raise BackendError(
                f"{request.reserved} tokens are more than the {self._room} that fit beside the weights",
                status=400,
            )
        self._queue[request] = None

    def remove(self, request: ServedRequest) -> None:
        """Take *request* out, wherever it is."""
        self._queue.pop(request, None)
        if self._prefilling.pop(request, request) is None or self._decoding.pop(request, request) is None:
            self._release(request)

    def due(self) -> int | None:
        """Return the next instant at which a token leaves or a step begins or ends, ``None`` if never."""
        if self._leaving:
            return self._leaving[0][0]
        return self._starts() if self._ends is None else self._ends

    def settle(self, now: int) -> None:
        """Bring everything up to *now*."""
        while True:
            if self._ends is None:
                starts = self._starts()
                if starts is None or starts > now:
                    break
                self._begin(starts)
            elif self._ends <= now:
                self._finish(self._ends)
            else:
                break
        while self._leaving and self._leaving[0][0] <= now:
            self._deliver(*self._leaving.popleft())

    def statistics(self) -> dict[str, int]:
        """Return seats taken, requests waiting, tokens of context reserved and of cache kept."""
        return {
            "riding": len(self._prefilling) + len(self._decoding),
            "waiting": len(self._queue),
            "reserved": self._reserved,
            "cached": self._prefixes.tokens,
        }

    def _starts(self) -> int | None:
        """Return when the next step can begin."""
        if self._prefilling or self._decoding:
            return self._free_us
        if not self._queue:
            return None
        first = next(iter(self._queue)).arrived_us
        if not self._static:
            return max(self._free_us, first)
        window = round(self._of.schedule.window_us)
        if window:
            return max(self._free_us, -(-first // window) * window)
        seats = int(self._of.schedule.seats)
        arrivals = [request.arrived_us for _, request in zip(range(seats), self._queue, strict=False)]
        return max(self._free_us, arrivals[-1]) if len(arrivals) == seats else None

    def _begin(self, now: int) -> None:
        """Begin a step: who rides it, how long it takes, what it will give."""
        if not self._static or not (self._prefilling or self._decoding):
            for request in list(self._boarding(now)):
                self._admit(request, now)
        if self._of.speculation:
            self._emitting = [
                (request, self._burst(request, self._of.speculation)) for request in self._decoding
            ]
        else:
            self._emitting = [(request, 1) for request in self._decoding]
        if self._static and not self._decoding:
            self._bus = len(self._prefilling)
        batch = self._bus if self._static and self._decoding else len(self._decoding)
        decode = physics.step(self._of, batch, self._context if batch else 0).total
        self._lag = max(1, round(decode))
        self._ends = now + max(1, round(decode + self._prefill()))

    def _boarding(self, now: int) -> Iterator[ServedRequest]:
        """Yield those who may get on now, first come first served."""
        free = int(self._of.schedule.seats) - len(self._prefilling) - len(self._decoding)
        room = self._room - self._reserved
        for request in self._queue:
            room -= request.reserved
            if not free or room < 0 or request.arrived_us > now:
                return
            free -= 1
            yield request

    def _admit(self, request: ServedRequest, now: int) -> None:
        del self._queue[request]
        request.admitted_us = now
        # The last token is always computed: its output is the answer's first.
        request.cached = min(self._prefixes.cached(request.messages, now), request.size - 1)
        request.to_prefill = request.size - request.cached
        self._reserved += request.reserved
        self._prefixes.fit(self._room - self._reserved)
        self._prefilling[request] = None

    def _prefill(self) -> float:
        """Take in this step's chunk of prompts; return what it adds to the step (µs)."""
        left = sum(request.to_prefill for request in self._prefilling)
        if not self._static:
            left = min(left, int(self._of.schedule.chunk))
        added = 0.0
        for request in self._prefilling:
            if left <= 0:
                break
            taken = min(left, request.to_prefill)
            added += sum(physics.prefill(self._of, taken, request.size - request.to_prefill))
            request.to_prefill -= taken
            left -= taken
            if not request.to_prefill:
                self._emitting.append((request, 1))
        return added

    def _burst(self, request: ServedRequest, speculation: Speculation) -> int:
        """Return how many tokens a cycle gives: as many as are accepted in a row, and one."""
        made = 1
        while made <= speculation.drafted and self._rng.random() < speculation.acceptance:
            made += 1
        return min(made, request.tokens - request.made)

    def _finish(self, now: int) -> None:
        """End the step: count its tokens, let go those who are through."""
        given = [(request, tokens) for request, tokens in self._emitting if not request.gone]
        for request, tokens in given:
            if request in self._prefilling:
                del self._prefilling[request]
                self._decoding[request] = None
                self._context += request.size
                self._prefixes.add(request.messages, now)
            request.made += tokens
            self._context += tokens
            if request.made >= request.tokens:
                self._through(request, now)
        if given:
            # Never before what left earlier, from a fuller batch with a longer step.
            self._leaving.append((max(now + self._lag, self._leaving[-1][0] if self._leaving else 0), given))
        self._prefixes.fit(self._room - self._reserved)
        self._free_us = now
        self._ends = None
        if not self._decoding:
            self._bus = 0
            if self._static:
                self._context = 0

    def _through(self, request: ServedRequest, now: int) -> None:
        del self._decoding[request]
        self._release(request)
        self._prefixes.add(request.conversation, now)

    def _release(self, request: ServedRequest) -> None:
        self._reserved -= request.reserved
        if request.made and not self._static:
            self._context -= request.size + request.made

    def _deliver(self, now: int, given: list[tuple[ServedRequest, int]]) -> None:
        for request, tokens in given:
            if not request.gone and now <= request.ends_us:
                request.given += tokens
                request.first_us = now if request.first_us is None else request.first_us
                request.last_us = now
                self._wake(request)
