"""The echo of our voice on a line without a canceller: whether what comes in is no more than that.

Half duplex with a way in: while we sound, and a little after, a frame is masked unless it is louder than our
echo can be. How loud that is, is learnt from what we sent: the lag at which it correlates best with what came
in, and how much of it came back. Until then it is taken to come back whole. Pure; times are given.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from turnbudget.voice.sound import audio
from turnbudget.voice.time.clock import MS, SECOND

if TYPE_CHECKING:
    import numpy.typing as npt

    from turnbudget.voice.sound.audio import Int16

STEP: Final = 4
"""Samples averaged into one: 4 kHz hold all of a voice's strength, for a sixteenth of the work."""
RATE: Final = audio.RATE // STEP
"""Rate of the averaged samples (Hz)."""
APART_US: Final = 40 * MS
"""Deviation of a frame's time up to which it is early or late; beyond it something was missing (µs)."""


@dataclass(frozen=True, slots=True)
class Guard:
    """How an echo is told from a caller."""

    margin_db: float = 6.0
    """How much louder than the echo a caller must be (dB): a room adds to what was learnt."""
    open_us: int = 200 * MS
    """Time that a louder caller stays heard, since words have soft parts (µs)."""
    tail_us: int = 200 * MS
    """Time that a room rings on (µs)."""
    lag_us: int = 500 * MS
    """Longest way out and back: sound cards, a radio headset (µs)."""
    learn_us: int = SECOND
    """Length of what came in that is compared with what went out (µs)."""
    clear: float = 0.2
    """Share of what came in that must be explained for the lag to be believed (0–1)."""


class Echo:
    """One line's echo: what went both ways, and what was learnt of it."""

    def __init__(self, guard: Guard | None = None) -> None:
        self._guard = guard = guard or Guard()
        self._margin = 10.0 ** (guard.margin_db / 10)
        self._tail, self._most, self._window = (
            _places(us) for us in (guard.tail_us, guard.lag_us, guard.learn_us)
        )
        self._ours = _Track(2 * (self._window + self._most))
        self._theirs = _Track(self._window)
        self._learnt_at = 0
        self._lag: int | None = None
        self._gain = 1.0
        self._heard_at = -audio.RATE

    @property
    def lag_us(self) -> int | None:
        """Time until our sound comes back (µs); ``None`` if not known."""
        return None if self._lag is None else self._lag * SECOND // RATE

    @property
    def gain_db(self) -> float:
        """Level of what comes back, at most, against what went out (dB)."""
        return 10 * float(np.log10(max(self._gain, 1e-12)))

    def sent(self, frame: Int16, at_us: int) -> None:
        """Note that *frame* of ours begins to sound at *at_us*."""
        self._ours.put(frame, at_us)

    def masks(self, samples: Int16, until_us: int) -> bool:
        """Return whether the caller's *samples*, which ended at *until_us*, are no more than our echo."""
        self._theirs.put(samples, until_us - audio.us(samples.size))
        self._ours.reach(self._theirs.end)
        if self._theirs.end - self._learnt_at >= self._window // 2:
            self._learnt_at = self._theirs.end
            self._learn()
        size, ended = samples.size // STEP, self._theirs.end
        back = ended - (self._lag or 0)
        ours = self._ours.between(back - size - self._tail, back + size)
        loudest = max((_power(ours[at : at + size]) for at in range(0, ours.size, size)), default=0.0)
        echo: float = loudest * self._gain * self._margin
        if echo <= 0.0:
            return False
        if _power(self._theirs.between(ended - size, ended)) > echo:
            self._heard_at = ended
        return ended - self._heard_at >= _places(self._guard.open_us)

    def _learn(self) -> None:
        """Compare what came in lately with what went out before it."""
        ended = self._theirs.end
        theirs = self._theirs.between(ended - self._window, ended)
        ours = self._ours.between(ended - self._window - self._most, ended)
        passed = np.concatenate(([0.0], np.cumsum(ours * ours)))
        powers = passed[theirs.size :] - passed[: self._most + 1]  # by lag, the longest first
        if powers.min() <= powers.max() / 2:
            return  # we have just begun, or ended: what has gone out may still be on its way
        came = float(theirs @ theirs)
        size = 1 << int(ours.size + theirs.size - 1).bit_length()
        spectrum = np.fft.rfft(ours, size) * np.conj(np.fft.rfft(theirs, size))
        likeness = np.fft.irfft(spectrum, size)[: self._most + 1]
        explained = likeness * likeness / powers
        best = int(np.argmax(explained))
        if explained[best] > self._guard.clear * came:
            self._lag = self._most - best
            self._gain = float(explained[best] / powers[best])
        else:
            self._gain = min(self._gain, self._guard.clear * came / float(powers.max()))


class _Track:
    """Latest sound of one direction, on the clock, at 4 kHz."""

    def __init__(self, size: int) -> None:
        self._sound: npt.NDArray[np.float64] = np.zeros(size)
        self.end = 0
        """Place behind the last sample."""

    def put(self, samples: Int16, at_us: int) -> None:
        """Add *samples* that begin at *at_us*; slightly early or late ones follow without a seam."""
        at = _places(at_us)
        if abs(at - self.end) > _places(APART_US):
            self.reach(at)
        self._add(samples[: samples.size // STEP * STEP].reshape(-1, STEP).mean(axis=1))

    def reach(self, place: int) -> None:
        """Fill up with silence to *place*."""
        if place > self.end:
            self._add(np.zeros(min(place - self.end, self._sound.size)))
            self.end = place

    def between(self, began: int, ended: int) -> npt.NDArray[np.float64]:
        """Return what lies between two places, as far as it is remembered."""
        first = self.end - self._sound.size
        return self._sound[max(0, began - first) : max(0, ended - first)]

    def _add(self, samples: npt.NDArray[np.float64]) -> None:
        keep = self._sound.size - samples.size
        self._sound[:keep] = self._sound[samples.size :]
        self._sound[keep:] = samples
        self.end += samples.size


def _places(us: int) -> int:
    return us * RATE // SECOND


def _power(sound: npt.NDArray[np.float64]) -> float:
    return float(sound @ sound) / max(1, sound.size)
