"""What a serving instance is made of: model, chip, machine, scheduler, price. Records, checked when made.

SI units, but for times: microseconds. A number that no hardware can have is refused with one line. A
:class:`Constant` is a number that knows where it comes from, for a simulation is worth what its constants are
worth: formulas use it as the float it is, and :mod:`turnbudget.agents.simulated.explain` prints its mark
beside a term. A number without a mark was given by the user.
"""

from __future__ import annotations

import math
from typing import Final, Literal, Self, TypeAlias, TypeVar

import msgspec

from turnbudget.voice.errors import ConfigError

Mark: TypeAlias = Literal["measured", "derived", "assumed", "source", "memory", "yours"]
"""``measured``: re-analysed from measured data. ``derived``: follows from other numbers here. ``assumed``: a
guess. ``source``: read in the source named. ``memory``: believed, not looked up. ``yours``: the user's."""
AS_OF: Final = "2026-08"
"""When the figures were gathered, where a constant does not say otherwise."""
T = TypeVar("T", bound=msgspec.Struct)


class Constant(float):
    """A float with its mark, its source in a few words, and its date."""

    __slots__ = ("as_of", "mark", "source")
    mark: Mark
    source: str
    as_of: str

    def __new__(cls, value: float, mark: Mark, source: str, as_of: str = AS_OF) -> Self:
        """Make *value* a constant."""
        made = super().__new__(cls, value)
        made.mark, made.source, made.as_of = mark, source, as_of
        return made

    def __repr__(self) -> str:
        return f"{float(self):g} [{self.mark}: {self.source}, {self.as_of}]"


def origin(value: float) -> tuple[Mark, str, str]:
    """Return mark, source and date of *value*."""
    if isinstance(value, Constant):
        return value.mark, value.source, value.as_of
    return "yours", "", ""


def weakest(*values: float) -> tuple[Mark, str, str]:
    """Return the origin of the least certain of *values*: what is made of them is worth no more."""
    order: tuple[Mark, ...] = ("assumed", "memory", "derived", "yours", "source", "measured")
    return min((origin(value) for value in values), key=lambda found: order.index(found[0]))


def marked(record: T, mark: Mark, source: str, as_of: str = AS_OF) -> T:
    """Return *record* with every plain number of it, also in the records in it, made a constant."""
    changed: dict[str, object] = {}
    for field in record.__struct_fields__:
        value = getattr(record, field)
        if isinstance(value, msgspec.Struct):
            changed[field] = marked(value, mark, source, as_of)
        elif isinstance(value, int | float) and not isinstance(value, Constant | bool):
            changed[field] = Constant(value, mark, source, as_of)
    return msgspec.structs.replace(record, **changed)


LARGEST: Final = 1e21
"""Beyond any quantity here; a value above is a slip of the unit."""


class Part(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A record of numbers; each may have least and most."""

    def __post_init__(self) -> None:
        for field in self.__struct_fields__:
            value = getattr(self, field)
            if isinstance(value, int | float) and not isinstance(value, bool):
                _check(f"{type(self).__name__.lower()}.{field}", value, *_LIMITS.get(field, (0, LARGEST)))


_LIMITS: Final[dict[str, tuple[float, float]]] = {
    "params": (1e3, 1e16),
    "active": (1e3, 1e16),
    "layers": (1, 10_000),
    "kv_heads": (1, 10_000),
    "head_dim": (1, 100_000),
    "hidden": (1, 1e7),
    "weight_bytes": (0.05, 16),
    "kv_bytes": (0.05, 16),
    "memory_bytes": (1, LARGEST),
    "bandwidth": (1, LARGEST),
    "flops": (1, LARGEST),
    "chips": (1, 1e6),
    "stages": (1, 1e4),
    "weights": (0.01, 1),
    "kv": (0.01, 1),
    "prefill": (0.01, 1),
    "seats": (1, 1e6),
    "chunk": (1, 1e7),
    "slots": (1, 1e6),
    "acceptance": (0, 0.999),
    "drafted": (1, 64),
    "multiplier": (0.001, 1e4),
    "pace": (0.01, 100),
    "accuracy": (0, 1),
    "alpha": (0.2, 100),
    "silent": (0, 1),
    "dribble": (0, 1),
    "reset": (0, 1),
    "error": (0, 1),
    "stall": (0, 1),
    "ttft_median_us": (1, 3.6e9),
    "cache_block": (1, 1e6),
}
"""Least and most that a field may be, by its name; any other is 0 or more."""


def _check(name: str, value: float, least: float, most: float) -> None:
    if not math.isfinite(value) or not least <= value <= most:
        raise ConfigError(f"{float(value):g} is impossible", where=name, remedy=f"{least:g} to {most:g}")


class Model(Part, frozen=True, kw_only=True):
    """A transformer's sizes."""

    name: str
    params: float
    active: float
    """Parameters that one token touches; all of them, but for a mixture of experts."""
    layers: float
    hidden: float
    kv_heads: float
    head_dim: float
    weight_bytes: float = 2
    kv_bytes: float = 2
    experts: float = 0
    """Experts in a layer of a mixture; 0 for a dense model."""
    routed: float = 0
    """Experts that a token is routed to."""
    expert_params: float = 0
    """Parameters that lie in experts."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.active > self.params or self.expert_params > self.params or self.routed > self.experts:
            raise ConfigError(f"{self.name}: a part is larger than the whole", where="model")

    @property
    def bytes(self) -> float:
        """All weights."""
        return self.params * self.weight_bytes

    @property
    def kv_per_token(self) -> float:
        """Bytes of keys and values that a token of context takes."""
        return 2 * self.layers * self.kv_heads * self.head_dim * self.kv_bytes


class Chip(Part, frozen=True, kw_only=True):
    """One accelerator: bytes, bytes a second, dense operations a second."""

    name: str
    memory_bytes: float
    bandwidth: float
    flops: float


class Losses(Part, frozen=True, kw_only=True):
    """The five constants of a decode step on a GPU, and two of a request."""

    weights: float
    """Share of the bandwidth that weights stream at."""
    kv: float
    """Share of the bandwidth that keys and values stream at."""
    layer_us: float
    """What a layer costs besides: launches, norms, the rest."""
    allreduce_us: float
    """One of the two all-reduces of a layer, on more than one chip."""
    step_us: float
    """What a step costs besides: scheduling, sampling."""
    prefill: float
    """Share of the peak operations that prefill gets."""
    request_us: float
    """What the front of the server costs a request."""


class Dataflow(Part, frozen=True, kw_only=True):
    """A machine that keeps the weights beside the arithmetic: so many µs a layer, and they stream nothing."""

    layer_us: float
    slots: float
    """Tokens that may be under way at different places of the machine at once."""


class Machine(Part, frozen=True, kw_only=True):
    """How chips are joined: tensor-parallel within a stage, stages in a pipeline."""

    chips: float = 1
    stages: float = 1
    hop_us: float = 0
    """What one token pays from a stage to the next."""
    dataflow: Dataflow | None = None
    usable: float = 0.9
    """Share of the memory that weights and context may take."""


class Schedule(Part, frozen=True, kw_only=True):
    """Who rides when: ``continuous`` joins and leaves at any step; ``static`` is a bus."""

    policy: Literal["continuous", "static"] = "continuous"
    seats: float = 128
    chunk: float = 2048
    """Tokens of prefill that a step takes in."""
    window_us: float = 0
    """A bus leaves at every multiple of this; 0: only when it is full."""
    prefix_ttl_us: float = 0
    """How long a prefix stays in the cache; 0: until its room is needed."""


class Speculation(Part, frozen=True, kw_only=True):
    """Speculative decoding: a cheap model drafts, the model verifies in one step."""

    acceptance: float
    drafted: float
    draft_cost: float = 0.1
    """One drafted token against one step of the model alone."""


class Price(Part, frozen=True, kw_only=True):
    """Dollars a million tokens; ``chip_hour`` instead where the hardware is rented."""

    input: float | None = None
    cached: float | None = None
    output: float | None = None
    chip_hour: float | None = None
    multiplier: float = 1

    def of(self, uncached: float, cached: float, out: float) -> float | None:
        """Return what a request of so many tokens costs, ``None`` if tokens have no price."""
        if self.input is None or self.output is None:
            return None
        again = self.input if self.cached is None else self.cached
        tokens = uncached * self.input + cached * again + out * self.output
        return tokens * self.multiplier / 1e6


class Instance(Part, frozen=True, kw_only=True):
    """One serving instance, whole."""

    name: str
    model: Model
    chip: Chip
    losses: Losses
    machine: Machine = Machine()
    schedule: Schedule = Schedule()
    speculation: Speculation | None = None
    price: Price = Price()
    pace: float = 1
    """Decoding goes so many times as fast as the physics says: a vendor's promise, mechanism unknown."""
    accuracy: float | None = None
    """The user's own number. Quality is never simulated."""
    note: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.kv_tokens < 1:
            room = self.machine.chips * self.machine.stages * self.chip.memory_bytes / 1e9
            raise ConfigError(
                f"{self.model.name} ({self.model.bytes / 1e9:g} GB) does not fit into {room:g} GB",
                where=self.name,
                remedy="more machine.chips or machine.stages",
            )

    @property
    def kv_tokens(self) -> float:
        """Tokens of context that fit beside the weights."""
        memory = self.machine.chips * self.machine.stages * self.chip.memory_bytes * self.machine.usable
        return (memory - self.model.bytes) // self.model.kv_per_token
