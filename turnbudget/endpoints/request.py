"""One request of a probe, as a sample: what the server tells of itself, and what can be seen from outside."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from turnbudget.agents.backends.backend import BackendError
from turnbudget.agents.backends.contest import closing
from turnbudget.agents.simulated.prefixes import count
from turnbudget.voice.time import clock
from turnbudget.voice.time.budget import Budget
from turnbudget.voice.time.clock import MS, SECOND

if TYPE_CHECKING:
    from collections.abc import Sequence

    from turnbudget.agents.backends.backend import Backend, Prompt, Timing
    from turnbudget.endpoints.samples import Sample

PATIENCE_US: Final = 90 * SECOND
MERGED_US: Final = MS // 2
"""Chunks nearer than this came as one."""


async def request(backend: Backend, prompt: Prompt, asked: Sample) -> tuple[str, Sample, BackendError | None]:
    """Return the answer to *prompt*, *asked* with what was measured, and the error if there was one."""
    timings: list[Timing] = []
    heard: list[int] = []
    text = ""
    try:
        async with closing(backend.stream(prompt, Budget.of(PATIENCE_US), timings.append)) as deltas:
            async for delta in deltas:
                text += delta.text
                heard.append(clock.now())
    except BackendError as error:
        return text, replace(asked, error=str(error)), error
    counted = replace(asked, counted_out=count(text), tokens_out=count(text))
    return text, measured(counted, timings[-1], heard), None


def measured(asked: Sample, timing: Timing, heard: Sequence[int]) -> Sample:
    """Return *asked* with what *timing* says; deltas were heard at the instants *heard*."""
    connected = timing.connected_us if timing.connected_us is not None else timing.began_us
    silent = timing.tokens_reasoning or 0
    return replace(
        asked,
        began_us=timing.began_us,
        reused=bool(timing.reused),
        connect_us=connected - timing.began_us,
        headers_us=None if timing.headers_us is None else timing.headers_us - connected,
        ttft_us=None if timing.first_token_us is None else timing.first_token_us - connected,
        prefill_us=timing.server_prefill_us,
        decode_us=None if silent else timing.server_decode_us,
        queue_us=timing.server_queue_us,
        spread_us=heard[-1] - heard[0] if heard else 0,
        chunks=1 + sum(late - early > MERGED_US for early, late in pairwise(heard)),
        tokens_in=asked.tokens_in if timing.tokens_in is None else timing.tokens_in,
        tokens_cached=timing.tokens_cached,
        tokens_out=asked.tokens_out if timing.tokens_out is None else max(0, timing.tokens_out - silent),
    )
