"""A seat is an agent's place in the council: its rank, and how sure it must be to end a hearing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from turnbudget.voice.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from turnbudget.agents.agent import Agent


@dataclass(frozen=True, slots=True)
class Seat:
    """An agent and its standing.

    Of opinions that are good enough the one of the higher ``rank`` is taken. An opinion of at least
    ``settle`` ends the hearing once nobody who outranks it is still to be heard. ``about`` is what a caller
    would call its matter ("your balance"): with it the council can ask which of two was meant.
    """

    agent: Agent
    rank: int = 0
    settle: float = 0.8
    about: str = ""

    @property
    def name(self) -> str:
        """The agent's name."""
        return self.agent.name


def seated(seats: Iterable[Seat]) -> tuple[Seat, ...]:
    """Return *seats* in their order; raises ConfigError for what cannot sit in a council."""
    taken = tuple(seats)
    if not taken:
        raise ConfigError("a council needs a seat", where="council", remedy="seat at least one agent")
    names: set[str] = set()
    for place, seat in enumerate(taken, 1):
        where = f"council seat {place}"
        name = getattr(seat.agent, "name", None)
        if not isinstance(name, str) or not name or not callable(getattr(seat.agent, "answer", None)):
            raise ConfigError(
                f"{type(seat.agent).__name__} is no agent",
                where=where,
                remedy="give it a name and `async def answer(self, utterance, context, budget)`",
            )
        if name in names:
            raise ConfigError(f"a second agent is named {name!r}", where=where, remedy="rename one")
        if not 0 <= seat.settle <= 1:
            raise ConfigError(f"settle = {seat.settle} of {name!r}", where=where, remedy="use 0 to 1")
        names.add(name)
    return taken
