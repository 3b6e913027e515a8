"""Presets: instances and APIs by name, every constant with its mark, its source and its date.

Two kinds. An instance is physics: published hardware, constants fitted to measured stages. An API is a black
box: two published quantiles and guesses. None says how good an answer is. Published speeds age within months:
probe your own endpoint. They are the time to the first *answer* token, p50, p95 and greatest, of a 30-turn
voice-agent conversation, first response left out (kwindla/aiewf-eval, 2026-08).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final, TypeAlias

from msgspec.structs import replace

from turnbudget.agents.simulated.endpoint import Remote
from turnbudget.agents.simulated.hardware import (
    Chip,
    Constant,
    Dataflow,
    Instance,
    Losses,
    Machine,
    Mark,
    Model,
    Price,
    Schedule,
    marked,
)
from turnbudget.agents.simulated.law import fitted
from turnbudget.agents.simulated.physics import priced
from turnbudget.voice.errors import ConfigError
from turnbudget.voice.time.clock import MS, SECOND

Preset: TypeAlias = Instance | Remote
"""An instance, which is physics, or an API, which is a black box."""
EVAL: Final = "kwindla/aiewf-eval, 30 turns"
"""Where the quantiles of the APIs come from."""
_GUESS: Final[tuple[float, Mark, str]] = (80, "assumed", "no source; the order of hosted models")
_MAXIMA: Final = "all but one of twelve published maxima lie at 1.8 to 10 times their p95"
STALL: Final = Constant(0.005, "assumed", _MAXIMA)
"""The share of an API's requests that stall."""
ALPHA: Final = Constant(1.1, "assumed", _MAXIMA)
"""The tail of an API's stalls: the exponent of a Pareto distribution."""


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
"""The hosted models of which quantiles were published."""


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


_CARD: Final = "the model's config.json"
_STAGES: Final = "fit to 28 vLLM 0.15.1 stages on H100: TPOT within 5.9 %, chosen on the same data"

LLAMA_8B: Final = marked(
    Model(
        name="Llama-3.1-8B",
        params=8.03e9,
        active=8.03e9,
        layers=32,
        hidden=4096,
        kv_heads=8,
        head_dim=128,
    ),
    "memory",
    _CARD,
)
LLAMA_70B: Final = marked(
    Model(
        name="Llama-3.1-70B",
        params=70.55e9,
        active=70.55e9,
        layers=80,
        hidden=8192,
        kv_heads=8,
        head_dim=128,
    ),
    "memory",
    _CARD,
)
H100: Final = marked(
    Chip(name="H100 SXM", memory_bytes=80e9, bandwidth=3.35e12, flops=989e12),
    "source",
    "stas00/ml-engineering, citing NVIDIA",
)
WSE_3: Final = Chip(
    name="WSE-3",
    memory_bytes=Constant(44e9, "source", "Cerebras"),
    bandwidth=Constant(21e15, "source", "Cerebras"),
    flops=Constant(12.5e15, "assumed", "125 PF is quoted for sparse; a tenth of it"),
)
LPU_V1: Final = marked(
    Chip(name="Groq LPU v1", memory_bytes=0.23e9, bandwidth=80e12, flops=188e12),
    "source",
    "stas00/ml-engineering",
)
LOSSES: Final = Losses(
    weights=Constant(0.80, "measured", _STAGES),
    kv=Constant(0.80, "measured", _STAGES),
    layer_us=Constant(25, "measured", _STAGES),
    allreduce_us=Constant(5, "measured", _STAGES),
    step_us=Constant(300, "measured", _STAGES),
    prefill=Constant(0.45, "source", "BLIS on H100; Splitwise measured 0.43 to 0.46 at TP 2"),
    request_us=Constant(7_100, "measured", "TTFT = 7.1 ms + 2.47 TPOT on the same stages, within 4.5 %"),
)
_TP4: Final = replace(LOSSES, prefill=Constant(0.35, "source", "Splitwise on H100 at TP 4: 0.30 to 0.36"))
_NO_STEP: Final = replace(
    LOSSES,
    layer_us=Constant(0, "derived", "inside µs a layer"),
    allreduce_us=Constant(0, "derived", "inside µs a layer"),
    step_us=Constant(0, "derived", "inside µs a layer"),
    prefill=Constant(0.45, "assumed", "as a GPU"),
    request_us=Constant(7_100, "assumed", "as vLLM's front"),
)
_RENT: Final = Constant(3, "assumed", "a round rent of one H100; put your own")
_SEATS: Final = Constant(128, "assumed", "b_max of the validated simulator")
_CONTINUOUS: Final = Schedule(
    seats=_SEATS,
    chunk=Constant(2048, "assumed", "vLLM's usual order; cap it for voice"),
)


def _batched() -> Instance:
    whole = Instance(
        name="gpu-batched",
        model=LLAMA_70B,
        chip=H100,
        losses=_TP4,
        machine=Machine(chips=Constant(4, "assumed", "fits 70B bf16")),
        schedule=_CONTINUOUS,
        price=Price(chip_hour=_RENT),
        note="70B bf16 on 4 H100, continuous batching",
    )
    price = marked(priced(whole), "derived", "chip-hours of a full batch at an assumed rent")
    return replace(whole, price=price)


def _low_batch(standard: Instance) -> Instance:
    seats = Constant(
        math.floor(standard.schedule.seats / 15), "derived", "batch ratio = speed × price = 2.5 × 6"
    )
    return replace(
        standard,
        name="gpu-low-batch",
        schedule=replace(standard.schedule, seats=seats),
        pace=Constant(2.5, "source", "fast mode: up to 2.5 times the tokens a second, same model; vendor"),
        price=replace(
            standard.price,
            multiplier=Constant(6, "source", "fast mode of Opus 4.6 and 4.7; 2 for Opus 4.8 and 5"),
        ),
        note="fast mode: a fifteenth of the batch is the assumed mechanism; alone it gives 1.3 times at 1.5k "
        "context, the vendor's speed is taken instead; TTFT law unchanged",
    )


def _wafer() -> Instance:
    stages = math.ceil(LLAMA_70B.bytes / WSE_3.memory_bytes)
    return Instance(
        name="wafer-scale",
        model=LLAMA_70B,
        chip=WSE_3,
        losses=_NO_STEP,
        machine=Machine(
            stages=Constant(stages, "derived", "wafers that hold the weights"),
            hop_us=Constant(5, "assumed", "16 KB a token over 1.2 Tb/s, and the link"),
            dataflow=Dataflow(
                layer_us=Constant(22, "derived", "published rates without speculation: 17 to 28"),
                slots=Constant(80, "assumed", "one token in flight a layer"),
            ),
        ),
        schedule=replace(_CONTINUOUS, seats=Constant(80, "assumed", "as the slots")),
        note="70B on 4 wafers; price is yours to give",
    )


def _lpu() -> Instance:
    model = replace(LLAMA_70B, weight_bytes=Constant(1, "memory", "weights are kept in 8 bits"))
    return Instance(
        name="lpu",
        model=model,
        chip=LPU_V1,
        losses=_NO_STEP,
        machine=Machine(
            chips=Constant(576, "memory", "about 576 chips for 70B"),
            dataflow=Dataflow(
                layer_us=Constant(41, "derived", "published rates of dense models: 36 to 45"),
                slots=Constant(80, "assumed", "one token in flight a layer"),
            ),
        ),
        schedule=replace(_CONTINUOUS, seats=Constant(80, "assumed", "as the slots")),
        note="70B on 576 LPUs; price is yours to give",
    )


def _bus(standard: Instance) -> Instance:
    window = Constant(250_000, "assumed", "a window that can be felt")
    return replace(
        standard,
        name="bus",
        schedule=Schedule(policy="static", seats=_SEATS, chunk=_CONTINUOUS.chunk, window_us=window),
        note="static batches, for teaching: nobody gets on or off between stops",
    )


def _small(standard: Instance) -> Instance:
    whole = replace(
        standard,
        name="gpu-small",
        model=LLAMA_8B,
        losses=LOSSES,
        machine=Machine(chips=Constant(1, "assumed", "fits 8B bf16")),
        price=Price(chip_hour=_RENT),
        note="8B bf16 on one H100, continuous batching",
    )
    price = marked(priced(whole), "derived", "chip-hours of a full batch at an assumed rent")
    return replace(whole, price=price)


def _all() -> dict[str, Preset]:
    standard = _batched()
    made: tuple[Preset, ...] = (
        standard,
        _small(standard),
        _low_batch(standard),
        _wafer(),
        _lpu(),
        _bus(standard),
        *(api.remote() for api in APIS),
        fast_mode(),
    )
    left_out = "left at its default: nothing, or as usual"
    return {preset.name: marked(preset, "assumed", left_out) for preset in made}


PRESETS: Final[dict[str, Preset]] = _all()
"""Every preset by its name."""


def instance(name: str) -> Instance:
    """Return the preset *name*, which is one of hardware."""
    found = PRESETS[name]
    if not isinstance(found, Instance):
        raise ConfigError("is an API, of which no hardware is known", where=name)
    return found
