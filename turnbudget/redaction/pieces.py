"""A number that a caller says in pieces, a turn each: no piece is anybody's by itself, and all of them are.

A piece is told by what we asked for, by the caller's own "my card number is", or by the piece before it. What
was once known to be such a number, or a part of one, is so in every other text: a pause in the middle of
a number leaves partial texts of it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from turnbudget.redaction.digits_said import FILLERS, plain, runs, trimmed
from turnbudget.redaction.redact import (
    CARD,
    CODE,
    DIGITS,
    LAST_FOUR,
    LONGEST,
    REACH,
    SHORTEST,
    SSN,
    cue,
    cut,
    is_amount,
    redact,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from turnbudget.redaction.digits_said import Run

REMEMBERED: Final = 16
"""Numbers that are looked for in later texts of their call."""
GOES_ON: Final = 8
"""Digits that two turns have together if the second goes on with a number of the first."""
HALF: Final = 6
"""Digits behind "my card is" that are a piece of its number."""
OPEN: Final = 2
"""Digits at the end of a partial text that may read otherwise in the whole: forty, forty-one."""
_QUESTION: Final = re.compile(
    r"[^.!?]+\?|[^.!?]*\b(?:please|tell|give|enter|say|spell|read|need|can i have)\b[^.!?]*", re.IGNORECASE
)
"""A sentence of ours that asks for something."""
_NUMBER: Final = re.compile(r"\b(?:numbers?|digits?)\b", re.IGNORECASE)
_LAST: Final = re.compile(r"\b(?:last|final|end(?:s|ing|ed)?)\b", re.IGNORECASE)
_WORD: Final = re.compile(r"\w+")


class Pieces:
    """What is known of the numbers of one call."""

    def __init__(self) -> None:
        self._numbers: tuple[str, ...] = ()
        """Digits that nobody may read."""
        self._asked = ""
        """What asked for a number, or was a piece of one; '' when none is due."""
        self._open = ""
        """The digits that the caller's last turn ended with, unless they were nobody's secret."""

    def heard(self, text: str) -> None:
        """Know that the caller said *text* in a turn."""
        if not text:
            return
        shown, asked, going_on = redact(text), self._asked, self._open
        self._asked = self._open = ""
        for run, digits in _numbers(text):
            said = text[run[0].start : run[-1].end]
            goes_on = _is_filler(text[: run[0].start]) and len(going_on + digits) >= GOES_ON and going_on
            if said not in shown:
                self._keep(digits)
            elif goes_on or _is_piece(text, run, digits, asked):
                self._keep(digits)
                self._asked = asked or said
            if _is_filler(text[run[-1].end :]) and cue(text, run[0].start) != "":
                self._open = digits

    def said(self, text: str) -> None:
        """Know that we said *text*: it may have asked for a number."""
        for sentence in _QUESTION.findall(text):
            if _asks(sentence):
                self._asked = sentence

    def without(self, text: str) -> str:
        """Return the redacted *text* without any piece of a number that is known."""
        if self._numbers and text:
            for run, digits in reversed(list(_numbers(text))):
                if self._is_known(digits):
                    text = cut(text, run, DIGITS)
        return text

    def _keep(self, digits: str) -> None:
        self._numbers = (*self._numbers, digits)[-REMEMBERED:]

    def _is_known(self, digits: str) -> bool:
        sure = digits[:-OPEN] if len(digits) >= SHORTEST + OPEN else digits
        return any(sure in number for number in self._numbers)


def _numbers(text: str) -> Iterator[tuple[Run, str]]:
    """Yield the runs of *text* that may be a piece, each with its digits."""
    for run in map(trimmed, runs(text)):
        digits = plain(run)[0] if len(run) <= LONGEST else ""
        if len(digits) >= SHORTEST and not is_amount(text, run):
            yield run, digits


def _is_piece(text: str, run: Run, digits: str, asked: str) -> bool:
    """Say whether *run* is a piece of what the caller says it is, or else of what we *asked* for."""
    at = run[0].start
    before, kind = text[max(0, at - REACH) : at], cue(text, at)
    if kind is None:
        return bool(asked) and not (len(digits) == LAST_FOUR and _LAST.search(asked + before))
    if kind != CARD:
        return _asks(before)
    if len(digits) == LAST_FOUR and _LAST.search(before):
        return False
    return len(digits) >= HALF or _asks(before)


def _asks(text: str) -> bool:
    """Say whether *text* speaks of a number that is somebody's."""
    kind = cue(text, len(text))
    return bool(kind) and (kind in {SSN, CODE} or _NUMBER.search(text) is not None)


def _is_filler(text: str) -> bool:
    return all(word.lower() in FILLERS for word in _WORD.findall(text))
