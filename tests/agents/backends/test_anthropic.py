"""Anthropic's Messages over a real socket, and the way back from fast."""

from __future__ import annotations

import contextlib
import json

import pytest
from provider import CLOSE, HOLD, PROMPT, WAIT, chunked, head, heard, provider, whole

from turnbudget.agents.backends.anthropic import FAST_BETA, LOST, AnthropicBackend, messages_body
from turnbudget.agents.backends.backend import BackendError, Message, Prompt, Tool, ToolCall
from turnbudget.agents.backends.check import check_backend
from turnbudget.voice.errors import ConfigError
from turnbudget.voice.time.budget import Budget
from turnbudget.voice.time.clock import MS

pytestmark = pytest.mark.clock("skip")
USAGE = {"input_tokens": 10, "cache_read_input_tokens": 90, "cache_creation_input_tokens": 5}


def named(kind, **fields):
    return f"event: {kind}\ndata: {json.dumps({'type': kind} | fields, ensure_ascii=False)}\n\n".encode()


def block(index, kind, *deltas, **start):
    """A content block with its *deltas*."""
    opened = named("content_block_start", index=index, content_block={"type": kind} | start)
    told = [named("content_block_delta", index=index, delta=delta) for delta in deltas]
    return b"".join([opened, *told, named("content_block_stop", index=index)])


def text(*texts, index=0):
    return block(index, "text", *({"type": "text_delta", "text": piece} for piece in texts), text="")


def message(*blocks, speed="standard", reason="end_turn"):
    """The events of a message."""
    began = named("message_start", message={"usage": USAGE | {"speed": speed, "service_tier": "standard"}})
    ended = named("message_delta", delta={"stop_reason": reason}, usage={"output_tokens": 7})
    return b"".join([began, named("ping"), *blocks, ended, named("message_stop")])


@contextlib.asynccontextmanager
async def asking(*plays, **options):
    async with provider(*plays) as it:
        backend = AnthropicBackend("m", url=it.url, **options)
        try:
            yield it, backend
        finally:
            await backend.aclose()


@pytest.fixture(autouse=True)
def key(monkeypatch):
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k-1234567")


async def test_a_reply_is_the_same_at_every_split_of_its_bytes():
    """LLM-01."""
    body = message(text("Zoë", " 👍"))
    async with asking(*[chunked(body[:cut], body[cut:]) for cut in range(1, len(body), 3)]) as (it, backend):
        for _ in it.plays[:]:
            assert await heard(backend, PROMPT, Budget.of(WAIT)) == ("Zoë 👍", [])


async def test_thoughts_are_not_spoken_tools_are_whole_and_usage_is_kept():
    """LLM-13, LLM-16."""
    thought = block(0, "thinking", {"type": "thinking_delta", "thinking": "hm"}, thinking="")
    pieces = [{"type": "input_json_delta", "partial_json": piece} for piece in ('{"d":', '"fri"}')]
    tool = block(2, "tool_use", *pieces, id="t1", name="slots", input={})
    timings = []
    async with asking(chunked(message(thought, text("One moment.", index=1), tool))) as (_, backend):
        said, calls = await heard(backend, PROMPT, Budget.of(WAIT), timings)
    assert (said, calls) == ("One moment.", [ToolCall("t1", "slots", '{"d":"fri"}')])
    assert (timings[0].tokens_in, timings[0].tokens_cached, timings[0].tokens_out) == (105, 90, 7)
    assert timings[0].tier_served == "standard"


async def test_a_429_on_fast_falls_back_to_standard_inside_the_turn_and_says_what_it_cost():
    limited = [whole(429, b'{"type":"error","error":{"type":"rate_limit_error","message":"fast is full"}}')]
    timings = []
    async with asking(limited, chunked(message(text("Yes."))), speed="fast") as (it, backend):
        assert await heard(backend, PROMPT, Budget.of(WAIT), timings) == ("Yes.", [])
        assert await heard(backend, PROMPT, Budget.of(WAIT), timings) == ("Yes.", [])
        (fast_head, fast), (slow_head, slow), (_, later) = it.requests
    assert (fast["speed"], "speed" in slow, "speed" in later) == ("fast", False, False)
    assert FAST_BETA in fast_head
    assert FAST_BETA not in slow_head
    first, second, third = timings
    assert (first.tier_asked, first.ending, first.error) == (
        "fast",
        "failed",
        "anthropic: HTTP 429: fast is full",
    )
    assert (second.tier_asked, second.retry_of, second.ending) == ("standard", 0, "done")
    assert LOST in second.flags
    assert (third.attempt, third.tier_asked) == (0, "standard")


async def test_fast_that_is_served_says_so():
    timings = []
    async with asking(chunked(message(text("Yes."), speed="fast")), speed="fast") as (_, backend):
        await heard(backend, PROMPT, Budget.of(WAIT), timings)
    assert (timings[0].tier_asked, timings[0].tier_served, timings[0].flags) == ("fast", "fast", ())


@pytest.mark.parametrize(
    ("play", "what"),
    [
        (
            [head(), named("error", error={"type": "overloaded_error", "message": "Overloaded"}), CLOSE],
            "Overloaded",
        ),
        ([whole(200, b'{"type":"error","error":{"message":"no model"}}', "text/event-stream")], "no model"),
        ([whole(529, b"{}")], "HTTP 529"),
        ([whole(401, b'{"error":{"message":"bad x-api-key k-1234567"}}')], r"bad x-api-key \*\*\*"),
        ([head(), message()], "the answer is empty: end_turn"),
        ([head(), HOLD], "did not end in time"),
        (
            [head(), block(0, "tool_use", id="t", name="f").split(b"event: content_block_stop")[0], CLOSE],
            "broke off",
        ),
    ],
)
async def test_a_failure_is_told_in_one_line(play, what):
    """LLM-11, LLM-15, LLM-20."""
    async with asking([*play, CLOSE]) as (_, backend):
        with pytest.raises(BackendError, match=what):
            await heard(backend, PROMPT, Budget.of(60 * MS))


async def test_it_keeps_the_promises_of_a_backend():
    opened = named("content_block_start", index=0, content_block={"type": "text", "text": ""})
    words = [
        named("content_block_delta", index=0, delta={"type": "text_delta", "text": w})
        for w in ("a ", "b ", "c")
    ]
    play = [head(), opened, *(step for word in words for step in (word, 5 * MS)), message(), CLOSE]
    async with asking(play) as (_, backend):
        await check_backend(backend, PROMPT)


async def test_prewarming_sends_the_prefix_at_the_same_speed():
    async with asking([whole(200, b"{}")], speed="fast") as (it, backend):
        await backend.prewarm(PROMPT, Budget.of(WAIT))
        ((_, body),) = it.requests
    assert (body["max_tokens"], body["speed"], body["stream"]) == (1, "fast", False)


def test_a_prompt_becomes_what_the_api_takes():
    tools = (Tool("price", "A price.", {"type": "object"}),)
    turns = [("system", "Be brief."), ("assistant", "Hello."), ("user", "Hi."), ("user", "You there?")]
    body = messages_body(Prompt(tuple(Message(*turn) for turn in turns), 40, tools=tools))
    assert body["system"][0]["cache_control"] == {"type": "ephemeral"}
    assert [(turn["role"], turn["content"][0]["text"]) for turn in body["messages"]] == [
        ("user", "(The call begins.)"),
        ("assistant", "Hello."),
        ("user", "Hi.\nYou there?"),
    ]
    assert [("cache_control" in turn["content"][0]) for turn in body["messages"]] == [False, False, True]
    assert body["tools"] == [{"name": "price", "description": "A price.", "input_schema": {"type": "object"}}]


def test_a_missing_key_is_told_with_what_to_set(monkeypatch):
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    with pytest.raises(ConfigError, match="anthropic: no key; set ANTHROPIC_API_KEY"):
        AnthropicBackend("m")
