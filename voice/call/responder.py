"""The seam between a turn and whoever chooses its reply: a scripted table, an LLM, a council."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable

    from turnbudget.voice.call.ledger import Lane
    from turnbudget.voice.time.budget import Budget
    from turnbudget.voice.time.crew import Crew


@dataclass(frozen=True, slots=True)
class Said:
    """One side's words in the history, as they were heard; ``cut`` if they were broken off.

    Bridges and apologies are sounds, not answers: they are in the rows, and in no history.
    """

    who: str
    """``caller`` or ``agent``."""
    text: str
    """The words."""
    cut: bool = False


class Notes(Protocol):
    """Where a responder notes what it did: the part of the turn's ledger that it sees."""

    def lane(self, name: str, began_us: int | None = None) -> Lane:
        """Open a lane for work beside the path."""
        ...

    def decide(self, took: str, because: str) -> None:
        """Log a choice and the number that caused it."""
        ...


async def granted() -> None:
    """Return at once, for a question whose effects need not wait."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What a responder is asked: the caller's words, what was heard before, and by when it must answer."""

    said: str
    """The caller's words."""
    history: tuple[Said, ...]
    """What both sides said before, as it was heard."""
    budget: Budget
    """By when it must answer, behind a bridge if need be."""
    notes: Notes
    """Where it notes lanes and decisions."""
    crew: Crew
    """Task group for tasks of its own, which may outlive the answer but not the call."""
    sound_by: Budget
    """By when it must answer to spare the caller the bridge."""
    act_at_us: int = 0
    """Instant before which nothing with an effect may begin, since the caller may go on (µs on the clock)."""
    quiet: Callable[[], Awaitable[object]] = granted
    """Waits until the caller does not speak; nothing with an effect may begin before."""
    parting: bool = False
    """Whether our last reply said goodbye."""
    guess: bool = False
    """Whether the caller's words are not final yet: nothing may change, no effect may be begun.

    Asked again with the same words and the same history, and no guess, a responder takes up what it has.
    """


async def nothing() -> AsyncGenerator[str, None]:
    """Yield nothing: the rest of a reply that is complete."""
    silent: tuple[str, ...] = ()
    for text in silent:
        yield text


Completeness: TypeAlias = Literal["unknown", "lead-in", "part", "whole"]
"""How much of what a caller wants to say their words are, by whoever would answer them.

``whole``: they answer what was asked or wish for something, and no more need come. ``part``: they are a part
of what was asked for, and the rest is likely to follow. ``lead-in``: they name no matter yet, and are likely
to lead up to one. ``unknown``: any of these.
"""


@dataclass(frozen=True, slots=True)
class Reply:
    """What to say, who chose it and why: an opening to speak now, and the rest as it comes."""

    text: str
    """The opening, one sentence or more."""
    by: str
    """Who chose it."""
    because: str = ""
    """Why, as it is written in the decisions."""
    rest: AsyncGenerator[str, None] = field(default_factory=nothing)
    """Further sentences; closed when the reply was said or cut, and never touched on a guess."""
    ends_call: bool = False
    """Whether it says goodbye; then a silent caller is not asked whether they are there."""
    transfer: str = ""
    """Where the caller is sent once the reply was heard; '' for nowhere."""
    completeness: Completeness = "unknown"
    """How much of what the caller wants to say the words answered are, by whoever answers."""
    acts: bool = False
    """On a guess: its opening is true only once something with an effect has been done."""


class Responder(Protocol):
    """Whoever chooses the reply."""

    name: str
    """Its name, as the ledger tells it."""

    async def make_ready(self, history: tuple[Said, ...]) -> None:
        """Handle that the caller begins to speak; the answer will build on *history*.

        May bring connections and caches up to date; changes nothing else, and what it raises is dropped.
        """
        ...

    async def answer(self, question: Question) -> Reply | None:
        """Return the reply before the question's budget ends; ``None`` if there is none."""
        ...


@runtime_checkable
class Foresees(Protocol):
    """A responder that knows some of what it may say before anybody has spoken."""

    def fixed(self) -> tuple[str, ...]:
        """Return the texts without callers' data that it may say, to be rendered before any call."""
        ...

    def foreseen(self) -> tuple[str, ...]:
        """Return the openings that it will likely say next, the likeliest first."""
        ...
