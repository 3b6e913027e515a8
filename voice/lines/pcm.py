"""Sound on a wire: bytes cut anywhere become samples, samples become bytes cut into whole frames."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from turnbudget.voice.sound.audio import join, silence

if TYPE_CHECKING:
    from turnbudget.voice.sound.audio import Int16
    from turnbudget.voice.sound.encoding import Encoding

FRAMES_A_SECOND: Final = 50
"""A frame is 20 ms on every wire."""


class Joined:
    """Bytes as samples; a piece may end inside one, and what is over is carried to the next."""

    def __init__(self, encoding: Encoding) -> None:
        self._encoding = encoding
        self._spare = b""

    def feed(self, data: bytes) -> Int16:
        """Return the samples that *data* completes."""
        data = self._spare + data
        whole = len(data) - len(data) % self._encoding.width
        self._spare = data[whole:]
        return self._encoding.decode(data[:whole])


class Framed:
    """Samples as whole frames of bytes; what is over waits for more."""

    def __init__(self, encoding: Encoding, frame: int) -> None:
        """Cut into frames of *frame* samples."""
        self._encoding = encoding
        self._frame = frame
        self._rest = silence(0)

    @property
    def waits(self) -> bool:
        """Whether something waits for more."""
        return bool(self._rest.size)

    def feed(self, samples: Int16) -> list[bytes]:
        """Return the frames that *samples* complete."""
        sound = join((self._rest, samples))
        whole = sound.size - sound.size % self._frame
        self._rest = sound[whole:].copy()
        data = self._encoding.encode(sound[:whole])
        step = self._frame * self._encoding.width
        return [data[start : start + step] for start in range(0, len(data), step)]

    def fill(self) -> list[bytes]:
        """Return what waits, filled up to a frame with silence."""
        return self.feed(silence(-self._rest.size % self._frame))

    def drop(self) -> None:
        """Forget what waits."""
        self._rest = silence(0)
