"""A remote API seen from outside: what it costs to reach, how long it thinks, how it fails. No physics.

Every random number of a request is drawn when it begins, so a trace depends on the order in which requests
begin and on nothing else: same seed, same trace.
"""

from __future__ import annotations

from collections import deque
from contextlib import aclosing
from dataclasses import dataclass, replace
from random import Random
from typing import TYPE_CHECKING, Final, Literal

import msgspec

from turnbudget.agents.backends.attempt import recorded
from turnbudget.agents.backends.backend import BackendError, Delta, Message, Stopwatch, nobody
from turnbudget.agents.simulated.hardware import Part, Price
from turnbudget.agents.simulated.law import Law
from turnbudget.agents.simulated.prefixes import BLOCK, Prefixes, pieces, size
from turnbudget.agents.simulated.words import Echo
from turnbudget.voice.time import clock
from turnbudget.voice.time.clock import SECOND

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Sequence

    from turnbudget.agents.backends.backend import Prompt, Timing, Told
    from turnbudget.agents.simulated.words import Words
    from turnbudget.voice.time.budget import Budget


MINUTE_US: Final = 60 * SECOND
"""The time over which an API limits its requests and tokens (µs; 1 min)."""


class Remote(Part, frozen=True, kw_only=True):
    """A remote API's constants; µs, tokens, shares of requests."""

    name: str
    model: str = ""
    rtt_us: float = 0
    """One round trip; already inside a time to first token that was measured from outside."""
    handshake_us: float = 0
    """What a new connection costs before the request can be sent."""
    keepalive_us: float = 60 * SECOND
    """How long an idle connection can be used again."""
    ttft_shift_us: float = 0
    ttft_median_us: float
    ttft_sigma: float = 0
    stall: float = 0
    """Share of requests that stall, and then the least they stall for, and how heavy the tail is."""
    stall_us: float = 0
    alpha: float = 1.1
    uncached_us: float = 0
    """What each token of the prompt adds that is not in the prompt cache."""
    cached_us: float = 0
    token_sigma: float = 0
    """How much these costs vary together, from request to request; only for a server of one's own."""
    cache_ttl_us: float = 300 * SECOND
    cache_block: float = BLOCK
    """Tokens are cached in whole blocks of so many."""
    tpot_median_us: float = 0
    tpot_sigma: float = 0
    load_us: float = 0
    """What each other stream of ours adds to a token's time; only for a server of one's own."""
    burst: float = 1
    """Tokens in a chunk."""
    requests_a_minute: float = 0
    """More are refused with 429; 0 for no limit."""
    retry_after_us: float = 30 * SECOND
    error: float = 0
    silent: float = 0
    dribble: float = 0
    dribble_us: float = SECOND
    """What a dribbling stream takes a token."""
    reset: float = 0
    tier: Literal["standard", "fast"] = "standard"
    pace: float = 1
    """How many times as fast the fast tier decodes; its time to the first token is the same."""
    fast_a_minute: float = 0
    """Beyond, fast requests are served as standard ones, and the prompt cache is lost; 0 for no limit."""
    price: Price = Price()
    accuracy: float | None = None
    """The user's own number. Quality is never simulated."""
    note: str = ""

    @property
    def law(self) -> Law:
        """The time to the first token of a warm, short request."""
        return Law(
            self.ttft_median_us, self.ttft_sigma, self.ttft_shift_us, self.stall, self.stall_us, self.alpha
        )


@dataclass(frozen=True, slots=True)
class Draft:
    """An answer and its fate."""

    text: Sequence[str]
    ttft_us: float
    slow: float
    """How many times the usual the prompt's tokens cost."""
    tpot_us: float
    fails: bool
    silent: bool
    dribbles: bool
    resets: bool
    at: float
    """Where in the answer it is reset, as a share."""
    tier: Literal["standard", "fast"]

    def fallen_back(self) -> Draft:
        """Return the draft as the standard tier serves it."""
        return replace(self, tier="standard")

    def breaks(self, token: int) -> bool:
        """Say whether the connection is reset before *token*: after the first, before the end."""
        return self.resets and token >= max(1, int(self.at * len(self.text)))


class Endpoint:
    """A simulated remote API, shared by all calls of a process: a Backend."""

    def __init__(self, remote: Remote, words: Words | None = None, *, seed: int = 0) -> None:
        """Serve *words* (an echo, if none) as *remote* would; same *seed*, same trace."""
        self.name = f"simulated:{remote.name}"
        self.model = remote.model
        self.remote = remote
        self.words = words or Echo()
        self._rng = Random(seed)  # noqa: S311 - a simulation, no secret
        self._law = remote.law
        block = int(remote.cache_block)
        self._prefixes = {tier: Prefixes(remote.cache_ttl_us, block) for tier in ("standard", "fast")}
        self._idle: deque[int] = deque()
        """When each idle connection was last used."""
        self._recent: dict[str, deque[int]] = {"all": deque(), "fast": deque()}
        self._streams = 0

    def __repr__(self) -> str:
        return f"Endpoint({self.remote.name!r})"

    async def stream(self, prompt: Prompt, budget: Budget, told: Told = nobody) -> AsyncIterator[Delta]:
        """Yield the answer, each chunk when it arrives; several that waited, as one."""
        watch = Stopwatch(self.name, self.model)
        draft = self._draft(prompt)
        watch.know(tier_asked=self.remote.tier, tier_served=draft.tier)
        if draft.tier != self.remote.tier:
            watch.flag("cache lost by a change of tier")
        with recorded(watch, told):
            self._streams += 1
            try:
                await self._connect(watch, budget)
                async with aclosing(self._chunks(prompt, draft, watch, budget)) as chunks:
                    async for text in chunks:
                        watch.text(text)
                        if text:
                            yield Delta(text)
                self._keep(prompt, draft)
            finally:
                self._streams -= 1

    async def prewarm(self, prefix: Prompt, budget: Budget) -> None:
        """Connect, and have *prefix* read into the prompt cache by a request whose answer nobody hears."""
        draft = self._draft(prefix)
        watch = Stopwatch(self.name, self.model)
        try:
            await self._connect(watch, budget)
            if prefix.messages:
                read = clock.now() + round(self._first_us(prefix, draft, watch))
                await self._accepted(draft, budget)
                await self._until(read, budget)
                self._prefixes[draft.tier].add(prefix.messages, clock.now())
            self._idle.append(clock.now())
        except BackendError:
            pass  # the call will find out, and say so

    async def aclose(self) -> None:
        """Close connections: the next request pays for a new one."""
        self._idle.clear()

    def price(self, timing: Timing) -> float | None:
        """Return what the attempt of *timing* cost in dollars, ``None`` if no price is known."""
        price, cached = self.remote.price, timing.tokens_cached or 0
        if timing.tier_served != "fast":
            price = msgspec.structs.replace(price, multiplier=1)
        return price.of((timing.tokens_in or 0) - cached, cached, timing.tokens_out or 0)

    def _draft(self, prompt: Prompt) -> Draft:
        """Draw everything that chance decides about a request."""
        remote, rng = self.remote, self._rng
        text = pieces(self.words.reply(prompt)) or ("",)
        draft = Draft(
            text=text[: prompt.max_tokens],
            ttft_us=self._law.draw(rng),
            slow=Law(1, remote.token_sigma).draw(rng) if remote.token_sigma else 1,
            tpot_us=Law(remote.tpot_median_us or 1e-9, remote.tpot_sigma).draw(rng),
            fails=rng.random() < remote.error,
            silent=rng.random() < remote.silent,
            dribbles=rng.random() < remote.dribble,
            resets=rng.random() < remote.reset,
            at=rng.random(),
            tier=remote.tier,
        )
        if remote.tier == "fast" and self._over("fast", remote.fast_a_minute):
            return draft.fallen_back()
        return draft

    def _over(self, which: str, limit: float) -> bool:
        """Say whether one more request is beyond *limit* a minute; count it if not."""
        if not limit:
            return False
        now, recent = clock.now(), self._recent[which]
        while recent and now - recent[0] >= MINUTE_US:
            recent.popleft()
        if len(recent) >= limit:
            return True
        recent.append(now)
        return False

    async def _connect(self, watch: Stopwatch, budget: Budget) -> None:
        """Take an idle connection, or pay for a new one."""
        now = clock.now()
        while self._idle:
            if now - self._idle.pop() <= self.remote.keepalive_us:
                watch.connected(reused=True)
                return
        await self._until(now + round(self.remote.handshake_us), budget)
        watch.connected(reused=False)

    async def _accepted(self, draft: Draft, budget: Budget) -> None:
        """Wait for the headers; raises BackendError for a refusal."""
        remote = self.remote
        refused = self._over("all", remote.requests_a_minute)
        await self._until(clock.now() + round(min(remote.rtt_us, draft.ttft_us)), budget)
        if refused:
            after = round(remote.retry_after_us)
            raise BackendError(
                f"too many requests, again after {after / SECOND:g} s",
                where=self.name,
                status=429,
                retry_after_us=after,
            )
        if draft.fails:
            raise BackendError("unavailable for a moment", where=self.name, status=503, again=True)

    def _first_us(self, prompt: Prompt, draft: Draft, watch: Stopwatch) -> float:
        """Return the time from the request to the first token, by what is cached."""
        tokens = size(prompt.messages)
        cached = min(tokens - 1, self._prefixes[draft.tier].cached(prompt.messages, clock.now()))
        watch.know(tokens_in=tokens, tokens_cached=cached)
        costs = (tokens - cached) * self.remote.uncached_us + cached * self.remote.cached_us
        return draft.ttft_us + draft.slow * costs

    async def _chunks(
        self, prompt: Prompt, draft: Draft, watch: Stopwatch, budget: Budget
    ) -> AsyncGenerator[str, None]:
        """Yield text as it arrives."""
        first = clock.now() + self._first_us(prompt, draft, watch)
        await self._accepted(draft, budget)
        watch.headers()
        if draft.silent:
            await self._until(budget.ends_us + 1, budget)
        pace, burst, upto = self._pace(draft), int(self.remote.burst), 0

        def arrives(tokens: int) -> int:
            # With its last token a chunk arrives, and with the first chunk the first token.
            return round(first + max(0, tokens - burst) * pace)

        while upto < len(draft.text):
            if draft.breaks(upto):
                raise BackendError("the connection was reset in mid-answer", where=self.name)
            end = min(len(draft.text), upto + burst)
            await self._until(arrives(end), budget)
            while end < len(draft.text) and arrives(end + burst) <= clock.now() and not draft.breaks(end):
                end = min(len(draft.text), end + burst)
            watch.byte()
            watch.know(tokens_out=end)
            yield "".join(draft.text[upto:end])
            upto = end

    def _pace(self, draft: Draft) -> float:
        """Return the time of one token after the first."""
        if draft.dribbles:
            return self.remote.dribble_us
        pace = draft.tpot_us + self.remote.load_us * (self._streams - 1)
        return pace / self.remote.pace if draft.tier == "fast" else pace

    def _keep(self, prompt: Prompt, draft: Draft) -> None:
        """Give the connection back, and let the cache know prompt and answer."""
        now = clock.now()
        self._idle.append(now)
        answer = Message("assistant", "".join(draft.text))
        self._prefixes[draft.tier].add((*prompt.messages, answer), now)

    async def _until(self, instant: int, budget: Budget) -> None:
        """Wait until *instant*; raises BackendError if the budget ends before."""
        if instant > budget.ends_us:
            await clock.sleep_until(budget.ends_us)
            raise BackendError("did not answer in time", where=self.name)
        if instant > clock.now():
            await clock.sleep_until(instant)
