"""What the kill matrix shares: parts that fail when told to, servers in processes, the account afterwards."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import os
import socket
import sys
from pathlib import Path

import msgspec
from floors import SAYS, open_tones

from turnbudget.runs.folder import TURNS
from turnbudget.runs.records import CallRecord, Row
from turnbudget.serving.events import CallBegan, CallEnded, TurnEnded
from turnbudget.serving.journal import CALLS
from turnbudget.serving.server import Server, Settings
from turnbudget.serving.workers import told
from turnbudget.settings.config import dump
from turnbudget.testing.tones import Tones
from turnbudget.voice.errors import AsrError
from turnbudget.voice.time import clock
from turnbudget.voice.time.crew import Crew

MODELS = b'{"object":"list","data":[{"id":"small","object":"model"}]}'
HEAD = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Type: "


class Provider:
    """An LLM's server whose answers, while it ``stalls``, are headers and nothing."""

    def __init__(self):
        self.stalls = False
        self.stalled = 0
        self.port = 0

    @contextlib.asynccontextmanager
    async def serving(self):
        """Serve until the end of the block."""
        server = await asyncio.start_server(self._answer, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        async with server:
            yield self

    async def _answer(self, reader, writer):
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            head = await reader.readuntil(b"\r\n\r\n")
            if head.startswith(b"GET"):
                writer.write(HEAD + b"application/json\r\n\r\n" + MODELS)
            else:
                writer.write(HEAD + b"text/event-stream\r\n\r\n")
                if self.stalls:
                    self.stalled += 1
                    await reader.read()
                else:
                    writer.write(chunk({"content": "Yes."}) + chunk({}, "stop") + b"data: [DONE]\n\n")
            await writer.drain()
        writer.close()


def chunk(delta, finish=None):
    """One piece of a streamed answer."""
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    told = {"id": "a", "object": "chat.completion.chunk", "created": 1, "model": "small", "choices": [choice]}
    return b"data: " + msgspec.json.encode(told) + b"\n\n"


class Failing(Tones):
    """A recogniser whose next dictations have *faults*, one each, instead of a text."""

    def __init__(self):
        super().__init__(SAYS)
        self.faults = []

    def begin(self, at, changed):
        return Broken(self.faults.pop()) if self.faults else super().begin(at, changed)


class Broken:
    """A dictation whose worker is gone: it *hangs*, or it raises."""

    partial, whole = "", False

    def __init__(self, fault):
        self._fault = fault

    def feed(self, samples):
        pass

    def pause(self):
        pass

    def resume(self):
        pass

    def drop(self):
        pass

    async def final(self):
        if self._fault == "hangs":
            await asyncio.get_running_loop().create_future()
        raise AsrError("the recogniser is gone") if self._fault == "raises" else ValueError("a bug")


def failing():
    """A recogniser that can fail, and who opens studios with it."""
    engine = Failing()

    async def opener(config):
        return dataclasses.replace(await open_tones(config), transcriber=engine)

    return engine, opener


def account(happenings, folder):
    """Check that every call which began has its record, told and written, and no turn of it was silent."""
    began = sorted(one.call for one in happenings if isinstance(one, CallBegan))
    ended = [one.record for one in happenings if isinstance(one, CallEnded)]
    assert sorted(record.call for record in ended) == began
    assert records(folder) == ended
    rows = [one.row for one in happenings if isinstance(one, TurnEnded)]
    kept = sorted(written(folder), key=lambda row: (row.call, row.speech_ended_call_us, row.turn))
    assert kept == sorted(rows, key=lambda row: (row.call, row.speech_ended_call_us, row.turn))
    turns = [row for row in rows if row.kind == "turn"]
    assert [row for row in turns if row.outcome == "silent"] == []
    return turns


def records(folder):
    """The records written in *folder*."""
    place = folder / CALLS
    lines = place.read_bytes().splitlines() if place.exists() else []
    return [msgspec.json.decode(line, type=CallRecord) for line in lines]


def written(folder):
    """The rows written in *folder*; a half-written last line is none."""
    whole = (folder / TURNS).read_bytes().rpartition(b"\n")[0]
    return [msgspec.json.decode(line, type=Row) for line in whole.splitlines()]


# --- servers in processes of their own -------------------------------------------------------------

PROGRAM = f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r}); import faults; faults.main()"
LONG_MS = 8_000


def command(folder, port):
    """What starts a worker on *port* whose agent is QUICK, and whose runs lie in *folder*."""
    return ["-c", PROGRAM, str(folder), str(port)]


def free_port():
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def opened(folder):
    """How many workers have opened so far."""
    return len(list(folder.glob("open-*")))


def kept(folder):
    """The calls of which there is a row on disk."""
    return {row.call for place in (folder / "runs").glob("serve*") for row in written(place)}


def main():
    """Be a worker: alone if nobody says which on the standard input."""
    folder, port = Path(sys.argv[1]), int(sys.argv[2])
    line = sys.stdin.buffer.readline()
    clock.run(_work(folder, port, told(line) if line.strip() else None), "wall")


async def _work(folder, port, worker):
    def changed(table):
        return msgspec.structs.replace(table, port=port, out=str(folder / "runs"), drain_ms=LONG_MS)

    server = Server(Settings(None, folder / "agent.toml", changed), worker=worker, opener=open_tones)
    async with Crew() as crew:
        crew.create_task(server.follow_signals(), name="signals")
        running = crew.create_task(server.run(), name="server")
        await server.open.wait()
        (folder / f"open-{os.getpid()}").touch()
        await running


def lay(folder, config):
    """Put the agent's settings where a worker looks for them."""
    (folder / "agent.toml").write_text(dump(config))
