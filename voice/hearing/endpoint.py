"""Endpointing: when a caller's turn began, paused and ended. Pure; the audio is its clock.

It counts samples of voiced and unvoiced windows and knows neither detectors nor engines nor time. The
silence that ends a turn is chosen pause by pause: it is the setting's until somebody who knows more of the
words says how long this one is worth waiting for.

Speech begins, and goes on after a pause, when enough voice has come together: a leaky counter that voiced
windows fill and unvoiced ones empty. So a blip (a click, a breath, a distant word) opens no turn, and,
since the silence is measured from the last voice that was no blip, holds none open either.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

from turnbudget.voice.sound import audio
from turnbudget.voice.sound.audio import Samples

if TYPE_CHECKING:
    from collections.abc import Callable


USUAL: Final = "endpoint.silence_ms"
"""Name of the setting that ends a pause of which nothing is known."""
PAUSE: Final = audio.samples(300_000)
"""Silence that counts as a pause (samples; 300 ms)."""
TOGETHER: Final = 3
"""Voice within this many times ``start_us`` is counted together; older voice is forgotten as a blip."""


@dataclass(frozen=True, slots=True)
class Endpointing:
    """How long a silence ends a turn; all in microseconds of the caller's media (``docs/endpointing.md``)."""

    silence_us: int = 550_000
    """Silence that ends the turn if nothing is known of the words (µs; 550 ms)."""
    start_us: int = 90_000
    """Voice that opens a turn or takes it up after a pause; shorter is a click (µs; 90 ms)."""
    longest_us: int = 10_000_000
    """Sound without a pause of 300 ms after which a turn is ended (µs; 10 s)."""
    whole_us: int = 30_000_000
    """Length at which an utterance is ended, whatever pauses are in it (µs; 30 s)."""
    patient_us: int = 700_000
    """Longest silence after which a ready reply still sounds in time (µs; 700 ms)."""
    settled_us: int = 150_000
    """Silence that ends a turn whose words are whole (µs; 150 ms, as long as a stop consonant closes)."""
    least_us: int = 100_000
    """Shortest silence that may be chosen for a pause (µs; 100 ms)."""
    most_us: int = 1_500_000
    """Longest silence that may be chosen, except for a part of what was asked for (µs; 1.5 s)."""
    part_us: int = 3_000_000
    """Silence after a part of what was asked for: people dictate addresses with pauses of 2.5 s (µs; 3 s)."""


@dataclass(frozen=True, slots=True)
class Began:
    """Speech began at sample ``at``."""

    at: Samples


@dataclass(frozen=True, slots=True)
class Paused:
    """Speech paused: the last voiced sample was ``at``, and the turn may be over."""

    at: Samples


@dataclass(frozen=True, slots=True)
class WentOn:
    """Speech went on at sample ``at``."""

    at: Samples


@dataclass(frozen=True, slots=True)
class Ended:
    """The turn is over: it began at sample ``began``, and its last voiced sample was ``at``.

    ``rule`` names the setting that ended it, ``voiced`` is how many of its samples were voiced.
    """

    began: Samples
    at: Samples
    rule: str
    voiced: Samples


Signal: TypeAlias = Began | Paused | WentOn | Ended


class Endpoint:
    """State of one caller's speech: idle, speaking, or paused."""

    def __init__(self, settings: Endpointing) -> None:
        self._usual = audio.samples(settings.silence_us)
        self._least = audio.samples(settings.least_us)
        self._most = audio.samples(max(settings.most_us, settings.part_us))
        self._start = audio.samples(settings.start_us)
        self._longest = audio.samples(settings.longest_us)
        self._whole = audio.samples(settings.whole_us)
        self.began = Samples(0)
        """First voiced sample of the utterance."""
        self._reset()

    def _reset(self) -> None:
        self.speaking = False
        self.paused = False
        self._last = Samples(0)
        self._voiced = Samples(0)
        self._rising = Samples(0)
        self._rose = Samples(0)
        self._now = Samples(0)
        self._since = Samples(0)
        """Sample at which the sound began that has had no pause in it since."""
        self._silence, self._rule = self._usual, USUAL

    @property
    def stirring(self) -> bool:
        """Whether some voice is heard, but too little yet to open a turn."""
        return not self.speaking and self._rising > 0

    def wait(self, silence_us: int, rule: str) -> Ended | None:
        """Let this pause last *silence_us* before it ends the turn; *rule* names the setting that says so.

        Returns the end of the turn if it has lasted that long already. Without a pause it changes nothing.
        """
        if not self.paused:
            return None
        self._silence = min(max(audio.samples(silence_us), self._least), self._most)
        self._rule = rule
        return self._over(self._now, voiced=self._rising > 0)

    def heard(self, until: Samples) -> Ended | None:
        """Note that the media has come to sample *until*; return the end of a pause of chosen length.

        The usual pause is counted by the detector's windows, so that it does not matter how sound is cut.
        """
        if not self.paused or self._silence == self._usual:
            return None
        self._now = max(self._now, until)
        return self._over(self._now, voiced=self._rising > 0)

    def so_far(self) -> tuple[Samples, Samples]:
        """Return how many samples were voiced, and the length of the pause in samples (0: none)."""
        rising = self._rising if self.paused else 0
        silence = self._now - self._last if self.paused and not rising else 0
        return Samples(self._voiced + rising), Samples(silence)

    def process(self, at: Samples, count: int, *, voiced: bool, edge: Callable[[], Samples]) -> Signal | None:
        """Take the window of *count* samples at *at*; return what it changed, ``None`` if nothing.

        *edge* is asked, when a silence begins, for the last voiced sample: a detector falls late, the
        sound's level does not.
        """
        self._now = ended = Samples(at + count)
        if not self.speaking:
            if not self._rises(at, count, voiced=voiced):
                return None
            self.speaking, self.began, self._last, self._voiced = True, self._rose, ended, self._rising
            self._since = self.began
            return Began(self.began)
        if self.paused:
            if self._rises(at, count, voiced=voiced):
                if self._rose - self._last >= PAUSE:
                    self._since = self._rose
                self.paused, self._last = False, ended
                self._voiced = Samples(self._voiced + self._rising)
                return self._over(ended, voiced=True) or WentOn(self._rose)
        elif voiced:
            self._last = ended
            self._voiced = Samples(self._voiced + count)
        else:
            self._last = min(max(edge(), self._rose), ended)
            self.paused, self._rising = True, Samples(0)
            self._silence, self._rule = self._usual, USUAL
            return self._over(ended, voiced=False) or Paused(self._last)
        return self._over(ended, voiced=voiced)

    def _rises(self, at: Samples, count: int, *, voiced: bool) -> bool:
        """Fill or empty the counter of voice; return whether enough has come together."""
        if not voiced:
            self._rising = Samples(max(0, self._rising - count))
            return False
        if not self._rising or at - self._rose > TOGETHER * self._start:
            self._rose = at
        self._rising = Samples(self._rising + count)
        return self._rising >= self._start

    def _over(self, now: Samples, *, voiced: bool) -> Ended | None:
        blip = self._rising and self._silence != self._usual  # or the caller, going on
        if self.paused and not voiced and not blip and now - self._last >= self._silence:
            rule = self._rule
        elif not self.paused and now - self._since >= self._longest:
            rule = "endpoint.longest_ms"
        elif now - self.began >= self._whole:
            rule = "endpoint.whole_ms"
        else:
            return None
        ended = Ended(self.began, self._last, rule, self._voiced)
        self._reset()
        return ended
