"""A provider on a local socket: it sends any bytes, cut anywhere, and sees when nobody listens any more."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import struct
from dataclasses import dataclass, field

from turnbudget.agents.backends.backend import Message, Prompt
from turnbudget.agents.backends.openai import OpenAIBackend
from turnbudget.voice.time import clock
from turnbudget.voice.time.budget import Budget
from turnbudget.voice.time.clock import MS, SECOND

PROMPT = Prompt((Message("system", "Be brief."), Message("user", "Hi")), max_tokens=40)
WAIT = 300 * MS
GAP = MS // 5
"""A pause that makes two writes two reads."""
HOLD = "hold"
"""Send nothing more, until the other side goes."""
RESET = "reset"
CLOSE = "close"


@dataclass
class Provider:
    """Plays one list of steps a request: bytes are sent, a number is a pause in µs, a word ends it."""

    plays: list
    url: str = ""
    requests: list = field(default_factory=list)
    connections: int = 0
    left_us: list = field(default_factory=list)
    """When the other side went, while a play was held."""
    open: dict = field(default_factory=dict)
    eager: bool = False
    """Plays at once, whatever is asked."""
    aside: list | None = None
    """What a request for no stream gets, a prewarm's or one for the models, instead of the next play."""

    @property
    def listeners(self):
        """How many connections have somebody at the other end."""
        return sum(not (reader.at_eof() or reader.exception()) for reader, _ in self.open.values())

    async def serve(self, reader, writer):
        self.connections += 1
        self.open[asyncio.current_task()] = (reader, writer)
        try:
            await self.talk(reader, writer)
        finally:
            self.open.pop(asyncio.current_task())
            writer.close()

    async def talk(self, reader, writer):
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            if self.eager:
                await self.play(self.plays[0], reader, writer)
                return
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = next(
                    (row for row in head.lower().split(b"\r\n") if row.startswith(b"content-length:")), b":0"
                )
                body = await reader.readexactly(int(length.split(b":")[1]))
                self.requests.append((head.decode(), json.loads(body) if body else None))
                if not await self.play(self.next(self.requests[-1][1]), reader, writer):
                    break

    def next(self, body):
        if self.aside is not None and not (body or {}).get("stream"):
            return self.aside
        return self.plays.pop(0) if len(self.plays) > 1 else self.plays[0]

    async def play(self, steps, reader, writer):
        for step in steps:
            if isinstance(step, bytes):
                writer.write(step)
            elif isinstance(step, int):
                await clock.sleep(step)
            elif step == HOLD:
                with contextlib.suppress(ConnectionError):
                    await reader.read(1)
                self.left_us.append(clock.now())
                return False
            elif step == RESET:
                linger = struct.pack("ii", 1, 0)
                writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
                writer.transport.abort()
                return False
            else:
                return False
        return True


@contextlib.asynccontextmanager
async def provider(*plays, eager=False, aside=None):
    """A provider that answers the first request with the first play, and so on; the last one stays."""
    it = Provider(list(plays), eager=eager, aside=aside)
    server = await asyncio.start_server(it.serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    it.url = f"http://127.0.0.1:{port}/v1"
    try:
        yield it
    finally:
        server.close()
        for _, writer in it.open.values():
            writer.transport.abort()
        await clock.wait_until(list(it.open), clock.now() + SECOND)
        await clock.sleep(0)  # for what the transports do as they close


def head(status=200, kind="text/event-stream", **headers):
    """A response's head; its body ends with the connection."""
    return reply(status, kind, **headers) + b"\r\n"


def reply(status, kind, **headers):
    lines = [f"HTTP/1.1 {status} X", f"Content-Type: {kind}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "".join(f"{line}\r\n" for line in lines).encode()


def whole(status, body, kind="application/json", **headers):
    """A response that is no stream."""
    return reply(status, kind, **headers, Content_Length=len(body)) + b"\r\n" + body


def chunked(*bodies):
    """A response in chunks that is whole; the connection stays."""
    chunks = [f"{len(body):x}\r\n".encode() + body + b"\r\n" for body in (*bodies,)]
    return [head(Transfer_Encoding="chunked"), *chunks, b"0\r\n\r\n"]


def event(value, end="\n"):
    """One event with *value* as JSON, or as it is."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return f"data: {text}{end}{end}".encode()


def chunk(text=None, finish=None, **delta):
    """A chat completion's chunk."""
    content = {} if text is None else {"content": text}
    return {"choices": [{"index": 0, "delta": content | delta, "finish_reason": finish}]}


def answer(*texts, finish="stop", done=True):
    """The events of a plain answer."""
    events = [event(chunk(text)) for text in texts]
    events += [event(chunk(finish=finish))] if finish else []
    return b"".join(events + ([event("[DONE]")] if done else []))


async def heard(backend, prompt, budget, timings=None):
    """Everything *backend* says: its text, and its tool calls."""
    text, calls = "", []
    async with contextlib.aclosing(
        backend.stream(prompt, budget, (timings if timings is not None else []).append)
    ) as deltas:
        async for delta in deltas:
            text += delta.text
            calls += [delta.call] if delta.call else []
    return text, calls


@contextlib.asynccontextmanager
async def asking(*plays, **options):
    """A provider that plays *plays*, and a backend that asks it."""
    async with provider(*plays) as it:
        backend = OpenAIBackend(it.url, "m", **options)
        try:
            yield it, backend
        finally:
            await backend.aclose()


async def said(*play, wait_us=WAIT, **options):
    """What is heard of one answer within *wait_us*, its tool calls, and its record."""
    timings = []
    async with asking([*play, CLOSE], **options) as (_, backend):
        text, calls = await heard(backend, PROMPT, Budget.of(wait_us), timings)
    assert len(timings) == 1
    return text, calls, timings[0]
