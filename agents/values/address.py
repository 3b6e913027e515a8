"""Postal addresses of the United States as they are dictated, in one turn or in five.

"zero zero one main that's m a i n street and that's in forest ranch california and the zip code is seven zero
zero two three" is "001 Main Street, Forest Ranch, California, 70023".
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from turnbudget.agents.values.reading import Reading
from turnbudget.agents.values.words import unspelled
from turnbudget.voice.language.language import ENGLISH, Language

if TYPE_CHECKING:
    from turnbudget.agents.values.words import Choice

_ZIP_DIGITS: Final = 5


@dataclass(frozen=True, slots=True)
class _Parts:
    street: str = ""
    city: str = ""
    state: str = ""
    postcode: str = ""
    start: int = 0
    end: int = 0

    @property
    def whole(self) -> str:
        return ", ".join(filter(None, (self.street, self.city, self.state, self.postcode)))

    @property
    def missing(self) -> str:
        """What is missing, as the name of what is asked for it; '' for nothing."""
        if not self.street:
            return "street"
        if not (self.city or self.state):
            return "city"
        return "" if self.postcode else "postcode"


@dataclass(frozen=True, slots=True)
class Address:
    """Reads an address; *places* are towns it may know by name."""

    places: Choice | None = None
    language: Language = ENGLISH

    def __call__(self, text: str, *, asked: bool = False, before: str = "") -> Reading | None:
        """Return the address; what was said *before* is put in front."""
        text = unspelled(text, self.language)
        alone = self._parts(text)
        if not alone.missing:
            over = not re.search(r"\d", text[alone.end :])
            return Reading(alone.whole, alone.whole, alone.start, alone.end, whole=over)
        if not asked and not alone.street:
            return None
        said = self.language.pattern("address.breaths").sub(r"\1\2", " ".join(f"{before} {text}".split()))
        parts = self._parts(said)
        if before and not _news(text, alone, self.language):
            return None
        if not before and not (alone.street or alone.city or alone.state or re.search(r"\d", text)):
            return None
        if not parts.missing:
            return Reading(parts.whole, parts.whole, 0, len(text), whole=True)
        missing = parts.missing
        if not parts.street and re.search(r"\d$", said):
            missing = "go_on"
        return Reading(said, parts.whole or said, 0, len(text), self.language.says(missing))

    def _parts(self, text: str) -> _Parts:
        streets = list(self.language.pattern("address.street").finditer(text))
        street = next((each for each in reversed(streets) if self._rest(text, each)), None)
        street = street or (streets[-1] if streets else None)
        after = street.end() if street else 0
        states = list(self.language.pattern("address.state").finditer(text, after)) or list(
            self.language.pattern("address.state").finditer(text)
        )
        state = states[-1] if states else None
        zips = list(self.language.pattern("address.zip").finditer(text, after))
        postcode = zips[-1] if zips else None
        town = self._city(text, after, state, postcode) if street or state else ""
        if not town and self.places and (known := self.places(text, asked=True)):
            town = known.value
        ends = [each.end() for each in (street, state, postcode) if each]
        starts = [each.start() for each in (street, state, postcode) if each]
        return _Parts(
            _street(street, self.language) if street else "",
            town.title(),
            self._named(state[0]).title() if state else "",
            postcode[1][-_ZIP_DIGITS:] if postcode else "",
            min(starts, default=0),
            max(ends, default=0),
        )

    def _named(self, state: str) -> str:
        """Return the whole name of a *state* that may be abbreviated."""
        states = self.language.table("address.states")
        return next((name for name, short in states.items() if short == state), state)

    def _rest(self, text: str, street: re.Match[str]) -> bool:
        """Say whether a state or a postcode follows *street*: of two addresses the whole one counts."""
        return bool(
            self.language.pattern("address.state").search(text, street.end())
            or self.language.pattern("address.zip").search(text, street.end())
        )

    def _city(
        self, text: str, after: int, state: re.Match[str] | None, postcode: re.Match[str] | None
    ) -> str:
        """Return the words between the street and the state."""
        ends = [each.start() for each in (state, postcode) if each and each.start() >= after]
        between = " ".join(
            self.language.pattern("address.between")
            .sub(" ", text[after : min(ends, default=len(text))])
            .split()
        )
        if self.places and between and (known := self.places(between, asked=True)):
            return known.value
        return between if ends else ""


def _street(found: re.Match[str], language: Language) -> str:
    way = next(
        (long for long, short in language.table("address.ways").items() if found["way"] in {long, short}),
        found["way"],
    )
    name = found["name"].strip().title()
    name = language.pattern("address.alnum_ordinal").sub(lambda nth: nth[0].lower(), name)
    return f"{found['number'].upper()} {name} {way.title()}"


def _news(text: str, alone: _Parts, language: Language) -> bool:
    """Say whether *text* goes on with an address: a number, a place, or a few words of a street."""
    return bool(
        alone.street
        or alone.city
        or alone.state
        or re.search(r"\d", text)
        or (len(text.split()) <= 5 and language.pattern("address.all_ways").search(text))  # noqa: PLR2004 - a few
        or 0 < len(language.pattern("address.between").sub(" ", text).split()) <= 2  # noqa: PLR2004 - "main", "and that's in harper valley"
    )
