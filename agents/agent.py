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

PERSON: Final = "person"
"""What is expected after an action has failed: whether to connect the caller to a person."""


@dataclass(frozen=True, slots=True)
class Action:
    """Something with an effect that an agent proposes: run once, after its opinion was chosen.

    ``otherwise`` is said instead of the opening if it fails; if that is a question, it is taken for the
    offer of a person, and :data:`PERSON` is expected next. ``meanwhile`` is said before it begins: what was
    understood ("Alright, your debit card."), so that the caller hears it while there is time to object. The
    opening then follows behind it, and need not say it again.
    """

    name: str
    arguments: Mapping[str, str] = field(default_factory=dict)
    otherwise: str = "I'm sorry, that did not work. Shall I connect you to a person?"
    meanwhile: str = ""


@dataclass(frozen=True, slots=True)
class Context:
    """What an agent may know: frozen, so that an agent asked on a guess leaves no trace.

    ``history`` is what was heard, cut replies marked; ``slots`` are what the call knows by now; ``states``
    holds each agent's own last committed state by its name; ``asked_by`` names the agent whose question the
    caller is answering, ``expects`` the slot it asked for ('' if none). ``facts`` come with the call (number,
    tenant).
    """

    history: tuple[Said, ...] = ()
    slots: Mapping[str, str] = field(default_factory=lambda: EMPTY)
    states: Mapping[str, Any] = field(default_factory=lambda: EMPTY)
    asked_by: str = ""
    expects: str = ""
    facts: Mapping[str, str] = field(default_factory=lambda: EMPTY)


@dataclass(frozen=True, slots=True)
class Opinion:
    """What an agent would say to the caller, and how sure it is.

    ``confidence`` is its belief, 0-1, that a person listening would find this the right thing to say now:
    of its opinions with 0.8, four in five should fit. ``opening`` can be spoken at once; ``{result}`` in it
    stands for what an action returns. ``state``, ``slots`` and ``expects`` take effect only if it is chosen.
    By ``completeness`` it is told how long to wait to hear whether the caller goes on.
    """

    opening: str
    confidence: float
    because: str = ""
    _: KW_ONLY
    rest: AsyncGenerator[str, None] = field(default_factory=nothing)
    action: Action | None = None
    state: Any = None
    slots: Mapping[str, str] = field(default_factory=lambda: EMPTY)
    expects: str = ""
    completeness: Completeness = "unknown"
    """How much of what the caller wants to say the words were."""
    ends_call: bool = False
    transfer: str = ""
    """Where to transfer the caller to ('' if nowhere), with the opening as the announcement."""


class Agent(Protocol):
    """An expert for one domain, asked beside others what it would say to the caller."""

    name: str

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
