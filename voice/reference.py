"""The reference: what a person says was spoken, on the caller's own media clock.

A line that plays a recording appends each word as it plays it, so scripted engines and the report read
the same truth, wherever gating has moved it to.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from voice import clock

if TYPE_CHECKING:
    from voice.asr.transcriber import Word

APART_US: Final = 400 * clock.MS
"""A reference end further than this from the detector's belongs to other words, or is wrong."""


@dataclass(slots=True)
class Reference:
    """The words spoken so far, in the order of their times, and where each of the caller's turns ends."""

    words: list[Word] = field(default_factory=list)
    turn_ends_us: list[int] = field(default_factory=list)

    def last_end(self, detected_us: int, decided_us: int) -> int | None:
        """Return the end of the last word by *decided_us*, if it agrees with the end *detected_us*."""
        ends = [word.ended_us for word in self.words if word.ended_us <= decided_us]
        if not ends or abs(max(ends) - detected_us) > APART_US:
            return None
        return max(ends)

    def text(self, began_us: int, ended_us: int) -> str:
        """Return the words whose middle lies between *began_us* and *ended_us*."""
        middles = [(word.began_us + word.ended_us) // 2 for word in self.words]
        spoken = self.words[bisect_left(middles, began_us) : bisect_left(middles, ended_us)]
        return " ".join(word.text for word in spoken)

    def goes_on_after(self, at_us: int) -> bool:
        """Whether *at_us* lies inside one of the caller's turns: more words come after it."""
        for end in self.turn_ends_us:
            if end > at_us:
                began = [word for word in self.words if word.ended_us <= end and word.ended_us <= at_us]
                before = [other for other in self.turn_ends_us if other <= at_us]
                return bool(began) and began[-1].ended_us > max(before, default=-1)
        return False
