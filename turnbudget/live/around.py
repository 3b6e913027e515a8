"""What surrounds a live call: whether it is recorded, what is redacted, and what is known of its caller.

A responder takes part as far as it can: one that *learns* is told facts that come while the call runs, of one
that *knows* it is seen what the caller is asked for and what they have said.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, TypeAlias, runtime_checkable

from turnbudget.redaction.redacted import Redaction
from turnbudget.runs.recording import Recording

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection, Mapping

    from turnbudget.agents.agent import Context
    from turnbudget.voice.call.responder import Responder

Facts: TypeAlias = "Callable[[], Awaitable[Mapping[str, str]]]"
"""Asks somebody who the caller is; it ends by itself, and soon."""
log = logging.getLogger(__name__)


@runtime_checkable
class Learns(Protocol):
    """A responder that can be told facts of its call at any time."""

    def know(self, facts: Mapping[str, str]) -> None:
        """Know *facts*; those it began with stay as they are."""
        ...


@runtime_checkable
class Knows(Protocol):
    """A responder that tells what it knows by now."""

    @property
    def known(self) -> Context:
        """Slots, and what was asked for."""
        ...


@dataclass(frozen=True, slots=True)
class Around:
    """What surrounds one call."""

    recording: Recording = field(default_factory=Recording)
    redaction: Redaction = field(default_factory=Redaction)
    facts: Facts | None = None
    sensitive: Collection[str] = ()
    """Slots that are not recorded while they are asked for."""


def expected(responder: Responder) -> str:
    """Return which slot *responder* has asked the caller for; '' if none, or if it does not tell."""
    return responder.known.expects if isinstance(responder, Knows) else ""


def slots(responder: Responder) -> dict[str, str]:
    """Return what *responder* knows of what the caller wants; nothing if it does not tell."""
    return dict(responder.known.slots) if isinstance(responder, Knows) else {}


async def learn(responder: Responder, facts: Facts) -> None:
    """Let *responder* know *facts*, as soon as they are there; if they fail it knows nothing more."""
    if not isinstance(responder, Learns):
        return
    try:
        found = await facts()
    except Exception:
        log.exception("the facts of a call failed")
    else:
        responder.know(found)
