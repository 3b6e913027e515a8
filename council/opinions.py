"""What can be told of an opinion by itself: whether it is one, whom it agrees with, and how to be rid of it.

An agent may be anybody's, so an opinion is believed only where it is what it says it is.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from turnbudget.agents.agent import Action, Opinion
from turnbudget.voice.call.responder import nothing

if TYPE_CHECKING:
    from collections.abc import Hashable

RESULT: Final = "{result}"
"""Stands in an opening for what the action returns."""
_WORD: Final = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")


def fault(given: Any) -> str:
    """Return why *given* cannot be taken for an opinion; '' if it can."""
    if not isinstance(given, Opinion):
        return f"{type(given).__name__} is no opinion"
    opinion: Any = given  # of the right class, but its fields may be anything
    sure, action, rest, opening = opinion.confidence, opinion.action, opinion.rest, opinion.opening
    if not isinstance(opening, str) or not words(opening):
        return "an opening without words"
    checks = (
        (isinstance(sure, int | float) and 0 <= sure <= 1, f"a confidence of {sure!r}"),
        (hasattr(rest, "__aiter__") and hasattr(rest, "aclose"), "a rest that is no asynchronous generator"),
        (action is None or _is_action(action), "an action that is none"),
        (action is not None or RESULT not in opening, f"{RESULT} without an action"),
        (_is_texts(opinion.slots), "slots that are no texts"),
        (isinstance(opinion.expects, str), "an expected slot that is no text"),
        (isinstance(opinion.transfer, str), "a transfer that is no text"),
    )
    return next((why for right, why in checks if not right), "")


def _is_action(action: Any) -> bool:
    if not isinstance(action, Action):
        return False
    name: Any = action.name
    otherwise: Any = action.otherwise
    return isinstance(name, str) and isinstance(otherwise, str) and _is_texts(action.arguments)


def _is_texts(mapping: Any) -> bool:
    return isinstance(mapping, Mapping) and all(
        isinstance(key, str) and isinstance(value, str) for key, value in mapping.items()
    )


def words(text: str) -> list[str]:
    """Return the words of *text* without case and marks."""
    return _WORD.findall(text.casefold())


def sense(opinion: Opinion) -> Hashable:
    """Return what *opinion* comes to: two agree if they would do the same, or say the same words.

    Nothing nearer than that counts: a sentence with one number changed is another sentence.
    """
    if opinion.action:
        return (opinion.action.name, tuple(sorted(opinion.action.arguments.items())))
    return (opinion.transfer, " ".join(words(opinion.opening)))


def lingers(opinion: Opinion) -> bool:
    """Say whether *opinion* holds something open, such as a stream from an LLM."""
    return getattr(opinion.rest, "ag_code", None) is not nothing.__code__


async def dismiss(opinion: Any) -> None:
    """Close what *opinion* holds open; an error in that interests nobody."""
    with contextlib.suppress(Exception):
        await opinion.rest.aclose()
