"""Endpointing is spend: how long a silence is worth waiting for, by what was said and what is ready. Pure.

===========================================  =======  ==========================================
the words so far                             silence  because
===========================================  =======  ==========================================
mostly went on from here, by the reply bank  most     others who said this had more to say
settled, and the reply is ready              settled  nothing more need come
a part of what was asked for                 most     the rest is likely to follow
end openly (hesitation, digits, "my ...")    most     cutting in costs more than waiting
mostly ended here, and the reply is ready    settled  others who said this were done
nobody understands them                      patient  there is nothing to say yet
anything else                                usual    longer for a caller who pauses longer
===========================================  =======  ==========================================

*Patient* is the longest that keeps the promise to whoever has ended. Once we have said goodbye, nothing more
is expected, so nobody is waited for *most*. A reply that rests on an effect which nobody has announced is
never ready before the usual silence. Whatever is chosen lies within the bounds.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from voice.openend import open_end

if TYPE_CHECKING:
    from collections.abc import Sequence

    from voice.endpoint import Endpointing

CUT_COSTS: Final = 2
"""A caller who is cut off costs as much as so many who are answered late."""
GOES_ON: Final = CUT_COSTS / (1 + CUT_COSTS)
"""Fewer of those who pause here have ended: wait..."""
SURELY: Final = 0.25
"""...and so few, even if whoever would answer has what they asked for."""
ENDS: Final = 0.95
"""So many of those who pause here have ended: do not."""
LONGER: Final = (6, 5)
"""A caller is given 6/5 of the longest pause they lately spoke on after, while that keeps the promise."""
RELEASE_US: Final = 60_000
"""A word that ends in p, t or k is not over before its release, which may come 200 ms after the voice."""
_STOPS: Final = re.compile(r"(?:[ptk]|ck|ic|que)\W*$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Words:
    """What is known of the words before a pause."""

    text: str
    settled: bool = False
    """Whoever would answer says that they are whole."""
    part: bool = False
    """Whoever would answer says that they are a part of what was asked for."""
    understood: bool = True
    """Whether there is anything to say to them."""
    acts: bool = False
    """Its reply is only true once something with an effect has been done."""
    ready: bool = False
    """Its reply can sound at once."""
    ended: float | None = None
    """Of those who pause after this, how many have ended, by the reply bank; ``None``: it does not know."""
    parting: bool = False
    """Whether we have said goodbye."""

    @property
    def goes_on(self) -> bool:
        """Whether the bank says that they mostly go on.

        Of those who begin with "no" few stop there, but they run on without a pause: so behind a single word
        a pause says more than its count.
        """
        few = SURELY if self.settled else GOES_ON
        return self.ended is not None and self.ended < few and len(self.text.split()) > 1


@dataclass(frozen=True, slots=True)
class Silence:
    """How long a silence ends the turn, whose setting that is, and why."""

    us: int
    rule: str
    because: str


def silence(words: Words, pauses_us: Sequence[int], bounds: Endpointing) -> Silence:
    """Return how long to wait after *words*; *pauses_us* are those this caller lately spoke on after."""
    ended = words.ended
    if words.goes_on and not words.parting:
        return _most(bounds, f"{ended:.0%} of those who pause here have ended")
    if words.settled and words.ready and not words.acts:
        return _settled(words, bounds, "it is settled, and the reply is ready")
    if words.part and not words.parting:
        return _most(bounds, "it is a part of what was asked for")
    if not (words.settled or words.parting) and (end := open_end(words.text)):
        return _most(bounds, f"{end.kind}: {end.word!r}")
    if ended is not None and ended >= ENDS and words.ready and not words.acts:
        return _settled(
            words, bounds, f"{ended:.0%} of those who pause here have ended, and the reply is ready"
        )
    longest = max(pauses_us, default=0) * LONGER[0] // LONGER[1] if words.understood else bounds.patient_us
    usual = max(bounds.silence_us, min(longest, bounds.patient_us))
    why = "it may go on" if not words.settled else "the reply is not ready"
    if words.acts:
        why = "the reply has an effect"
    if not words.understood:
        why = "nobody understands it yet"
    return _within(bounds, usual, "endpoint.silence_ms", why)


def _settled(words: Words, bounds: Endpointing, because: str) -> Silence:
    release = RELEASE_US if _STOPS.search(words.text) else 0
    us = max(bounds.settled_us, min(bounds.settled_us + release, bounds.silence_us))
    return _within(bounds, us, "endpoint.settled_ms", because)


def _most(bounds: Endpointing, because: str) -> Silence:
    return Silence(bounds.most_us, "endpoint.most_ms", because)


def _within(bounds: Endpointing, us: int, rule: str, because: str) -> Silence:
    return Silence(max(bounds.least_us, min(us, bounds.most_us)), rule, because)
