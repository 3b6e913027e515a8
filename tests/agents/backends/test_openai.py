"""Any OpenAI-compatible server: requests, connections, keys."""

from __future__ import annotations

import asyncio
import logging

import pytest
from provider import CLOSE, HOLD, PROMPT, WAIT, answer, asking, chunk, chunked, event, head, heard, whole

from turnbudget.agents.backends import attempt
from turnbudget.agents.backends.backend import BackendError, Prompt, Tool
from turnbudget.agents.backends.check import check_backend
from turnbudget.agents.backends.openai import CEREBRAS, GROQ, OPENAI, Dialect, OpenAIBackend
from turnbudget.voice.errors import ConfigError
from turnbudget.voice.time import clock
from turnbudget.voice.time.budget import Budget
from turnbudget.voice.time.clock import MS, SECOND

pytestmark = pytest.mark.clock("skip")


async def test_leaving_closes_the_socket_at_once():
    """LLM-19: the server sees it within 50 ms, before its headers, behind them, and in mid-answer."""
    plays = ([HOLD], [head(), HOLD], [head(), answer("Once ", finish=None, done=False), HOLD])
    for play in plays:
        async with asking(play) as (it, backend), asyncio.TaskGroup() as group:
            task = group.create_task(heard(backend, PROMPT, Budget.of(10 * SECOND)))
            with clock.beyond():
                await clock.sleep(30 * MS)
                left = clock.now()
                task.cancel()
                await clock.sleep(50 * MS)
            assert len(it.left_us) == 1
            assert it.left_us[0] - left < 50 * MS


async def test_leaving_one_of_three_leaves_the_others_alone():
    """LLM-19."""
    play = [head(), event(chunk("One ")), 40 * MS, answer("two."), CLOSE]
    async with asking(play) as (_, backend), asyncio.TaskGroup() as group:
        tasks = [group.create_task(heard(backend, PROMPT, Budget.of(WAIT))) for _ in range(3)]
        with clock.beyond():
            await clock.sleep(20 * MS)
        tasks[1].cancel()
    assert [task.cancelled() for task in tasks] == [False, True, False]
    assert tasks[0].result() == tasks[2].result() == ("One two.", [])


async def test_a_connection_is_kept_and_a_dead_one_replaced():
    """A server that closes after each answer while it advertises keep-alive, as llama.cpp does."""
    full = chunked(answer("Yes."))
    async with asking(full, [*full, CLOSE], full, [CLOSE], full) as (it, backend):
        timings = []
        for _ in range(4):
            assert (await heard(backend, PROMPT, Budget.of(WAIT), timings))[0] == "Yes."
    assert [timing.reused for timing in timings] == [False, True, False, False]
    assert timings[3].flags[0] == "reconnected: the pooled connection was dead"
    assert it.connections == 3


async def test_a_connection_whose_stream_ends_a_moment_later_is_kept_too(monkeypatch):
    monkeypatch.setattr(attempt, "END_US", WAIT)  # on a busy machine 2 ms may be 20
    *body, end = chunked(answer("Yes."))
    async with asking([*body, 2 * MS, end]) as (it, backend):
        for _ in range(3):
            await heard(backend, PROMPT, Budget.of(WAIT))
    assert it.connections == 1


async def test_a_server_known_to_close_gets_a_new_connection_each_time():
    full = chunked(answer("Yes."))
    async with asking(full, dialect=Dialect(force_close=True)) as (it, backend):
        for _ in range(3):
            await heard(backend, PROMPT, Budget.of(WAIT))
    assert it.connections == 3


async def test_prewarming_makes_the_connection_and_asks_for_one_token():
    one = whole(200, b'{"choices":[{"message":{"content":"Y"}}]}')
    async with asking([one], chunked(answer("Yes."))) as (it, backend):
        timings = []
        await backend.prewarm(PROMPT, Budget.of(WAIT))
        await heard(backend, PROMPT, Budget.of(WAIT), timings)
        assert timings[0].reused
        (_, touch), (_, asked) = it.requests
    assert (touch["max_tokens"], touch["stream"]) == (1, False)
    assert touch["messages"] == asked["messages"]


async def test_prewarming_without_messages_only_connects_and_failing_to_is_no_error():
    async with asking([whole(404, b"no")], [HOLD]) as (it, backend):
        await backend.prewarm(Prompt(()), Budget.of(WAIT))
        await backend.prewarm(PROMPT, Budget.of(20 * MS))
        assert [row[0].split(" HTTP")[0] for row in it.requests] == [
            "GET /v1/models",
            "POST /v1/chat/completions",
        ]


async def test_a_model_that_the_server_does_not_have_is_found_before_the_call():
    async with asking([whole(200, b'{"data":[{"id":"a"},{"id":"b"}]}')]) as (_, backend):
        with pytest.raises(ConfigError, match="has no model 'm'; it has a, b"):
            await backend.verify(Budget.of(WAIT))
    async with asking([whole(200, b'{"data":[{"id":"m"}]}')]) as (_, backend):
        await backend.verify(Budget.of(WAIT))


async def test_it_keeps_the_promises_of_a_backend():
    play = [
        head(),
        *(step for word in ("one ", "two ", "three") for step in (event(chunk(word)), 5 * MS)),
        answer(),
    ]
    async with asking([*play, CLOSE]) as (_, backend):
        await check_backend(backend, PROMPT)


@pytest.mark.clock("virtual")
async def test_virtual_time_refuses_a_socket():
    backend = OpenAIBackend("http://127.0.0.1:9/v1", "m")
    with pytest.raises(ConfigError, match="virtual time has none"):
        await heard(backend, PROMPT, Budget.of(WAIT))


def request_of(backend, **more):
    return backend.body(Prompt(PROMPT.messages, 40, **more))


async def test_the_request_speaks_the_servers_dialect(monkeypatch):
    for name in (OPENAI.key, GROQ.key, CEREBRAS.key):
        monkeypatch.setenv(name, "k-123")
    openai = request_of(OpenAIBackend("https://api.openai.com/v1", "m", service_tier="priority"))
    assert openai["max_completion_tokens"] == 40
    assert openai["stream_options"] == {"include_usage": True, "include_obfuscation": False}
    assert openai["service_tier"] == "priority"
    assert "stream_options" not in request_of(OpenAIBackend("https://api.groq.com/openai/v1", "m"))
    local = request_of(OpenAIBackend("http://localhost:8000/v1", "m", extra={"top_k": 1}), temperature=None)
    assert local == {
        "model": "m",
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}],
        "stream": True,
        "stream_options": {"include_usage": True},
        "max_tokens": 40,
        "top_k": 1,
    }
    tool = Tool("price", "A price.", {"type": "object"})
    function = request_of(OpenAIBackend("http://localhost:8000/v1", "m"), tools=(tool,))["tools"][0][
        "function"
    ]
    assert function == {"name": "price", "description": "A price.", "parameters": {"type": "object"}}


@pytest.mark.parametrize("url", ["", "localhost:8000/v1", "/v1", "ftp://a/v1", "http:///v1", "http://a:b:c"])
def test_a_url_that_is_none_is_refused(url):
    with pytest.raises(ConfigError, match="no URL"):
        OpenAIBackend(url, "m")


def test_a_key_in_the_url_is_refused_and_not_repeated():
    with pytest.raises(ConfigError) as raised:
        OpenAIBackend("http://me:k-123@localhost/v1", "m")
    assert "k-123" not in str(raised.value)


def test_a_missing_key_is_told_with_what_to_set(monkeypatch):
    monkeypatch.delenv(OPENAI.key, raising=False)
    with pytest.raises(ConfigError, match="openai: no key; set OPENAI_API_KEY"):
        OpenAIBackend("https://api.openai.com/v1", "m")


@pytest.mark.parametrize(
    "play",
    [
        [whole(401, b'{"error":{"message":"bad key k-1234567 given"}}')],
        [head(), event({"error": {"message": "bad key k-1234567 given"}}), CLOSE],
        [head(), event("k-1234567 is no JSON"), CLOSE],
        [whole(401, b"k-1234567")],
    ],
)
async def test_a_key_is_sent_and_never_shown(play, monkeypatch, caplog):
    caplog.set_level(logging.DEBUG)
    monkeypatch.setenv("MY_KEY", "k-1234567")
    timings = []
    async with asking(play, dialect=Dialect(key="MY_KEY", needs_key=True)) as (it, backend):
        with pytest.raises(BackendError) as raised:
            await heard(backend, PROMPT, Budget.of(WAIT), timings)
        assert "authorization: bearer k-1234567" in it.requests[0][0].lower()
        shown = (
            f"{raised.value!r} {raised.value} {timings} {backend!r} {backend._pool.secret!r} {caplog.text}"
        )
    assert "k-1234567" not in shown
