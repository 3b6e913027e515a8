"""Numbers, amounts of money, and numbers that are names: telephones, codes, cards."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from turnbudget.agents.values.reading import Reading
from turnbudget.voice.language.language import ENGLISH, Language

_LONGEST_AMOUNT: Final = 9
_NUMBER: Final = re.compile(r"(?<![\w/:])(\d+(?:\.\d+)?)(?![\w/:])")
_RUN: Final = re.compile(r"(?<![\w/:.])\d+(?![\w/:])")
TELEPHONE: Final = 10
"""Digits of a North American number without its country code."""


def amount(
    text: str,
    *,
    asked: bool = False,
    before: str = "",  # noqa: ARG001 - a Reader
    language: Language = ENGLISH,
) -> Reading | None:
    """Read an amount of money: "135", "19.50"."""
    found = (
        _last(language.pattern("amounts.amount"), text)
        or _last(language.pattern("amounts.moved"), text)
        or (_last(language.pattern("amounts.bare"), text) if asked else None)
    )
    if not found:
        return None
    whole = found[1] or "0"
    cents = (found[2] or found[3]) if found.re is language.pattern("amounts.amount") else None
    if len(whole.partition(".")[0]) > _LONGEST_AMOUNT:
        return None
    value = f"{float(whole) + int(cents or 0) / 100:.2f}".removesuffix(".00")
    unit = language.says("dollar" if value == "1" else "dollars")
    start = found.start(1) if found.re is language.pattern("amounts.moved") else found.start()
    return Reading(
        value, f"{value} {unit}", start, found.end(), whole=found.re is language.pattern("amounts.amount")
    )


def number(
    text: str,
    *,
    asked: bool = False,
    before: str = "",  # noqa: ARG001 - a Reader
    language: Language = ENGLISH,  # noqa: ARG001 - a Reader
) -> Reading | None:
    """Read a plain number, if one was asked for: "3", "2.5"."""
    found = _last(_NUMBER, text) if asked else None
    if not found:
        return None
    value = found[1].lstrip("0") or "0"
    return Reading(f"0{value}" if value.startswith(".") else value, value, found.start(), found.end())


@dataclass(frozen=True, slots=True)
class Digits:
    """Reads a number that is a name, digit by digit, of *length* digits (0: any), across several turns."""

    length: int = 0
    language: Language = ENGLISH

    def __call__(self, text: str, *, asked: bool = False, before: str = "") -> Reading | None:
        """Return the digits, leading zeros kept."""
        if asked:
            alike = self.language.numbers.alike
            text = self.language.pattern("amounts.alike").sub(lambda found: alike[found[0]], text)
        runs = list(_RUN.finditer(text))
        if not runs:
            return None
        start, end = runs[0].start(), runs[-1].end()
        said = [self._trimmed(run[0]) for run in runs]
        whole = [run for run in said if self.length and len(run) == self.length]
        if whole:
            alone = self._whole(said[-1])
            return Reading(whole[-1], grouped(whole[-1]), start, end, whole=alone)
        if not asked:
            return None
        digits = self._trimmed("".join(said))
        if before and len(digits) < (self.length or len(digits) + 1):
            digits = self._trimmed(before + digits)
        if not self.length or len(digits) == self.length:
            return Reading(digits, grouped(digits), start, end, whole=self._whole(digits))
        if len(digits) > self.length:
            digits = "".join(said)
            digits = digits[-self.length :] if len(digits) % self.length == 0 else ""
            return Reading(
                digits,
                grouped(digits),
                start,
                end,
                "" if digits else self.language.says("too_many_digits"),
                whole=bool(digits),
            )
        return Reading(
            digits, grouped(digits), start, end, f"{' '.join(digits)}. {self.language.says('go_on')}"
        )

    def _whole(self, digits: str) -> bool:
        """Say whether *digits* are all there: no North American number begins with its country's 1."""
        return len(digits) == self.length and not (self.length == TELEPHONE and digits[0] == "1")

    def _trimmed(self, digits: str) -> str:
        """Return *digits* without the country code of a telephone."""
        if self.length == TELEPHONE and len(digits) == TELEPHONE + 1 and digits[0] == "1":
            return digits[1:]
        return digits


def grouped(digits: str) -> str:
    """Return a telephone in its three groups; other digits apart."""
    if len(digits) == TELEPHONE:
        return f"{digits[:3]}-{digits[3:6]}-{digits[6:]}"
    return " ".join(digits)


def _last(pattern: re.Pattern[str], text: str) -> re.Match[str] | None:
    return next(reversed(list(pattern.finditer(text))), None)
