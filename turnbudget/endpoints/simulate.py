"""A backend served as OpenAI's ``/v1/chat/completions``, so that other programs can be tested against it.

What goes wrong behind it goes wrong in front of it: a refusal is a status, a silence is silence, and a break
in mid-answer is a connection reset. aiohttp loads when something is served.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Any, Final, Literal

import msgspec

from turnbudget.agents.backends.backend import BackendError, Delta, Message, Prompt
from turnbudget.agents.backends.contest import closing
from turnbudget.agents.simulated.scheduler import CUT
from turnbudget.voice.errors import ConfigError
from turnbudget.voice.time import clock
from turnbudget.voice.time.budget import Budget
from turnbudget.voice.time.clock import MS, SECOND

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping

    from aiohttp import web

    from turnbudget.agents.backends.backend import Backend, Timing

PATIENCE_US: Final = 120 * SECOND
"""Longest answer, whatever the client's patience (µs; 120 s)."""
HEADERS_US: Final = 60 * MS
"""How long headers are held back (µs; 60 ms): a refusal within it is a status."""
HOST: Final = "127.0.0.1"
"""Address that the simulated server listens at: this machine alone."""
TOO_MANY: Final = 429
"""Status code of a refusal because of too many requests."""


class _Part(msgspec.Struct):
    text: str = ""


class _Message(msgspec.Struct):
    role: str
    content: str | list[_Part] | None = None

    def message(self) -> Message:
        content = self.content or ""
        text = content if isinstance(content, str) else "".join(part.text for part in content)
        role: Literal["system", "user", "assistant"] = "user"
        if self.role in {"system", "developer"}:
            role = "system"
        elif self.role == "assistant":
            role = "assistant"
        return Message(role, text)


class _Options(msgspec.Struct):
    include_usage: bool = False


class _Request(msgspec.Struct):
    messages: list[_Message]
    model: str = ""
    stream: bool = False
    stream_options: _Options | None = None
    max_tokens: int | None = None
    max_completion_tokens: int | None = None

    def prompt(self) -> Prompt:
        most = self.max_completion_tokens or self.max_tokens or 1024
        return Prompt(tuple(message.message() for message in self.messages), max_tokens=most)


async def serve(
    backend: Backend, port: int, *, host: str = HOST, told: Callable[[str], None] = lambda _: None
) -> None:
    """Serve *backend* until cancelled; *told* gets the URL once it can be asked.

    Raises ConfigError for a port that cannot be had.
    """
    async with serving(backend, port, host=host) as url:
        told(url)
        await asyncio.get_running_loop().create_future()


@contextlib.asynccontextmanager
async def serving(backend: Backend, port: int = 0, *, host: str = HOST) -> AsyncIterator[str]:
    """Serve *backend* within the block; gives the URL, ``/v1`` included. Port 0 takes a free one."""
    from aiohttp import web  # noqa: PLC0415 - aiohttp is heavy, imported when used

    if clock.kind() == "virtual":
        raise ConfigError("a socket takes real time, and virtual time has none", remedy="use --clock wall")
    served = _Served(backend)
    app = web.Application(client_max_size=16 * 2**20)
    app.router.add_post("/v1/chat/completions", served.complete)
    app.router.add_get("/v1/models", served.models)
    # With a caller who hangs up, the handler is cancelled, and that frees the seat.
    runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.5, access_log=None)
    with clock.beyond():
        await runner.setup()
        try:
            site = web.TCPSite(runner, host, port)
            try:
                await site.start()
            except OSError as error:
                why = error.strerror or str(error)
                raise ConfigError(f"cannot listen ({why})", where=f"{host}:{port}") from None
            yield f"http://{host}:{runner.addresses[0][1]}/v1"
        finally:
            await runner.cleanup()


class _Served:
    """The handlers of one backend."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._number = 0

    async def models(self, _: web.Request) -> web.Response:
        rows = [{"id": self._backend.name, "object": "model", "owned_by": "turnbudget"}]
        return _json(200, {"object": "list", "data": rows})

    async def complete(self, request: web.Request) -> web.StreamResponse:
        try:
            asked = msgspec.json.decode(await request.read(), type=_Request)
        except msgspec.DecodeError as error:
            return _json(400, _error(str(error), "invalid_request_error"))
        self._number += 1
        answer = _Answer(f"chatcmpl-{self._number}", asked.model or self._backend.name)
        async with closing(
            self._backend.stream(asked.prompt(), Budget.of(PATIENCE_US), answer.told)
        ) as deltas:
            if asked.stream:
                return await _streamed(request, deltas, answer, asked)
            try:
                text = "".join([delta.text async for delta in deltas])
            except BackendError as failure:
                return _refusal(failure)
        return _json(200, answer.whole(text))


async def _streamed(
    request: web.Request, deltas: AsyncIterator[Delta], answer: _Answer, asked: _Request
) -> web.StreamResponse:
    """Send the answer as it comes; headers go out before it unless it is refused at once."""
    from aiohttp import web  # noqa: PLC0415 - aiohttp is heavy, imported when used

    async with asyncio.TaskGroup() as crew:
        first = crew.create_task(_next(deltas))
        if await clock.wait_until([first], clock.now() + HEADERS_US):
            refusal = first.result()
            if isinstance(refusal, BackendError):
                return _refusal(refusal)
        response = web.StreamResponse(
            headers={"Content-Type": "text/event-stream", "Cache-Control": "no-cache"}
        )
        await response.prepare(request)
        await response.write(_event(answer.chunk({"role": "assistant", "content": ""})))
        delta = await first
    while isinstance(delta, Delta):
        await response.write(_event(answer.chunk({"content": delta.text})))
        delta = await _next(deltas)
    if isinstance(delta, BackendError):
        if request.transport:
            request.transport.abort()
        return response
    await response.write(_event(answer.last()))
    if asked.stream_options and asked.stream_options.include_usage:
        await response.write(_event(answer.chunk(None) | {"usage": answer.usage()}))
    await response.write(b"data: [DONE]\n\n")
    return response


async def _next(deltas: AsyncIterator[Delta]) -> Delta | BackendError | None:
    """Return the next delta, how it failed, or nothing at its end."""
    try:
        return await anext(deltas, None)
    except BackendError as error:
        return error


class _Answer:
    """One answer in the API's words."""

    def __init__(self, identity: str, model: str) -> None:
        self._head: dict[str, Any] = {"id": identity, "created": 0, "model": model}
        self._timing: Timing | None = None

    def told(self, timing: Timing) -> None:
        """Keep the record of the (last) attempt."""
        self._timing = timing

    def chunk(self, delta: Mapping[str, Any] | None) -> dict[str, Any]:
        """Return a chunk with *delta*, without choices for ``None``."""
        choices = [] if delta is None else [{"index": 0, "delta": delta, "finish_reason": None}]
        return {**self._head, "object": "chat.completion.chunk", "choices": choices}

    def last(self) -> dict[str, Any]:
        """Return the chunk that ends the answer, with the server's own times in seconds where known."""
        choices = [{"index": 0, "delta": {}, "finish_reason": self._reason()}]
        return {**self._head, "object": "chat.completion.chunk", "choices": choices, **self._times()}

    def whole(self, text: str) -> dict[str, Any]:
        """Return the answer in one piece."""
        message = {"role": "assistant", "content": text}
        choices = [{"index": 0, "message": message, "finish_reason": self._reason()}]
        body = {**self._head, "object": "chat.completion", "choices": choices}
        return body | {"usage": self.usage()} | self._times()

    def usage(self) -> dict[str, Any]:
        """Return the tokens."""
        read = (self._timing and self._timing.tokens_in) or 0
        written = (self._timing and self._timing.tokens_out) or 0
        cached = (self._timing and self._timing.tokens_cached) or 0
        return {
            "prompt_tokens": read,
            "completion_tokens": written,
            "total_tokens": read + written,
            "prompt_tokens_details": {"cached_tokens": cached},
        }

    def _reason(self) -> str:
        return "length" if self._timing and CUT in self._timing.flags else "stop"

    def _times(self) -> dict[str, Any]:
        timing = self._timing
        if timing is None or timing.server_queue_us is None:
            return {}
        spans = {
            "queue_time": timing.server_queue_us,
            "prompt_time": timing.server_prefill_us,
            "completion_time": timing.server_decode_us,
        }
        return {"time_info": {name: us / SECOND for name, us in spans.items() if us is not None}}


def _event(chunk: Mapping[str, Any]) -> bytes:
    return b"data: " + msgspec.json.encode(chunk) + b"\n\n"


def _error(message: str, kind: str) -> dict[str, Any]:
    return {"error": {"message": message, "type": kind}}


def _refusal(error: BackendError) -> web.Response:
    """Return *error* as the status it has, or 503."""
    kind = "rate_limit_error" if error.status == TOO_MANY else "server_error"
    headers = {}
    if error.retry_after_us is not None:
        headers["Retry-After"] = f"{error.retry_after_us / SECOND:g}"
    return _json(error.status or 503, _error(str(error), kind), headers)


def _json(status: int, body: object, headers: Mapping[str, str] | None = None) -> web.Response:
    from aiohttp import web  # noqa: PLC0415 - aiohttp is heavy, imported when used

    return web.Response(
        status=status, body=msgspec.json.encode(body), content_type="application/json", headers=headers
    )
