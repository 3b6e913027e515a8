"""Days and times as they are said; a day stays what was said ("Monday"), for only the caller knows which."""

from __future__ import annotations

import re
from datetime import date, timedelta
from typing import Final

from turnbudget.agents.values.reading import Reading
from turnbudget.voice.language.language import ENGLISH, Language

_ENDINGS: Final = {1: "st", 2: "nd", 3: "rd"}
_FIRST_HOUR: Final = 7
"""Hours without half of the day are those of a working day: from 7 on it is morning."""
_NOON: Final = 12


def day(
    text: str,
    *,
    asked: bool = False,
    before: str = "",  # noqa: ARG001 - a Reader
    language: Language = ENGLISH,
) -> Reading | None:
    """Read a day: "Monday", "next Friday", "tomorrow", "June 3", "June 3, 2027", "the 3rd"."""
    found = [_dated(text, language), _weekday(text, language), _relative(text, language)]
    if asked:
        found.append(_nth(text, language))
    return next((reading for reading in found if reading), None)


def time(
    text: str,
    *,
    asked: bool = False,
    before: str = "",  # noqa: ARG001 - a Reader
    language: Language = ENGLISH,
) -> Reading | None:
    """Read a time of day: "11:00 AM"."""
    if found := language.pattern("when.named").search(text):
        value = language.table("when.hours")[found[1]]
        return Reading(value, found[1], found.start(), found.end(), whole=True)
    if (found := language.pattern("when.past").search(text)) and (past := _past(found, language)):
        return past
    for found in reversed(list(language.pattern("when.clock").finditer(text))):
        half = language.table("when.halves").get(found[3] or found[4], "")
        if reading := _clocked(found, int(found[1]), int(found[2] or 0), half, whole=True):
            return reading
    for pattern in (
        language.pattern("when.colon"),
        language.pattern("when.at"),
        *((language.pattern("when.bare"),) if asked else ()),
    ):
        for found in reversed(list(pattern.finditer(text))):
            whole = pattern is language.pattern("when.colon")
            if reading := _clocked(found, int(found[1]), int(found[2] or 0), "", whole=whole):
                return reading
    return None


def resolve(value: str, today: date, language: Language = ENGLISH) -> date | None:
    """Return the date that a day read by :func:`day` means on *today*; ``None`` if it names none.

    A weekday is the next one to come; "next" adds a week only if that falls within this week.
    """
    words = value.lower().replace(",", "").split()
    if words[-1:] and words[-1] in language.words("when.days"):
        ahead = (language.words("when.days").index(words[-1]) - today.weekday()) % 7 or 7
        same_week = today.weekday() + ahead < len(language.words("when.days"))
        return today + timedelta(ahead + (7 if language.has("when.next", words[0]) and same_week else 0))
    steps = {said: days for days, said in language.table("when.relatives").values()}
    if value.lower() in steps:
        return today + timedelta(steps[value.lower()])
    try:
        if language.has("when.the", words[0]):
            nth = int(re.sub(r"\D", "", words[1]))
            later = today.replace(day=1) + timedelta(31) if nth < today.day else today
            return later.replace(day=nth)
        month, nth = language.words("when.months").index(words[0]) + 1, int(words[1])
        if words[2:]:
            return date(int(words[2]), month, nth)
        this = date(today.year, month, nth)
        return this if this >= today else this.replace(year=today.year + 1)
    except (ValueError, IndexError):
        return None


def _weekday(text: str, language: Language) -> Reading | None:
    found = list(language.pattern("when.weekday").finditer(text))
    if not found:
        return None
    last = found[-1]
    name = next(day for day in language.words("when.days") if day.startswith(last[2][:3])).capitalize()
    later = last[1] if last[1] and language.has("when.next", last[1]) else ""
    value = f"{later} {name}" if later else name
    return Reading(value, value, last.start(), last.end(), whole=True)


def _relative(text: str, language: Language) -> Reading | None:
    found = language.pattern("when.relative").search(text)
    if not found:
        return None
    value = language.table("when.relatives")[found[1]][1]
    return Reading(value, value, found.start(), found.end(), whole=True)


def _dated(text: str, language: Language) -> Reading | None:
    if found := language.pattern("when.month_day").search(text):
        month, tens, ordinal, digits, year = found.groups()
    elif found := language.pattern("when.day_month").search(text):
        tens, ordinal, digits, month, year = found.groups()
    elif found := language.pattern("when.slashed").search(text):
        number = int(found[1])
        if not 1 <= number <= len(language.words("when.months")):
            return None
        month, tens, ordinal, digits, year = (
            language.words("when.months")[number - 1],
            None,
            None,
            found[2],
            found[3],
        )
    else:
        return None
    number = next(
        at for at, name in enumerate(language.words("when.months"), 1) if name.startswith(month[:3])
    )
    nth = _ordinal(tens, ordinal, language) if ordinal else int(digits)
    try:
        date(int(year or 2024), number, nth)  # a leap year, so that February 29 may be meant
    except ValueError:
        return None
    value = f"{language.words('when.months')[number - 1].capitalize()} {nth}" + (f", {year}" if year else "")
    # "June twenty" may become "June twenty third".
    whole = bool(year) or not (
        digits and nth in {20, 30} and found.re is language.pattern("when.month_day") and found[0][-1] == "0"
    )
    return Reading(value, value, found.start(), found.end(), whole=whole)


def _nth(text: str, language: Language) -> Reading | None:
    found = language.pattern("when.the_nth").search(text)
    if not found:
        return None
    nth = _ordinal(found[1], found[2], language)
    value = (
        f"{language.word('when.the')} {nth}{'th' if nth in {11, 12, 13} else _ENDINGS.get(nth % 10, 'th')}"
    )
    return Reading(value, value, found.start(), found.end())


def _ordinal(tens: str | None, ordinal: str, language: Language) -> int:
    return int(tens or 0) + language.numbers.ordinals[ordinal]


def _past(found: re.Match[str], language: Language) -> Reading | None:
    said = found[1].strip()
    half, quarter = language.has("when.half", said), language.has("when.quarter", said)
    minutes = 30 if half else 15 if quarter else int(said)
    hour = int(found[3])
    if language.has("when.before_the_hour", found[2]):
        minutes, hour = 60 - minutes, hour - 1 or _NOON
    return _clocked(found, hour, minutes, found[4] or "", whole=True)


def _clocked(found: re.Match[str], hour: int, minute: int, half: str, *, whole: bool) -> Reading | None:
    """Return the time of day as a reading, ``None`` if there is no such time."""
    if hour > _NOON and not half and hour < 24:  # noqa: PLR2004 - hours of a day
        hour, half = hour - _NOON, "p"
    if not 1 <= hour <= _NOON or minute >= 60:  # noqa: PLR2004 - minutes of an hour
        return None
    half = half or ("a" if _FIRST_HOUR <= hour < _NOON else "p")
    spoken = f"{hour}:{minute:02} {half.upper()}M" if minute else f"{hour} {half.upper()}M"
    return Reading(f"{hour}:{minute:02} {half.upper()}M", spoken, found.start(), found.end(), whole=whole)
