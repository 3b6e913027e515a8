"""Whether a call is taken, before it is answered: a pure rule over numbers, each refusal with its own.

The order is that of the blame: what the operator decided, the tenant's limit, the server's, the forecast. The
forecast is what the next turn's first sound will likely take: stages, loop lag and the latest turns, in one
number. A turn that can bridge owes its sound by its own aim whatever its answer costs, so a slow answer alone
does not break the promise; a late loop does, and late turns show that it is broken.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from turnbudget.voice.time import clock
from turnbudget.voice.time.budget import nearest_rank

if TYPE_CHECKING:
    from turnbudget.runs.records import Row
    from turnbudget.settings.compose import Studio

Rule: TypeAlias = Literal["none", "draining", "line", "tenant", "concurrency", "forecast"]
"""What refused a call, or degraded it."""
Mode: TypeAlias = Literal["full", "light"]
"""How a call is answered: by all there is, or by the shelf and the fast backend."""
RECENT_US: Final = 10 * clock.SECOND
"""How long a turn says something of the next (µs; 10 s)."""
ENOUGH: Final = 20
"""The fewest recent turns that say something of the next."""
WINDOW: Final = 400
"""Latest turns that are kept of each mode."""
BEAT_US: Final = 100 * clock.MS
"""How often the lateness of the loop is measured (µs; 100 ms)."""
LAGS: Final = 100
"""Measured latenesses that are kept: those of ten seconds."""
STAGES: Final = ("choose", "synthesize", "deliver")
"""Stages between the end of the caller's silence and our first sound."""


@dataclass(frozen=True, slots=True)
class Prediction:
    """The p95 of the first sound to come, and what makes it."""

    us: int
    """The p95 of the first sound (µs behind the caller's last word)."""
    because: str
    """What makes it, in words for the log."""


@dataclass(frozen=True, slots=True)
class Load:
    """How things stand as a call asks to be taken; calls that are expected count as calls."""

    calls: int
    """Calls that run or are expected in this worker."""
    most: int
    """Calls that this worker takes at a time."""
    tenant_calls: int
    """Calls of the tenant that run or are expected."""
    tenant_most: int
    """Calls that this worker takes of the tenant at a time; 0 is no limit of its own."""
    budget_us: int
    """When the first sound is due (µs behind the caller's last word)."""
    full: Prediction
    """What the first sound would take with all there is."""
    light: Prediction | None
    """What it would take with the shelf and the fast backend; ``None``: nothing lighter could answer."""
    draining: bool = False
    """The operator lets no more calls in."""


@dataclass(frozen=True, slots=True)
class Admission:
    """How a call is taken, or (``mode`` is ``None``) that it is not, and why."""

    mode: Mode | None
    """How the call is answered; ``None``: it is refused."""
    rule: Rule = "none"
    """Which rule refused or degraded the call."""
    because: str = ""
    """Why, in words for the log and the caller's carrier; '' if the call is simply taken."""


def judge(load: Load) -> Admission:
    """Return what becomes of one more call under *load*."""
    if load.draining:
        return Admission(None, "draining", f"draining, {load.calls} calls left")
    if load.tenant_most and load.tenant_calls >= load.tenant_most:
        because = f"{load.tenant_calls} calls of this tenant, {load.tenant_most} are the most"
        return Admission(None, "tenant", because)
    if load.calls >= load.most:
        return Admission(None, "concurrency", f"{load.calls} calls, {load.most} are the most")
    if load.full.us <= load.budget_us:
        return Admission("full")
    over = f"first sound foreseen at {_shown(load.full)}, over {load.budget_us // clock.MS} ms"
    if load.light and load.light.us <= load.budget_us:
        return Admission("light", "forecast", f"{over}; shelf and fast backend at {_shown(load.light)}")
    return Admission(None, "forecast", over)


class FirstSoundForecast:
    """The latest turns and the latest lateness of the loop."""

    def __init__(self) -> None:
        self._turns: dict[Mode, deque[tuple[int, int]]] = {
            "full": deque(maxlen=WINDOW),
            "light": deque(maxlen=WINDOW),
        }
        self._lags: deque[int] = deque(maxlen=LAGS)

    @property
    def lag_us(self) -> int:
        """How late the loop is, at p95 of the last ten seconds."""
        return nearest_rank(sorted(self._lags), 95) if self._lags else 0

    def turn(self, row: Row, mode: Mode) -> None:
        """Take a turn's first sound, or how long it went without one."""
        if row.kind == "turn" and row.outcome != "superseded":
            took = row.closed_us if row.first_sound_us is None else row.first_sound_us
            self._turns[mode].append((clock.now(), took))

    async def beat(self) -> None:
        """Measure for ever how late the loop wakes us."""
        due = clock.now()
        while True:
            due = max(due + BEAT_US, clock.now())
            await clock.sleep_until(due)
            self._lags.append(max(0, clock.now() - due))

    def predict(self, studio: Studio, mode: Mode = "full") -> Prediction:
        """Return what the first sound of a call in *studio* will likely take."""
        told = studio.config.endpoint
        stages = sum(studio.forecast.of(stage).p95_us for stage in STAGES)
        path = min(told.silence_ms * clock.MS + stages, studio.call_settings.budget_us)
        foreseen = Prediction(
            path + self.lag_us,
            f"silence and stages {path // clock.MS} ms, loop lag {self.lag_us // clock.MS} ms",
        )
        since = clock.now() - RECENT_US
        recent = sorted(us for at, us in self._turns[mode] if at >= since)
        if len(recent) < ENOUGH:
            return foreseen
        p95 = nearest_rank(recent, 95)
        return max(foreseen, Prediction(p95, f"p95 of the last {len(recent)} turns"), key=lambda one: one.us)


def _shown(prediction: Prediction) -> str:
    return f"{prediction.us // clock.MS} ms ({prediction.because})"
