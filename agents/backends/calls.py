"""Tool calls out of pieces, as servers send them: with an index, with the same one twice, or with none."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from turnbudget.agents.backends.backend import BackendError, ToolCall
from turnbudget.agents.backends.loose import count, loaded, table, words


@dataclass(slots=True)
class _Open:
    index: int | None
    id: str
    name: str
    pieces: list[str] = field(default_factory=list)


class ToolCalls:
    """The calls of one answer, while they arrive."""

    def __init__(self) -> None:
        self._open: list[_Open] = []

    def __len__(self) -> int:
        return len(self._open)

    def add(self, piece: Any) -> None:
        """Take one *piece*: a new id, or a name where none can follow, begins another call."""
        told = table(piece)
        function = table(told.get("function"))
        index, identity, name = count(told.get("index")), words(told.get("id")), words(function.get("name"))
        call = self._of(index)
        if call is None or self._begins(call, index, identity, name):
            call = _Open(index, identity, name)
            self._open.append(call)
        call.id = call.id or identity
        call.name = call.name or name
        arguments = function.get("arguments")
        call.pieces.append(json.dumps(arguments) if isinstance(arguments, dict) else words(arguments))

    def complete(self) -> list[ToolCall]:
        """Return all calls, in the order in which they began; raises BackendError if one is not whole."""
        return [_whole(number, call) for number, call in enumerate(self._open)]

    def _of(self, index: int | None) -> _Open | None:
        """Return the latest call at *index*, or the latest of all if there is no index."""
        same = (call for call in reversed(self._open) if index is None or call.index in {index, None})
        return next(same, None)

    @staticmethod
    def _begins(call: _Open, index: int | None, identity: str, name: str) -> bool:
        if identity and call.id:
            return identity != call.id
        if index is None or call.index is None:
            return bool(name and call.name)
        return bool(name and call.name and name != call.name)


def _whole(number: int, call: _Open) -> ToolCall:
    arguments = "".join(call.pieces) or "{}"
    try:
        valid = isinstance(loaded(arguments), dict)
    except BackendError:
        valid = False
    if not valid or not call.name:
        raise BackendError(
            f"asked for the tool {call.name!r} with arguments that are no JSON object", again=True
        )
    return ToolCall(call.id or f"call_{number}", call.name, arguments)
