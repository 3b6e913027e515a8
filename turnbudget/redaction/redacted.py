"""Rows and records of a call without what nobody may read later: made before anybody is told of them.

Keys that were pressed are written nowhere, whatever the settings say; they may also stand in front of later
words, if they were never answered.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import msgspec

from turnbudget.redaction.pieces import Pieces
from turnbudget.redaction.redact import hide_digits, redact
from turnbudget.voice.hearing.events import KEYS

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

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
