"""The level of the caller's sound, in blocks of 10 ms: what stands out of the noise, and where it ended.

A detector says *whether* somebody speaks, some 75 ms late; the level says *when* they stopped, to the
block, as an engineer would mark it in an editor. It is measured on the difference from sample to sample,
in which a constant offset and mains hum vanish and the hiss of a final s counts as the vowel before it.

The noise floor is what the quietest blocks of the last three seconds reach, so steady noise or babble
raises the floor instead of sounding like speech for ever.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from turnbudget.voice.sound.audio import Samples

if TYPE_CHECKING:
    from turnbudget.voice.sound.audio import Int16

BLOCK: Final = 160
"""Length of a block (samples; 10 ms)."""
MEMORY: Final = 300
"""Blocks remembered (3 s): longer than the dips between words are apart."""
HOLES: Final = 10
"""Quietest blocks of 3 s left out of the noise floor, for lost frames that were filled with zeros."""
QUIETEST: Final = 32768.0**2 * 10.0**-7.0
"""Lowest noise floor (power; −70 dBFS, the noise of a 16-bit telephone line)."""
CONTRAST: Final = 4.0
"""How far voice stands above the noise floor (power ratio; 6 dB)."""
FALL: Final = 10.0**-3.5
"""A voice has ended 35 dB below its own peak: what follows is its echo and the line's. Measured against the
331 ends of recorded telephone utterances with word times (the 8 calls they were chosen on, 2026-11):
median 13 ms early, 90 % within −120 to +50 ms, all within −200 to +95 ms; earliest is a k released late."""


class Level:
    """Powers of the latest blocks of one call."""

    def __init__(self) -> None:
        self._powers = np.zeros(4 * MEMORY)
        self._count = 0
        self.ended = Samples(0)
        """Place behind the last block (samples)."""
        self._rest: Int16 = np.zeros(0, np.int16)
        """The last sample of the block before, and the samples of a block that is not full yet."""

    def hear(self, samples: Int16, at: Samples, *, lost: bool = False) -> None:
        """Take the next *samples*, which stand at *at*; a jump in *at* starts anew.

        Those *lost* never came: they say nothing of the noise, and are taken to be as quiet as it.
        """
        if not self._rest.size or at != self.ended + self._rest.size - 1:
            self._rest, self.ended, self._count = samples[:1], at, 0
        samples = np.concatenate((self._rest, samples))
        steps = samples.astype(np.float32)
        steps = steps[1:] - steps[:-1]
        began = 0
        while began + BLOCK <= steps.size:
            block = steps[began : began + BLOCK]
            self._add(self.floor() if lost else float(block @ block) / BLOCK)
            began += BLOCK
        self.ended = Samples(self.ended + began)
        self._rest = samples[began:]

    def _add(self, power: float) -> None:
        if self._count == self._powers.size:
            self._powers[:MEMORY] = self._powers[-MEMORY:]
            self._count = MEMORY
        self._powers[self._count] = power
        self._count += 1

    def _latest(self, blocks: int, until: Samples | None) -> np.typing.NDArray[np.float64]:
        """Return the powers of the last *blocks* that ended by the place *until*."""
        count = max(0, self._count - self._since(until))
        return self._powers[max(0, count - blocks) : count]

    def _since(self, until: Samples | None) -> int:
        """Return how many blocks ended after the place *until*; 0 without one."""
        return 0 if until is None else max(0, -(-(self.ended - until) // BLOCK))

    def floor(self, until: Samples | None = None) -> float:
        """Return the noise floor at the place *until* (default: the latest), as a power."""
        powers = self._latest(MEMORY, until)
        holes = powers.size * HOLES // MEMORY
        return max(float(np.partition(powers, holes)[holes]), QUIETEST) if powers.size else QUIETEST

    def stands_out(self, count: int, until: Samples | None = None) -> bool:
        """Return whether the loudest of the *count* samples before *until* stands out of the noise."""
        loudest = float(self._latest(max(1, count // BLOCK), until).max(initial=0.0))
        return loudest > QUIETEST * CONTRAST and loudest > self.floor(until) * CONTRAST

    def last_voiced(self, began: Samples, until: Samples | None = None) -> Samples:
        """Return where the last voiced block from *began* to *until* ended; *began* if none did."""
        ended = self.ended - self._since(until) * BLOCK
        powers = self._latest(min(MEMORY, max(0, ended - began) // BLOCK), until)
        threshold = max(self.floor(until) * CONTRAST, float(powers.max(initial=0.0)) * FALL)
        voiced = np.flatnonzero(powers > threshold)
        if not voiced.size:
            return began
        return Samples(ended - (powers.size - 1 - int(voiced[-1])) * BLOCK)
