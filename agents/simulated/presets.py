"""Presets: instances and APIs by name, every constant with its mark, its source and its date.

Two kinds. An instance is physics: published hardware, constants fitted to measured stages. An API is a black
box: two published quantiles and guesses. None says how good an answer is.
"""

from __future__ import annotations

import math
from typing import Final, TypeAlias

from msgspec.structs import replace

from turnbudget.agents.simulated.constant import Constant, marked
from turnbudget.agents.simulated.hardware import (
    Chip,
    Dataflow,
    Instance,
    Losses,
    Machine,
    Model,
    Price,
    Schedule,
)
from turnbudget.agents.simulated.physics import priced
from turnbudget.agents.simulated.published import APIS, fast_mode
from turnbudget.agents.simulated.remote import Remote
from turnbudget.voice.errors import ConfigError

Preset: TypeAlias = Instance | Remote

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


def instance(name: str) -> Instance:
    """Return the preset *name*, which is one of hardware."""
    found = PRESETS[name]
    if not isinstance(found, Instance):
        raise ConfigError("is an API, of which no hardware is known", where=name)
    return found
