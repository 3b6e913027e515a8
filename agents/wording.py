"""What a form says besides its questions, and all of it that can be known before anybody has called."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from turnbudget.agents.agent import Action
from turnbudget.agents.slot import HOLE, filled
from turnbudget.agents.values.kinds import MISSING
from turnbudget.voice.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from turnbudget.agents.slot import Ready

LEFT: Final = "Okay, I have left that. Is there anything else I can help you with?"
MOST: Final = 24
"""A text that could be filled with its choices in more ways than these is not foreseen."""


@dataclass(frozen=True, slots=True)
class Wording:
    """The texts of a form; see :class:`turnbudget.agents.form.Form` for what each is for."""

    begin: str
    confirm: str
    meanwhile: str
    done: str
    settled: str
    change: str
    action: str
    otherwise: str

    def check(self, where: str) -> None:
        """Raise ConfigError for texts that need an action where there is none, or a result before it."""
        if "{result}" in self.done and not self.action:
            raise ConfigError("done has {result} but there is no action", where=where, remedy="name one")
        if self.meanwhile and not self.action:
            raise ConfigError("there is a meanwhile but no action", where=where, remedy="name one")
        if "{result}" in self.meanwhile:
            raise ConfigError(
                "meanwhile has {result}", where=where, remedy="it is said before there is one: say it in done"
            )

    def proposal(self, slots: Sequence[Ready], values: Mapping[str, str]) -> Action | None:
        """Return the action, with what is said meanwhile; ``None`` if there is none."""
        if not self.action:
            return None
        known = {slot.name: values[slot.name] for slot in slots if slot.name in values}
        echo = filled(self.meanwhile, slots, known)
        said = "" if HOLE.search(echo) else echo
        action = Action(self.action, known, meanwhile=said)
        return replace(action, otherwise=self.otherwise) if self.otherwise else action

    def endings(
        self, slots: Sequence[Ready], values: Mapping[str, str], pending: Ready | None, *, confirmed: bool
    ) -> Iterator[tuple[str, Mapping[str, str]]]:
        """Yield what is said first once all is known, with the values it is said of.

        If one slot is *pending*, that is by each choice it has.
        """
        text = self.confirm if self.confirm and not confirmed else self.meanwhile or self.done
        choices = tuple(pending.slot.choices) if pending and pending.slot.type == "choice" else ()
        ways = [{**values, pending.name: choice} for choice in choices] if pending and choices else [values]
        for way in ways:
            yield filled(text, slots, way), way

    def asks(self, ask: str, again: str) -> tuple[str, ...]:
        """Return the ways a question is put: at first, later, and once more to whom we did not understand."""
        return tuple(filter(None, (f"{self.begin} {ask}" if self.begin else "", ask, again or puzzled(ask))))

    def fixed(self, slots: Sequence[Ready]) -> tuple[str, ...]:
        """Return the texts that hold no caller's data; a choice is none, for all of them are foreseen."""
        otherwise = self.otherwise or Action("").otherwise
        texts = [
            *(text for slot in slots if slot.ask for text in self.asks(slot.ask, slot.again)),
            *(self.meanwhile, self.done, self.confirm, puzzled(self.confirm) if self.confirm else ""),
            *(text for slot in slots for text in MISSING.get(slot.slot.type, ())),
            *((self.change, puzzled(self.change)) if self.confirm else ()),
            *(self.settled, otherwise if self.action else "", LEFT),
        ]
        return tuple(dict.fromkeys(each for text in texts if text for each in _chosen(text, slots)))


def puzzled(ask: str) -> str:
    """Return *ask*, put to a caller whose answer was not understood."""
    return f"Sorry, I didn't get that. {ask}"


def _chosen(text: str, slots: Sequence[Ready]) -> Iterator[str]:
    """Yield *text* with its holes filled in every way that choices allow; nothing if others are in it."""
    choices = {slot.name: tuple(slot.slot.choices) for slot in slots if slot.slot.type == "choice"}
    holes = tuple(dict.fromkeys(HOLE.findall(text)))
    if not all(hole in choices for hole in holes) or math.prod(len(choices[hole]) for hole in holes) > MOST:
        return
    for values in itertools.product(*(choices[hole] for hole in holes)):
        yield filled(text, slots, dict(zip(holes, values, strict=True)))
