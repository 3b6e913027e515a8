"""A scripted responder: a table of patterns and replies, each with a stated delay.

Scripted, not simulated: it thinks nothing and says what its table says, when the table says.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from turnbudget.voice.call.responder import Reply
from turnbudget.voice.errors import ConfigError
from turnbudget.voice.language.text import same
from turnbudget.voice.time import clock

if TYPE_CHECKING:
    from collections.abc import Sequence

    from turnbudget.voice.call.responder import Question, Said


@dataclass(frozen=True, slots=True)
class Rule:
    """One line of a scripted responder: where *when* (a regular expression, any case) is found, say *say*."""

    when: str
    """A regular expression, any case, that is looked for in the caller's words."""
    say: str
    """What is said where it is found."""
    delay_us: int = 0
    """How long it takes to say it (µs)."""


class ScriptedResponder:
    """A responder that answers with the first rule that matches, else with *otherwise*; one a call.

    Of a rule's delay, what has passed since it was asked on a guess need not pass again.
    """

    name = "scripted"

    def __init__(self, rules: Sequence[Rule], otherwise: Rule) -> None:
        """Compile the table; raises ConfigError for a pattern that is none."""
        self._otherwise = otherwise
        self._rules = [(_compiled(rule.when), rule) for rule in rules]
        self._begun: tuple[Question, int] | None = None
        """What it was asked on a guess, and when."""

    async def make_ready(self, history: tuple[Said, ...]) -> None:
        """Have nothing to make ready."""

    async def answer(self, question: Question) -> Reply:
        """Return the reply to the question's words after the rule's delay; the table knows no hurry."""
        said = question.said
        rule = next((rule for pattern, rule in self._rules if pattern.search(said)), self._otherwise)
        if rule.delay_us:
            await self._think(question, rule.delay_us)
        because = f"matches {rule.when!r}" if rule is not self._otherwise else "no rule matches"
        return Reply(rule.say, self.name, because)

    async def _think(self, question: Question, us: int) -> None:
        """Wait for *us* since it was first asked; a guess that is broken off does not count."""
        begun = self._begun
        fits = begun and begun[0].history == question.history and same(begun[0].said, question.said)
        since = begun[1] if begun and fits and not question.guess else clock.now()
        self._begun = asked = (question, since) if question.guess else None
        try:
            await clock.sleep_until(since + us)
        except BaseException:
            if self._begun is asked:
                self._begun = None
            raise


def _compiled(pattern: str) -> re.Pattern[str]:
    try:
        return re.compile(pattern, re.IGNORECASE)
    except re.error as error:
        raise ConfigError(
            f"{pattern!r} is no regular expression ({error})", where="responder.rules", remedy="mend it"
        ) from None
