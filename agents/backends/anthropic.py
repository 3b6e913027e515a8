"""Anthropic's Messages, streamed; ``speed: "fast"`` with a way back to standard inside the turn.

Fast has a rate limit of its own. A 429 on it is answered by the same request at standard speed, at once;
the change of speed loses the prompt cache, and the record says so. Shapes as in the SDK anthropic 2.14.
"""

from __future__ import annotations

import contextlib
import itertools
import json
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from turnbudget.agents.backends.attempt import HttpCall, attempt
from turnbudget.agents.backends.backend import (
    BackendError,
    Delta,
    Stopwatch,
    ToolCall,
    from_environment,
    nobody,
)
from turnbudget.agents.backends.http import HttpRequest, Pool
from turnbudget.agents.backends.reader import AnswerText, complaint, count, known, loaded, table, words
from turnbudget.voice.time import clock
from turnbudget.voice.time.clock import SECOND

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from turnbudget.agents.backends.backend import Message, Prompt, Told
    from turnbudget.agents.backends.sse import ServerSentEvent
    from turnbudget.voice.time.budget import Budget

Speed: TypeAlias = Literal["standard", "fast"]

URL: Final = "https://api.anthropic.com/v1"
"""The API's address, with its version."""
KEY: Final = "ANTHROPIC_API_KEY"
"""The environment variable that holds the key."""
VERSION: Final = "2023-06-01"
"""The API's version, sent with every request."""
FAST_BETA: Final = "fast-mode-2026-02-01"
"""The header that research previews want for the fast speed; others ignore it."""
LIMITED: Final = 429
"""The HTTP status of a request that is one too many."""
LIMITED_US: Final = 10 * SECOND
"""How long fast is not asked for again after a 429 that does not say (µs; 10 s)."""
LOST: Final = "prompt cache lost by the change of speed"
"""The flag of an attempt whose change of speed has cost the prompt cache."""
OPENING: Final = "(The call begins.)"
"""Said for the caller where we spoke first: the API wants a user's message to begin with."""


class AnthropicBackend:
    """The *model* at *url* (with its ``/v1``), at *speed*; one pool of connections for all calls."""

    def __init__(  # noqa: PLR0913 - each is a choice of the user
        self,
        model: str,
        *,
        url: str = URL,
        name: str = "anthropic",
        speed: Speed = "standard",
        key: str = KEY,
        extra: Mapping[str, Any] | None = None,
    ) -> None:
        """Take the key from the environment's variable *key*; raises ConfigError if it is not there."""
        self.name = name
        self.model = model
        self.speed = speed
        self._extra = dict(extra or {})
        secret = from_environment(key, where=name)
        headers = {"x-api-key": secret.reveal(), "anthropic-version": VERSION}
        self._pool = Pool(url, where=name, headers=headers, secret=secret)
        self._limited_until_us: int | None = None

    def __repr__(self) -> str:
        return f"AnthropicBackend({self.model!r}, speed={self.speed!r})"

    async def stream(self, prompt: Prompt, budget: Budget, told: Told = nobody) -> AsyncIterator[Delta]:
        """Yield the answer; see ``Backend``. One record a speed tried."""
        speeds: tuple[Speed, ...] = (self.speed, "standard")
        if self.speed == "standard" or self._limited():
            speeds = ("standard",)
        for number, speed in enumerate(speeds):
            watch = Stopwatch(self.name, self.model, attempt=number, retry_of=number - 1 if number else None)
            watch.know(tier_asked=speed)
            if speed != self.speed:
                watch.flag(LOST)
            call = HttpCall(self._pool, self._request(prompt, speed))
            try:
                async with contextlib.aclosing(
                    attempt(call, MessagesReader(), watch, budget, told)
                ) as deltas:
                    async for delta in deltas:
                        yield delta
            except BackendError as error:
                if speed != "fast" or error.status != LIMITED:
                    raise
                self._limited_until_us = clock.now() + (error.retry_after_us or LIMITED_US)
            else:
                return

    async def prewarm(self, prefix: Prompt, budget: Budget) -> None:
        """Connect, and have *prefix* read into the prompt cache; without messages it only connects."""
        try:
            with clock.beyond():
                if not prefix.messages:
                    await self._pool.get("models", budget)
                    return
                request = self._request(prefix, "standard" if self._limited() else self.speed)
                body = {**request.body, "stream": False, "max_tokens": 1}
                await self._pool.touch(HttpRequest(request.path, body, request.headers), budget)
        except BackendError:
            pass  # the call will find out, and say so

    async def aclose(self) -> None:
        """Close every connection."""
        await self._pool.aclose()

    def _limited(self) -> bool:
        """Return whether fast need not be asked for: it has said until when."""
        return self._limited_until_us is not None and clock.now() < self._limited_until_us

    def _request(self, prompt: Prompt, speed: Speed) -> HttpRequest:
        fast = speed == "fast"
        body = messages_body(prompt) | {"model": self.model} | ({"speed": "fast"} if fast else {})
        return HttpRequest("messages", body | self._extra, {"anthropic-beta": FAST_BETA} if fast else {})


def messages_body(prompt: Prompt) -> dict[str, Any]:
    """Return *prompt* as this API takes it: system apart, and the prefix marked for the cache."""
    system = "\n\n".join(message.text for message in prompt.messages if message.role == "system")
    turns = [message for message in prompt.messages if message.role != "system"]
    body: dict[str, Any] = {"max_tokens": prompt.max_tokens, "messages": _turns(turns), "stream": True}
    if system:
        body["system"] = [_block(system, cached=True)]
    if prompt.temperature is not None:
        body["temperature"] = prompt.temperature
    if prompt.tools:
        body["tools"] = [
            {"name": tool.name, "description": tool.description, "input_schema": dict(tool.parameters)}
            for tool in prompt.tools
        ]
    return body


def _turns(turns: list[Message]) -> list[dict[str, Any]]:
    """Return the messages with neighbours of one role joined, the user's first, the last one cached."""
    grouped = itertools.groupby(turns, key=lambda message: message.role)
    joined = [(str(role), "\n".join(message.text for message in group)) for role, group in grouped]
    if not joined or joined[0][0] != "user":
        joined.insert(0, ("user", OPENING))
    last = len(joined) - 1
    return [
        {"role": role, "content": [_block(text, cached=number == last)]}
        for number, (role, text) in enumerate(joined)
    ]


def _block(text: str, *, cached: bool) -> dict[str, Any]:
    block: dict[str, Any] = {"type": "text", "text": text}
    return block | {"cache_control": {"type": "ephemeral"}} if cached else block


class MessagesReader:
    """Reads one streamed message; pure, it knows neither sockets nor time."""

    def __init__(self) -> None:
        self.finished = False
        self.over = False
        self.facts: dict[str, Any] = {}
        self.flags: list[str] = []
        self._text = AnswerText()
        self._tool: dict[int, tuple[str, str, list[str]]] = {}
        self._spoke = False
        self._thought = False
        self._reason = ""

    def read(self, event: ServerSentEvent) -> list[Delta]:
        """Return the deltas in *event*; raises BackendError if it is an error."""
        if not event.data.strip():
            return []
        told = table(loaded(event.data))
        kind = words(told.get("type")) or event.name
        if error := complaint(told):
            overloaded = "overloaded" in words(table(told.get("error")).get("type"))
            raise BackendError(error, again=True, status=529 if overloaded else None)
        if kind == "message_start":
            self._learn(table(table(told.get("message")).get("usage")))
        elif kind == "content_block_start":
            return self._open(count(told.get("index")) or 0, table(told.get("content_block")))
        elif kind == "content_block_delta":
            return self._delta(count(told.get("index")) or 0, table(told.get("delta")))
        elif kind == "content_block_stop":
            return self._shut(count(told.get("index")) or 0)
        elif kind == "message_delta":
            self._reason = words(table(told.get("delta")).get("stop_reason")) or self._reason
            self._learn(table(told.get("usage")))
            self.finished = bool(self._reason)
        elif kind == "message_stop":
            self.finished = self.over = True
        return []

    def close(self, stray: str = "") -> list[Delta]:
        """Return the deltas that the end completes; raises BackendError if there was no answer."""
        if not self._spoke and stray.lstrip().startswith("{") and (error := complaint(loaded(stray))):
            raise BackendError(error, again=True)
        deltas = self._say(self._text.close())
        if self._tool:
            raise BackendError("broke off in the arguments of a tool call", again=True)
        if not self._spoke:
            why = "nothing but reasoning" if self._thought else self._reason
            raise BackendError(f"the answer is empty{why and ': '}{why}", again=True)
        if not self._reason:
            self.flags.append("no finish reason")
        elif self._reason in {"max_tokens", "refusal"}:
            self.flags.append(f"cut short: {self._reason}")
        if "tokens_out" not in self.facts:
            self.flags.append("no usage")
        return deltas

    def _open(self, index: int, block: Mapping[str, Any]) -> list[Delta]:
        if block.get("type") == "tool_use":
            self._tool[index] = (words(block.get("id")), words(block.get("name")), [])
            return [Delta()]
        return self._say(self._text.feed(words(block.get("text"))))

    def _delta(self, index: int, delta: Mapping[str, Any]) -> list[Delta]:
        kind = delta.get("type")
        if kind == "text_delta":
            return self._say(self._text.feed(words(delta.get("text"))))
        if kind == "input_json_delta" and index in self._tool:
            self._tool[index][2].append(words(delta.get("partial_json")))
        self._thought = self._thought or kind == "thinking_delta"
        return []

    def _shut(self, index: int) -> list[Delta]:
        if index not in self._tool:
            return []
        identity, name, pieces = self._tool.pop(index)
        arguments = "".join(pieces) or "{}"
        try:
            whole = isinstance(json.loads(arguments), dict)
        except (ValueError, RecursionError):
            whole = False
        if not whole:
            raise BackendError(f"asked for {name!r} with arguments that are no JSON object", again=True)
        self._spoke = True
        return [Delta(call=ToolCall(identity, name, arguments))]

    def _say(self, text: str) -> list[Delta]:
        self._spoke = self._spoke or bool(text)
        return [Delta(text)] if text else []

    def _learn(self, usage: Mapping[str, Any]) -> None:
        """Take over *usage*; this API counts cached tokens apart from the input, we count them in."""
        fresh, read = count(usage.get("input_tokens")), count(usage.get("cache_read_input_tokens"))
        written = count(usage.get("cache_creation_input_tokens"))
        self.facts |= known(
            tokens_in=None if fresh is None else fresh + (read or 0) + (written or 0),
            tokens_cached=read,
            tokens_out=count(usage.get("output_tokens")),
            tier_served=words(usage.get("speed")) or words(usage.get("service_tier")) or None,
        )
