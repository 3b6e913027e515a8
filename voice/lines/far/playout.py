"""What a simulated caller hears: each tick a frame of the queue, silence where there is none."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final

from turnbudget.voice.sound.audio import join, silence

if TYPE_CHECKING:
    from turnbudget.voice.sound.audio import Int16

KEPT: Final = 15_000
"""Frames heard that are kept until they are asked for: five minutes."""


class Playout:
    """A queue of sound and marks, heard ``frame`` samples a tick."""

    def __init__(self, frame: int) -> None:
        self._frame = frame
        self._queue: deque[Int16 | str] = deque()
        self._heard: deque[Int16] = deque(maxlen=KEPT)
        self.queued = 0
        """Samples that wait."""
        self.played = 0
        """Samples of ours that were heard, fillers not counted."""
        self.lost = 0
        """Samples of ours that never will be."""

    def add(self, sound: Int16) -> None:
        """Put *sound* at the end of the queue."""
        self._queue.append(sound)
        self.queued += sound.size

    def mark(self, name: str) -> None:
        """Put a mark at the end of the queue."""
        self._queue.append(name)

    def tick(self) -> list[str]:
        """Let the caller hear the next frame; return the marks that were passed before its last sample."""
        marks: list[str] = []
        frame: list[Int16] = []
        need = self._frame
        while need and self._queue:
            head = self._queue.popleft()
            if isinstance(head, str):
                marks.append(head)
                continue
            frame.append(head[:need])
            if head.size > need:
                self._queue.appendleft(head[need:])
            need -= frame[-1].size
        self.queued -= self._frame - need
        self.played += self._frame - need
        self._heard.append(join([*frame, silence(need)]))
        return marks

    def flush(self) -> list[str]:
        """Empty the queue; return the marks that were in it."""
        marks = [one for one in self._queue if isinstance(one, str)]
        self._queue.clear()
        self.lost += self.queued
        self.queued = 0
        return marks

    def heard(self) -> Int16:
        """Return what was heard since this was last asked, silence included."""
        sound = join(list(self._heard))
        self._heard.clear()
        return sound
