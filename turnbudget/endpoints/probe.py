"""Measure an endpoint: what it costs cold, warm, cached and loaded, one request after another, mixed.

A probe is a caller, so it waits for each answer before it asks again, and it counts from outside: connection,
first answer token, pace. What the server tells of itself goes first where it tells.
"""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass, field, replace
from random import Random
from typing import TYPE_CHECKING, Final

from turnbudget.agents.backends.backend import BackendError, Message, Prompt
from turnbudget.agents.backends.http import checked
from turnbudget.agents.backends.openai import OpenAIBackend
from turnbudget.agents.simulated.prefixes import Prefixes, size
from turnbudget.endpoints.calibrate import LEAST
from turnbudget.endpoints.presets import Probed, describe, probed, write
from turnbudget.endpoints.samples import ALONE, KINDS, Kind, Sample, request
from turnbudget.voice.errors import ConfigError
from turnbudget.voice.time import clock
from turnbudget.voice.time.budget import Budget
from turnbudget.voice.time.clock import MS, SECOND

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from turnbudget.agents.backends.backend import Backend

__all__ = ("Probed", "describe", "measure", "probe", "write")

N: Final = 120
"""Requests of a probe, unless told otherwise."""
LOADS: Final = (1, 2, 4)
"""Numbers of requests at once, unless told otherwise."""
SHARES: Final[dict[Kind, float]] = {"cold": 0.15, "warm": 0.15, "uncached": 0.2, "cached": 0.5}
"""Share of the requests that each kind has."""
TURNS: Final = 2
"""A cached prompt is a turn of a conversation that has just gone on: one turn is asked before, uncounted."""
LOADED: Final = 8
"""Part of the requests that a load is measured with (n / 8)."""
LEAST_LOADED: Final = 12
"""Fewest requests that a load is measured with."""
ANSWER: Final = 32
"""Length of the answers asked for (tokens)."""
SHORT: Final = 40
"""Length of a short prompt (tokens)."""
LONG: Final = 400
"""Length of a long prompt at first (tokens)."""
LONGEST: Final = 1_500
"""Greatest length of a long prompt (tokens)."""
SHORTEST: Final = 160
"""Least length of a long prompt (tokens)."""
EXTRA_US: Final = SECOND
"""What a long prompt is chosen to cost more than a short one (µs; 1 s)."""
ASKED_US: Final = 10 * SECOND
"""How long the list of models is waited for (µs; 10 s)."""
PAUSE_US: Final = 60 * MS
"""Longest pause between two requests (µs; 60 ms): a server may close a connection behind an answer."""
LOSSES: Final = 5
"""Failures in a row that end a probe."""
WAIT_US: Final = 60 * SECOND
"""Longest wait before a refused probe comes back (µs; 60 s)."""
TOO_LONG: Final = frozenset((400, 413, 422))
"""Status codes with which servers answer a prompt that does not fit."""
SEED: Final = 1
"""Seed of the words of the prompts."""
WORDS: Final = tuple(
    re.findall(
        r"\w+",
        "could you tell me what is left on the account before Friday because there was a payment to the "
        "water company that I do not know and I would like an appointment with somebody tomorrow afternoon "
        "if that is possible or on Saturday when you are open please thank yes forty euros savings number",
    )
)
"""Short words and long ones, as people use them: how many tokens a word has depends on it."""


def nobody(_: int, __: int, ___: str) -> None:
    """Tell nobody how far it is."""


async def probe(  # noqa: PLR0913 - each is a choice of the user
    url: str,
    model: str = "",
    *,
    n: int = N,
    concurrency: Sequence[int] = LOADS,
    seed: int = SEED,
    progress: Callable[[int, int, str], None] = nobody,
) -> Probed:
    """Measure the *model* at *url* with *n* requests one at a time, and some at each *concurrency*.

    *progress* is told how many requests are done, of how many, and what is next. Raises ConfigError for a URL
    that is none, a missing key or a model that is not there, BackendError if the server does not answer.
    """
    parsed = checked(url, "probe")
    whole = url if parsed.path.strip("/") else str(parsed.with_path("/v1"))
    backend = OpenAIBackend(whole, model, name="probe")
    try:
        backend.model = await _chosen(backend, model)
        name = _slug(f"{parsed.host}-{backend.model.rpartition('/')[2]}")
        source = f"probe of {parsed.host}:{parsed.port}, {backend.model}"
        with clock.beyond():
            return await measure(
                backend, n=n, concurrency=concurrency, seed=seed, progress=progress, name=name, source=source
            )
    finally:
        await backend.aclose()


async def measure(  # noqa: PLR0913 - each is a choice of the user
    backend: Backend,
    *,
    n: int = N,
    concurrency: Sequence[int] = LOADS,
    seed: int = SEED,
    progress: Callable[[int, int, str], None] = nobody,
    name: str = "probed",
    source: str = "",
) -> Probed:
    """Measure any *backend*, as :func:`probe` does one at a URL."""
    if n < 2 * LEAST:
        raise ConfigError(f"{n} requests fit nothing", where="probe", remedy=f"--n {2 * LEAST} or more")
    if not concurrency or min(concurrency) < 1:
        raise ConfigError("streams at once are 1 or more", where="probe", remedy="--concurrency 1,2,4")
    prober = _Prober(backend, Random(seed))  # noqa: S311 - a lot, no secret
    progress(0, n, "warming up")
    await prober.warm_up()
    plan = _plan(n, concurrency, prober.rng)
    total = sum(TURNS if kind == "cached" else streams for kind, streams in plan)
    for kind, streams in plan:
        progress(len(prober.samples), total, kind if streams < ALONE else f"{streams} at once")
        await prober.round(kind, streams)
    progress(total, total, "fitting")
    model = getattr(backend, "model", "")
    return probed(prober.samples, name=name, model=model, source=source or name, date=_date())


def _plan(n: int, concurrency: Sequence[int], rng: Random) -> list[tuple[Kind, int]]:
    """Return what is asked, and how many at once, in a random order."""
    plan: list[tuple[Kind, int]] = []
    for kind in KINDS:
        times = round(n * SHARES.get(kind, 0) / (TURNS if kind == "cached" else 1))
        plan.extend((kind, 1) for _ in range(times))
    for streams in sorted({each for each in concurrency if each >= ALONE}):
        rounds = -(-max(n // LOADED, LEAST_LOADED) // streams)
        plan.extend(("load", streams) for _ in range(rounds))
    rng.shuffle(plan)
    return plan


@dataclass
class _Prober:
    """Asks one backend, and remembers."""

    backend: Backend
    rng: Random
    samples: list[Sample] = field(default_factory=list)
    known: Prefixes = field(default_factory=lambda: Prefixes(block=1))
    """What a server's cache may hold, for servers that do not tell."""
    long: int = LONG
    prefixes: tuple[str, ...] = ()
    lost: int = 0

    async def warm_up(self) -> None:
        """Ask a few times, uncounted: to see that it answers, and how long a long prompt should be."""
        await self._first("warm")
        short = min([await self._first("warm") for _ in range(2)])
        long = await self._long()
        each_us = max(1.0, (long - short) / (self.long - SHORT))
        if long - short < EXTRA_US:
            self.long = max(self.long, min(LONGEST, SHORT + round(EXTRA_US / each_us)))
        else:
            self.long = max(SHORTEST, SHORT + round(EXTRA_US / each_us))
        await self._long()
        self.prefixes = (self._text(self.long), self._text(self.long // 2))
        for _ in range(2 * len(self.prefixes)):
            await self._first("cached")

    async def round(self, kind: Kind, streams: int) -> None:
        """Ask once, or *streams* times at once."""
        await clock.sleep(self.rng.randrange(PAUSE_US))
        if kind == "cached":
            await self._talk()
            return
        if kind == "cold":
            await self.backend.aclose()
        prompts = [self._prompt(kind) for _ in range(streams)]
        async with asyncio.TaskGroup() as group:
            asked = [group.create_task(self._ask(kind, prompt, streams)) for prompt in prompts]
        for _, sample, error in [task.result() for task in asked]:
            await self._take(sample, error)

    async def _talk(self) -> None:
        """Ask turn after turn; the first, whose prefix may not be at hand any more, is not counted."""
        prompt = self._prompt("cached")
        for turn in range(1 + TURNS):
            text, sample, error = await self._ask("cached", prompt, 1)
            if turn or error:
                await self._take(sample, error)
            if error:
                return
            history = (*prompt.messages, Message("assistant", text), self._question())
            prompt = replace(prompt, messages=history)
            await clock.sleep(self.rng.randrange(PAUSE_US))

    async def _take(self, sample: Sample, error: BackendError | None) -> None:
        self.samples.append(sample)
        self.lost = self.lost + 1 if error else 0
        if error and self.lost >= LOSSES:
            raise BackendError(
                f"{LOSSES} failures in a row, the last: {error.what}",
                where=error.where,
                remedy=error.remedy or "probe when it is well",
                status=error.status,
            )
        if error and error.retry_after_us:
            await clock.sleep(min(error.retry_after_us, WAIT_US))

    async def _first(self, kind: Kind) -> int:
        """Return the time to the first token of one request that does not count; raises BackendError."""
        _, sample, error = await self._ask(kind, self._prompt(kind, whole=True), 1)
        for _ in range(LOSSES):
            if error is None or not error.again:
                break
            _, sample, error = await self._ask(kind, self._prompt(kind, whole=True), 1)
        if error:
            raise error
        return sample.total_us

    async def _long(self) -> int:
        """Return what a long prompt takes to its first token; one that does not fit is made shorter."""
        while True:
            try:
                return await self._first("uncached")
            except BackendError as error:
                if error.status not in TOO_LONG or self.long <= SHORTEST:
                    raise
            self.long = max(SHORTEST, self.long // 2)

    async def _ask(self, kind: Kind, prompt: Prompt, streams: int) -> tuple[str, Sample, BackendError | None]:
        began_us = clock.now()
        counted = size(prompt.messages)
        cached = min(counted - 1, self.known.cached(prompt.messages, began_us))
        asked = Sample(
            kind=kind,
            streams=streams,
            began_us=began_us,
            counted_in=counted,
            tokens_in=counted,
            counted_cached=cached,
        )
        text, sample, error = await request(self.backend, prompt, asked)
        if not error:
            self.known.add((*prompt.messages, Message("assistant", text)), clock.now())
        return text, sample, error

    def _prompt(self, kind: Kind, *, whole: bool = False) -> Prompt:
        """Return a prompt of *kind*; a *whole* long one has the greatest length, else one of two."""
        if kind in {"cached", "load"}:
            system = self.rng.choice(self.prefixes)
        elif kind == "uncached":
            system = self._text(self.long if whole or self.rng.random() < 0.5 else self.long // 2)  # noqa: PLR2004
        else:
            system = self._text(SHORT)
        return Prompt((Message("system", system), self._question()), max_tokens=ANSWER)

    def _question(self) -> Message:
        """Return what a user may say, of one word or of many."""
        say = " ".join(self.rng.choices(WORDS, k=self.rng.randrange(30)))
        return Message("user", f"{say.capitalize()}. Tell me more." if say else "Tell me more.")

    def _text(self, tokens: int) -> str:
        """Return a text of about so many tokens that no cache has seen."""
        words = self.rng.choices(WORDS, k=tokens)
        return " ".join(words[: max(1, tokens - 1)]).capitalize() + "."


async def _chosen(backend: OpenAIBackend, model: str) -> str:
    """Return *model* if the server has it, or the only one it has."""
    budget = Budget.of(ASKED_US)
    if model:
        await backend.verify(budget)
        return model
    names = await backend.models(budget)
    if len(names) != 1:
        raise ConfigError(
            "which model is not said", where="probe", remedy=f"--model: {', '.join(names[:8]) or 'its name'}"
        )
    return names[0]


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9.]+", "-", text.lower().removesuffix(".gguf")).strip("-.") or "probed"


def _date() -> str | None:
    now = clock.label()
    return now[:10] if now else None
