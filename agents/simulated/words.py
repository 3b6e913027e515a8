"""What a simulated model says. It thinks nothing: the words are given, looked up, or the caller's own.

Quality is never simulated; only the length of a text matters to the physics.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Protocol

from rapidfuzz import fuzz, process

from turnbudget.voice.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from turnbudget.agents.backends.backend import Prompt


class Words(Protocol):
    """A source of replies."""

    def reply(self, prompt: Prompt) -> str:
        """Return the whole answer to *prompt*; the same prompt, the same answer."""
        ...


def asked(prompt: Prompt) -> str:
    """Return what the user said last."""
    return next((message.text for message in reversed(prompt.messages) if message.role == "user"), "")


def turn(prompt: Prompt) -> int:
    """Return the number of the user's turn, from 0."""
    return max(0, sum(message.role == "user" for message in prompt.messages) - 1)


class Echo:
    """Says what was said."""

    def reply(self, prompt: Prompt) -> str:
        """Return the user's words, framed."""
        return f"You said: {asked(prompt)}" if asked(prompt) else "You said nothing."


class Script:
    """Says one line after another, by the turn of the conversation; the last goes on."""

    def __init__(self, lines: Sequence[str]) -> None:
        """Raise ConfigError for a script without a line."""
        if not lines:
            raise ConfigError("has no line", where="script", remedy="give it one")
        self._lines = tuple(lines)

    def reply(self, prompt: Prompt) -> str:
        """Return the line of this turn."""
        return self._lines[min(turn(prompt), len(self._lines) - 1)]


class Table:
    """Says the reply of the first pattern (a regular expression, any case) found in the user's words."""

    def __init__(self, replies: Mapping[str, str], otherwise: str) -> None:
        """Compile the patterns; raises ConfigError for one that is none."""
        self._otherwise = otherwise
        try:
            self._rules = [(re.compile(when, re.IGNORECASE), say) for when, say in replies.items()]
        except re.error as error:
            raise ConfigError(
                f"{error.pattern!r} is no regular expression ({error})", where="table", remedy="mend it"
            ) from None

    def reply(self, prompt: Prompt) -> str:
        """Return the reply of the first rule that matches."""
        said = asked(prompt)
        return next((say for when, say in self._rules if when.search(said)), self._otherwise)


class Recorded:
    """Says what a recorded agent said after the words most like the user's."""

    def __init__(self, pairs: Iterable[tuple[str, str]]) -> None:
        """Take pairs of what a caller said and what the agent answered; raises ConfigError for none."""
        self._said: dict[str, str] = {}
        for heard, said in pairs:
            self._said.setdefault(_plain(heard), said)
        if not self._said:
            raise ConfigError(
                "has no turn", where="recorded words", remedy="give a recording with both sides"
            )

    def reply(self, prompt: Prompt) -> str:
        """Return the agent's words of the nearest turn."""
        heard = _plain(asked(prompt))
        if heard in self._said:
            return self._said[heard]
        return self._said[process.extractOne(heard, list(self._said), scorer=fuzz.ratio)[0]]


def _plain(text: str) -> str:
    return " ".join(re.findall(r"[\w']+", text.lower()))
