"""What conformance kits have in common: a component has its seam's shape, and what it raises is a finding.

A component under test may be anything at all. So it is tried on a task of its own, which is left behind if it
does not end, and what it raises is told beside the other findings instead of hiding them.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, Final

from turnbudget.voice.time import clock
from turnbudget.voice.time.crew import Crew

if TYPE_CHECKING:
    from collections.abc import Awaitable

NOTHING: Final = object()
"""What stands for a member that a component does not have."""
CLOSING_US: Final = 60 * clock.SECOND
"""Longest that closing a component may take (µs; 60 s)."""


def members(seam: type) -> tuple[str, ...]:
    """Return the names that a Protocol asks for."""
    return tuple(name for name in (*seam.__annotations__, *vars(seam)) if not name.startswith("_"))


def lacking(component: Any, seam: type) -> list[str]:
    """Return what *component* lacks of the shape that *seam*, a Protocol, asks for; [] if nothing."""
    if isinstance(component, type):
        return [f"{component.__name__} is a class: make one of it"]
    return [fault for name in members(seam) if (fault := _fault(component, name, seam))]


def _fault(component: Any, name: str, seam: type) -> str:
    """Return what is wrong with the member *name* of *component*; '' if nothing."""
    asked = vars(seam).get(name)
    try:
        given = getattr(component, name, NOTHING)
    except Exception as error:  # noqa: BLE001 - whatever it raises is the finding
        return f"its {name} raises {error!r}"
    if given is NOTHING:
        return f"it has no {name}"
    if inspect.isfunction(asked):
        if not callable(given):
            return f"its {name} cannot be called"
        waits = inspect.iscoroutinefunction(given) and not inspect.iscoroutinefunction(asked)
        return f"its {name} is `async def`, and nobody would wait for it" if waits else ""
    named = seam.__annotations__.get(name) not in {"str", str} or (isinstance(given, str) and given.strip())
    return "" if named else f"its {name} is no text, or an empty one: {given!r}"


async def tried(
    doing: Awaitable[object], long_us: int, hung: str, raised: str = "it raises {!r}"
) -> list[str]:
    """Return what *doing* raised, told by *raised*, or *hung* if it does not end within *long_us* (µs).

    Nothing is returned if all is well. What swallows its cancellation as well is left behind.
    """
    broken: list[str] = []

    async def safely() -> None:
        try:
            await doing
        except Exception as error:  # noqa: BLE001 - whatever it raises is the finding
            each = error.exceptions if isinstance(error, ExceptionGroup) else (error,)
            broken.extend(raised.format(one) for one in each)

    async with Crew() as crew:
        task = crew.create_task(safely(), name="conformance kit")
        if not await clock.wait_until([task], clock.now() + long_us):
            broken.append(hung)
    return broken


async def closed(component: Any) -> list[str]:
    """Close *component*; return what is wrong with how it does that."""
    return await tried(
        component.aclose(),
        CLOSING_US,
        f"aclose does not end within {CLOSING_US} µs",
        "aclose raises {!r}",
    )
