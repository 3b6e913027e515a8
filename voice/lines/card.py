"""A sound card as a line sees it: it gives what it hears and asks for what to play, from threads of its own.

One rate for both ways, one channel, 16-bit samples. Its own clock says how long sound is under way inside it;
no other clock can.
"""

from __future__ import annotations

from typing import Protocol


class Owner(Protocol):
    """Who is on the card. Called from the card's own threads, and never blocks them."""

    def heard(self, data: bytes, lag_us: int, lost: int) -> None:
        """Take a block from the microphone, whose last sample was spoken *lag_us* ago.

        *lost* samples before it were never given.
        """
        ...

    def wanted(self, count: int, lead_us: int) -> bytes:
        """Return *count* samples to play, the first of which sounds *lead_us* from now."""
        ...

    def gone(self, why: str) -> None:
        """Know that the card will neither hear nor play any more."""
        ...


class Card(Protocol):
    """A microphone and a speaker."""

    rate: int
    """Samples a second, both ways."""

    def start(self, owner: Owner) -> None:
        """Hear and play for *owner* from now on; raises LineError."""
        ...

    def stop(self) -> None:
        """Fall silent; a second time does nothing."""
        ...

    def now(self) -> int:
        """Return microseconds on the card's own clock; from any thread."""
        ...
