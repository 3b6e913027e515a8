"""Redaction: what nobody may read later is taken out of a text, and the rest stays as it was said.

Pure and by tables. Numbers of cards go wherever they stand, however they are spelled, if Luhn's check holds
in any reading; shorter numbers go by their form, or by the word before them that says what they are: the
nearest word decides, so an order's number stays and a telephone's goes.
"""

from __future__ import annotations

import logging
import re
from functools import partial
from typing import TYPE_CHECKING, Final

from turnbudget.redaction.digits_said import UNITS, luhn_stretches, merged, passes_luhn, plain, runs, trimmed
from turnbudget.voice.language.language import ENGLISH

if TYPE_CHECKING:
    from turnbudget.redaction.digits_said import Run

CARD, SSN, PHONE, EMAIL, CODE, SECRET, DIGITS = (
    f"[{name}]" for name in ("card", "ssn", "phone", "email", "code", "secret", "digits")
)
CARD_DIGITS: Final = range(13, 20)
LONGEST: Final = 40
"""Numbers in one run; more are no number of anybody's, and are taken out as they are."""

_SECRETS: Final = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)"
    r"|\b(?:sk|pk|rk|whsec)[-_][A-Za-z0-9_/+=-]{16,}|\bAKIA[0-9A-Z]{16}\b|\bgh[pousr]_[A-Za-z0-9]{20,}"
    r"|\bxox[abprs]-[\w-]{10,}|\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*"
    r"|(?<=\bBearer )[\w.~+/=-]{8,}|(?<=\bbearer )[\w.~+/=-]{8,}"
    r"|(?<=[?&])(?:access_)?(?:token|key|api_key|secret|password|signature|sig)=[^&\s\"']+",
    re.DOTALL,
)
"""Credentials as their makers shape them, in a header, or in an address."""
_SPELLED: Final = rf"(?:[a-z0-9]|{'|'.join(UNITS)})\b"
_PART: Final = rf"(?:(?:{_SPELLED}\s+){{1,64}}{_SPELLED}|\w{{1,64}})"
"""What stands between dots before the @, spelled or a word; an address has no more than 64 signs there.

There is one way only to read it, or who says "a dot b dot c" would hold up every call for seconds.
"""
_SIGNED: Final = ENGLISH.pattern("redaction.signed").pattern
_SPOKEN_DOMAIN: Final = ENGLISH.pattern("redaction.spoken_domain").pattern
_AT_SAID: Final = ENGLISH.pattern("signs.at").pattern
_AT: Final = re.compile(rf"@|{_SPOKEN_DOMAIN}", re.IGNORECASE)
_MAIL: Final = re.compile(
    r"[\w.+%-]{1,64}@[\w-]+(?:\.[\w-]+)+"
    rf"|\b{_PART}(?:{_SIGNED}{_PART}){{0,32}}(?:\s+{_SPELLED}){{0,8}}\s+{_SPOKEN_DOMAIN}",
    re.IGNORECASE,
)

_CUES: Final = ENGLISH.pattern("redaction.cues")
"""Words before a number that say what it is. The nearest one counts."""
_NAMED: Final = {"card": CARD, "ssn": SSN, "phone": PHONE, "code": CODE, "nobody": ""}
"""What each kind of word says; '' is nobody's secret."""
REACH: Final = 60
"""So many characters before a number a word may say what it is."""
_COUNTS: Final[dict[str, range]] = {
    CARD: CARD_DIGITS,
    SSN: range(9, 10),
    PHONE: range(7, 16),
    CODE: range(3, 9),
}
"""So many digits a number has that is what the word before it says."""
_MOST_SAID: Final = 5
"""Digits that two words are at most: "ten thousand"."""
LAST_FOUR: Final = 4
SHORTEST: Final = 3
"""Digits of a number that may be anybody's."""
_AMOUNT_BEFORE: Final = re.compile(r"[$€£¥]\s*$")
_AMOUNT_AFTER: Final = ENGLISH.pattern("redaction.amount_after")
_SHAPES: Final = (
    (SSN, re.compile(r"(?<![\w-])(?!000|666|9)\d{3}([-. ])(?!00)\d{2}\1(?!0000)\d{4}(?![\w-])")),
    (PHONE, re.compile(r"(?<![\w.])\+\d[\d\-. ()/]{6,20}\d(?!\w)")),
    (
        PHONE,
        re.compile(r"(?<![\w.+-])(?:1[-. ]?)?(?:\(\d{3}\)\s*|\d{3}[-. ])\d{3}[-. ]\d{4}(?![\w-])"),
    ),
)
"""Forms that say by themselves what a number is, unless the word before it says otherwise."""
_NETWORKS: Final = (
    re.compile(r"(?=(4\d{15}|5[1-5]\d{14}|2[2-7]\d{14}|3[47]\d{13}|6(?:011|5\d\d|4[4-9]\d)\d{12}|35\d{14}))"),
    re.compile(r"(?=(4\d{18}))"),
)
"""Numbers of the card networks, looked for inside digits that were written without a gap."""
_CARD_FORMS: Final = {(4, 4, 4, 4), (4, 6, 5)}
_PHONE_FORMS: Final = {(3, 3, 4), (1, 3, 3, 4), (3, 7), (6, 4)}
_SSN_FORM: Final = (3, 2, 4)
_ANY: Final = re.compile(
    rf"\d|@|\b(?:{'|'.join(UNITS)})\b|-----BEGIN|[_.=-]\w{{8}}|{_AT_SAID}|[Bb]earer ", re.IGNORECASE
)


def redact(text: str) -> str:
    """Return *text* without numbers of cards, social security and telephones, e-mail addresses and keys."""
    if not _ANY.search(text):
        return text
    text = _SECRETS.sub(SECRET, text)
    if _AT.search(text):
        text = _MAIL.sub(EMAIL, text)
    text = _without_cards(text)
    for mask, shape in _SHAPES:
        text = shape.sub(partial(_shaped, mask), text)
    return _without_cued(text)


def hide_digits(text: str) -> str:
    """Return *text* without any number that was said or written: for words known to be secret."""
    for run in reversed(list(runs(text))):
        text = cut(text, trimmed(run), DIGITS)
    return text


class RedactedFormatter(logging.Formatter):
    """Formats a record of the log, its traceback included, without what nobody may read later."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the redacted line."""
        return redact(super().format(record))


def cut(text: str, run: Run, mask: str) -> str:
    """Return *text* with *mask* in the place of *run*."""
    return f"{text[: run[0].start]}{mask}{text[run[-1].end :]}"


def _without_cards(text: str) -> str:
    for run in reversed(list(runs(text))):
        if len(run) > LONGEST:
            text = cut(text, run, DIGITS)
            continue
        for start, end in reversed(merged(sorted(_cards(run)))):
            text = cut(text, run[start:end], CARD)
    return text


def _cards(run: Run) -> list[tuple[int, int]]:
    """Return the stretches of *run*, by token, that may be a card's number."""
    if sum(2 * len(token.text) if token.written else _MOST_SAID for token in run) < 2 * CARD_DIGITS.start:
        return []
    found = luhn_stretches(run, CARD_DIGITS)
    written = tuple(len(token.text) if token.written else 0 for token in run)
    for form in _CARD_FORMS:
        starts = range(len(run) - len(form) + 1)
        found += [(at, at + len(form)) for at in starts if written[at : at + len(form)] == form]
    for at, token in enumerate(run):
        numbers = [each[1] for network in _NETWORKS for each in network.finditer(token.text)]
        if any(map(passes_luhn, numbers)):
            found.append((at, at + 1))
    return found


def _shaped(mask: str, found: re.Match[str]) -> str:
    said = cue(found.string, found.start())
    return found[0] if said == "" else mask


def _without_cued(text: str) -> str:
    for run in map(trimmed, reversed(list(runs(text)))):
        if mask := _kind(text, run):
            text = cut(text, run, mask)
    return text


def _kind(text: str, run: Run) -> str:
    """Return what is written for *run*; '' if it stays as it is."""
    digits, groups = plain(run)
    count = len(digits)
    if count < SHORTEST or is_amount(text, run):
        return ""
    said = cue(text, run[0].start)
    if said == "":
        return ""
    if said and (count in _COUNTS[said] or (said == SSN and count == LAST_FOUR)):
        return said
    return _guessed(digits, groups, spoken=not any(token.written for token in run))


def _guessed(digits: str, groups: tuple[int, ...], *, spoken: bool) -> str:
    """Return what *digits* are by their number and their *groups*; '' for what may be anything."""
    if groups == _SSN_FORM and digits[:3] not in {"000", "666"}:
        return SSN
    if groups in _PHONE_FORMS:
        return PHONE
    national = digits[1:] if len(digits) == 11 and digits[0] == "1" else digits  # noqa: PLR2004 - with the country's 1
    american = len(national) == 10 and national[0] in "23456789"  # noqa: PLR2004 - North American
    if american and (spoken or (len(groups) == 1 and national[3] in "23456789")):
        return PHONE
    return CARD if spoken and len(digits) in {15, 16} else ""


def is_amount(text: str, run: Run) -> bool:
    """Say whether *run* counts something: money, hours, milliseconds."""
    before, after = text[: run[0].start], run[-1].end
    return bool(_AMOUNT_BEFORE.search(before) or _AMOUNT_AFTER.match(text, after))


def cue(text: str, at: int) -> str | None:
    """Return what the nearest word before *at* says the number there is; ``None`` if none does."""
    begin = max(0, at - REACH)
    found = [each.lastgroup for each in _CUES.finditer(text, begin, at)]
    return _NAMED[found[-1] or ""] if found else None
