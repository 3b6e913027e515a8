"""The events of Anthropic's Messages as deltas: pure, it knows neither sockets nor time."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from turnbudget.agents.backends.answer import AnswerText
from turnbudget.agents.backends.backend import BackendError, Delta, ToolCall
from turnbudget.agents.backends.loose import complaint, count, known, loaded, table, words

if TYPE_CHECKING:
    from collections.abc import Mapping

    from turnbudget.agents.backends.sse import Event


class MessagesReader:
    """Reads one streamed message."""

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

    def read(self, event: Event) -> list[Delta]:
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
