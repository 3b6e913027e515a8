"""The Responses API over a real WebSocket: what a connection remembers, and what happens when it is lost."""

from __future__ import annotations

import asyncio
import contextlib
import json

import pytest
from aiohttp import WSMsgType, web
from provider import HOLD, PROMPT, WAIT, heard

from turnbudget.agents.backends.backend import BackendError, Message, Prompt, ToolCall
from turnbudget.agents.backends.check import check_backend
from turnbudget.agents.backends.responses_ws import ResponsesBackend
from turnbudget.voice.time import clock
from turnbudget.voice.time.budget import Budget
from turnbudget.voice.time.clock import MS, SECOND

OLD_US = 3_300_000_000

pytestmark = pytest.mark.clock("skip")
CLOSE = "close"


def words(*texts, number=1):
    """The messages of one response."""
    deltas = [{"type": "response.output_text.delta", "delta": text} for text in texts]
    return [{"type": "response.created"}, *deltas, done(number)]


def done(number=1):
    usage = {"input_tokens": 30, "input_tokens_details": {"cached_tokens": 20}, "output_tokens": 5}
    response = {"id": f"r{number}", "usage": usage, "service_tier": "default"}
    return {"type": "response.completed", "response": response}


class Server:
    """Plays one list of steps a request, as in provider.py, over WebSockets."""

    def __init__(self, plays):
        self.plays = list(plays)
        self.requests = []
        self.connections = 0
        self.left_us = []

    async def serve(self, request):
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        self.connections += 1
        async for message in socket:
            if message.type is not WSMsgType.TEXT:
                break
            self.requests.append(json.loads(message.data))
            play = self.plays.pop(0) if len(self.plays) > 1 else self.plays[0]
            if not await self.play(play, socket):
                break
        return socket

    async def play(self, steps, socket):
        for step in steps:
            if isinstance(step, int):
                await clock.sleep(step)
            elif step == HOLD:
                await socket.receive()
                self.left_us.append(clock.now())
                return False
            elif step == CLOSE:
                await socket.close()
                return False
            elif isinstance(step, str):
                await socket.send_str(step)
            else:
                await socket.send_json(step)
        return True


@contextlib.asynccontextmanager
async def asking(*plays, **options):
    server = Server(plays)
    app = web.Application()
    app.router.add_get("/v1/responses", server.serve)
    runner = web.AppRunner(app, handle_signals=False, shutdown_timeout=0)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    backend = ResponsesBackend("m", url=f"ws://127.0.0.1:{runner.addresses[0][1]}/v1", **options)
    try:
        yield server, backend
    finally:
        await backend.aclose()
        await runner.cleanup()


@pytest.fixture(autouse=True)
def key(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "k-1234567")


def after(prompt, said, then):
    return Prompt((*prompt.messages, Message("assistant", said), Message("user", then)), prompt.max_tokens)


async def test_one_connection_serves_turn_after_turn_and_is_told_only_what_is_new():
    timings = []
    async with asking(words("Yes", "."), words("No.", number=2)) as (server, backend):
        assert await heard(backend, PROMPT, Budget.of(WAIT), timings) == ("Yes.", [])
        assert await heard(backend, after(PROMPT, "Yes.", "Sure?"), Budget.of(WAIT), timings) == ("No.", [])
    first, second = server.requests
    assert server.connections == 1
    assert [timing.reused for timing in timings] == [False, True]
    assert "previous_response_id" not in first
    assert second["previous_response_id"] == "r1"
    assert [item["content"] for item in second["input"]] == ["Sure?"]
    assert (timings[0].tokens_in, timings[0].tokens_cached, timings[0].tokens_out) == (30, 20, 5)


async def test_a_history_that_was_cut_is_told_whole():
    """What the caller heard is the truth, not what the server remembers."""
    async with asking(words("Yes, of course.")) as (server, backend):
        await heard(backend, PROMPT, Budget.of(WAIT))
        await heard(backend, after(PROMPT, "Yes,", "Stop"), Budget.of(WAIT))
    assert "previous_response_id" not in server.requests[1]
    assert len(server.requests[1]["input"]) == 4


async def test_prewarming_prepares_the_prefix_without_an_answer():
    prefix = Prompt(PROMPT.messages[:1], PROMPT.max_tokens)
    timings = []
    async with asking([done(7)], words("Yes.")) as (server, backend):
        await backend.prewarm(prefix, Budget.of(WAIT))
        await heard(backend, PROMPT, Budget.of(WAIT), timings)
    warm, asked = server.requests
    assert (warm["generate"], len(warm["input"])) == (False, 1)
    assert (asked["previous_response_id"], len(asked["input"])) == ("r7", 1)
    assert "generate" not in asked
    assert timings[0].reused


@pytest.mark.parametrize(
    "fault",
    [
        [CLOSE],
        [{"type": "error", "error": {"code": "websocket_connection_limit_reached", "message": "60 minutes"}}],
        [{"type": "error", "error": {"code": "previous_response_not_found", "message": "not found"}}],
    ],
    ids=["closed", "the 60 minutes are over", "forgotten"],
)
async def test_a_connection_that_is_of_no_use_any_more_is_replaced_and_told_everything(fault):
    timings = []
    async with asking(words("Yes."), fault, words("No.")) as (server, backend):
        await heard(backend, PROMPT, Budget.of(WAIT))
        later = after(PROMPT, "Yes.", "Sure?")
        assert await heard(backend, later, Budget.of(WAIT), timings) == ("No.", [])
    assert server.connections == 2
    assert len(server.requests[2]["input"]) == 4
    assert timings[0].flags[0].startswith("reconnected: ")


async def test_an_old_connection_is_not_used_again():
    async with asking(words("Yes.")) as (server, backend):
        await heard(backend, PROMPT, Budget.of(WAIT))
        await clock.sleep(OLD_US)
        await heard(backend, PROMPT, Budget.of(WAIT))
    assert server.connections == 2


async def test_two_calls_at_once_have_a_connection_each():
    async with asking([20 * MS, *words("Yes.")]) as (server, backend), asyncio.TaskGroup() as group:
        both = [group.create_task(heard(backend, PROMPT, Budget.of(WAIT))) for _ in range(2)]
        del group
    assert [task.result() for task in both] == [("Yes.", [])] * 2
    assert server.connections == 2


async def test_leaving_closes_the_socket_at_once():
    """LLM-19."""
    once = words("Once ")[:2]
    async with asking([*once, HOLD]) as (server, backend), asyncio.TaskGroup() as group:
        task = group.create_task(heard(backend, PROMPT, Budget.of(10 * SECOND)))
        with clock.beyond():
            await clock.sleep(40 * MS)
            left = clock.now()
            task.cancel()
            await clock.sleep(50 * MS)
        assert server.left_us
        assert server.left_us[0] - left < 50 * MS


async def test_tool_calls_come_whole_and_are_not_remembered_as_said():
    """LLM-13."""
    item = {"type": "function_call", "call_id": "c1", "name": "slots", "arguments": '{"d": 1}'}
    play = [
        {"type": "response.output_item.added", "item": item | {"arguments": ""}},
        {"type": "response.function_call_arguments.delta", "delta": '{"d"'},
        {"type": "response.output_item.done", "item": item},
        done(),
    ]
    async with asking(play) as (_, backend):
        said, calls = await heard(backend, PROMPT, Budget.of(WAIT))
    assert (said, calls) == ("", [ToolCall("c1", "slots", '{"d": 1}')])


@pytest.mark.parametrize(
    ("play", "what"),
    [
        ([HOLD], "did not end in time"),
        (
            [{"type": "response.failed", "response": {"error": {"code": "x", "message": "went wrong"}}}],
            "went wrong",
        ),
        ([{"type": "error", "status": 401, "error": {"message": "bad key k-1234567"}}], r"bad key \*\*\*$"),
        (["no JSON"], "no JSON"),
        ([done()], "the answer is empty"),
        ([*words("Once ")[:2], CLOSE], "the connection was lost"),
    ],
)
async def test_a_failure_is_told_in_one_line(play, what):
    """LLM-11, LLM-15, LLM-20."""
    async with asking(play) as (_, backend):
        with pytest.raises(BackendError, match=what):
            await heard(backend, PROMPT, Budget.of(60 * MS))


async def test_a_refused_handshake_is_told():
    async with asking(words("Yes.")) as (_, backend):
        backend._pool.url = backend._pool.url / "elsewhere"
        with pytest.raises(BackendError, match="HTTP 404 instead of a WebSocket"):
            await heard(backend, PROMPT, Budget.of(WAIT))


async def test_it_keeps_the_promises_of_a_backend():
    steps = [step for delta in words("one ", "two ", "three") for step in (delta, 5 * MS)]
    async with asking(steps) as (_, backend):
        await check_backend(backend, PROMPT)
