"""OpenAI's Responses over one persistent WebSocket a call in flight, warmed while the caller still speaks.

A socket remembers the messages it has been told and the id of the response behind them. A prompt that only
adds to these is sent as what it adds (``previous_response_id``); any other, such as one whose history was
cut by a barge-in, is sent whole on the same socket. The server closes a socket after 60 minutes, so one is
retired before. Leaving an answer early closes its socket: that is how the server learns of it.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, Final

import aiohttp

from turnbudget.agents.backends.attempt import learn, note, recorded
from turnbudget.agents.backends.backend import (
    BackendError,
    Delta,
    Message,
    Stopwatch,
    from_environment,
    nobody,
)
from turnbudget.agents.backends.http import Pool
from turnbudget.agents.backends.reader import (
    AnswerText,
    ToolCalls,
    complaint,
    count,
    known,
    loaded,
    table,
    words,
)
from turnbudget.agents.backends.sse import LIMIT, ServerSentEvent
from turnbudget.voice.time import clock
from turnbudget.voice.time.clock import SECOND

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Mapping

    from turnbudget.agents.backends.backend import Prompt, Told
    from turnbudget.voice.time.budget import Budget


URL: Final = "wss://api.openai.com/v1"
"""The API's address, with its version."""
KEY: Final = "OPENAI_API_KEY"
"""The environment variable that holds the key."""
OLD_US: Final = 55 * 60 * SECOND
"""From what age on a socket is not used again (µs; 55 min): the server ends it at 60, in mid-answer too."""
FAREWELL: Final = aiohttp.ClientWSTimeout(ws_receive=None, ws_close=0.01)
"""How long a closing socket waits: a server that is left does not have to say good-bye."""
SPARE: Final = 8
"""How many idle sockets are kept."""
LEAST: Final = 16
"""The lowest limit of output tokens that the API takes."""
FORGOTTEN: Final = frozenset(("websocket_connection_limit_reached", "previous_response_not_found"))
"""The errors that a new connection, told everything, does not have."""


class _Socket:
    """A connection, what the server remembers on it, and since when it is open."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self.socket = socket
        self.opened_us = clock.now()
        self.known: tuple[Message, ...] = ()
        self.response = ""

    def usable(self) -> bool:
        return not self.socket.closed and clock.now() - self.opened_us < OLD_US

    def shares(self, messages: tuple[Message, ...]) -> int:
        """Return how many of *messages* the server knows already."""
        known = len(self.known)
        return known if self.response and known < len(messages) and messages[:known] == self.known else 0


class ResponsesBackend:
    """The *model* at *url* (with its ``/v1``), over WebSockets."""

    def __init__(  # noqa: PLR0913 - each is a choice of the user
        self,
        model: str,
        *,
        url: str = URL,
        name: str = "responses",
        key: str = KEY,
        service_tier: str | None = None,
        extra: Mapping[str, Any] | None = None,
    ) -> None:
        """Take the key from the environment's variable *key*; raises ConfigError if it is not there."""
        self.name = name
        self.model = model
        self._tier = service_tier
        self._extra = dict(extra or {}) | ({"service_tier": service_tier} if service_tier else {})
        secret = from_environment(key, where=name)
        self._pool = Pool(
            url, where=name, headers={"Authorization": f"Bearer {secret.reveal()}"}, secret=secret
        )
        self._idle: list[_Socket] = []

    def __repr__(self) -> str:
        return f"ResponsesBackend({self.model!r})"

    async def stream(self, prompt: Prompt, budget: Budget, told: Told = nobody) -> AsyncIterator[Delta]:
        """Yield the answer; see :class:`~turnbudget.agents.backends.backend.Backend`."""
        watch = Stopwatch(self.name, self.model)
        watch.know(tier_asked=self._tier)
        with clock.beyond(), recorded(watch, told):
            try:
                async with contextlib.aclosing(self._answer(prompt, budget, watch)) as deltas:
                    async for delta in deltas:
                        note(watch, delta)
                        yield delta
            except BackendError as error:
                raise self._pool.owned(error) from None

    async def prewarm(self, prefix: Prompt, budget: Budget) -> None:
        """Connect, and have the server prepare its state for *prefix* without an answer."""
        watch, reader = Stopwatch(self.name, self.model), ResponsesReader()
        held: _Socket | None = None
        try:
            with clock.beyond():
                held, _ = await self._take(prefix.messages, budget, watch)
                if prefix.messages:
                    await self._send(held, prefix, {"generate": False}, budget)
                    while not reader.over:
                        reader.read(await self._receive(held, budget))
                    self._remember(held, reader, prefix.messages)
            await self._give(held)
            held = None
        except BackendError:
            pass  # the call will find out, and say so
        finally:
            if held is not None:
                await _drop(held)

    async def aclose(self) -> None:
        """Close every connection."""
        for idle in self._idle:
            await _drop(idle)
        self._idle.clear()
        await self._pool.aclose()

    async def _answer(self, prompt: Prompt, budget: Budget, watch: Stopwatch) -> AsyncGenerator[Delta]:
        """Yield one answer; a socket that turns out dead, old or forgetful is replaced once."""
        for last in (False, True):
            reader, said = ResponsesReader(), ""
            held, reused = await self._take(prompt.messages, budget, watch, fresh=last)
            kept = False
            try:
                await self._send(held, prompt, {}, budget)
                while not reader.over:
                    event = await self._receive(held, budget)
                    watch.byte()
                    for delta in reader.read(event):
                        said += delta.text
                        yield delta
                for delta in reader.close():
                    said += delta.text
                    yield delta
                self._remember(held, reader, (*prompt.messages, Message("assistant", said)))
                await self._give(held)
                kept = True
            except BackendError as error:
                stale = isinstance(error, Forgotten) or (reused and error.again and error.status is None)
                if last or watch.answered or not stale:
                    raise
                watch.flag(f"reconnected: {error.what}")
            else:
                return
            finally:
                learn(watch, reader)
                if not kept:
                    await _drop(held)

    async def _take(
        self, messages: tuple[Message, ...], budget: Budget, watch: Stopwatch, *, fresh: bool = False
    ) -> tuple[_Socket, bool]:
        """Return the idle socket that knows most of *messages*, or a new one, and whether it was idle."""
        for idle in [idle for idle in self._idle if not idle.usable()]:
            self._idle.remove(idle)
            await _drop(idle)
        if self._idle and not fresh:
            best = max(self._idle, key=lambda idle: idle.shares(messages))
            self._idle.remove(best)
            watch.connected(reused=True)
            return best, True
        socket: aiohttp.ClientWebSocketResponse | None = None
        try:
            async with clock.move_on_at(budget.ends_us):
                socket = await self._pool.session().ws_connect(
                    self._pool.url / "responses", max_msg_size=LIMIT, timeout=FAREWELL
                )
        except aiohttp.WSServerHandshakeError as error:
            raise BackendError(f"HTTP {error.status} instead of a WebSocket", status=error.status) from None
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise self._pool.translated(error) from None
        if socket is None:
            raise BackendError("no connection in time")
        watch.connected(reused=False)
        return _Socket(socket), False

    async def _send(self, held: _Socket, prompt: Prompt, more: Mapping[str, Any], budget: Budget) -> None:
        known = held.shares(prompt.messages)
        body = request(self.model, prompt, known, held.response if known else "")
        held.known, held.response = (), ""  # until this one has ended
        sent = False
        try:
            async with clock.move_on_at(budget.ends_us):
                await held.socket.send_json({**body, **self._extra, **more})
                sent = True
        except (aiohttp.ClientError, OSError) as error:
            raise self._pool.translated(error) from None
        if not sent:
            raise BackendError("the request could not be sent in time")

    async def _receive(self, held: _Socket, budget: Budget) -> ServerSentEvent:
        message: aiohttp.WSMessage | None = None
        async with clock.move_on_at(budget.ends_us):
            message = await held.socket.receive()
        if message is None:
            raise BackendError("the answer did not end in time")
        if message.type is not aiohttp.WSMsgType.TEXT:
            raise BackendError("the connection was lost", again=True)
        return ServerSentEvent(message.data)

    def _remember(self, held: _Socket, reader: ResponsesReader, messages: tuple[Message, ...]) -> None:
        if reader.response and not reader.called:
            held.known, held.response = messages, reader.response

    async def _give(self, held: _Socket) -> None:
        """Keep *held* for the next, unless there are enough."""
        if len(self._idle) < SPARE and held.usable():
            self._idle.append(held)
        else:
            await _drop(held)


async def _drop(held: _Socket) -> None:
    """Close the connection; the other side's farewell is hardly waited for."""
    await held.socket.close()


class Forgotten(BackendError):  # noqa: N818 - reads as what it is
    """The connection's state is gone: the same prompt, whole, on a new one has no such error."""


class ResponsesReader:
    """Reads one response; pure, it knows neither sockets nor time."""

    def __init__(self) -> None:
        self.finished = False
        self.over = False
        self.called = False
        self.response = ""
        """Its id, once it is complete."""
        self.facts: dict[str, Any] = {}
        self.flags: list[str] = []
        self._text = AnswerText()
        self._calls = ToolCalls()
        self._spoke = False

    def read(self, event: ServerSentEvent) -> list[Delta]:
        """Return the deltas in *event*; raises BackendError if it is an error."""
        told = table(loaded(event.data))
        kind = words(told.get("type"))
        if kind in {"error", "response.failed"} or "error" in told:
            self._fail(told)
        if kind in {"response.output_text.delta", "response.refusal.delta"}:
            return self._say(self._text.feed(words(told.get("delta"))))
        item = table(told.get("item"))
        if kind == "response.output_item.added" and item.get("type") == "function_call":
            self.called = True
            return [Delta()]
        if kind == "response.output_item.done" and item.get("type") == "function_call":
            function = {"name": item.get("name"), "arguments": item.get("arguments")}
            self._calls.add({"id": item.get("call_id"), "index": len(self._calls), "function": function})
        if kind in {"response.completed", "response.incomplete", "response.done"}:
            self._end(table(told.get("response")))
        return []

    def close(self, stray: str = "") -> list[Delta]:  # noqa: ARG002 - a message is never a stray line
        """Return the deltas that the end completes; raises BackendError if there was no answer."""
        deltas = self._say(self._text.close())
        deltas += [Delta(call=call) for call in self._calls.complete()]
        if not (self._spoke or self._calls):
            raise BackendError("the answer is empty", again=True)
        if "tokens_out" not in self.facts:
            self.flags.append("no usage")
        return deltas

    def _fail(self, told: Mapping[str, Any]) -> None:
        """Raise what *told* says is wrong."""
        error = table(told.get("error")) or table(table(told.get("response")).get("error")) or told
        code = words(error.get("code"))
        says = complaint({"error": error}) or "failed"
        if code in FORGOTTEN:
            raise Forgotten(says, again=True)
        status = count(told.get("status")) or count(told.get("status_code"))
        raise BackendError(says, status=status, again=status is None or status >= 500)  # noqa: PLR2004 - HTTP

    def _end(self, response: Mapping[str, Any]) -> None:
        usage = table(response.get("usage"))
        self.finished = self.over = True
        self.response = words(response.get("id"))
        self.facts |= known(
            tokens_in=count(usage.get("input_tokens")),
            tokens_cached=count(table(usage.get("input_tokens_details")).get("cached_tokens")),
            tokens_out=count(usage.get("output_tokens")),
            tokens_reasoning=count(table(usage.get("output_tokens_details")).get("reasoning_tokens")),
            tier_served=words(response.get("service_tier")) or None,
        )
        if reason := words(table(response.get("incomplete_details")).get("reason")):
            self.flags.append(f"cut short: {reason}")

    def _say(self, text: str) -> list[Delta]:
        self._spoke = self._spoke or bool(text)
        return [Delta(text)] if text else []


def request(model: str, prompt: Prompt, known_messages: int, previous: str) -> dict[str, Any]:
    """Return the request for *prompt*, of which the response *previous* knows so many messages."""
    body: dict[str, Any] = {
        "type": "response.create",
        "model": model,
        "store": False,
        "input": [
            {"type": "message", "role": message.role, "content": message.text}
            for message in prompt.messages[known_messages:]
        ],
        "max_output_tokens": max(LEAST, prompt.max_tokens),
    }
    if previous:
        body["previous_response_id"] = previous
    if prompt.temperature is not None:
        body["temperature"] = prompt.temperature
    if prompt.tools:
        body["tools"] = [
            {
                "type": "function",
                "name": tool.name,
                "description": tool.description,
                "parameters": dict(tool.parameters),
            }
            for tool in prompt.tools
        ]
    return body
