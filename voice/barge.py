"""Barge-in, done: one stretch of the caller's sound over our reply, from its first voice to its final text.

What it means is decided by :mod:`voice.bargein`; this moves the Mouth accordingly and gives up the reply.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from voice import clock

if TYPE_CHECKING:
    from collections.abc import Callable

    from voice.bargein import Interruption, Move, Verdict
    from voice.ledger import Ledger
    from voice.listen import Stretch
    from voice.speak import Mouth


class Barge:
    """One stretch over one reply, whose account is *ledger*; *cut* gives the reply up."""

    def __init__(
        self, interruption: Interruption, mouth: Mouth, ledger: Ledger, cut: Callable[[str], None]
    ) -> None:
        self._interruption = interruption
        self._mouth = mouth
        self._ledger = ledger
        self._cut = cut
        self._bridged = False

    def follow(self, stretch: Stretch | None) -> None:
        """Take what the ear knows of the stretch by now; ``None``: it is over, and its text is awaited."""
        if self._ledger.first_sound_us is not None:
            self._interruption.sounded(self._ledger.first_sound_us)
        if stretch is None:
            return
        now, barge = clock.now(), self._interruption
        if stretch.silence_us:
            move = barge.silent(now, stretch.silence_us, stretch.text, whole=stretch.whole)
        else:
            move = barge.voice(now, stretch.voiced_us)
            if stretch.text:
                move = barge.words(now, stretch.text, whole=False)
        self._obey(move)

    def end(self, text: str) -> Verdict:
        """Take the final *text*, and return what the stretch was."""
        self._obey(self._interruption.words(clock.now(), text, whole=True))
        self._mouth.go_on()
        return self._interruption.verdict

    def wants_bridge(self) -> bool:
        """Say, once, whether the caller asked if we are there while nothing of ours had sounded."""
        wants = self._interruption.calls_for_bridge and not self._bridged
        self._bridged |= wants
        return wants

    def _obey(self, move: Move) -> None:
        barge = self._interruption
        match move:
            case "pause" if not self._mouth.held:
                self._ledger.decide("reply held", barge.why)
                self._mouth.hold()
            case "resume":
                self._ledger.decide("reply goes on", barge.why)
                self._mouth.go_on()
            case "cut":
                self._cut(barge.why)
                self._mouth.go_on()
            case _:
                pass
