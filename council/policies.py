"""The five ways to hold a council: each says when enough has been heard, and how to choose from it.

``first-good``
    ends when a seat has settled and nobody who outranks it is still to be heard;
``best-by-deadline``
    hears everybody who answers in time, and takes the weightiest opinion whatever its seat's rank;
``vote``
    hears everybody who answers in time, and takes what most of them would do or say;
``cascade``
    small and large in parallel, the large with the higher rank: a small seat that has settled ends it, else
    the large is waited for, and the small's opinion stands if it does not come;
``refine``
    hears drafts, and has a fast backend distil them into one, if the forecast says that this still fits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from turnbudget.council.choose import by_rank, by_vote, by_weight
from turnbudget.voice.errors import ConfigError

if TYPE_CHECKING:
    from turnbudget.council.choose import Chooser
    from turnbudget.council.convene import Enough, Hearing
    from turnbudget.council.refine import Refiner


@dataclass(frozen=True, slots=True)
class Policy:
    """When to stop listening, how to choose, and who may refine what was chosen."""

    name: str
    enough: Enough
    choose: Chooser
    refiner: Refiner | None = None


def all_heard(hearing: Hearing) -> bool:
    """Say whether everybody has answered."""
    return not hearing.pending


def nobody_outranks(hearing: Hearing) -> bool:
    """Say whether a seat has settled and no seat of a higher rank is still to be heard."""
    settled, pending = hearing.settled_rank, hearing.pending_rank
    return settled is not None and (pending is None or settled >= pending)


def anybody_settled(hearing: Hearing) -> bool:
    """Say whether any seat has settled."""
    return hearing.settled_rank is not None


POLICIES: Final = {
    policy.name: policy
    for policy in (
        Policy("first-good", nobody_outranks, by_rank),
        Policy("best-by-deadline", all_heard, by_weight),
        Policy("vote", all_heard, by_vote),
        Policy("cascade", anybody_settled, by_rank),
    )
}


def policy(name: str, refiner: Refiner | None = None) -> Policy:
    """Return the policy called *name*, ``refine`` with its *refiner*; raises ConfigError."""
    if name == "refine":
        if refiner is None:
            raise ConfigError("refine needs a fast backend", where="council.policy", remedy="name one")
        return Policy(name, all_heard, by_weight, refiner)
    if name not in POLICIES:
        known = ", ".join((*POLICIES, "refine"))
        raise ConfigError(
            f"no policy is called {name!r}", where="council.policy", remedy=f"use one of {known}"
        )
    return POLICIES[name]
