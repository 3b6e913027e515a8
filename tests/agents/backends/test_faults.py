"""A provider that fails, and a healthy second one, over real sockets: something is said inside the turn."""

from __future__ import annotations

import contextlib
from datetime import datetime
from email.utils import format_datetime

import pytest
from provider import (
    CLOSE,
    HOLD,
    PROMPT,
    RESET,
    answer,
    asking,
    chunk,
    chunked,
    event,
    head,
    heard,
    provider,
    whole,
)

from turnbudget.agents.backends import modes
from turnbudget.agents.backends.backend import BackendError
from turnbudget.agents.backends.contest import Patience
from turnbudget.agents.backends.http import retry_after
from turnbudget.agents.backends.openai import OpenAIBackend
from turnbudget.voice.time import clock
from turnbudget.voice.time.budget import Budget, Cost, Forecast
from turnbudget.voice.time.clock import MS, SECOND

pytestmark = pytest.mark.clock("skip")

TURN = 400 * MS
"""A turn at half its usual length, to wait half as long for it here."""
PATIENCE = Patience(first_us=100 * MS, turn_us=TURN, gap_us=100 * MS)
HEALTHY = [head(), 20 * MS, answer("Here", " I am."), CLOSE]
DRIBBLE = [head(), *(step for byte in b": ping\n\n" * 9 for step in (bytes([byte]), 25 * MS)), HOLD]
"""One byte at a time, a keep-alive every so often, and no word."""

SILENT = {
    "never a byte": [HOLD],
    "headers, then silence": [head(), HOLD],
    "a role, then silence": [head(), event(chunk(role="assistant", content="")), HOLD],
    "keep-alives only": [head(), *[b": ping\n\n", 20 * MS] * 10, HOLD],
    "a byte at a time": DRIBBLE,
    "half a head": [b"HTTP/1.1 200 OK\r\n", HOLD],
}
FAILING = {
    "429, retry after 30 s": [whole(429, b"{}", Retry_After="30"), CLOSE],
    "429, retry after 0": [whole(429, b"{}", Retry_After="0"), CLOSE],
    "503": [whole(503, b"down"), CLOSE],
    "an error inside a 200": [head(), event({"error": {"message": "overloaded"}}), CLOSE],
    "a reset before the headers": [RESET],
    "a reset behind the headers": [head(Transfer_Encoding="chunked"), 5 * MS, RESET],
    "no HTTP": [b"what?\r\n\r\n", CLOSE],
    "closed at once": [CLOSE],
    "an empty answer": [head(), answer(), CLOSE],
    "a redirect": [whole(302, b"", Location="http://elsewhere.invalid/"), CLOSE],
}


def late(name):
    """A forecast by which the first token is late after 100 ms."""
    return Forecast({name: Cost(0, 100 * MS)})


@contextlib.asynccontextmanager
async def both(first, second=HEALTHY, url=None):
    """A backend for a provider that plays *first* (or for *url*), and one that plays *second*."""
    async with provider(first) as faulty, provider(second) as healthy:
        pair = (
            OpenAIBackend(url or faulty.url, "m", name="first"),
            OpenAIBackend(healthy.url, "m", name="second"),
        )
        try:
            yield (*pair, faulty, healthy)
        finally:
            for backend in pair:
                await backend.aclose()


async def first_words(mode, budget_us=TURN):
    began = clock.now()
    async with contextlib.aclosing(mode.stream(PROMPT, Budget.of(budget_us))) as deltas:
        async for delta in deltas:
            return delta.text, clock.now() - began
    return "", clock.now() - began


MODES = {
    "fast": lambda first, second: modes.fast(first, second, patience=PATIENCE),
    "race": lambda first, second: modes.race(first, second, checkpoint_us=150 * MS, patience=PATIENCE),
    "race, the other way": lambda first, second: modes.race(
        second, first, checkpoint_us=150 * MS, patience=PATIENCE
    ),
    "hedge": lambda first, second: modes.hedge(first, second, patience=PATIENCE, forecast=late("first")),
}


@pytest.mark.parametrize("mode", MODES.values(), ids=MODES)
@pytest.mark.parametrize("play", SILENT.values(), ids=SILENT)
async def test_a_silent_provider_costs_a_part_of_the_turn(play, mode):
    """LLM-11, LLM-21: the second one's first token comes inside the budget, and the first is left."""
    async with both(play) as (first, second, faulty, _):
        text, took_us = await first_words(mode(first, second))
        with clock.beyond():
            await clock.sleep(50 * MS)
        assert text == "Here"
        assert took_us < TURN - 100 * MS
        assert faulty.listeners == 0


@pytest.mark.parametrize("mode", MODES.values(), ids=MODES)
@pytest.mark.parametrize("play", FAILING.values(), ids=FAILING)
async def test_a_failing_provider_costs_next_to_nothing(play, mode):
    """LLM-10, LLM-15, LLM-20."""
    async with both(play) as (first, second, *_):
        text, took_us = await first_words(mode(first, second))
        assert text == "Here"
        assert took_us < 100 * MS


@pytest.mark.parametrize(
    ("url", "what"),
    [
        ("http://{}/v1", "no connection to {}"),
        ("http://no-such-host.invalid/v1", "'no-such-host.invalid' has no address"),
    ],
)
async def test_a_provider_that_cannot_be_reached_costs_next_to_nothing(url, what, nowhere):
    """LLM-10: refused, and a name without an address."""
    async with both([], url=url.format(nowhere)) as (first, second, *_):
        timings = []
        mode = modes.fast(first, second, patience=PATIENCE)
        text, _ = await heard(mode, PROMPT, Budget.of(TURN), timings)
    assert text == "Here I am."
    assert what.format(nowhere) in timings[0].error
    assert (timings[1].retry_of, timings[1].ending) == (0, "done")


async def test_a_tls_failure_is_told_as_one():
    timings = []
    async with (
        provider([b"no TLS here\r\n", CLOSE], eager=True) as plain,
        both([], url=plain.url.replace("http:", "https:")) as (first, second, *_),
    ):
        mode = modes.fast(first, second, patience=PATIENCE)
        text, _ = await heard(mode, PROMPT, Budget.of(TURN), timings)
    assert text == "Here I am."
    assert "first: no secure connection to 127.0.0.1" in timings[0].error


async def test_503_once_is_tried_again_where_there_is_nobody_else():
    """LLM-10."""
    timings = []
    async with asking([whole(503, b"{}")], chunked(answer("Yes."))) as (_, backend):
        text, _ = await heard(modes.fast(backend, patience=PATIENCE), PROMPT, Budget.of(TURN), timings)
    assert text == "Yes."
    assert [(timing.ending, timing.retry_of) for timing in timings] == [("failed", None), ("done", 0)]


async def test_a_429_without_anybody_else_is_told_at_once():
    """LLM-10: nobody waits for 30 s inside a turn, and the turn learns of the wait."""
    async with asking([whole(429, b'{"error":{"message":"slow down"}}', Retry_After="30")]) as (it, backend):
        began = clock.now()
        with pytest.raises(BackendError, match="HTTP 429: slow down") as raised:
            await first_words(modes.fast(backend, patience=PATIENCE))
        assert clock.now() - began < 100 * MS
        assert raised.value.retry_after_us == 30 * SECOND
        assert len(it.requests) == 1


async def test_retry_after_is_read_in_every_form():
    """LLM-10: seconds, milliseconds, and a date, which is measured by the server's own."""
    date = {"date": "Mon, 30 Nov 2026 10:00:00 GMT"}
    assert retry_after({"retry-after": "30"}) == 30 * SECOND
    assert retry_after({"retry-after": "0"}) == 0
    assert retry_after({"retry-after": "1.5"}) == 1_500 * MS
    assert retry_after({"retry-after-ms": "250", "retry-after": "1"}) == 250 * MS
    assert retry_after({"retry-after": "Mon, 30 Nov 2026 10:00:07 GMT"} | date) == 7 * SECOND
    assert retry_after({"retry-after": "Mon, 30 Nov 2026 09:00:00 GMT"} | date) == 0
    for odd in ("", "soon", "-3", "1e9", "Mon, 99 Nov 2026 10:00:00 GMT", "1 Nov 9999999999999 1:00", "٣"):
        assert retry_after({"retry-after": odd} | date) is None
    assert (
        0
        <= retry_after({"retry-after": format_datetime(datetime.fromisoformat(clock.label()))})
        <= 2 * SECOND
    )


BROKEN = chunked(b"".join(event(chunk(text)) for text in ("The total", " is forty")))[:2]


async def test_a_reset_in_mid_sentence_adds_only_what_is_missing():
    """LLM-12: with a transfer in chunks, and with one that ends with the connection."""
    for play in ([*BROKEN, 5 * MS, RESET], [head(), BROKEN[1][4:], 5 * MS, RESET]):
        said = []
        async with asking(play, chunked(answer("The total is", " forty two", " euros."))) as (_, backend):
            mode = modes.fast(backend, patience=PATIENCE)
            async with contextlib.aclosing(mode.stream(PROMPT, Budget.of(TURN))) as deltas:
                said = [delta.text async for delta in deltas]
        assert "".join(said) == "The total is forty two euros."
        assert said[:2] == ["The total", " is forty"]


async def test_a_stream_that_stops_in_mid_answer_is_left_and_its_socket_closed():
    """LLM-11: the gap is judged by itself, keep-alives or not; the next turn works."""
    stuck = [head(), event(chunk("Let me")), *[b": ping\n\n", 20 * MS] * 8, HOLD]
    async with asking(stuck, stuck, chunked(answer("Yes."))) as (it, backend):
        mode = modes.fast(backend, patience=PATIENCE)
        began = clock.now()
        with pytest.raises(BackendError, match=r"silent for 1\d\d ms in mid-answer"):
            await heard(mode, PROMPT, Budget.of(5 * SECOND))
        assert clock.now() - began < 400 * MS
        assert await heard(mode, PROMPT, Budget.of(TURN)) == ("Yes.", [])
        assert it.listeners == 1
