"""An agent is a small domain expert: what the caller said in, what it would say out, or nothing.

An agent is asked far more often than it is heard: on partial texts, beside other agents, on turns that come
to nothing. So it changes nothing: it reads a frozen :class:`Context` and returns a frozen :class:`Opinion`
that carries what *would* change if it were chosen: its own new state, slots, and actions proposed, not run.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Protocol, runtime_checkable

from turnbudget.voice.call.responder import nothing

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping

    from turnbudget.voice.call.responder import Completeness, Said
    from turnbudget.voice.time.budget import Budget

EMPTY: Final[Mapping[str, Any]] = MappingProxyType({})
"""A table without entries, which nobody can write to."""

PERSON: Final = "person"
"""What is expected after a failed action: whether to connect the caller to a person."""


@dataclass(frozen=True, slots=True)
class Action:
    """Something with an effect that an agent proposes: run once, after its opinion was chosen.

    Where ``otherwise`` is a question, :data:`PERSON` is expected next. What is said ``meanwhile``
    ("Alright, your debit card.") the caller hears while there is time to object.
    """

    name: str
    """The tool that does it."""
    arguments: Mapping[str, str] = field(default_factory=dict)
    """What the tool is told."""
    otherwise: str = "I'm sorry, that did not work. Shall I connect you to a person?"
    """What is said instead of the opening if it fails; a question is taken for the offer of a person."""
    meanwhile: str = ""
    """What is said before it begins, an echo of what was understood; the opening follows behind."""


@dataclass(frozen=True, slots=True)
class Context:
    """What an agent may know: frozen, so that an agent asked on a guess leaves no trace."""

    history: tuple[Said, ...] = ()
    """What was heard, cut replies marked."""
    slots: Mapping[str, str] = field(default_factory=lambda: EMPTY)
    """What the call knows by now, by slot."""
    states: Mapping[str, Any] = field(default_factory=lambda: EMPTY)
    """The last committed state of each agent, by its name."""
    asked_by: str = ""
    """The agent whose question the caller is answering ('' if none)."""
    expects: str = ""
    """The slot that was asked for ('' if none)."""
    facts: Mapping[str, str] = field(default_factory=lambda: EMPTY)
    """What came with the call: its number, its tenant."""


@dataclass(frozen=True, slots=True)
class Opinion:
    """What an agent would say to the caller, and how sure it is.

    ``state``, ``slots`` and ``expects`` take effect only if it is chosen. By ``completeness`` it is told how
    long to wait to hear whether the caller goes on.
    """

    opening: str
    """What can be spoken at once; ``{result}`` in it stands for what the action returns."""
    confidence: float
    """The belief, 0 to 1, that a listener would find it right: of those with 0.8, four in five should fit."""
    because: str = ""
    """Why, as it is written in the decisions."""
    _: KW_ONLY
    rest: AsyncGenerator[str, None] = field(default_factory=nothing)
    """Further sentences; closed when they were said or nobody wants them."""
    action: Action | None = None
    """What is done if it is chosen, once the turn is final."""
    state: Any = None
    """The agent's new state if it is chosen."""
    slots: Mapping[str, str] = field(default_factory=lambda: EMPTY)
    """What the call knows more if it is chosen."""
    expects: str = ""
    """The slot it asks for ('' if none)."""
    completeness: Completeness = "unknown"
    """How much of what the caller wants to say the words were."""
    ends_call: bool = False
    """Whether it says goodbye."""
    transfer: str = ""
    """Where to transfer the caller to ('' if nowhere), with the opening as the announcement."""


class Agent(Protocol):
    """An expert for one domain, asked beside others what it would say to the caller."""

    name: str
    """What the agent is called, once in a council."""

    async def answer(self, utterance: str, context: Context, budget: Budget) -> Opinion | None:
        """Return what it would say to *utterance* before *budget* ends; ``None`` if it is not its matter."""
        ...


@runtime_checkable
class Foresees(Protocol):
    """An agent that knows some of what it may say before anybody has spoken."""

    def fixed(self) -> tuple[str, ...]:
        """Return the texts it may say that hold no caller's data: they can be rendered before any call."""
        ...

    def next_openings(self, context: Context) -> tuple[str, ...]:
        """Return the openings it would say next if the caller answers plainly, the likeliest first."""
        ...
