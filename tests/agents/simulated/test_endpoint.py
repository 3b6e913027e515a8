"""A simulated API: connections, caches, tiers and every way to fail, in virtual time."""

from __future__ import annotations

import math
from contextlib import aclosing
from itertools import pairwise
from statistics import median, stdev

import pytest
from msgspec.structs import replace
from riding import ask, fails, prompt

from turnbudget.agents.backends.backend import BackendError, Message, Prompt
from turnbudget.agents.backends.check import check_backend
from turnbudget.agents.simulated.endpoint import Endpoint, Remote
from turnbudget.agents.simulated.hardware import Price
from turnbudget.agents.simulated.prefixes import FRAME
from turnbudget.agents.simulated.presets import PRESETS
from turnbudget.agents.simulated.words import Script
from turnbudget.voice.time import clock
from turnbudget.voice.time.budget import Budget
from turnbudget.voice.time.clock import MS, SECOND

PLAIN = Remote(
    name="plain", rtt_us=40 * MS, handshake_us=120 * MS, ttft_median_us=300 * MS, tpot_median_us=10 * MS
)
WORDS = Script(["That is forty euros and ten cents, and it will be there on Friday. Anything else?"])


def endpoint(**changes):
    return Endpoint(replace(PLAIN, **changes), WORDS, seed=1)


@pytest.mark.parametrize("name", [name for name in PRESETS if name.startswith("api-")])
async def test_every_published_api_keeps_the_promises_of_a_backend(name):
    await check_backend(Endpoint(PRESETS[name], WORDS, seed=2))


async def test_a_cold_connection_pays_its_handshake_and_a_warm_one_does_not():
    backend = endpoint()
    _, cold = await ask(backend)
    _, warm = await ask(backend)
    assert (cold.reused, cold.ttft_us) == (False, 420 * MS)
    assert (warm.reused, warm.ttft_us) == (True, 300 * MS)
    assert warm.headers_us - warm.began_us == 40 * MS


async def test_a_connection_left_idle_for_too_long_is_cold_again():
    backend = endpoint(keepalive_us=10 * SECOND)
    await ask(backend)
    await clock.sleep(11 * SECOND)
    assert (await ask(backend))[1].reused is False


async def test_prewarm_connects_and_fills_the_cache_before_the_turn():
    backend = endpoint(uncached_us=1000, cached_us=10)
    history = Prompt(prompt().messages[:1])
    await backend.prewarm(history, Budget.of(SECOND))
    _, warm = await ask(backend)
    _, cold = await ask(endpoint(uncached_us=1000, cached_us=10))
    assert warm.reused
    assert warm.tokens_cached > 60
    saved = 120 * MS + warm.tokens_cached * (1000 - 10)
    assert cold.ttft_us - warm.ttft_us == saved


async def test_a_cached_prompt_expires():
    backend = endpoint(uncached_us=1000, cache_ttl_us=60 * SECOND)
    await ask(backend)
    assert (await ask(backend))[1].tokens_cached > 0
    await clock.sleep(61 * SECOND)
    assert (await ask(backend))[1].tokens_cached == 0


async def test_a_cache_holds_whole_blocks_and_a_block_of_one_holds_every_token():
    for block in (1, 16, 128):
        backend = endpoint(cache_block=block)
        await ask(backend)
        _, again = await ask(backend)
        assert again.tokens_cached == (again.tokens_in - FRAME) // block * block


async def test_what_a_prompt_costs_may_vary_from_request_to_request():
    backend = endpoint(ttft_median_us=1, rtt_us=0, handshake_us=0, uncached_us=1000, token_sigma=0.3)
    alike = [Prompt((Message("system", f"{number:03} " + "word " * 99),)) for number in range(200)]
    logs = [math.log((timing := (await ask(backend, each))[1]).ttft_us / timing.tokens_in) for each in alike]
    assert math.exp(median(logs)) == pytest.approx(1000, rel=0.1)
    assert stdev(logs) == pytest.approx(0.3, rel=0.2)


async def test_tokens_come_in_bursts_at_their_pace():
    backend = endpoint(burst=4)
    async with aclosing(backend.stream(prompt(), Budget.of(10 * SECOND))) as deltas:
        instants = [clock.now() async for _ in deltas]
    assert {late - early for early, late in pairwise(instants[:-1])} == {40 * MS}


async def test_one_request_too_many_is_refused_with_a_time_to_come_back():
    """LLM-10: 429 after one round trip; nobody waits for it here."""
    backend = endpoint(requests_a_minute=2, handshake_us=0)
    await ask(backend)
    await ask(backend)
    began = clock.now()
    with pytest.raises(BackendError, match="again after 30 s") as caught:
        await ask(backend)
    assert (caught.value.status, caught.value.retry_after_us) == (429, 30 * SECOND)
    assert clock.now() - began == 40 * MS
    await clock.sleep(60 * SECOND)
    assert (await ask(backend))[0]


async def test_a_passing_failure_may_be_tried_again():
    """LLM-10."""
    with pytest.raises(BackendError) as caught:
        await ask(endpoint(error=1))
    assert (caught.value.status, caught.value.again) == (503, True)


async def test_a_silent_stream_has_headers_and_ends_with_the_budget():
    """LLM-11, LLM-21."""
    said, _, error, timing = await fails(endpoint(silent=1), 2 * SECOND)
    assert "in time" in str(error)
    assert (said, clock.now()) == ("", 2 * SECOND)
    assert timing.headers_us == 160 * MS
    assert timing.first_token_us is None


async def test_a_dribbling_stream_gives_a_token_a_second():
    _, instants, _, _ = await fails(endpoint(dribble=1), 10 * SECOND)
    assert {late - early for early, late in pairwise(instants)} == {SECOND}


async def test_a_reset_comes_in_mid_sentence():
    """LLM-12: something has been said, and not everything."""
    said, _, error, timing = await fails(endpoint(reset=1), 10 * SECOND)
    whole = WORDS.reply(prompt())
    assert "reset" in str(error)
    assert said
    assert whole.startswith(said)
    assert said != whole
    assert timing.ending == "failed"


async def test_a_listener_who_slept_hears_no_more_of_a_stream_that_broke():
    backend = endpoint(reset=1)
    said, *_ = await fails(backend, 10 * SECOND)
    async with aclosing(endpoint(reset=1).stream(prompt(), Budget.of(10 * SECOND))) as deltas:
        slow = (await anext(deltas)).text
        await clock.sleep(3 * SECOND)
        slow += (await anext(deltas)).text
    assert slow == said


async def test_fast_beyond_its_limit_is_served_as_standard_and_loses_the_cache():
    backend = endpoint(tier="fast", pace=2.5, fast_a_minute=2, uncached_us=1000, handshake_us=0,
                       price=Price(input=1, output=10, multiplier=6))  # fmt: skip
    fast = [(await ask(backend))[1] for _ in range(2)][1]
    _, standard = await ask(backend)
    assert (fast.tier_served, standard.tier_served) == ("fast", "standard")
    assert standard.tier_asked == "fast"
    assert standard.flags == ("cache lost by a change of tier",)
    assert (fast.tokens_cached > 0, standard.tokens_cached) == (True, 0)
    assert standard.tpot_us / fast.tpot_us == pytest.approx(2.5, rel=0.01)
    assert backend.price(fast) == pytest.approx(6 * backend.price(standard))


async def test_an_answer_left_early_ends_as_cancelled():
    timings = []
    async with aclosing(endpoint().stream(prompt(), Budget.of(10 * SECOND), timings.append)) as deltas:
        await anext(deltas)
    assert timings[0].ending == "cancelled"
    assert timings[0].tokens_out == 1


async def test_an_empty_answer_is_empty_and_no_error():
    """LLM-20."""
    said, timing = await ask(Endpoint(PLAIN, Script([""])))
    assert said == ""
    assert timing.first_token_us is None


async def test_what_is_cut_is_cut_at_the_tokens_asked_for():
    said, timing = await ask(endpoint(), prompt(max_tokens=3))
    assert (said, timing.tokens_out) == ("That is forty", 3)
    assert Message("user", said).text
