"""Any server of OpenAI's ``/chat/completions``: OpenAI, Groq, Cerebras, vLLM, llama.cpp, Ollama, and others.

What they do not share is a :class:`Dialect`. Shapes as in the SDKs openai 3.57, groq 1.7 and
cerebras_cloud_sdk 1.91. What servers agree on is little: ``choices`` may be empty, null or absent,
``content`` null, the finish reason, the usage and ``[DONE]`` may never come, an error may come as a chunk.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

from turnbudget.agents.backends.attempt import HttpCall, attempt
from turnbudget.agents.backends.backend import BackendError, Delta, Stopwatch, from_environment, nobody
from turnbudget.agents.backends.http import HttpRequest, Pool, checked
from turnbudget.agents.backends.reader import (
    AnswerText,
    ToolCalls,
    complaint,
    count,
    known,
    loaded,
    rows,
    span,
    table,
    words,
)
from turnbudget.voice.errors import ConfigError
from turnbudget.voice.time import clock
from turnbudget.voice.time.clock import MS, SECOND

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from turnbudget.agents.backends.backend import Message, Prompt, Told, Tool
    from turnbudget.agents.backends.sse import ServerSentEvent
    from turnbudget.voice.time.budget import Budget


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """What one server knows of the API."""

    limit: Literal["max_completion_tokens", "max_tokens"] = "max_tokens"
    """What the server calls the most tokens an answer may have."""
    key: str = ""
    """The environment variable that holds its key."""
    needs_key: bool = False
    """Whether the server wants a key."""
    usage: bool = True
    """Whether the server knows ``stream_options.include_usage``."""
    pads: bool = False
    """Whether the server pads its chunks unless asked not to."""
    force_close: bool = False
    """Whether the server closes a connection after each answer, so that none is kept."""
    thinking: bool = False
    """Whether the prompt's template opens the thought that the answer only closes."""


OPENAI: Final = Dialect(limit="max_completion_tokens", key="OPENAI_API_KEY", needs_key=True, pads=True)
"""OpenAI's own dialect."""
GROQ: Final = Dialect(limit="max_completion_tokens", key="GROQ_API_KEY", needs_key=True, usage=False)
"""The dialect of Groq, which sends usage unasked, in ``x_groq``."""
CEREBRAS: Final = Dialect(limit="max_completion_tokens", key="CEREBRAS_API_KEY", needs_key=True)
"""The dialect of Cerebras."""
COMMON: Final = Dialect()
"""The dialect of vLLM, llama.cpp, Ollama and most others."""
PATH: Final = "chat/completions"
"""Where chat completions are, below the server's URL."""
HOSTS: Final = {"api.openai.com": OPENAI, "api.groq.com": GROQ, "api.cerebras.ai": CEREBRAS}
"""The dialects of servers that are known by their host."""
DONE: Final = "[DONE]"
"""The data of the event that ends a stream."""
REASONING: Final = ("reasoning_content", "reasoning")
"""The fields of a delta that hold thoughts: vLLM and DeepSeek, Groq and Cerebras."""


class OpenAIBackend:
    """The *model* that a server at *url* (with its ``/v1``) has; one pool of connections for all calls."""

    def __init__(  # noqa: PLR0913 - each is a choice of the user
        self,
        url: str,
        model: str,
        *,
        name: str = "openai",
        dialect: Dialect | None = None,
        service_tier: str | None = None,
        extra: Mapping[str, Any] | None = None,
    ) -> None:
        """Know the server by its host unless a *dialect* is given; *extra* goes into every request.

        Raises ConfigError for a URL that is none, or a key that is missing.
        """
        self.name = name
        self.model = model
        self.dialect = dialect or HOSTS.get(checked(url, name).host or "", COMMON)
        self._tier = service_tier
        self._extra = dict(extra or {})
        secret = from_environment(self.dialect.key, where=name, needed=self.dialect.needs_key)
        headers = {"Authorization": f"Bearer {secret.reveal()}"} if secret else {}
        self._pool = Pool(
            url, where=name, headers=headers, secret=secret, force_close=self.dialect.force_close
        )

    def __repr__(self) -> str:
        return f"OpenAIBackend({str(self._pool.url)!r}, {self.model!r})"

    async def stream(self, prompt: Prompt, budget: Budget, told: Told = nobody) -> AsyncIterator[Delta]:
        """Yield the answer; see :class:`~turnbudget.agents.backends.backend.Backend`."""
        watch = Stopwatch(self.name, self.model)
        watch.know(tier_asked=self._tier)
        reader = ChatReader(thinking=self.dialect.thinking)
        call = HttpCall(self._pool, HttpRequest(PATH, self.body(prompt)))
        async with contextlib.aclosing(attempt(call, reader, watch, budget, told)) as deltas:
            async for delta in deltas:
                yield delta

    async def prewarm(self, prefix: Prompt, budget: Budget) -> None:
        """Connect, and have *prefix* read into the prompt cache by asking for one token of answer.

        Without messages it only connects, which costs no tokens.
        """
        try:
            with clock.beyond():
                if not prefix.messages:
                    await self._pool.get("models", budget)
                    return
                body = self.body(prefix) | {"stream": False, self.dialect.limit: 1}
                body.pop("stream_options", None)
                await self._pool.touch(HttpRequest(PATH, body), budget)
        except BackendError:
            pass  # the call will find out, and say so

    async def verify(self, budget: Budget) -> None:
        """Raise ConfigError unless the server lists the model; BackendError if it does not answer.

        A server that lists no models is believed. If no model was named, the server's only one is taken.
        """
        names = await self.models(budget)
        if not self.model:
            if len(names) != 1:
                raise ConfigError(
                    "which model is not said",
                    where=self.name,
                    remedy=f"name one of {', '.join(names[:8]) or 'them'}",
                )
            self.model = names[0]
        if names and self.model not in names:
            raise ConfigError(
                f"the server has no model {self.model!r}",
                where=self.name,
                remedy=f"it has {', '.join(names[:8])}",
            )

    async def models(self, budget: Budget) -> list[str]:
        """Return the models the server lists, by name; raises BackendError if it does not answer."""
        with clock.beyond():
            listed = table(await self._pool.get("models", budget)).get("data")
        return sorted(filter(None, (words(table(row).get("id")) for row in rows(listed))))

    async def aclose(self) -> None:
        """Close every connection."""
        await self._pool.aclose()

    def body(self, prompt: Prompt) -> dict[str, Any]:
        """Return the request for *prompt*."""
        body: dict[str, Any] = {
            "model": self.model,
            "messages": [_message(message) for message in prompt.messages],
            "stream": True,
            self.dialect.limit: prompt.max_tokens,
        }
        options = {"include_usage": True} if self.dialect.usage else {}
        if self.dialect.pads:
            options["include_obfuscation"] = False
        if options:
            body["stream_options"] = options
        if prompt.temperature is not None:
            body["temperature"] = prompt.temperature
        if prompt.tools:
            body["tools"] = [_tool(tool) for tool in prompt.tools]
        if self._tier:
            body["service_tier"] = self._tier
        return body | self._extra


def _message(message: Message) -> dict[str, str]:
    return {"role": message.role, "content": message.text}


def _tool(tool: Tool) -> dict[str, Any]:
    function = {"name": tool.name, "description": tool.description, "parameters": dict(tool.parameters)}
    return {"type": "function", "function": function}


class ChatReader:
    """Reads one streamed answer; also one that came whole, from a server that does not stream.

    Pure: it knows neither sockets nor time.
    """

    def __init__(self, *, thinking: bool = False) -> None:
        self.finished = False
        """The answer is whole; only usage may follow."""
        self.over = False
        """Nothing more follows."""
        self.began_call = False
        self.facts: dict[str, Any] = {}
        """What the provider told, by the names of Timing."""
        self.flags: list[str] = []
        self._text = AnswerText(thinking=thinking)
        self._calls = ToolCalls()
        self._reason = ""
        self._spoke = False

    def read(self, event: ServerSentEvent) -> list[Delta]:
        """Return the deltas in *event*; raises BackendError if it is an error."""
        data = event.data.strip()
        if data == DONE:
            self.over = True
            return []
        if not data:
            return []
        return self._chunk(loaded(data))

    def close(self, stray: str = "") -> list[Delta]:
        """Return the deltas that the end completes, or those in *stray*, a body that was no event stream.

        Raises BackendError if there was no answer.
        """
        deltas: list[Delta] = []
        if not (self._spoke or self._calls or self._reason) and stray.lstrip().startswith("{"):
            deltas += self._chunk(loaded(stray))
            self.flags.append("not streamed")
        deltas += self._say(self._text.close())
        deltas += [Delta(call=call) for call in self._calls.complete()]
        if not (self._spoke or self._calls):
            raise BackendError(f"the answer is empty{self._why()}", again=True)
        if not self._reason:
            self.flags.append("no finish reason")
        elif self._reason in {"length", "content_filter"}:
            self.flags.append(f"cut short: {self._reason}")
        if "tokens_out" not in self.facts:
            self.flags.append("no usage")
        return deltas

    def _why(self) -> str:
        if self._text.thought or self.facts.get("tokens_reasoning"):
            return ": nothing but reasoning"
        return f": {self._reason}" if self._reason else ""

    def _chunk(self, chunk: Any) -> list[Delta]:
        told = table(chunk)
        if error := complaint(told):
            code = count(table(told.get("error")).get("code")) or count(told.get("status_code"))
            raise BackendError(error, status=code, again=code is None or code >= 500)  # noqa: PLR2004 - HTTP
        self.facts |= _facts(told)
        choice = next((row for row in map(table, rows(told.get("choices"))) if not row.get("index")), {})
        delta = table(choice.get("delta")) or table(choice.get("message"))
        deltas = self._say(self._text.feed(_content(delta)))
        if any(delta.get(name) for name in REASONING):
            self._text.thought = True
        for piece in rows(delta.get("tool_calls")):
            self._calls.add(piece)
        if self._calls and not self.began_call:
            self.began_call = True
            deltas.append(Delta())
        if reason := words(choice.get("finish_reason")):
            self._finish(reason, choice)
        return deltas

    def _finish(self, reason: str, choice: Mapping[str, Any]) -> None:
        self._reason = reason
        self.finished = True
        if reason == "error":  # a router's, when the provider behind it fails in mid-stream
            raise BackendError(complaint(choice) or "broke off", again=True)

    def _say(self, text: str) -> list[Delta]:
        self._spoke = self._spoke or bool(text)
        return [Delta(text)] if text else []


def _content(delta: Mapping[str, Any]) -> str:
    """Return a delta's text; some servers send it in parts, of which some are thoughts."""
    content = delta.get("content")
    if isinstance(content, list):
        parts = (table(part) for part in content)
        return "".join(words(part.get("text")) for part in parts if part.get("type") == "text")
    return words(content) or words(delta.get("refusal"))


def _facts(chunk: Mapping[str, Any]) -> dict[str, Any]:
    """Return what *chunk* tells of tokens, tier and the server's own time."""
    usage = table(chunk.get("usage")) or table(table(chunk.get("x_groq")).get("usage"))
    clocks = table(chunk.get("time_info")) or usage
    llama = table(chunk.get("timings"))
    fresh, cached = count(llama.get("prompt_n")), count(llama.get("cache_n"))
    return known(
        tokens_in=None if fresh is None else fresh + (cached or 0),
        tokens_out=count(llama.get("predicted_n")),
        tokens_cached=cached,
        server_prefill_us=span(llama.get("prompt_ms"), MS),
        server_decode_us=span(llama.get("predicted_ms"), MS),
        tier_served=words(chunk.get("service_tier")) or None,
    ) | known(
        tokens_in=count(usage.get("prompt_tokens")),
        tokens_out=count(usage.get("completion_tokens")),
        tokens_cached=count(table(usage.get("prompt_tokens_details")).get("cached_tokens")),
        tokens_reasoning=count(table(usage.get("completion_tokens_details")).get("reasoning_tokens")),
        server_queue_us=span(clocks.get("queue_time"), SECOND),
        server_prefill_us=span(clocks.get("prompt_time"), SECOND),
        server_decode_us=span(clocks.get("completion_time"), SECOND),
    )
