"""The requests of a probe: each made and measured, and where it stands among cached and uncached tokens.

Where it stands is counted as the simulator counts, for the simulator is to foretell with it. Where the server
tells that its cache held much less or more than a cache of its block would, the server is believed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, get_args

import numpy as np

from turnbudget.agents.backends.backend import BackendError
from turnbudget.agents.backends.contest import closing
from turnbudget.agents.simulated.prefixes import BLOCK, count
from turnbudget.voice.time import clock
from turnbudget.voice.time.budget import Budget
from turnbudget.voice.time.clock import MS, SECOND

if TYPE_CHECKING:
    from collections.abc import Sequence

    from turnbudget.agents.backends.backend import Backend, Prompt, Timing
    from turnbudget.endpoints.fit import Array

Kind: TypeAlias = Literal["cold", "warm", "uncached", "cached", "load"]
"""``cold``: a fresh connection. ``warm``: a short prompt. ``uncached``: a long one, never seen. ``cached``: a
turn of a conversation behind a long prefix. ``load``: a long prefix, seen before, and a question, several at
once."""
KINDS: Final[tuple[Kind, ...]] = get_args(Kind)
"""All kinds of requests, in the order they are shown."""
ALONE: Final = 2
"""Streams at once from which there is a load."""
PACED: Final = 8
"""Tokens that an answer must have for its pace to be read off it."""
BLOCKS: Final = (256, 128, 64, 32, 16)
"""Sizes of the blocks of a prompt cache that are tried (tokens)."""
TELLING: Final = 5
"""Cache hits that tell the block size if all are whole blocks."""
ASTRAY: Final = 0.15
"""Difference of the cached share from the one foreseen above which the server is believed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One request; µs. ``tokens`` are the server's own count where it tells, ``counted`` the simulator's."""

    kind: Kind
    began_us: int
    streams: int = 1
    """How many of ours ran together."""
    reused: bool = True
    connect_us: int = 0
    headers_us: int | None = None
    """From the connection to the headers."""
    ttft_us: int | None = None
    """From the connection to the first answer token; ``None`` if none came."""
    prefill_us: int | None = None
    decode_us: int | None = None
    queue_us: int | None = None
    spread_us: int = 0
    """From the first chunk to the last."""
    chunks: int = 1
    tokens_in: int = 0
    tokens_cached: int | None = None
    tokens_out: int = 0
    counted_in: int = 0
    counted_cached: int = 0
    """What a cache may hold of it."""
    counted_out: int = 0
    error: str = ""

    @property
    def total_us(self) -> int:
        """What a caller waits for the first token."""
        return self.connect_us + (self.ttft_us or 0)

    @property
    def pace_us(self) -> float | None:
        """What a token takes, by the server's own account if there is one; ``None`` if too few came."""
        if self.tokens_out < PACED:
            return None
        if self.decode_us is not None:
            return self.decode_us / (self.tokens_out - 1)
        behind = self.tokens_out - self.tokens_out / self.chunks
        return self.spread_us / behind if behind >= 1 else None


def alone(samples: Sequence[Sample]) -> list[Sample]:
    """Return the requests that had an answer and ran alone."""
    return [each for each in samples if each.streams < ALONE and each.ttft_us is not None]


def by_kind(samples: Sequence[Sample]) -> dict[Kind, list[int]]:
    """Return the rows of each kind, in the order of kinds."""
    rows: dict[Kind, list[int]] = {
        kind: [row for row, each in enumerate(samples) if each.kind == kind] for kind in KINDS
    }
    return {kind: found for kind, found in rows.items() if found}


def cache_block(samples: Sequence[Sample]) -> int:
    """Return the block that divides every hit the server tells of; the usual one if it tells too few."""
    hits = [each.tokens_cached for each in samples if each.tokens_cached]
    if len(hits) < TELLING:
        return BLOCK
    return next((block for block in BLOCKS if not any(hit % block for hit in hits)), 1)


def placed(samples: Sequence[Sample], block: int) -> list[Sample]:
    """Return *samples* with ``counted_cached`` as a cache with that *block* would have it, or did."""
    return [replace(each, counted_cached=_cached(each, block)) for each in samples]


def tokens(samples: Sequence[Sample]) -> Array:
    """Return uncached and cached tokens, a row a sample."""
    rows = [(each.counted_in - each.counted_cached, each.counted_cached) for each in samples]
    return np.array(rows, np.float64).reshape(-1, 2)


def _cached(sample: Sample, block: int) -> int:
    foreseen = sample.counted_cached // block * block
    if sample.tokens_cached is None or not sample.tokens_in:
        return foreseen
    share = sample.tokens_cached / sample.tokens_in
    if abs(share - foreseen / max(1, sample.counted_in)) <= ASTRAY:
        return foreseen
    return round(share * sample.counted_in)


PATIENCE_US: Final = 90 * SECOND
"""How long one request may last (µs; 90 s)."""
MERGED_US: Final = MS // 2
"""Distance below which two chunks came as one (µs; 0.5 ms)."""


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
