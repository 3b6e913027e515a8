"""A simulated backend served to other programs: over a real socket, through our own client."""

from __future__ import annotations

import asyncio
import json
from contextlib import aclosing
from io import StringIO

import aiohttp
import pytest
from msgspec.structs import replace
from rich.console import Console
from riding import ask, fails, prompt

from turnbudget.agents.backends.openai import OpenAIBackend
from turnbudget.agents.simulated.endpoint import Endpoint, Remote
from turnbudget.agents.simulated.engine import Engine
from turnbudget.agents.simulated.explain import explain
from turnbudget.agents.simulated.prefixes import count, size
from turnbudget.agents.simulated.presets import PRESETS, instance
from turnbudget.agents.simulated.words import Script
from turnbudget.endpoints.presets import details, explanation, overview
from turnbudget.endpoints.simulate import serve, serving
from turnbudget.voice.errors import ConfigError
from turnbudget.voice.time.budget import Budget
from turnbudget.voice.time.clock import MS, SECOND

WORDS = Script(["Yes, “Zoë” is paid. Anything else?"])
SOON = Remote(name="soon", ttft_median_us=30 * MS, tpot_median_us=MS)


@pytest.mark.clock("skip")
async def test_our_own_client_reads_the_answer_and_the_servers_times():
    served = Engine(instance("gpu-small"), WORDS)
    async with serving(served) as url, aclosing(OpenAIBackend(url, "")) as client:
        await client.verify(Budget.of(5 * SECOND))
        said, timing = await ask(client, within=5 * SECOND)
    assert said == "Yes, “Zoë” is paid. Anything else?"
    assert timing.ttft_us >= 27 * MS
    assert timing.server_prefill_us >= 14 * MS
    assert (timing.tokens_in, timing.tokens_cached, timing.tokens_out) == (
        size(prompt().messages),
        0,
        count(said),
    )


@pytest.mark.clock("skip")
async def test_a_refusal_is_a_status_with_its_retry_after():
    """LLM-10."""
    backend = Endpoint(replace(SOON, requests_a_minute=1), WORDS)
    await ask(backend)
    async with serving(backend) as url, aclosing(OpenAIBackend(url, "any")) as client:
        _, _, error, _ = await fails(client, 5 * SECOND)
    assert (error.status, error.retry_after_us) == (429, 30 * SECOND)


@pytest.mark.clock("skip")
@pytest.mark.parametrize(("fault", "begun"), [("silent", False), ("reset", True)])
async def test_silence_is_silence_and_a_break_is_a_break(fault, begun):
    """LLM-11, LLM-12."""
    served = Endpoint(replace(SOON, **{fault: 1}), WORDS)
    async with serving(served) as url, aclosing(OpenAIBackend(url, "any")) as client:
        said, *_ = await fails(client, 400 * MS)
    assert bool(said) is begun


@pytest.mark.clock("skip")
async def test_a_client_who_hangs_up_frees_the_seat():
    """LLM-19."""
    backend = Engine(instance("gpu-small"), Script(["On and on it goes. " * 200]))
    async with serving(backend) as url, aclosing(OpenAIBackend(url, "any")) as client:
        async with aclosing(client.stream(prompt(max_tokens=1000), Budget.of(20 * SECOND))) as deltas:
            await anext(deltas)
            assert backend.statistics()["riding"] == 1
        for _ in range(20):  # a hang-up takes its way through the sockets
            await ask(backend, prompt("What is my balance?", max_tokens=1))
            if not backend.statistics()["riding"]:
                break
        assert backend.statistics()["riding"] == 0


@pytest.mark.clock("skip")
async def test_any_http_client_is_answered_whole_or_told_what_is_wrong():
    async with serving(Engine(instance("wafer-scale"), WORDS)) as url, aiohttp.ClientSession() as http:
        body = {"messages": [{"role": "user", "content": [{"type": "text", "text": "hi"}]}], "max_tokens": 3}
        async with http.post(f"{url}/chat/completions", json=body) as reply:
            whole = await reply.json()
        assert whole["choices"][0] == {
            "index": 0,
            "message": {"role": "assistant", "content": "Yes, “"},
            "finish_reason": "length",
        }
        assert whole["usage"]["completion_tokens"] == 3
        async with http.post(f"{url}/chat/completions", data=b"{") as reply:
            assert reply.status == 400
            assert "error" in await reply.json()
        asked = body | {"stream": True, "stream_options": {"include_usage": True}}
        async with http.post(f"{url}/chat/completions", json=asked) as reply:
            lines = [line for line in (await reply.text()).split("\n\n") if line]
    chunks = [json.loads(line.removeprefix("data: ")) for line in lines[:-1]]
    assert lines[-1] == "data: [DONE]"
    assert chunks[0]["choices"][0]["delta"] == {"role": "assistant", "content": ""}
    assert chunks[-1]["choices"] == []
    assert "".join(c["choices"][0]["delta"].get("content", "") for c in chunks[:-1]) == "Yes, “"


async def test_virtual_time_has_no_sockets():
    with pytest.raises(ConfigError, match="virtual time has none"):
        await serve(Engine(instance("gpu-small")), 0)


@pytest.mark.clock("wall")
async def test_a_port_that_is_taken_is_said_in_one_line():
    backend = Engine(instance("gpu-small"))
    async with serving(backend) as url:
        port = int(url.split(":")[2].split("/")[0])
        with pytest.raises(ConfigError, match=f"127.0.0.1:{port}: cannot listen"):
            await serve(backend, port)


@pytest.mark.clock("wall")
async def test_serving_ends_when_it_is_cancelled():
    async with asyncio.TaskGroup() as crew:
        task = crew.create_task(serve(Engine(instance("gpu-small")), 0))
        await asyncio.wait([crew.create_task(asyncio.to_thread(int))])
        task.cancel()
    assert task.cancelled()


def test_the_presets_are_printed_with_their_marks():
    console = Console(width=140, record=True, file=StringIO())
    console.print(overview(PRESETS.values()))
    console.print(details(PRESETS["gpu-low-batch"]))
    console.print(explanation(explain(PRESETS["gpu-small"])))
    shown = console.export_text()
    assert all(name in shown for name in PRESETS)
    assert "measured" in shown
    assert "sum" in shown
