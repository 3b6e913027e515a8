"""What chance decided about one request to a simulated API, before it was sent."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True, slots=True)
class Draft:
    """An answer and its fate."""

    text: Sequence[str]
    ttft_us: float
    slow: float
    """How many times the usual the prompt's tokens cost."""
    tpot_us: float
    fails: bool
    silent: bool
    dribbles: bool
    resets: bool
    at: float
    """Where in the answer it is reset, as a share."""
    tier: Literal["standard", "fast"]

    def fallen_back(self) -> Draft:
        """Return the draft as the standard tier serves it."""
        return replace(self, tier="standard")

    def breaks(self, token: int) -> bool:
        """Say whether the connection is reset before *token*: after the first, before the end."""
        return self.resets and token >= max(1, int(self.at * len(self.text)))
