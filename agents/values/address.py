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

if TYPE_CHECKING:
    from turnbudget.agents.values.words import Choice

STREET: Final = "What are the house number and the street?"
CITY: Final = "And the city and state?"
POSTCODE: Final = "And the zip code?"
GO_ON: Final = "Go on, please."
"""What is asked for the rest of an address."""
_WAYS: Final = {
    "street": "st",
    "avenue": "ave",
    "road": "rd",
    "drive": "dr",
    "lane": "ln",
    "boulevard": "blvd",
    "court": "ct",
    "place": "pl",
    "parkway": "pkwy",
    "highway": "hwy",
    "circle": "cir",
    "terrace": "ter",
    "square": "sq",
    "way": "",
    "trail": "",
    "alley": "",
    "loop": "",
}
_STATES: Final = {
    "alabama": "al", "alaska": "ak", "arizona": "az", "arkansas": "ar", "california": "ca", "colorado": "co",
    "connecticut": "ct", "delaware": "de", "florida": "fl", "georgia": "ga", "hawaii": "hi", "idaho": "id",
    "illinois": "il", "indiana": "in", "iowa": "ia", "kansas": "ks", "kentucky": "ky", "louisiana": "la",
    "maine": "me", "maryland": "md", "massachusetts": "ma", "michigan": "mi", "minnesota": "mn",
    "mississippi": "ms", "missouri": "mo", "montana": "mt", "nebraska": "ne", "nevada": "nv",
    "new hampshire": "nh", "new jersey": "nj", "new mexico": "nm", "new york": "ny", "north carolina": "nc",
    "north dakota": "nd", "ohio": "oh", "oklahoma": "ok", "oregon": "or", "pennsylvania": "pa",
    "rhode island": "ri", "south carolina": "sc", "south dakota": "sd", "tennessee": "tn", "texas": "tx",
    "utah": "ut", "vermont": "vt", "virginia": "va", "washington": "wa", "west virginia": "wv",
    "wisconsin": "wi", "wyoming": "wy",
}  # fmt: skip
_STATE_OF: Final = {short: state for state, short in _STATES.items()}
_ALL_WAYS: Final = "|".join([*_WAYS, *filter(None, _WAYS.values())])
_STREET: Final = re.compile(
    rf"\b(?P<number>\d+[a-z]?) (?P<name>(?:(?!\d|of\b)[\w']+ ){{1,4}}?)(?P<way>{_ALL_WAYS})\b"
)
_STATE: Final = re.compile(
    rf"\b(?:{'|'.join(sorted(_STATES, key=len, reverse=True))})\b|\b(?:{'|'.join(_STATE_OF)})(?= \d{{5}}\b)"
)
_ZIP: Final = re.compile(r"\b(\d{5,})(?!\d| (?:[a-z]+ ){1,3}(?:" + _ALL_WAYS + r")\b)")
_BETWEEN: Final = re.compile(
    r"\b(?:and|that's|thats|that is|it's|it is|in|is|the|zip|code|city|town|of|state|gonna|be|going|to|then"
    r"|my|uh|address|please|thank|you|yes|yeah|sure|okay|so)\b|\||,|\d+"
)
_ZIP_DIGITS: Final = 5
_BREATHS: Final = re.compile(
    r"\b(?:(\d{1,4}) (?:, )?(\d{1,4}))(?= |$)(?! (?:[a-z]+ ){1,3}(?:" + _ALL_WAYS + r")\b)"
)
"""Digits said in two breaths are one number: "054" and "18"."""
_ALNUM_ORDINAL: Final = re.compile(r"\b(\d+)(st|nd|rd|th)\b", re.IGNORECASE)


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
        if not self.street:
            return STREET
        if not (self.city or self.state):
            return CITY
        return "" if self.postcode else POSTCODE


@dataclass(frozen=True, slots=True)
class Address:
    """Reads an address; *places* are towns it may know by name."""

    places: Choice | None = None

    def __call__(self, text: str, *, asked: bool = False, before: str = "") -> Reading | None:
        """Return the address; what was said *before* is put in front."""
        text = unspelled(text)
        alone = self._parts(text)
        if not alone.missing:
            over = not re.search(r"\d", text[alone.end :])
            return Reading(alone.whole, alone.whole, alone.start, alone.end, whole=over)
        if not asked and not alone.street:
            return None
        said = _BREATHS.sub(r"\1\2", " ".join(f"{before} {text}".split()))
        parts = self._parts(said)
        if before and not _news(text, alone):
            return None
        if not before and not (alone.street or alone.city or alone.state or re.search(r"\d", text)):
            return None
        if not parts.missing:
            return Reading(parts.whole, parts.whole, 0, len(text), whole=True)
        missing = parts.missing
        if not parts.street and re.search(r"\d$", said):
            missing = GO_ON
        return Reading(said, parts.whole or said, 0, len(text), missing)

    def _parts(self, text: str) -> _Parts:
        streets = list(_STREET.finditer(text))
        street = next((each for each in reversed(streets) if self._rest(text, each)), None)
        street = street or (streets[-1] if streets else None)
        after = street.end() if street else 0
        states = list(_STATE.finditer(text, after)) or list(_STATE.finditer(text))
        state = states[-1] if states else None
        zips = list(_ZIP.finditer(text, after))
        postcode = zips[-1] if zips else None
        town = self._city(text, after, state, postcode) if street or state else ""
        if not town and self.places and (known := self.places(text, asked=True)):
            town = known.value
        ends = [each.end() for each in (street, state, postcode) if each]
        starts = [each.start() for each in (street, state, postcode) if each]
        return _Parts(
            _street(street) if street else "",
            town.title(),
            _STATE_OF.get(state[0], state[0]).title() if state else "",
            postcode[1][-_ZIP_DIGITS:] if postcode else "",
            min(starts, default=0),
            max(ends, default=0),
        )

    @staticmethod
    def _rest(text: str, street: re.Match[str]) -> bool:
        """Say whether a state or a postcode follows *street*: of two addresses the whole one counts."""
        return bool(_STATE.search(text, street.end()) or _ZIP.search(text, street.end()))

    def _city(
        self, text: str, after: int, state: re.Match[str] | None, postcode: re.Match[str] | None
    ) -> str:
        """Return the words between the street and the state."""
        ends = [each.start() for each in (state, postcode) if each and each.start() >= after]
        between = " ".join(_BETWEEN.sub(" ", text[after : min(ends, default=len(text))]).split())
        if self.places and between and (known := self.places(between, asked=True)):
            return known.value
        return between if ends else ""


def _street(found: re.Match[str]) -> str:
    way = next((long for long, short in _WAYS.items() if found["way"] in {long, short}), found["way"])
    name = found["name"].strip().title()
    return f"{found['number'].upper()} {_ALNUM_ORDINAL.sub(lambda nth: nth[0].lower(), name)} {way.title()}"


def _news(text: str, alone: _Parts) -> bool:
    """Say whether *text* goes on with an address: a number, a place, or a few words of a street."""
    return bool(
        alone.street
        or alone.city
        or alone.state
        or re.search(r"\d", text)
        or (len(text.split()) <= 5 and re.search(rf"\b(?:{_ALL_WAYS})\b", text))  # noqa: PLR2004 - a few
        or 0 < len(_BETWEEN.sub(" ", text).split()) <= 2  # noqa: PLR2004 - "main", "and that's in harper valley"
    )
