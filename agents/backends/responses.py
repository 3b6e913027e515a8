"""The events of OpenAI's Responses as deltas, and a prompt as its request: pure, no sockets, no time.

Shapes as in the SDK openai 3.57.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from turnbudget.agents.backends.answer import AnswerText
from turnbudget.agents.backends.backend import BackendError, Delta
from turnbudget.agents.backends.calls import ToolCalls
from turnbudget.agents.backends.loose import complaint, count, known, loaded, table, words

if TYPE_CHECKING:
    from collections.abc import Mapping

    from turnbudget.agents.backends.backend import Prompt
    from turnbudget.agents.backends.sse import Event

LEAST: Final = 16
"""The API refuses a lower limit of output tokens."""
FORGOTTEN: Final = frozenset(("websocket_connection_limit_reached", "previous_response_not_found"))
"""Errors that a new connection, told everything, does not have."""


class Forgotten(BackendError):  # noqa: N818 - reads as what it is
    """The connection's state is gone: the same prompt, whole, on a new one has no such error."""


class ResponsesReader:
    """Reads one response."""

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

    def read(self, event: Event) -> list[Delta]:
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
