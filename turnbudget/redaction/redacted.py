"""Rows and records of a call without what nobody may read later: made before anybody is told of them.

Keys that were pressed are written nowhere, whatever the settings say; they may also stand in front of later
words, if they were never answered. A number that a caller says in pieces, a turn each, is told by what we
asked for, by the caller's own "my card number is", or by the piece before it: no piece is anybody's by
itself, and all of them are. What was once known to be a part of one is so in every later text of the call.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import msgspec

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
    hide_digits,
    is_amount,
    redact,
)
from turnbudget.voice.hearing.events import KEYS
from turnbudget.voice.language.language import ENGLISH

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping

    from turnbudget.redaction.digits_said import Run
    from turnbudget.runs.records import CallRecord, Row

REMEMBERED: Final = 16
"""Inputs of keys that are looked for in later rows of their call."""
SAID: Final = 4
"""Keys of an input that are looked for in our own words as well: fewer choose from a menu."""


class Redaction:
    """What is taken out of one call's rows; *on* ``False``: the keys alone."""

    def __init__(self, *, on: bool = True) -> None:
        self._on = on
        self._pressed: tuple[str, ...] = ()
        self._pieces = Pieces()

    def row(self, row: Row, *, keys: Collection[str] = (), hidden: bool = False) -> Row:
        """Return *row* redacted; *keys* are inputs that were pressed in it.

        *hidden*: it was said while the recording was paused, so no number in it may be read.
        """
        if keys:
            self._pressed = (*self._pressed, *keys)[-REMEMBERED:]
        if not (self._on or hidden or self._pressed):
            return row
        self._pieces.heard(row.heard)
        clean = self._clean(hidden=hidden)
        self._pieces.said(row.said)
        return _mapped(row, clean, self._without_keys, lambda text: clean(self._without_keys(text, SAID)))

    def record(self, record: CallRecord) -> CallRecord:
        """Return *record* redacted."""
        if not self._on:
            return record
        task = record.task
        if task:
            got = {slot: self._redacted(value) for slot, value in task.got.items()}
            task = msgspec.structs.replace(task, got=got)
        notes = tuple(map(redact, record.notes))
        return msgspec.structs.replace(record, ended=redact(record.ended), notes=notes, task=task)

    def slots(self, slots: Mapping[str, str], sensitive: Collection[str]) -> dict[str, str]:
        """Return *slots* without those that are *sensitive*, the others redacted."""
        return {
            slot: self._redacted(self._without_keys(value)) if self._on else self._without_keys(value)
            for slot, value in slots.items()
            if slot not in sensitive
        }

    def _clean(self, *, hidden: bool) -> Callable[[str], str]:
        """Return what redacts the texts of one row; many of them are the same."""
        known: dict[str, str] = {"": ""}

        def clean(text: str) -> str:
            if text not in known:
                shown = hide_digits(text) if hidden else text
                known[text] = self._redacted(shown) if self._on else shown
            return known[text]

        return clean

    def _redacted(self, text: str) -> str:
        return self._pieces.without(redact(text))

    def _without_keys(self, text: str, least: int = 1) -> str:
        """Return *text* without inputs of at least so many keys, the longest first: one may hold another."""
        for keys in sorted(self._pressed, key=len, reverse=True) if text else ():
            signs = keys.split()
            if len(signs) >= least:
                pattern = r"\s?".join(map(re.escape, signs))
                text = re.sub(rf"(?<!\w){pattern}(?!\w)", KEYS, text)
        return text


def _mapped(
    row: Row, clean: Callable[[str], str], theirs: Callable[[str], str], ours: Callable[[str], str]
) -> Row:
    """Return *row* with every text in it *clean*: the caller's words go through *theirs* before.

    Our own go through *ours* instead.
    """
    return msgspec.structs.replace(
        row,
        heard=clean(row.heard),
        asked=clean(theirs(row.asked)),
        said=ours(row.said),
        reference=None if row.reference is None else clean(row.reference),
        decisions=tuple(
            msgspec.structs.replace(each, took=clean(each.took), because=clean(theirs(each.because)))
            for each in row.decisions
        ),
        guesses=tuple(
            msgspec.structs.replace(
                each,
                said=clean(theirs(each.said)),
                text=ours(each.text),
                because=clean(theirs(each.because)),
            )
            for each in row.guesses
        ),
    )


NUMBERS_KEPT: Final = 16
"""Numbers that are looked for in later texts of their call."""
GOES_ON: Final = 8
"""Digits that two turns have together if the second goes on with a number of the first."""
HALF: Final = 6
"""Digits behind "my card is" that are a piece of its number."""
OPEN: Final = 2
"""Digits at the end of a partial text that may read otherwise in the whole: forty, forty-one."""
_SENTENCE: Final = re.compile(r"[^.!?]+\??")
_ASKING: Final = ENGLISH.pattern("redaction.asking")
"""What makes a sentence of ours one that asks for something, beside a question mark."""
_NUMBER: Final = ENGLISH.pattern("redaction.number")
_LAST: Final = ENGLISH.pattern("redaction.last")
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
        for sentence in _SENTENCE.findall(text):
            if (sentence.endswith("?") or _ASKING.search(sentence)) and _asks(sentence):
                self._asked = sentence

    def without(self, text: str) -> str:
        """Return the redacted *text* without any piece of a number that is known."""
        if self._numbers and text:
            for run, digits in reversed(list(_numbers(text))):
                if self._is_known(digits):
                    text = cut(text, run, DIGITS)
        return text

    def _keep(self, digits: str) -> None:
        self._numbers = (*self._numbers, digits)[-NUMBERS_KEPT:]

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
