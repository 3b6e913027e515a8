"""Hands the call to a person: if the caller asks for one, is angry, or is not understood again and again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from turnbudget.agents.agent import PERSON, Action, Opinion
from turnbudget.agents.phrases import found, patterns
from turnbudget.agents.values.heard import plain
from turnbudget.agents.values.words import yes_no
from turnbudget.voice.language.language import ENGLISH, Language

if TYPE_CHECKING:
    from collections.abc import Sequence

    from turnbudget.agents.agent import Context
    from turnbudget.voice.time.budget import Budget

SURE: Final = 0.95
"""The confidence in a transfer that the caller asks for."""
ANGER: Final = 0.85
"""The confidence in a transfer of an angry caller."""
FAILED: Final = 0.7
"""The confidence in a transfer of a caller who was not understood."""
TIMES: Final = 3
"""How many answers in a row that nobody understood are enough for a transfer."""


class Handoff:
    """An agent that proposes a transfer, with a summary for the person who takes over."""

    def __init__(  # noqa: PLR0913 - each is a line of the user's file
        self,
        name: str = "handoff",
        *,
        to: str = "operator",
        say: str = "",
        sorry: str = "",
        asks: Sequence[str] = (),
        angry: Sequence[str] = (),
        times: int = TIMES,
        action: str = "",
        language: Language = ENGLISH,
    ) -> None:
        """Transfer *to* there, saying *say*, or *sorry* if things went wrong.

        *asks* and *angry* are patterns beside the built-in ones; *times* is how many failures in a row are
        enough. With *action* it is proposed, with ``to``, ``reason`` and ``summary``.
        """
        where = f"agent {name}"
        self.name = name
        self._to = to
        self._language = language
        self._say = say or language.says("person")
        self._sorry = sorry or language.says("sorry_person")
        self._asks = patterns((*language.sources("handoff.asks"), *asks), where)
        self._angry = patterns((*language.sources("handoff.angry"), *angry), where)
        self._times = times
        self._action = action

    async def answer(self, utterance: str, context: Context, budget: Budget) -> Opinion | None:  # noqa: ARG002 - it never waits
        """Return a transfer, ``None`` if there is no need."""
        heard = plain(utterance, self._language)
        words = heard.words
        if found(self._asks, words):
            reason = "asks for a person"
            return self._transfer(utterance, context, self._say, SURE, reason, whole=heard.over)
        if found(self._angry, words):
            return self._transfer(utterance, context, self._sorry, ANGER, "is angry")
        if (
            context.expects == PERSON
            and (said := yes_no(words, language=self._language))
            and said.value == "yes"
        ):
            reason = "takes the offer of a person"
            return self._transfer(utterance, context, self._say, SURE, reason, whole=heard.over)
        misses = self._misses(context)
        if misses >= self._times - 1 and words:
            return self._transfer(
                utterance, context, self._sorry, FAILED, f"was not understood {misses} times"
            )
        return None

    def fixed(self) -> tuple[str, ...]:
        """Return its two announcements."""
        return (self._say, self._sorry)

    def next_openings(self, context: Context) -> tuple[str, ...]:
        """Return the announcement if a person has been offered; who else will ask for one is not known."""
        return (self._say,) if context.expects == PERSON else ()

    def _misses(self, context: Context) -> int:
        """Return how often in a row nobody understood: by the asking agent's count, or by what we said."""
        state = context.states.get(context.asked_by)
        told = state.get("misses") if isinstance(state, Mapping) else 0
        ours = [line.text for line in context.history if line.who != "caller"]
        same = 0
        while same + 1 < len(ours) and ours[-1 - same] == ours[-2 - same]:
            same += 1
        return max(told if isinstance(told, int) else 0, same)

    def _transfer(  # noqa: PLR0913 - what a transfer is made of
        self, utterance: str, context: Context, say: str, sure: float, reason: str, *, whole: bool = False
    ) -> Opinion:
        summary = self._summary(utterance, context, reason)
        told: dict[str, Any] = {"reason": reason, "summary": summary}
        arguments: Mapping[str, str] = {"to": self._to, **told}
        action = Action(self._action, arguments) if self._action else None
        because = f"the caller {reason}"
        return Opinion(
            say,
            sure,
            because,
            action=action,
            state=told,
            completeness="whole" if whole else "unknown",
            transfer=self._to,
        )

    @staticmethod
    def _summary(utterance: str, context: Context, reason: str) -> str:
        """Return what the person who takes over should know."""
        parts = [f"The caller {reason}."]
        if context.slots:
            parts.append(f"Known: {', '.join(f'{name}: {value}' for name, value in context.slots.items())}.")
        if context.expects:
            parts.append(f"We had asked for: {context.expects}.")
        return " ".join((*parts, f"Last words: {utterance.strip()!r}."))
