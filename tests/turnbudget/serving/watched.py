"""What tests of the watchers share: a real server with them on its floor, and calls that never were."""

from __future__ import annotations

import contextlib
import dataclasses
from random import Random

import aiohttp
import msgspec
from floors import QUICK, open_tones
from sample_run import one_call

from turnbudget.runs.records import CallRecord
from turnbudget.serving.events import CallBegan, CallEnded, TurnEnded
from turnbudget.serving.server import Server, Settings
from turnbudget.serving.watch.watching import Watching
from turnbudget.settings.config import dump
from turnbudget.voice.lines.dialect import CallInfo
from turnbudget.voice.time import clock
from turnbudget.voice.time.crew import Crew

TOKEN = "the operator's own token"  # noqa: S105 - of a server that lives for one test
CARRIERS = "carrier token"
NUMBER = "+15550100777"
WORDS = "my mother's name is Rumpelstilz"
PRIVATE = (CARRIERS, NUMBER, WORDS)
LINES = ("twilio", "audiosocket", "browser", "vonage")
FLOOR = """
[tenants.bank]
config = "agent.toml"
called = ["+1 555 0100"]
[tenants.shop]
config = "agent.toml"
called = ["+1 555 0199"]
"""


def began(call, tenant="bank", line="twilio", at_us=0):
    info = CallInfo(call="CA1", caller=NUMBER, called="+15550100", token=CARRIERS, parameters={"x": NUMBER})
    return CallBegan(call, tenant, line, info, at_us)


def ended(call, rows=(), tenant="bank", reason="caller hung up", transfer=""):
    turns = sum(row.kind == "turn" for row in rows)
    record = CallRecord(call=call, source="twilio", length_us=60_000_000, turns=turns, audio="", ended=reason)
    return CallEnded(call, tenant, record, tuple(rows), "", transfer)


def rows_of(call, count=5, seed=1, **named):
    rows = one_call(call, count, Random(seed), **named)  # noqa: S311 - shapes, no secrets
    return [
        msgspec.structs.replace(row, heard=WORDS, asked=WORDS) if row.kind == "turn" else row for row in rows
    ]


def whole_call(  # noqa: PLR0913 - each is one oddity of a call
    call, count=5, seed=1, *, tenant="bank", line="twilio", at_us=0
):
    """Return all that happens in one call, in order."""
    rows = rows_of(call, count, seed)
    turns = [TurnEnded(call, tenant, row) for row in rows]
    return [began(call, tenant, line, at_us), *turns, ended(call, rows, tenant)]


@contextlib.asynccontextmanager
async def watched(tmp_path, *, serve=None, **watching):
    """A server on a free port of this machine with every watcher; yields it, and its address."""
    agent, path = tmp_path / "agent.toml", tmp_path / "floor.toml"
    agent.write_text(dump(QUICK))
    path.write_text(FLOOR)
    settings = {"port": 0, "out": str(tmp_path / "runs"), "drain_ms": 0, **(serve or {})}
    server = Server(
        Settings(path, agent, lambda table: msgspec.structs.replace(table, **settings)),
        opener=open_tones,
        mounts=lambda server, _: [Watching(stop=server.stop, **watching).mount],
    )
    async with Crew() as crew:
        task = crew.create_task(server.run(), name="server")
        opened = crew.create_task(server.open.wait(), name="open")
        await clock.wait_until([task, opened], clock.now() + 10 * clock.SECOND, first=True)
        if task.done():
            task.result()
        try:
            yield server, f"http://127.0.0.1:{server.listening.port}"
        finally:
            server.stop()
            await task


@contextlib.asynccontextmanager
async def client(**settings):
    async with aiohttp.ClientSession(**settings) as session:
        yield session


def replaced(event, **named):
    return dataclasses.replace(event, **named)
