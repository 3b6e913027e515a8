"""What a remote API costs seen from outside: a record of constants, as published, probed or assumed."""

from __future__ import annotations

from typing import Literal

from turnbudget.agents.simulated.hardware import Part, Price
from turnbudget.agents.simulated.law import Law
from turnbudget.agents.simulated.prefixes import BLOCK
from turnbudget.voice.time.clock import SECOND


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
