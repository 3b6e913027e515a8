"""Overlapping speech: what the caller sounds over our replies, each stretch from first voice to final text.

What a stretch means is decided by :mod:`turnbudget.voice.call.bargein`; this holds the Mouth while any of
them asks for it, and has the reply given up. A recogniser may still owe the text of one stretch when the next
begins, so there may be several, in the order in which they were spoken.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from turnbudget.voice.call.bargein import Interruption
from turnbudget.voice.call.turn import Turn
from turnbudget.voice.time import clock

if TYPE_CHECKING:
    from collections.abc import Callable

    from turnbudget.voice.call.bargein import Move, Rules, Verdict
    from turnbudget.voice.call.ledger import Ledger
    from turnbudget.voice.call.replies import Replies
    from turnbudget.voice.hearing.ear import Ear, Stretch
    from turnbudget.voice.speaking.mouth import Mouth


class Overlap:
    """One stretch of the caller's sound over the reply that *ledger* accounts for; *cut* gives that up."""

    def __init__(
        self, interruption: Interruption, mouth: Mouth, ledger: Ledger, cut: Callable[[str], None]
    ) -> None:
        self._interruption = interruption
        self._mouth = mouth
        self._ledger = ledger
        self._cut = cut
        self._move: Move = "go on"
        self._bridged = False
        self._voiced_until_us = clock.now()

    @property
    def holds(self) -> bool:
        """Whether the reply must be silent because of this stretch."""
        return self._interruption.paused

    def follow(self, stretch: Stretch | None) -> None:
        """Update from what the ear knows of the *stretch*; ``None`` if it is over and its text is awaited."""
        now, interruption = clock.now(), self._interruption
        if self._mouth.sounding_since_us is not None:
            interruption.sounded(self._mouth.sounding_since_us)
        if stretch is None:
            self._obey(interruption.silent(now, now - self._voiced_until_us, "", whole=False))
            return
        self._voiced_until_us = now - stretch.silence_us
        if stretch.silence_us:
            move = interruption.silent(now, stretch.silence_us, stretch.text, whole=stretch.whole)
        else:
            move = interruption.voice(now, stretch.voiced_us)
            if stretch.text:
                move = interruption.words(now, stretch.text, whole=False)
        self._obey(move)

    def end(self, text: str) -> Verdict:
        """Take the final *text*, and return what the stretch was."""
        self._obey(self._interruption.words(clock.now(), text, whole=True))
        return self._interruption.verdict

    def wants_bridge(self) -> bool:
        """Return ``True`` once if the caller asked whether we are there before any sound of ours."""
        wants = self._interruption.calls_for_bridge and not self._bridged
        self._bridged |= wants
        return wants

    def _obey(self, move: Move) -> None:
        if move == self._move:
            return
        self._move = move
        match move:
            case "pause":
                self._ledger.decide("reply held", self._interruption.why)
            case "resume":
                self._ledger.decide("reply goes on", self._interruption.why)
            case "cut":
                self._cut(self._interruption.why)
            case _:
                pass


class Overlaps:
    """One call's stretches over our replies whose final text is not there yet; the current one is last."""

    def __init__(self, rules: Rules, ear: Ear, mouth: Mouth, replies: Replies) -> None:
        self._rules = rules
        self._ear = ear
        self._mouth = mouth
        self._replies = replies
        self._open: deque[Overlap | None] = deque()
        """Stretches in the order spoken; ``None`` stands for one that began over no reply."""
        self.on_hold = False
        """Whether the caller was put on hold, so that nothing may sound."""

    def begin(self, at_us: int) -> None:
        """Begin a stretch for a voice that began at *at_us* (µs on the clock)."""
        self._open.append(self._over_reply(at_us))
        self.follow()

    def follow(self) -> None:
        """Update every stretch, and hold, resume or cut the reply accordingly."""
        lasting = self._ear.stretch
        for overlap in self._open:
            if overlap:
                overlap.follow(lasting if overlap is self._open[-1] else None)
                self._urge(overlap)
        self._hold()

    def end(self, text: str) -> Verdict | None:
        """End the oldest stretch with its final *text*; return what it was, ``None`` if over no reply."""
        overlap = self._open.popleft() if self._open else None
        verdict = overlap.end(text) if overlap else None
        self._hold()
        return verdict

    def _over_reply(self, at_us: int) -> Overlap | None:
        spoken, since_us = self._replies.current, self._mouth.sounding_since_us
        if spoken is None:
            return None
        # What is in flight already answers the question that sounded last.
        asked = self._mouth.asking and not (isinstance(spoken, Turn) and since_us is None)
        interruption = Interruption(
            self._rules,
            began_us=at_us,
            sounding_since_us=since_us,
            answering=asked,
            protected=self._replies.protected,
        )

        def cut(why: str) -> None:
            if self._replies.current is spoken:
                self._replies.break_off(why, since_us=at_us)

        return Overlap(interruption, self._mouth, spoken.ledger, cut)

    def _urge(self, overlap: Overlap) -> None:
        """Have the bridge sound at once if the caller asked whether we are there."""
        spoken = self._replies.current
        if overlap.wants_bridge() and isinstance(spoken, Turn) and not spoken.urged.done():
            spoken.urged.set_result(None)

    def _hold(self) -> None:
        """Hold the Mouth while a stretch asks for it, or before its first frame while a voice comes up."""
        held = self.on_hold or any(overlap and overlap.holds for overlap in self._open)
        if self._mouth.sounding_since_us is None and not self._replies.protected:
            held |= self._ear.stirring
        if held and not self._mouth.held:
            self._mouth.hold()
        elif self._mouth.held and not held:
            self._mouth.go_on()
