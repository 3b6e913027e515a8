"""A slot is one thing that a form must know: its kind, the question for it, the words that announce it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import msgspec

from turnbudget.agents.phrases import patterns
from turnbudget.agents.values.kinds import WORDY, reader
from turnbudget.agents.values.numbers import grouped
from turnbudget.voice.errors import ConfigError
from turnbudget.voice.language.language import ENGLISH, Language

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from turnbudget.agents.values.reading import Reader

RESERVED: Final = frozenset(("result", "confirm", "change"))
"""The names that no slot may have."""
HOLE: Final = re.compile(r"\{([\w -]+)\}")
"""Where a text takes a slot's value: ``{name}``."""


class Slot(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A value that a form asks for; in TOML a ``[[agent.slots]]`` table.

    ``ask`` is the question for it, ``again`` how to ask after an answer that was not understood. ``cues``
    are words that stand before it ("from"): of two slots of one type they tell which is meant. ``choices``
    are the values of a choice, each with other words for it, or what a text or an address is likely to be.
    ``shared`` takes over what the call already knows under that name. ``speak`` is how it is spoken in
    other texts ("your {value}"). ``digits`` is the length of digits or a phone number.
    """

    name: str
    type: str = "text"
    ask: str = ""
    again: str = ""
    cues: tuple[str, ...] = ()
    choices: dict[str, tuple[str, ...]] | tuple[str, ...] = ()
    required: bool = True
    shared: bool = False
    speak: str = "{value}"
    digits: int = 0

    def reader(self, where: str, language: Language = ENGLISH) -> Reader:
        """Return what reads it; raises ConfigError."""
        choices = self.choices if isinstance(self.choices, dict) else dict.fromkeys(self.choices, ())
        return reader(self.type, choices, self.digits, where, language)

    @property
    def wordy(self) -> bool:
        """Whether it is read from words, not from digits."""
        return self.type in WORDY

    def spoken(self, value: str, language: Language = ENGLISH) -> str:
        """Return *value* as it is spoken."""
        if self.type == "amount":
            value = f"{value} {language.says('dollar' if value == '1' else 'dollars')}"
        elif self.type in {"phone", "digits"}:
            value = grouped(value)
        elif self.type == "time":
            value = value.replace(":00", "")
        elif self.type == "spelled":
            value = " ".join(value.upper())
        return self.speak.replace("{value}", value)


class Ready(msgspec.Struct, frozen=True):
    """A slot with what reads it."""

    slot: Slot
    read: Reader
    cue: re.Pattern[str] | None
    language: Language = ENGLISH

    @property
    def name(self) -> str:
        """Its name."""
        return self.slot.name

    @property
    def ask(self) -> str:
        """The question for it."""
        return self.slot.ask

    @property
    def again(self) -> str:
        """How to ask once more."""
        return self.slot.again

    def spoken(self, value: str) -> str:
        """Return *value* as it is spoken."""
        return self.slot.spoken(value, self.language)

    @property
    def required(self) -> bool:
        """Whether it must be known."""
        return self.slot.required

    @property
    def shared(self) -> bool:
        """Whether the whole call knows it."""
        return self.slot.shared


def prepared(slots: Sequence[Slot], where: str, language: Language = ENGLISH) -> tuple[Ready, ...]:
    """Return *slots* ready to be read; raises ConfigError for one that means nothing."""
    ready: list[Ready] = []
    for slot in slots:
        here = f"{where}, slot {slot.name}"
        if not slot.name.strip() or slot.name in RESERVED:
            raise ConfigError(f"{slot.name!r} is no name for a slot", where=where, remedy="choose another")
        if any(slot.name == other.name for other in ready):
            raise ConfigError("there are two of that name", where=here, remedy="rename one")
        if slot.required and not slot.ask.strip():
            raise ConfigError("there is no question for it", where=here, remedy='say ask = "..."')
        cues = patterns(slot.cues, here)
        cue = language.bounded(rf"\b(?:{'|'.join(each.pattern for each in cues)})\b") if cues else None
        ready.append(Ready(slot, slot.reader(here, language), cue, language))
    return tuple(ready)


def filled(text: str, slots: Sequence[Ready], values: Mapping[str, str]) -> str:
    """Return *text* with ``{slot}`` as that slot is spoken; what is not known stays as it stands."""
    speaking = {each.name: each for each in slots}

    def instead(found: re.Match[str]) -> str:
        name = found[1]
        return speaking[name].spoken(values[name]) if name in speaking and name in values else found[0]

    return HOLE.sub(instead, text)
