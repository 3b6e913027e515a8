"""Published speeds of hosted models, dated. They age within months: probe your own endpoint.

Time to first *answer* token, p50, p95 and greatest, of a 30-turn voice-agent conversation, first response
left out (kwindla/aiewf-eval, 2026-08). Tokens a second where a source names them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

from turnbudget.agents.simulated.constant import Constant, Mark
from turnbudget.agents.simulated.hardware import Price
from turnbudget.agents.simulated.law import fitted
from turnbudget.agents.simulated.remote import Remote
from turnbudget.voice.time.clock import MS, SECOND

EVAL: Final = "kwindla/aiewf-eval, 30 turns"
_GUESS: Final[tuple[float, Mark, str]] = (80, "assumed", "no source; the order of hosted models")
_MAXIMA: Final = "all but one of twelve published maxima lie at 1.8 to 10 times their p95"
STALL: Final = Constant(0.005, "assumed", _MAXIMA)
ALPHA: Final = Constant(1.1, "assumed", _MAXIMA)


@dataclass(frozen=True, slots=True)
class Api:
    """One row: milliseconds, tokens a second, dollars a million tokens in, cached and out."""

    name: str
    model: str
    p50: float
    p95: float
    most: float
    rate: tuple[float, Mark, str] = _GUESS
    dollars: tuple[float, float, float] | None = None
    local: bool = False

    def remote(self) -> Remote:
        """Return the row as the constants of an endpoint."""
        law = fitted(self.p50 * MS, self.p95 * MS, stall=STALL, stall_us=self.p95 * MS, alpha=ALPHA)
        per_second, mark, source = self.rate
        far = 0 if self.local else 1
        cents = tuple(Constant(each, "memory", "price list") for each in self.dollars or ())
        return Remote(
            name=self.name,
            model=self.model,
            rtt_us=Constant(40 * MS * far, "assumed", "a near region"),
            handshake_us=Constant(120 * MS * far, "assumed", "name, TCP and TLS 1.3: three round trips"),
            keepalive_us=Constant(60 * SECOND, "assumed", "a usual server setting"),
            ttft_median_us=Constant(law.median, "derived", f"p50 {self.p50:g} ms, {EVAL}"),
            ttft_sigma=Constant(law.sigma, "derived", f"p95 {self.p95:g} ms, {EVAL}"),
            stall=STALL,
            stall_us=Constant(self.p95 * MS, "assumed", "beyond p95"),
            alpha=ALPHA,
            tpot_median_us=Constant(SECOND / per_second, mark, source),
            tpot_sigma=Constant(0.1, "assumed", "no source"),
            burst=Constant(1, "assumed", "chunks are often more"),
            price=Price(input=cents[0], cached=cents[1], output=cents[2]) if cents else Price(),
            note=f"p50 {self.p50:g}, p95 {self.p95:g}, greatest {self.most:g} ms in {EVAL}, 2026-08",
        )


APIS: Final = (
    Api("api-groq-oss", "gpt-oss-120b (Groq)", 98, 217, 2117, (500, "source", "Groq docs")),
    Api("api-qwen-local", "qwen3.8-27b NVFP4 (local 5090)", 101, 318, 592, local=True),
    Api("api-gemma-4-31b", "gemma-4-31b (Baseten, 2 H100)", 489, 609, 38_250),
    Api("api-gpt-4.1", "gpt-4.1", 536, 1771, 5056, dollars=(2, 0.5, 8)),
    Api("api-nemotron-3-ultra", "nemotron-3-ultra (Baseten)", 541, 712, 1302),
    Api("api-gpt-4o", "gpt-4o", 546, 1369, 4897, dollars=(2.5, 1.25, 10)),
    Api(
        "api-gemini-2.5-flash",
        "gemini-2.5-flash, no thinking",
        550,
        850,
        2352,
        dollars=(0.3, 0.075, 2.5),
    ),
    Api("api-gpt-4o-mini", "gpt-4o-mini", 553, 1947, 6497, dollars=(0.15, 0.075, 0.6)),
    Api(
        "api-haiku-4.5",
        "claude-haiku-4-5",
        637,
        1615,
        3152,
        (math.sqrt(97 * 112), "source", "97 to 112 by users' tests: weak"),
        (1, 0.1, 5),
    ),
    Api("api-gpt-5.1", "gpt-5.1", 739, 1492, 4244),
    Api(
        "api-sonnet-4.6",
        "claude-sonnet-4-6",
        850,
        4126,
        9396,
        (63, "source", "Sonnet 4.5 by a secondary page: weak"),
        (3, 0.3, 15),
    ),
    Api("api-sonnet-5", "claude-sonnet-5, no thinking", 1204, 2465, 6955),
)


def fast_mode() -> Remote:
    """Return a fast mode seen from outside: same time to the first token, more tokens a second, a price."""
    return Remote(
        name="api-opus-4.6-fast",
        model="claude-opus-4-6, fast mode",
        rtt_us=Constant(40 * MS, "assumed", "a near region"),
        handshake_us=Constant(120 * MS, "assumed", "name, TCP and TLS 1.3: three round trips"),
        ttft_median_us=Constant(2670 * MS, "assumed", "Opus 4.1 by a secondary page; no figure for 4.6"),
        ttft_sigma=Constant(0.5, "assumed", "as its smaller siblings"),
        tpot_median_us=Constant(SECOND / 65, "source", "65 tokens a second standard: an article", "2026-02"),
        tpot_sigma=Constant(0.1, "assumed", "no source"),
        tier="fast",
        pace=Constant(170 / 65, "source", "170 tokens a second fast: the same article", "2026-02"),
        price=Price(
            input=Constant(5, "source", "OpenRouter and Anthropic pages"),
            cached=Constant(0.5, "memory", "price list"),
            output=Constant(25, "source", "OpenRouter and Anthropic pages"),
            multiplier=Constant(6, "source", "$30 / $150 fast against $5 / $25"),
        ),
        note="the vendor speaks of tokens a second, not of the first token; mechanism unknown",
    )
