"""A probe of a simulated endpoint finds its preset again, in virtual time; bad input is one line."""

from __future__ import annotations

import math
from random import Random

import pytest
from msgspec.structs import replace
from provider import answer, chunked, provider, whole
from rich.console import Console

from turnbudget.agents.backends.backend import BackendError
from turnbudget.agents.simulated.endpoint import Endpoint, Remote
from turnbudget.agents.simulated.hardware import origin
from turnbudget.agents.simulated.make import load, make
from turnbudget.agents.simulated.words import Script
from turnbudget.endpoints.presets import probed
from turnbudget.endpoints.probe import describe, measure, probe, write
from turnbudget.endpoints.samples import Sample, cache_block, placed
from turnbudget.voice.errors import ConfigError, RunError
from turnbudget.voice.time.clock import MS, SECOND

STORY = Script(["Once upon a time there was a garden by the river, and " + "so it went on and on " * 20])
TRUE = Remote(
    name="true",
    rtt_us=30 * MS,
    handshake_us=90 * MS,
    ttft_shift_us=50 * MS,
    ttft_median_us=200 * MS,
    ttft_sigma=0.25,
    uncached_us=300,
    cached_us=30,
    tpot_median_us=12 * MS,
    tpot_sigma=0.1,
)


def endpoint(seed=3, **changes):
    return Endpoint(replace(TRUE, **changes), STORY, seed=seed)


def shown(made):
    console = Console(width=160, record=True, quiet=False, file=None, force_terminal=False)
    with console.capture() as captured:
        console.print(describe(made))
    return captured.get()


async def test_a_probe_finds_what_an_endpoint_costs():
    """Quantiles within 10 %, slopes within 15 %, what is exact within 1 %."""
    made = await measure(endpoint(), n=300)
    found = made.remote
    assert found.handshake_us == pytest.approx(90 * MS, rel=0.01)
    assert found.rtt_us == pytest.approx(30 * MS, rel=0.01)
    assert found.uncached_us == pytest.approx(300, rel=0.15)
    assert found.cached_us == pytest.approx(30, rel=0.5)
    assert found.tpot_median_us == pytest.approx(12 * MS, rel=0.05)
    assert found.tpot_sigma == pytest.approx(0.1, rel=0.3)
    assert (found.burst, found.error, found.keepalive_us) == (1, 0, TRUE.keepalive_us)
    for share in (0.1, 0.5, 0.95):
        assert found.law.quantile(share) == pytest.approx(TRUE.law.quantile(share), rel=0.1)


async def test_its_error_is_measured_on_the_last_third_of_the_time():
    made = await measure(endpoint(), n=300)
    p50, p95 = made.errors
    assert made.held_out == pytest.approx(90, abs=2)
    assert p50 < 0.1
    assert p95 < 0.25


async def test_an_endpoint_that_changes_meanwhile_is_seen_in_the_error():
    """Held out by time, not by lot: a lot would hide it."""
    backend = endpoint()

    def slower(done, total, _):
        if done > total * 0.7:
            backend._law = replace(TRUE, ttft_median_us=600 * MS).law

    made = await measure(backend, n=200, progress=slower)
    assert made.errors[0] > 0.3


async def test_what_costs_nothing_is_given_no_cost():
    made = await measure(endpoint(uncached_us=0, cached_us=0, handshake_us=0), n=120, concurrency=(1,))
    assert (made.remote.uncached_us, made.remote.cached_us, made.remote.handshake_us) == (0, 0, 0)
    assert any("uncached tokens told apart from 0" in note for note in made.notes)
    assert any("no law of load: 1 loads" in note for note in made.notes)


async def test_a_law_of_load_is_found_where_there_is_one():
    made = await measure(endpoint(load_us=4 * MS), n=120)
    assert made.remote.load_us == pytest.approx(4 * MS, rel=0.1)
    none = await measure(endpoint(tpot_sigma=0.4), n=120)
    assert none.remote.load_us < MS


async def test_bursts_and_stalls_are_found():
    made = await measure(endpoint(burst=4, stall=0.04, stall_us=9 * SECOND), n=400)
    assert made.remote.burst == 4
    assert made.remote.tpot_median_us == pytest.approx(12 * MS, rel=0.05)
    assert made.remote.stall == pytest.approx(0.04, rel=0.6)
    assert made.remote.stall_us == pytest.approx(9 * SECOND, rel=0.6)
    assert any("stalls seen" in note for note in made.notes)


async def test_requests_that_fail_are_counted_and_refusals_waited_out():
    """LLM-10: a probe, which nobody waits for, comes back when told."""
    failing = await measure(endpoint(error=0.1), n=200, concurrency=(1,))
    assert failing.remote.error == pytest.approx(0.1, abs=0.06)
    refusing = await measure(endpoint(requests_a_minute=40, retry_after_us=20 * SECOND), n=60)
    assert refusing.answered > 50


async def test_a_dead_endpoint_ends_the_probe_in_one_line():
    with pytest.raises(BackendError, match="unavailable"):
        await measure(endpoint(error=1), n=60)
    backend = endpoint()

    def dies(done, *_):
        if done > 20:
            backend.remote = replace(TRUE, error=1)

    with pytest.raises(BackendError, match="5 failures in a row, the last: unavailable") as caught:
        await measure(backend, n=60, progress=dies)
    assert "\n" not in str(caught.value)


async def test_the_same_seed_makes_the_same_probe():
    first, second = [await measure(endpoint(), n=60, seed=5) for _ in range(2)]
    assert [each.kind for each in first.samples] == [each.kind for each in second.samples]
    assert first.remote == second.remote


async def test_kinds_are_mixed_so_that_no_kind_has_a_time_of_its_own():
    made = await measure(endpoint(), n=120)
    third = len(made.samples) // 3
    for part in (made.samples[:third], made.samples[third : 2 * third], made.samples[2 * third :]):
        assert {each.kind for each in part} == {"cold", "warm", "uncached", "cached", "load"}


async def test_a_p99_is_refused_below_300_samples_and_told_from_300_on():
    few = shown(await measure(endpoint(), n=120, concurrency=(1,)))
    assert "p99 not told from 120 samples (it takes 300), somewhere in" in " ".join(few.split())
    many = shown(await measure(endpoint(), n=300, concurrency=(1,)))
    assert "p99 not told" not in " ".join(many.split())


async def test_the_report_says_how_many_when_where_and_how_wrong():
    said = " ".join(shown(await measure(endpoint(), n=120, source="probe of here")).split())
    assert "probe of here: 152 of 152 requests answered" in said
    assert "region unknown" in said
    assert "foretells the last 30 %" in said
    assert "ttft_median_us" in said


async def test_the_file_is_a_preset_with_where_it_comes_from(tmp_path):
    made = await measure(endpoint(), n=120, name="ours", source='probe of "here"')
    path = tmp_path / "ours.toml"
    write(made, path)
    again = load(path)
    assert again == made.remote
    assert origin(again.ttft_median_us)[:2] == ("measured", 'probe of "here"')
    assert make(str(path), text=STORY).name == "simulated:ours"
    said = path.read_text()
    for part in ("[probe]", "n = 152", 'region = "unknown"', "held_out_p50_error = "):
        assert part in said
    with pytest.raises(RunError, match="cannot be written"):
        write(made, tmp_path / "no" / "such.toml")


async def test_a_preset_of_a_probe_foretells_a_fresh_run():
    made = await measure(endpoint(), n=300)
    fresh = await measure(endpoint(seed=8), n=300, seed=8)
    foretold = await measure(Endpoint(made.remote, STORY, seed=9), n=300, seed=9)
    for percent, within in ((50, 0.1), (95, 0.2)):
        ratio = foretold_of(foretold, percent) / foretold_of(fresh, percent)
        assert ratio == pytest.approx(1, abs=within)


def foretold_of(made, percent):
    firsts = sorted(each.total_us for each in made.samples if each.streams == 1)
    return firsts[len(firsts) * percent // 100]


def test_a_server_s_own_figures_go_first():
    """Prefill and decode as the server tells them, whatever the network adds; and its own count of tokens."""
    samples = [
        Sample(
            kind="warm",
            began_us=number * SECOND,
            headers_us=20 * MS,
            ttft_us=60 * MS + 100 * tokens + 30 * MS * (number % 3),
            prefill_us=10 * MS + 100 * tokens,
            decode_us=9 * 5 * MS,
            spread_us=400 * MS,
            chunks=10,
            tokens_in=tokens,
            tokens_out=10,
            counted_in=tokens // 2,
            counted_out=5,
        )
        for number, tokens in enumerate((20, 100, 400, 1000) * 10)
    ]
    made = probed(samples, name="told", model="m", source="s", date="2026-11-30")
    assert made.remote.uncached_us == pytest.approx(200, rel=0.01)  # for each token that we count
    assert made.remote.tpot_median_us == pytest.approx(10 * MS)
    assert made.remote.law.quantile(0.5) == pytest.approx(90 * MS, rel=0.05)


def test_noise_that_grows_with_the_prompt_is_found_where_the_server_tells_its_prefill():
    """As on a processor that others use, too: told prefill apart, network and noise do not mix."""
    rng = Random(7)  # noqa: S311 - a simulation, no secret
    samples = []
    for number in range(200):
        fresh, known = rng.randrange(10, 60), rng.choice((128, 256))
        prefill = round((5 * MS * fresh + 20 * known) * math.exp(0.3 * rng.gauss()))
        ttft = prefill + round(8 * MS * math.exp(0.2 * rng.gauss()))
        samples.append(
            Sample(
                kind="cached",
                began_us=number * SECOND,
                ttft_us=ttft,
                prefill_us=prefill,
                tokens_in=fresh + known,
                tokens_cached=known,
                counted_in=fresh + known,
                counted_cached=known,
            )
        )
    made = probed(samples, name="noisy", model="m", source="s", date=None)
    assert made.remote.token_sigma == pytest.approx(0.3, rel=0.2)
    assert made.remote.uncached_us == pytest.approx(5 * MS, rel=0.1)
    assert made.remote.law.quantile(0.5) < 25 * MS
    assert made.remote.cache_block == 128
    (judged,) = made.judged
    assert judged.p50[0] == pytest.approx(judged.p50[1], rel=0.2)


def test_a_cache_that_held_less_than_foreseen_is_believed():
    """A server that evicts, or caches nothing below some length."""
    held = Sample(
        kind="cached", began_us=0, tokens_in=300, tokens_cached=290, counted_in=280, counted_cached=260
    )
    evicted = Sample(
        kind="cached", began_us=0, tokens_in=300, tokens_cached=0, counted_in=280, counted_cached=260
    )
    silent = Sample(kind="cached", began_us=0, counted_in=280, counted_cached=260)
    assert [each.counted_cached for each in placed([held, evicted, silent], 16)] == [256, 0, 256]
    assert cache_block([held] * 5) == 1
    assert cache_block([silent] * 5) == 16


def test_too_few_answers_fit_nothing():
    with pytest.raises(ConfigError, match="only 0 answers"):
        probed([Sample(kind="warm", began_us=0, error="x")], name="x", model="", source="", date=None)


@pytest.mark.parametrize(
    ("options", "line"),
    [
        ({"n": 10}, "10 requests fit nothing"),
        ({"concurrency": (0,)}, "1 or more"),
        ({"concurrency": ()}, "1 or"),
    ],
)
async def test_numbers_that_mean_nothing_are_refused_before_any_request(options, line):
    with pytest.raises(ConfigError, match=line):
        await measure(endpoint(), **options)


BAD_URLS = {
    "127.0.0.1:8100/v1": "is no URL",
    "localhost:8100": "is no URL",
    "": "is no URL",
    "https://me:secret@host/v1": "holds a user",
}


@pytest.mark.clock("skip")
@pytest.mark.parametrize("url", BAD_URLS)
async def test_what_is_no_url_is_refused_in_one_line(url):
    with pytest.raises(ConfigError, match=BAD_URLS[url]) as caught:
        await probe(url, "m")
    assert "secret" not in str(caught.value)


@pytest.mark.clock("skip")
async def test_a_missing_key_is_one_line(monkeypatch):
    monkeypatch.delenv("GROQ_API_KEY", raising=False)
    with pytest.raises(ConfigError, match="no key; set GROQ_API_KEY"):
        await probe("https://api.groq.com/openai/v1", "m")


@pytest.mark.clock("skip")
async def test_a_host_that_does_not_answer_is_one_line(nowhere):
    with pytest.raises(BackendError, match=f"no connection to {nowhere}"):
        await probe(f"http://{nowhere}/v1", "m")
    with pytest.raises(BackendError, match=f"no connection to {nowhere}"):
        await probe(f"http://{nowhere}")


@pytest.mark.clock("skip")
async def test_a_model_the_server_does_not_have_is_one_line():
    models = whole(200, b'{"data": [{"id": "a"}, {"id": "b"}]}')
    async with provider([models]) as it:
        with pytest.raises(ConfigError, match="no model 'c'; it has a, b"):
            await probe(it.url, "c")
        with pytest.raises(ConfigError, match="which model is not said; --model: a, b"):
            await probe(it.url)


@pytest.mark.clock("skip")
async def test_a_server_with_one_model_is_probed_without_its_name_and_path():
    """Through a real socket: the only model is taken, and ``/v1`` is added where the URL has no path."""
    models = whole(200, b'{"data": [{"id": "tiny/Model-1"}]}')
    story = answer(*(f"word{number} " for number in range(12)))
    async with provider([models], chunked(story)) as it:
        made = await probe(it.url.removesuffix("/v1"), n=40, concurrency=(1,))
    assert it.requests[0][0].startswith("GET /v1/models")
    assert it.requests[1][1]["model"] == "tiny/Model-1"
    assert made.remote.name == "127.0.0.1-model-1"
    assert made.answered == 40
    assert made.date.startswith("20")
