"""A call reacts in time, over calls that differ in all that is chance; virtual time, so always the same."""

from __future__ import annotations

from turnbudget.testing.reactions import PROMISES, measure
from turnbudget.voice.time.clock import MS

CALLS = 20


async def test_every_reaction_keeps_its_promise():
    """TURN-01, TURN-10, VAD-04: the figures that bench/reaction.py prints of many more calls."""
    found = await measure(CALLS)
    for promise in PROMISES:
        assert len(found[promise]) == CALLS
        assert max(found[promise]) <= promise.most_ms * MS, promise.name
