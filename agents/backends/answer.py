"""Answer text out of a model's text: thoughts are dropped, and nothing is given before the first word.

Tags may be cut across deltas, and a ``<`` that begins no tag is text. White space before the first word is
held, so that it is never taken for a first token. Halves of a character (a surrogate pair cut between two
JSON strings) are joined.
"""

from __future__ import annotations

import re
from typing import Final

NAMES: Final = ("think", "thinking", "thought", "thoughts", "reasoning")
_TAG: Final = re.compile(rf"<(/?)(?:{'|'.join(NAMES)})>", re.IGNORECASE)
_WHOLE: Final = tuple(f"<{slash}{name}>" for name in NAMES for slash in ("", "/"))
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_HIGH: Final = range(0xD800, 0xDC00)


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
