"""Voice activity detection: how likely it is that somebody speaks in a window of audio.

A detector is one method behind a Protocol. It says nothing of turns: :mod:`voice.endpoint` counts its
windows, and the sound's own level, not the detector's delay, says where a voice ended.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from voice.audio import Int16


class Vad(Protocol):
    """A voice detector for one call (it may keep state from window to window)."""

    name: str
    window: int
    """Samples it wants at a time, at 16 kHz."""

    def probability(self, window: Int16, at: int) -> float:
        """Return 0–1 for the window whose first sample stands at *at* in the caller's media."""
        ...
