"""Keys pressed on a telephone, gathered to one input: by a terminator, by a pause, by its length. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

DIGITS: Final = frozenset("0123456789*#ABCD")


@dataclass(frozen=True, slots=True)
class Gathering:
    """When an input is whole. Times in microseconds."""

    terminator: str = "#"
    gap_us: int = 2_000_000
    """So long after its last key an input is whole."""
    most: int = 32
    """An input of so many keys is whole."""


class Keypad:
    """The keys of one call."""

    def __init__(self, gathering: Gathering) -> None:
        self._gathering = gathering
        self._keys = ""
        self.began_us = 0
        """When the first key of the input was pressed."""
        self.pressed_us = 0
        """When the last one was."""

    def press(self, key: str, at_us: int) -> str | None:
        """Take *key*; return the input if it is whole now. What is no key is ignored."""
        if key not in DIGITS:
            return None
        if key == self._gathering.terminator:
            return self._take()
        if not self._keys:
            self.began_us = at_us
        self._keys += key
        self.pressed_us = at_us
        return self._take() if len(self._keys) >= self._gathering.most else None

    def waited(self, now_us: int) -> str | None:
        """Return the input if its last key was pressed long enough ago."""
        due = self._keys and now_us - self.pressed_us >= self._gathering.gap_us
        return self._take() if due else None

    def _take(self) -> str | None:
        keys, self._keys = self._keys, ""
        return keys or None
