"""Keys pressed on a telephone, gathered to one input: by a terminator, by a pause, by its length. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from turnbudget.voice.hearing.events import KEYS, Utterance

DIGITS: Final = frozenset("0123456789*#ABCD")
"""The sixteen keys of a telephone."""


@dataclass(frozen=True, slots=True)
class Gathering:
    """When an input of keys is complete; times in microseconds."""

    terminator: str = "#"
    """Key that ends an input."""
    gap_us: int = 2_000_000
    """Time after the last key at which an input is complete (µs; 2 s)."""
    most: int = 32
    """Number of keys at which an input is complete."""


class Keypad:
    """The keys of one call."""

    def __init__(self, gathering: Gathering) -> None:
        self._gathering = gathering
        self._keys = ""
        self._began_us = 0
        self._pressed_us = 0

    def press(self, key: str, now_us: int) -> Utterance | None:
        """Take *key*; return the input if that completes it. Anything else than a key is ignored."""
        if key not in DIGITS:
            return None
        if key == self._gathering.terminator:
            return self._whole("keypad.terminator", now_us)
        if not self._keys:
            self._began_us = now_us
        self._keys += key
        self._pressed_us = now_us
        return self._whole("keypad.most", now_us) if len(self._keys) >= self._gathering.most else None

    def waited(self, now_us: int) -> Utterance | None:
        """Return the input if its last key was pressed long enough before *now_us*."""
        due = now_us - self._pressed_us >= self._gathering.gap_us
        return self._whole("keypad.gap_ms", now_us) if due else None

    def _whole(self, rule: str, now_us: int) -> Utterance | None:
        """Return the keys as an utterance, ``None`` if there are none."""
        text, self._keys = " ".join(self._keys), ""
        if not text:
            return None
        return Utterance(
            text,
            self._began_us,
            self._pressed_us,
            decided_us=now_us,
            text_us=now_us,
            rule=rule,
            voiced_us=0,
            transcriber="keypad",
            keys=(text,),
            masked=KEYS,
        )
