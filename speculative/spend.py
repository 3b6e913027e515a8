"""Endpointing is spend: how long a silence is worth waiting for, by what was said and what is ready. Pure.

===========================================  =======  ==========================================
the words so far                             silence  because
===========================================  =======  ==========================================
a part of what was asked for                 part     the rest is likely to follow
mostly went on from here, by the reply bank  most     others who said this had more to say
settled, and the reply is ready              settled  nothing more need come
no matter has been named yet                 most     one is likely to come
end openly (hesitation, digits, "my ...")    most     cutting in costs more than waiting
mostly ended here, and the reply is ready    settled  others who said this were done
nobody understands them                      patient  there is nothing to say yet
anything else                                usual    longer for a caller who pauses longer
===========================================  =======  ==========================================

*Patient* is the longest that keeps the promise to whoever has ended. Where an end-of-turn model listens as
well, nobody is *settled* who sounds unfinished to it. Once we have said goodbye, nothing more is expected, so
nobody is waited for *part* or *most*. A reply that rests on an effect which nobody has announced is never
ready before the usual silence. Whatever else is chosen lies within the bounds.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from turnbudget.voice.language.openend import open_end

if TYPE_CHECKING:
    from collections.abc import Sequence

    from turnbudget.voice.call.responder import Completeness
    from turnbudget.voice.hearing.endpoint import Endpointing

CUT_COSTS: Final = 2
"""How many callers who are answered late cost as much as one who is cut off."""
GOES_ON: Final = CUT_COSTS / (1 + CUT_COSTS)
"""If a smaller share of those who pause here have ended, it is worth waiting."""
SURELY: Final = 0.25
"""If a smaller share have ended here, even a caller who gave what was asked for is waited for."""
ENDS: Final = 0.95
"""From this share of those who pause here and have ended, nothing more is waited for."""
LONGER: Final = (6, 5)
"""What share of their longest recent pause a caller is given (6/5), while that keeps the promise."""
RELEASE_US: Final = 60_000
"""How much longer to wait for the release of a last p, t or k (µs; 60 ms); it may come 200 ms late."""
UNFINISHED: Final = 0.05
"""The likelihood of an end below which a voice sounds unfinished."""
_STOPS: Final = re.compile(r"(?:[ptk]|ck|ic|que)\W*$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Words:
    """What is known of the words before a pause."""

    text: str
    """What was said so far."""
    completeness: Completeness = "unknown"
    """How much of what the caller wants to say they are, by whoever would answer."""
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
    sounds_ended: float | None = None
    """How likely they are all by their sound, by an end-of-turn model; ``None``: there is none."""

    @property
    def done(self) -> bool:
        """Whether a reply may sound as soon as it is ready."""
        unfinished = self.sounds_ended is not None and self.sounds_ended < UNFINISHED
        return self.ready and not self.acts and not unfinished

    @property
    def goes_on(self) -> bool:
        """Whether the bank says that they mostly go on.

        Of those who begin with "no" few stop there, but they run on without a pause: so behind a single word
        a pause says more than its count.
        """
        few = SURELY if self.completeness == "whole" else GOES_ON
        return self.ended is not None and self.ended < few and len(self.text.split()) > 1


@dataclass(frozen=True, slots=True)
class ChosenSilence:
    """How long a silence ends the turn, whose setting that is, and why."""

    us: int
    """How long a silence ends the turn (µs)."""
    rule: str
    """Which setting it follows."""
    because: str
    """Why, as it is written in the decisions."""


def silence(words: Words, pauses_us: Sequence[int], bounds: Endpointing) -> ChosenSilence:
    """Return how long to wait after *words*; *pauses_us* are those this caller lately spoke on after."""
    for judge in (_awaited, _whole, _open, _ended):
        if found := judge(words, bounds):
            return found
    return _usual(words, pauses_us, bounds)


def _awaited(words: Words, bounds: Endpointing) -> ChosenSilence | None:
    """Wait where more is known to come."""
    if words.parting:
        return None
    if words.completeness == "part":
        us = max(bounds.part_us, bounds.most_us)
        return ChosenSilence(us, "endpoint.part_ms", "it is a part of what was asked for")
    return _most(bounds, f"{words.ended:.0%} of those who pause here have ended") if words.goes_on else None


def _whole(words: Words, bounds: Endpointing) -> ChosenSilence | None:
    """Wait for nothing more where all is said and ready."""
    if words.completeness == "whole" and words.done:
        return _settled(words, bounds, "it is settled, and the reply is ready")
    return None


def _open(words: Words, bounds: Endpointing) -> ChosenSilence | None:
    """Wait where the words end openly."""
    if words.parting or words.completeness == "whole":
        return None
    if words.completeness == "lead-in":
        return _most(bounds, "no matter has been named yet")
    end = open_end(words.text)
    return _most(bounds, f"{end.kind}: {end.word!r}") if end else None


def _ended(words: Words, bounds: Endpointing) -> ChosenSilence | None:
    """Wait for nothing more where others had none."""
    ended = words.ended or 0.0
    if ended >= ENDS and words.done:
        return _settled(words, bounds, f"{ended:.0%} of those who pause here have ended, and it is ready")
    return None


def _usual(words: Words, pauses_us: Sequence[int], bounds: Endpointing) -> ChosenSilence:
    """Wait as usual, longer for a caller who pauses longer, as long as that keeps the promise."""
    longest = max(pauses_us, default=0) * LONGER[0] // LONGER[1] if words.understood else bounds.patient_us
    usual = max(bounds.silence_us, min(longest, bounds.patient_us))
    why = "it may go on" if words.completeness != "whole" else "the reply is not ready"
    if words.completeness == "whole" and words.ready:
        why = f"it sounds unfinished ({words.sounds_ended or 0:.0%})"
    if words.acts:
        why = "the reply has an effect"
    if not words.understood:
        why = "nobody understands it yet"
    return _within(bounds, usual, "endpoint.silence_ms", why)


def _settled(words: Words, bounds: Endpointing, because: str) -> ChosenSilence:
    release = RELEASE_US if _STOPS.search(words.text) else 0
    us = max(bounds.settled_us, min(bounds.settled_us + release, bounds.silence_us))
    return _within(bounds, us, "endpoint.settled_ms", because)


def _most(bounds: Endpointing, because: str) -> ChosenSilence:
    return ChosenSilence(bounds.most_us, "endpoint.most_ms", because)


def _within(bounds: Endpointing, us: int, rule: str, because: str) -> ChosenSilence:
    return ChosenSilence(max(bounds.least_us, min(us, bounds.most_us)), rule, because)
