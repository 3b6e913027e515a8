"""Anthropic's Messages, streamed; ``speed: "fast"`` with a way back to standard inside the turn.

Fast has a rate limit of its own. A 429 on it is answered by the same request at standard speed, at once;
the change of speed loses the prompt cache, and the record says so. Shapes as in the SDK anthropic 2.14.
"""

from __future__ import annotations

import contextlib
import itertools
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from turnbudget.agents.backends.attempt import Call, attempt
from turnbudget.agents.backends.backend import BackendError, Stopwatch, nobody
from turnbudget.agents.backends.http import Pool, Request
from turnbudget.agents.backends.messages import MessagesReader
from turnbudget.agents.backends.secret import from_environment
from turnbudget.voice.time import clock
from turnbudget.voice.time.clock import SECOND

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from turnbudget.agents.backends.backend import Delta, Message, Prompt, Told
    from turnbudget.voice.time.budget import Budget

Speed: TypeAlias = Literal["standard", "fast"]

URL: Final = "https://api.anthropic.com/v1"
KEY: Final = "ANTHROPIC_API_KEY"
VERSION: Final = "2023-06-01"
FAST_BETA: Final = "fast-mode-2026-02-01"
"""Research previews ask for it; others ignore it."""
LIMITED: Final = 429
LIMITED_US: Final = 10 * SECOND
"""How long fast is not asked for again after a 429 that does not say."""
LOST: Final = "prompt cache lost by the change of speed"
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
            call = Call(self._pool, self._request(prompt, speed))
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
                await self._pool.touch(Request(request.path, body, request.headers), budget)
        except BackendError:
            pass  # the call will find out, and say so

    async def aclose(self) -> None:
        """Close every connection."""
        await self._pool.aclose()

    def _limited(self) -> bool:
        """Return whether fast need not be asked for: it has said until when."""
        return self._limited_until_us is not None and clock.now() < self._limited_until_us

    def _request(self, prompt: Prompt, speed: Speed) -> Request:
        fast = speed == "fast"
        body = messages_body(prompt) | {"model": self.model} | ({"speed": "fast"} if fast else {})
        return Request("messages", body | self._extra, {"anthropic-beta": FAST_BETA} if fast else {})


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
