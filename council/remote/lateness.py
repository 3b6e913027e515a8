"""How late a message is, told without a common clock.

Each sender stamps its messages with its own clock. Arrival less stamp is the clocks' difference plus the
journey; the least of it seen so far is a punctual journey, and what exceeds that is how long this one was
held up. Clocks drift apart, so the least seen is trusted a little less with every second.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

DRIFT: Final = 5_000
"""One part in this: 200 ppm, twice what two poor quartz clocks drift apart."""
SENDERS: Final = 1_000


class Lateness:
    """Remembers each sender's most punctual message; of senders the last thousand."""

    def __init__(self) -> None:
        self._least: OrderedDict[str, tuple[int, int]] = OrderedDict()

    def of(self, sender: str, sent_us: int, now_us: int) -> int:
        """Return by how many µs a message is later than the most punctual one of its sender."""
        gap = now_us - sent_us
        least, since = self._least.pop(sender, (gap, now_us))
        punctual = least + (now_us - since) // DRIFT
        self._least[sender] = (gap, now_us) if gap <= punctual else (least, since)
        if len(self._least) > SENDERS:
            self._least.popitem(last=False)
        return max(0, gap - punctual)
