"""Days and times as they are said; a day stays what was said ("Monday"), for only the caller knows which."""

from __future__ import annotations

import re
from datetime import date, timedelta
from typing import Final

from turnbudget.agents.values.reading import Reading

DAYS: Final = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
MONTHS: Final = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
_ORDINALS: Final = (
    *("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth"),
    *("eleventh", "twelfth", "thirteenth", "fourteenth", "fifteenth", "sixteenth", "seventeenth"),
    *("eighteenth", "nineteenth", "twentieth"),
)
_ORDINAL_VALUES: Final = {word: value for value, word in enumerate(_ORDINALS, 1)} | {"thirtieth": 30}
_NTH: Final = rf"(?:(20|30) )?({'|'.join(sorted(_ORDINAL_VALUES, key=len, reverse=True))})"
_NUMBERED: Final = rf"(?:{_NTH}|(\d{{1,2}})(?:st|nd|rd|th)?)"
_MONTH: Final = rf"({'|'.join(MONTHS)}|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)"
_YEAR: Final = r"(?:(?: of)?(?: the year)? (20\d\d))?"

_WEEKDAY: Final = re.compile(
    rf"\b(?:(next|this|this coming|coming) )?({'|'.join(DAYS)}|mon|tues?|wed|thurs?|thu|fri|sat|sun)s?\b"
)
_RELATIVE: Final = re.compile(r"\b(day after tomorrow|tomorrow|today|tonight)\b")
_MONTH_DAY: Final = re.compile(rf"\b{_MONTH} (?:the )?{_NUMBERED}\b{_YEAR}")
_DAY_MONTH: Final = re.compile(rf"\b{_NUMBERED} (?:of )?{_MONTH}\b{_YEAR}")
_SLASHED: Final = re.compile(r"\b(\d{1,2})/(\d{1,2})(?:/(\d{4}))?\b")
_THE_NTH: Final = re.compile(rf"\bthe {_NTH}\b")

_CLOCK: Final = re.compile(
    r"(?<![\d:/.])(\d{1,2}):?(\d{2})?(?: o'?clock)?(?:(?: in the| at)? ([ap]) ?m\b"
    r"| (?:in the|this|at) (morning|afternoon|evening|night)\b| (o'?clock)\b)"
)
_AT: Final = re.compile(
    r"\bat (\d{1,2}):?(\d{2})?(?=$| (?:on|if|or|and|please|for|would|works|today|tomorrow|next|this)\b| \|)"
)
_COLON: Final = re.compile(r"(?<![\d:/.])(\d{1,2}):(\d{2})(?![\d:])")
_PAST: Final = re.compile(
    r"\b(half|a? ?quarter|\d{1,2})(?: minutes)? (past|after|to|till|before) (\d{1,2})\b(?: ([ap]) m\b)?"
)
_NAMED: Final = re.compile(r"\b(?:12 )?(noon|midday|midnight)\b")
_BARE: Final = re.compile(r"(?<![\d:/.])(\d{1,2}):?(\d{2})?(?![\d:/.])")
_FIRST_HOUR: Final = 7
"""Hours without half of the day are those of a working day: from 7 on it is morning."""
_NOON: Final = 12


def day(text: str, *, asked: bool = False, before: str = "") -> Reading | None:  # noqa: ARG001 - a Reader
    """Read a day: "Monday", "next Friday", "tomorrow", "June 3", "June 3, 2027", "the 3rd"."""
    found = [_dated(text), _weekday(text), _relative(text)]
    if asked:
        found.append(_nth(text))
    return next((reading for reading in found if reading), None)


def time(text: str, *, asked: bool = False, before: str = "") -> Reading | None:  # noqa: ARG001 - a Reader
    """Read a time of day: "11:00 AM"."""
    if found := _NAMED.search(text):
        value = "12:00 AM" if found[1] == "midnight" else "12:00 PM"
        return Reading(value, found[1], found.start(), found.end(), whole=True)
    if (found := _PAST.search(text)) and (past := _past(found)):
        return past
    for found in reversed(list(_CLOCK.finditer(text))):
        half = found[3] or {"morning": "a", None: ""}.get(found[4], "p")
        if reading := _clocked(found, int(found[1]), int(found[2] or 0), half, whole=True):
            return reading
    for pattern in (_COLON, _AT, *((_BARE,) if asked else ())):
        for found in reversed(list(pattern.finditer(text))):
            whole = pattern is _COLON
            if reading := _clocked(found, int(found[1]), int(found[2] or 0), "", whole=whole):
                return reading
    return None


def resolve(value: str, today: date) -> date | None:
    """Return the date that a day read by :func:`day` means on *today*; ``None`` if it names none.

    A weekday is the next one to come; "next" adds a week only if that falls within this week.
    """
    words = value.lower().replace(",", "").split()
    if words[-1:] and words[-1] in DAYS:
        ahead = (DAYS.index(words[-1]) - today.weekday()) % 7 or 7
        same_week = today.weekday() + ahead < len(DAYS)
        return today + timedelta(ahead + (7 if words[0] == "next" and same_week else 0))
    steps = {"today": 0, "tomorrow": 1, "the day after tomorrow": 2}
    if value.lower() in steps:
        return today + timedelta(steps[value.lower()])
    try:
        if words[0] == "the":
            nth = int(re.sub(r"\D", "", words[1]))
            later = today.replace(day=1) + timedelta(31) if nth < today.day else today
            return later.replace(day=nth)
        month, nth = MONTHS.index(words[0]) + 1, int(words[1])
        if words[2:]:
            return date(int(words[2]), month, nth)
        this = date(today.year, month, nth)
        return this if this >= today else this.replace(year=today.year + 1)
    except (ValueError, IndexError):
        return None


def _weekday(text: str) -> Reading | None:
    found = list(_WEEKDAY.finditer(text))
    if not found:
        return None
    last = found[-1]
    name = next(day for day in DAYS if day.startswith(last[2][:3])).capitalize()
    value = f"next {name}" if last[1] == "next" else name
    return Reading(value, value, last.start(), last.end(), whole=True)


def _relative(text: str) -> Reading | None:
    found = _RELATIVE.search(text)
    if not found:
        return None
    value = {"tonight": "today", "day after tomorrow": "the day after tomorrow"}.get(found[1], found[1])
    return Reading(value, value, found.start(), found.end(), whole=True)


def _dated(text: str) -> Reading | None:
    if found := _MONTH_DAY.search(text):
        month, tens, ordinal, digits, year = found.groups()
    elif found := _DAY_MONTH.search(text):
        tens, ordinal, digits, month, year = found.groups()
    elif found := _SLASHED.search(text):
        number = int(found[1])
        if not 1 <= number <= len(MONTHS):
            return None
        month, tens, ordinal, digits, year = MONTHS[number - 1], None, None, found[2], found[3]
    else:
        return None
    number = next(at for at, name in enumerate(MONTHS, 1) if name.startswith(month[:3]))
    nth = _ordinal(tens, ordinal) if ordinal else int(digits)
    try:
        date(int(year or 2024), number, nth)  # a leap year, so that February 29 may be meant
    except ValueError:
        return None
    value = f"{MONTHS[number - 1].capitalize()} {nth}" + (f", {year}" if year else "")
    # "June twenty" may become "June twenty third".
    whole = bool(year) or not (digits and nth in {20, 30} and found.re is _MONTH_DAY and found[0][-1] == "0")
    return Reading(value, value, found.start(), found.end(), whole=whole)


def _nth(text: str) -> Reading | None:
    found = _THE_NTH.search(text)
    if not found:
        return None
    nth = _ordinal(found[1], found[2])
    ending = {1: "st", 2: "nd", 3: "rd"}.get(nth % 10, "th") if nth not in {11, 12, 13} else "th"
    value = f"the {nth}{ending}"
    return Reading(value, value, found.start(), found.end())


def _ordinal(tens: str | None, ordinal: str) -> int:
    return int(tens or 0) + _ORDINAL_VALUES[ordinal]


def _past(found: re.Match[str]) -> Reading | None:
    said = found[1].strip()
    minutes = 30 if said == "half" else 15 if "quarter" in said else int(said)
    hour = int(found[3])
    if found[2] in {"to", "till", "before"}:
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
