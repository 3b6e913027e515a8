"""Endpointing: when a caller's turn began, paused and ended. Pure; the audio is its clock.

It counts samples of voiced and unvoiced windows and knows neither detectors nor engines nor time.

The stop counter leaks: a voiced window takes off ``leak`` times its length instead of setting the counter
to zero, so that a blip each few hundred milliseconds (a click, a distant word) cannot hold a turn open for
ever, and a caller who really speaks on resets it within a third of the silence that had passed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

from voice import audio

if TYPE_CHECKING:
    from collections.abc import Callable

LEAK: Final = 3
"""Voice counts three times as much as silence: 12 low windows and one high one still end a turn."""


@dataclass(frozen=True, slots=True)
class Endpointing:
    """How long a silence ends a turn. All in microseconds of media time."""

    silence_us: int = 600_000
    """Silence from the last voiced sample that ends the turn."""
    start_us: int = 90_000
    """Voice that opens a turn; shorter is a click."""
    longest_us: int = 10_000_000
    """An utterance is taken as over after so long, whoever or whatever keeps sounding."""


@dataclass(frozen=True, slots=True)
class Began:
    """Speech began at sample ``at``."""

    at: int


@dataclass(frozen=True, slots=True)
class Paused:
    """The last voiced sample was ``at``; the turn may be over."""

    at: int


@dataclass(frozen=True, slots=True)
class WentOn:
    """Speech went on at ``at``."""

    at: int


@dataclass(frozen=True, slots=True)
class Ended:
    """The turn is over: its last voiced sample was ``at``; ``rule`` names the setting that ended it."""

    at: int
    rule: str
    voiced: int
    """Samples that were voiced."""


Signal: TypeAlias = Began | Paused | WentOn | Ended


class Endpoint:
    """The state of one caller's speech: idle, speaking, or paused."""

    def __init__(self, settings: Endpointing) -> None:
        self._silence = audio.samples(settings.silence_us)
        self._start = audio.samples(settings.start_us)
        self._longest = audio.samples(settings.longest_us)
        self._reset()

    def _reset(self) -> None:
        self.speaking = False
        self.paused = False
        self._began = 0
        self._voiced = 0
        self._quiet = 0
        self._last = 0

    def process(self, at: int, count: int, *, voiced: bool, edge: Callable[[], int]) -> Signal | None:
        """Take the window of *count* samples at *at* and return what it changed, if anything.

        *edge* is asked, when a silence begins, for the last voiced sample: a detector falls late, the
        sound's level does not.
        """
        if not self.speaking:
            return self._listen(at, count, voiced=voiced)
        ended = at + count
        if voiced:
            self._voiced += count
        if not self.paused:
            if voiced:
                self._last = ended
            else:
                self._last = min(max(edge(), self._began), ended)
                self._quiet = ended - self._last
                self.paused = True
                return self._over(ended) or Paused(self._last)
        elif voiced:
            self._quiet -= LEAK * count
            if self._quiet <= 0:
                self.paused, self._last = False, ended
                return WentOn(at)
        else:
            self._quiet += count
        return self._over(ended)

    def _listen(self, at: int, count: int, *, voiced: bool) -> Signal | None:
        if not voiced:
            self._voiced = max(0, self._voiced - count)
            return None
        if not self._voiced:
            self._began = at
        self._voiced += count
        if self._voiced < self._start:
            return None
        self.speaking, self._last, self._quiet = True, at + count, 0
        return Began(self._began)

    def _over(self, now: int) -> Ended | None:
        if self.paused and self._quiet >= self._silence:
            rule = "endpoint.silence_ms"
        elif now - self._began >= self._longest:
            rule = "endpoint.longest_ms"
        else:
            return None
        ended = Ended(self._last, rule, self._voiced)
        self._reset()
        return ended
