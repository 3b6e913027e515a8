"""One attempt over HTTP: a request, server-sent events, deltas, and the record of it.

The whole of it stands beyond the loop, for a skipping clock. It ends with the answer, not with the stream:
once the answer is whole, usage is waited for a moment only, and the stream's end hardly at all.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

from turnbudget.agents.backends.backend import BackendError
from turnbudget.agents.backends.sse import EventStream
from turnbudget.voice.time import clock
from turnbudget.voice.time.clock import MS

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterator

    from turnbudget.agents.backends.backend import Delta, Stopwatch, Told
    from turnbudget.agents.backends.http import HttpRequest, HttpResponse, Pool
    from turnbudget.agents.backends.sse import ServerSentEvent
    from turnbudget.voice.time.budget import Budget

USAGE_US: Final = 60 * MS
"""How long usage is waited for behind a whole answer (µs; 60 ms): it comes with this packet or the next."""
END_US: Final = 10 * MS
"""How long the stream's end is waited for (µs; 10 ms): a connection not read to it cannot serve again."""


class HttpCall(NamedTuple):
    """A request, and whose it is."""

    pool: Pool
    request: HttpRequest


class EventReader(Protocol):
    """Understands one provider's events; a new one for each answer."""

    finished: bool
    over: bool
    facts: dict[str, Any]
    flags: list[str]

    def read(self, event: ServerSentEvent) -> list[Delta]:
        """Return the deltas in *event*; raises BackendError."""
        ...

    def close(self, stray: str = "") -> list[Delta]:
        """Return the deltas that the end of the stream completes; raises BackendError."""
        ...


@contextlib.contextmanager
def recorded(watch: Stopwatch, told: Told) -> Iterator[None]:
    """Tell *told* how the block ended."""
    try:
        yield
    except (asyncio.CancelledError, GeneratorExit):
        told(watch.end("cancelled"))
        raise
    except Exception as error:
        told(watch.end("failed", str(error)))
        raise
    told(watch.end("done"))


async def attempt(
    call: HttpCall, reader: EventReader, watch: Stopwatch, budget: Budget, told: Told
) -> AsyncGenerator[Delta]:
    """Yield the deltas of the answer to *call*; raises BackendError."""
    pool, request = call
    reply: HttpResponse | None = None
    try:
        with clock.beyond():
            with recorded(watch, told):
                try:
                    reply = await pool.post(request, budget, watch)
                    async with contextlib.aclosing(_deltas(reply, reader, watch, budget)) as deltas:
                        async for delta in deltas:
                            note(watch, delta)
                            yield delta
                except BackendError as error:
                    raise pool.owned(error) from None
                finally:
                    learn(watch, reader)
            await reply.finish(clock.now() + END_US)
    finally:
        if reply is not None:
            reply.close()


def note(watch: Stopwatch, delta: Delta) -> None:
    """Note *delta*'s arrival; one without text is a tool call, or its beginning."""
    if delta.text:
        watch.text(delta.text)
    else:
        watch.call()


def learn(watch: Stopwatch, reader: EventReader) -> None:
    """Take over what the provider told."""
    watch.know(**reader.facts)
    for flag in reader.flags:
        watch.flag(flag)


async def _deltas(
    reply: HttpResponse, reader: EventReader, watch: Stopwatch, budget: Budget
) -> AsyncGenerator[Delta]:
    events = EventStream()
    until_us = budget.ends_us
    while not reader.over:
        chunk = await _read(reply, reader, until_us)
        if not chunk:
            break
        watch.byte()
        for event in events.feed(chunk):
            for delta in _understood(reader, event):
                yield delta
        if reader.finished:
            until_us = min(until_us, clock.now() + USAGE_US)
    for event in events.close():
        for delta in _understood(reader, event):
            yield delta
    if events.skipped:
        reader.flags.append(f"{events.skipped} events too long to read")
    for delta in reader.close(events.stray):
        yield delta


async def _read(reply: HttpResponse, reader: EventReader, until_us: int) -> bytes:
    """Return the next bytes, none at the end; behind a whole answer nothing is an error any more."""
    try:
        chunk = await reply.read(until_us)
    except BackendError:
        if reader.finished:
            return b""
        raise
    if chunk is None and not reader.finished:
        raise BackendError("the answer did not end in time")
    return chunk or b""


def _understood(reader: EventReader, event: ServerSentEvent) -> list[Delta]:
    if reader.over:
        return []
    try:
        return reader.read(event)
    except BackendError:
        if reader.finished:
            return []
        raise
