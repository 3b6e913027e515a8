"""A chat completion's chunks as deltas: pure, it knows neither sockets nor time.

What servers of this API agree on is little: ``choices`` may be empty, null or absent, ``content`` null,
the finish reason, the usage and ``[DONE]`` may never come, and an error may come as a chunk.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from turnbudget.agents.backends.answer import AnswerText
from turnbudget.agents.backends.backend import BackendError, Delta
from turnbudget.agents.backends.calls import ToolCalls
from turnbudget.agents.backends.loose import complaint, count, known, loaded, rows, span, table, words
from turnbudget.voice.time.clock import MS, SECOND

if TYPE_CHECKING:
    from collections.abc import Mapping

    from turnbudget.agents.backends.sse import Event

DONE: Final = "[DONE]"
REASONING: Final = ("reasoning_content", "reasoning")
"""Fields of a delta that hold thoughts: vLLM and DeepSeek, Groq and Cerebras."""


class ChatReader:
    """Reads one streamed answer; also one that came whole, from a server that does not stream."""

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

    def read(self, event: Event) -> list[Delta]:
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
