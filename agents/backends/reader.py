"""What the readers of all providers share: JSON taken without trust, answer text, tool calls. Pure.

Whatever a provider's JSON holds, a value of the wrong kind is no value. Of a model's text, thoughts are
dropped: tags may be cut across deltas, and a ``<`` that begins no tag is text; white space before the first
word is held, so that it is never taken for a first token; halves of a character (a surrogate pair cut
between two JSON strings) are joined. Tool calls come in pieces: with an index, with one twice, or with none.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from turnbudget.agents.backends.backend import BackendError, ToolCall

if TYPE_CHECKING:
    from collections.abc import Mapping


LONG: Final = 1_000
"""How much of a provider's own words is looked at (characters); less is told."""
MOST: Final = 1 << 53
"""The largest number that is taken for a count or a span; a larger one is none."""
NAMES: Final = ("think", "thinking", "thought", "thoughts", "reasoning")
"""The names of the tags that models put around their thoughts."""
_TAG: Final = re.compile(rf"<(/?)(?:{'|'.join(NAMES)})>", re.IGNORECASE)
_WHOLE: Final = tuple(f"<{slash}{name}>" for name in NAMES for slash in ("", "/"))
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_HIGH: Final = range(0xD800, 0xDC00)


def loaded(text: str) -> Any:
    """Return the JSON value in *text*; raises BackendError if it is none."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise BackendError(f"sent what is no JSON: {text[:LONG]!r}", again=True) from None


def table(value: Any) -> Mapping[str, Any]:
    """Return *value* if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def rows(value: Any) -> list[Any]:
    """Return *value* if it is an array, else an empty one."""
    return value if isinstance(value, list) else []


def words(value: Any) -> str:
    """Return *value* if it is a string, else an empty one."""
    return value if isinstance(value, str) else ""


def count(value: Any) -> int | None:
    """Return *value* if it counts something."""
    whole = isinstance(value, int) and not isinstance(value, bool)
    return value if whole and 0 <= value < MOST else None


def span(value: Any, unit_us: int) -> int | None:
    """Return *value* (in units of *unit_us*) in microseconds, if it is a span of time."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    fits = 0 <= value < MOST and math.isfinite(value)
    return round(value * unit_us) if fits else None


def known(**facts: Any) -> dict[str, Any]:
    """Return those *facts* that are known."""
    return {name: fact for name, fact in facts.items() if fact is not None}


def complaint(value: Any) -> str:
    """Return the error that an answer holds, in the provider's own words, empty if it holds none.

    Shapes: ``{"error": {"message": …}}``, ``{"error": "…"}``, ``{"object": "error", "message": …}``,
    ``{"type": "error", …}`` and ``{"detail": …}``.
    """
    told = table(value)
    error = told.get("error")
    if not error and (told.get("object") == "error" or told.get("type") == "error" or "detail" in told):
        error = told.get("message") or told.get("detail") or told
    if not error:
        return ""
    inner = table(error)
    says = words(inner.get("message")) or words(inner.get("code")) or words(error) or json.dumps(error)
    return " ".join(says[:LONG].split())


class AnswerText:
    """Takes a model's text delta by delta, gives what may be spoken of it."""

    def __init__(self, *, thinking: bool = False) -> None:
        """Start; inside a thought if *thinking*, for some templates open it in the prompt."""
        self.thinking = thinking
        self.thought = thinking
        """Whether the model has thought aloud at all."""
        self._half = ""
        self._tail = ""
        self._blank: str | None = ""

    def feed(self, text: str) -> str:
        """Return the answer text that *text* completes."""
        return self._begun(self._spoken(self._joined(text)))

    def close(self) -> str:
        """Return what was held back and turns out to be text."""
        tail, self._tail = self._tail, ""
        return "" if self.thinking or len(tail) > 1 else self._begun(tail)

    def _joined(self, text: str) -> str:
        """Return *text* with halves of characters joined; a half without its other becomes U+FFFD."""
        text, self._half = self._half + text, ""
        if text and ord(text[-1]) in _HIGH:
            text, self._half = text[:-1], text[-1]
        if not _SURROGATE.search(text):
            return text
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")

    def _spoken(self, text: str) -> str:
        text, self._tail = self._tail + text, ""
        spoken: list[str] = []
        at = 0
        for tag in _TAG.finditer(text):
            if not self.thinking:
                spoken.append(text[at : tag.start()])
            self.thinking = not tag[1]
            self.thought = True
            at = tag.end()
        rest = text[at:]
        cut = rest.rfind("<")
        if cut >= 0 and any(tag.startswith(rest[cut:].lower()) for tag in _WHOLE):
            rest, self._tail = rest[:cut], rest[cut:]
        if not self.thinking:
            spoken.append(rest)
        return "".join(spoken)

    def _begun(self, text: str) -> str:
        if self._blank is None or not text:
            return text
        held = self._blank + text
        self._blank = None if held.strip() else held
        return "" if self._blank is not None else held


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
