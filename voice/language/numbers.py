"""Spoken numbers read as digits, as a caller dictates them: "seven seven oh one nine" is 77019.

Numbers that follow one another are joined as said ("nineteen ninety two" is 1992), leading zeros are
kept, and "oh" is a zero only between or after digits.
"""

from __future__ import annotations

from typing import Final

_DIGITS: Final = {
    word: value
    for value, word in enumerate(
        ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
    )
}
_TEENS: Final = (
    *("ten", "eleven", "twelve", "thirteen", "fourteen"),
    *("fifteen", "sixteen", "seventeen", "eighteen", "nineteen"),
)
_TENS: Final = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_VALUES: Final = {
    **_DIGITS,
    **{word: value for value, word in enumerate(_TEENS, 10)},
    **{word: value * 10 for value, word in enumerate(_TENS, 2)},
}
_TIMES: Final = {"double": 2, "triple": 3}


def read_numbers(text: str) -> str:
    """Return *text* (words without punctuation) with each run of numbers as one string of digits."""
    words = text.replace("-", " ").split()
    out: list[str] = []
    at = 0
    while at < len(words):
        digits, used = _run(words[at:])
        out.append(digits or words[at])
        at += used or 1
    return " ".join(out)


def _run(words: list[str]) -> tuple[str, int]:
    """Return the digits at the beginning of *words* and how many words they take; ('', 0) if none."""
    digits, at = "", 0
    while at < len(words):
        word, following = words[at], words[at + 1 : at + 2]
        if word in _TIMES and following and following[0] in _DIGITS:
            digits += str(_DIGITS[following[0]]) * _TIMES[word]
            at += 2
        elif word == "oh" and (len(digits) > 1 or (digits and _goes_on(following))):
            digits += "0"
            at += 1
        elif word.isdecimal():
            digits += word
            at += 1
        elif word in _VALUES:
            value, used = _cardinal(words[at:])
            digits += str(value)
            at += used
        else:
            break
    return digits, at


def _goes_on(following: list[str]) -> bool:
    return bool(following) and (following[0] in _VALUES or following[0] in {"oh", *_TIMES})


def _cardinal(words: list[str]) -> tuple[int, int]:
    """Return the one number that *words* begin with, and how many words it takes."""
    thousands, rest, at = 0, 0, 0
    # What comes next belongs to the same number only if it is less than this.
    room = 100
    while at < len(words):
        value = _VALUES.get(words[at])
        if value is not None and value < room and (value or not at):
            rest += value
            room = 10 if value in range(20, 100, 10) else 1
        elif words[at] == "hundred" and 0 < rest < 100:  # noqa: PLR2004 - a hundred
            rest *= 100
            room = 100
        elif words[at] == "thousand" and rest and not thousands:
            thousands, rest = rest * 1_000, 0
            room = 100
        elif not (words[at] == "and" and at and room == 100 and _goes_on(words[at + 1 : at + 2])):  # noqa: PLR2004 - likewise
            break
        at += 1
    return thousands + rest, at
