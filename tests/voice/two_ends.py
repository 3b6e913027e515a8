"""A dialect and a simulated far side on one time; what goes between them arrives at once."""

from __future__ import annotations

import numpy as np

from turnbudget.voice.lines.dialect import AudioIn

MS = 1_000
FRAME_US = 20 * MS


def sound(count, seed=1):
    """Samples that are all different from silence and from −1, so that each can be recognised."""
    drawn = np.random.default_rng(seed).integers(1, 8_000, count, dtype=np.int16)
    return drawn * np.where(np.arange(count) % 2, np.int16(1), np.int16(-2))


def voiced(samples):
    """*samples* without digital silence."""
    return samples[samples != 0]


class TwoEnds:
    """Both ends of a call's socket, and what the dialect made of the far side's messages."""

    def __init__(self, dialect, far):
        self.dialect = dialect
        self.far = far
        self.now = 0
        self.events = []
        self._over = False
        self.wait(0)

    def wait(self, us):
        """Let time pass; at its end everything due has been told."""
        until = self.now + us
        while True:
            self.now = min(until, max(self.now, self.far.next_us))
            for message in self.far.advance(self.now):
                self.events += self.dialect.receive(message)
            if self.far.closed and not self._over:
                self._over = True
                self.events += self.dialect.ended()
            if self.far.closed or self.far.next_us > until:
                self.now = until
                return

    def send(self, messages):
        for message in messages:
            self.far.receive(message, self.now)
        self.wait(0)

    def pace(self, samples):
        """Send *samples* in frames, one each 20 ms."""
        step = self.dialect.abilities.rate // 50
        for start in range(0, samples.size, step):
            self.send(self.dialect.audio(samples[start : start + step]))
            self.wait(FRAME_US)

    def reply(self, samples, mark):
        """Send all of a reply at once."""
        self.send(self.dialect.begin_reply())
        self.send(self.dialect.audio(samples))
        self.send(self.dialect.end_reply(mark))

    def told(self, *kinds):
        return [event for event in self.events if isinstance(event, kinds)]

    def heard_of_caller(self):
        return np.concatenate([event.samples for event in self.told(AudioIn)] or [np.zeros(0, np.int16)])
