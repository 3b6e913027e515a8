"""The choice: opinions in, one ruling out, and nothing else: no clock, no state, no order of arrival.

Opinions that are good enough come before those that are not; among them rank decides, then how sure the seat
is, with something added for a seat that had asked the caller, and for every other that would do or say the
same; then the order of the seats. When the best two differ and lie too close, the caller is asked which was
meant. There are five ways to hold a council; each says when enough has been heard, and how to choose from it:

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

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

from turnbudget.council.convene import sense
from turnbudget.voice.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Hashable, Sequence

    from turnbudget.council.convene import Enough, HeardOpinion, Hearing
    from turnbudget.council.refine import Refiner


@dataclass(frozen=True, slots=True)
class Scales:
    """What weighs how much; confidences are 0 to 1.

    Judged, not measured: a seat's own confidence weighs most, and none of these turns 0.5 against 0.9.
    """

    good: float = 0.5
    """An opinion of this confidence is good enough to be said in time rather than wait for a better one."""
    least: float = 0.2
    """Less than this, and it is better to ask the caller again."""
    asked: float = 0.15
    """Added for the seat whose question the caller is answering."""
    agrees: float = 0.05
    """Added for each other opinion of the same sense, twice at most."""
    close: float = 0.05
    """Two opinions nearer than this are too close to guess."""


SCALES: Final = Scales()
"""How much weighs where nobody says otherwise."""


@dataclass(frozen=True, slots=True)
class DialogueState:
    """What the dialogue says about whose turn it is to speak."""

    asked_by: str = ""
    """The seat whose question the caller is answering."""
    doubt: Collection[str] = ()
    """The seats between which the caller has just been asked to choose."""


@dataclass(frozen=True, slots=True)
class Ruling:
    """The choice and its reasons: one opinion, or none, or two between which the caller must choose."""

    chosen: HeardOpinion | None
    """The opinion chosen; ``None`` if none is."""
    because: str
    """Why, as it is written in the decisions."""
    good: bool = False
    """Whether it is good enough not to wait for a better one."""
    doubt: tuple[HeardOpinion, ...] = ()
    """The two between which the caller is asked to choose; () if none."""


@dataclass(frozen=True, slots=True)
class Weighed:
    """An opinion on the scales: its weight, what was added to it, and who else is of its sense."""

    heard: HeardOpinion
    """The opinion."""
    weight: float
    """Its confidence and what was added to it."""
    added: str
    """What was added, in words."""
    sense: Hashable
    """What it comes to: two that agree are of one sense."""
    voices: int
    """How many opinions are of its sense."""
    backing: float
    """The confidence of all opinions of its sense together."""

    def __str__(self) -> str:
        return f"{self.heard.seat.name} {self.weight:.2f}{self.added}"


Order: TypeAlias = "Callable[[Weighed], tuple[float, ...]]"
"""What else decides between two opinions, the first number first."""
Chooser: TypeAlias = "Callable[[Sequence[HeardOpinion], DialogueState, Scales], Ruling]"
"""Makes one ruling of what was heard."""


def by_rank(heard: Sequence[HeardOpinion], state: DialogueState, scales: Scales = SCALES) -> Ruling:
    """Choose by rank among what is good enough, then by weight."""
    return _choose(heard, state, scales, lambda one: (one.heard.seat.rank, one.weight))


def by_weight(heard: Sequence[HeardOpinion], state: DialogueState, scales: Scales = SCALES) -> Ruling:
    """Choose by weight, then by rank."""
    return _choose(heard, state, scales, lambda one: (one.weight, one.heard.seat.rank))


def by_vote(heard: Sequence[HeardOpinion], state: DialogueState, scales: Scales = SCALES) -> Ruling:
    """Choose the sense with most seats for it, then with most confidence; its weightiest seat speaks."""
    return _choose(
        heard,
        state,
        scales,
        lambda one: (one.voices, one.backing, one.heard.seat.rank, one.weight),
        votes=True,
    )


def _choose(
    heard: Sequence[HeardOpinion], state: DialogueState, scales: Scales, order: Order, *, votes: bool = False
) -> Ruling:
    weighed = [one for one in _weigh(heard, state, scales) if one.weight >= scales.least]
    if not weighed:
        surest = max((one.opinion.confidence for one in heard), default=None)
        nobody = "nobody had anything to say"
        return Ruling(None, nobody if surest is None else f"the surest {surest:.2f} < {scales.least:.2f}")

    def key(one: Weighed) -> tuple[float, ...]:
        return (one.weight >= scales.good, *order(one), -one.heard.place)

    best, *others = sorted(weighed, key=key, reverse=True)
    because = ", ".join(str(one) for one in (best, *others[:2]))
    if votes:
        because = f"{best.voices} of {len(heard)} votes: {because}"
    second = next((one for one in others if one.sense != best.sense), None)
    outvoted = votes and second is not None and second.voices < best.voices
    if second and not outvoted and _too_close(best, second, state, scales):
        both = (best.heard, second.heard)
        return Ruling(best.heard, f"too close to guess: {because}", good=True, doubt=both)
    return Ruling(best.heard, because, good=best.weight >= scales.good)


def _too_close(best: Weighed, second: Weighed, state: DialogueState, scales: Scales) -> bool:
    """Say whether to ask: both are good, of one rank, have a name for callers, and it is not asked twice."""
    return (
        not state.doubt
        and best.heard.seat.rank == second.heard.seat.rank
        and second.weight >= scales.good
        and round(abs(best.weight - second.weight), 6) < scales.close
        and bool(best.heard.seat.about and second.heard.seat.about)
        and best.heard.seat.about != second.heard.seat.about
    )


def _weigh(heard: Sequence[HeardOpinion], state: DialogueState, scales: Scales) -> list[Weighed]:
    senses = [sense(one.opinion) for one in heard]
    voices = Counter(senses)
    backing: dict[Hashable, float] = {}
    for one, meant in zip(heard, senses, strict=True):
        backing[meant] = round(backing.get(meant, 0.0) + one.opinion.confidence, 6)
    weighed = []
    for one, meant in zip(heard, senses, strict=True):
        asked = one.seat.name == state.asked_by or one.seat.name in state.doubt
        others = min(2, voices[meant] - 1)
        weight = round(one.opinion.confidence + scales.asked * asked + scales.agrees * others, 6)
        added = (" (it had asked)" if asked else "") + (f" ({others} agree)" if others else "")
        weighed.append(Weighed(one, weight, added, meant, voices[meant], backing[meant]))
    return weighed


@dataclass(frozen=True, slots=True)
class Policy:
    """When to stop listening, how to choose, and who may refine what was chosen."""

    name: str
    """What it is called in the settings."""
    enough: Enough
    """Says whether enough has been heard."""
    choose: Chooser
    """Makes one ruling of what was heard."""
    refiner: Refiner | None = None
    """Makes one answer of several drafts; ``None`` if nobody does."""


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
"""The policies that need no backend, by their names."""


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
