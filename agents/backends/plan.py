"""What a mode goes by: how long it waits for what, and when its second backend starts and may win."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

from turnbudget.voice.time.clock import MS, SECOND

if TYPE_CHECKING:
    from turnbudget.agents.backends.backend import Backend
    from turnbudget.voice.time.budget import Forecast


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How long to wait for what, in µs; each also ends with the Budget."""

    first_us: int = 400 * MS
    """The first token of an attempt, if another backend can be asked instead and still land."""
    turn_us: int = 2 * SECOND
    """The first token of the turn, whoever gives it."""
    gap_us: int = 1_200 * MS
    """The next delta of an answer that has begun."""


PATIENCE: Final = Patience()


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """When the second backend starts, and whether it may win against one that was first."""

    together: bool = False
    """Both start at once."""
    keeps: bool = False
    """A late one is kept when the other starts."""
    by_forecast: bool = False
    """Late means later than the forecast's p95, not than Patience's first token."""
    checkpoint_us: int | None = None
    """Until then the second is waited for: it wins if its first sentence is whole."""


class Terms(Protocol):
    """What a contest is held by."""

    name: str
    backends: tuple[Backend, ...]
    plan: Plan
    patience: Patience
    forecast: Forecast
