"""Whether a call is taken, before it is answered: a pure rule over numbers, each refusal with its own.

The order is that of the blame: what the operator decided, the tenant's limit, the server's, the forecast.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from turnbudget.voice.time import clock

if TYPE_CHECKING:
    from turnbudget.serving.outlook import Mode, Prediction


Rule: TypeAlias = Literal["none", "draining", "line", "tenant", "concurrency", "forecast"]
"""What refused a call, or degraded it."""


@dataclass(frozen=True, slots=True)
class Load:
    """How things stand as a call asks to be taken; calls that are expected count as calls."""

    calls: int
    most: int
    tenant_calls: int
    tenant_most: int
    """0: the tenant has no limit of its own."""
    budget_us: int
    full: Prediction
    light: Prediction | None
    """``None``: nothing lighter could answer."""
    draining: bool = False


@dataclass(frozen=True, slots=True)
class Admission:
    """How a call is taken, or (``mode`` is ``None``) that it is not, and why."""

    mode: Mode | None
    rule: Rule = "none"
    because: str = ""


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


def _shown(prediction: Prediction) -> str:
    return f"{prediction.us // clock.MS} ms ({prediction.because})"
