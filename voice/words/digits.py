"""Telephones, orders and codes are names: they are read digit by digit; amounts and years stay numbers."""

from __future__ import annotations

import re
from typing import Final

_CUES: Final = (
    "access|account|booking|card|case|claim|code|confirmation|customer|dial|ext|extension|fax|id|invoice|member"
    "|number|order|passcode|phone|pin|policy|postcode|ref|reference|reservation|telephone|ticket|tracking"
    "|zip"
)
_UNITS: Final = (
    r"\s*(?:%|[€$£]|(?:us )?dollars?|euros?|pounds?|cents?|bucks|usd|eur|gbp|percent|points|people|times"
    r"|units|items|miles|kilometers|km|meters|minutes|hours|days|weeks|months|years|thousand|million)\b"
)
_FREE: Final = r"(?<![\d.,:/$€£-])"
_END: Final = r"(?![\d/]|[.,:-]\d)"

_PHONE: Final = re.compile(
    rf"(?<![\w.,:/$€£-])(?:\+\d[\d\-. ()/]{{4,20}}\d|(?:1[-. ])?\(\d{{3}}\)\s*\d{{3}}[-. ]\d{{4}}"
    rf"|(?:\d{{1,3}}[-. ])?\d{{3}}[-.]\d{{3}}[-.]\d{{4}}|\d{{3}}[- ]\d{{4}}){_END}"
)
_GROUPED: Final = re.compile(rf"(?<![\w.,:/$€£-])\d{{3,4}}(?:[- ]\d{{3,4}}){{2,}}{_END}")
_CUED: Final = re.compile(
    rf"\b((?:{_CUES})s?(?:\s+(?:number|code|no\.?|id|is|was|are))*\s*[:#]?\s*(?:is\s+)?)(\d{{3,}}){_END}(?!{_UNITS})",
    re.IGNORECASE,
)
_LONG: Final = re.compile(rf"{_FREE}\b\d{{7,}}\b{_END}(?!{_UNITS})", re.IGNORECASE)
_ZERO: Final = re.compile(rf"{_FREE}\b0\d+\b{_END}")
_CODE: Final = re.compile(r"(?<![\w$€£])[A-Z0-9]{2,}(?:-[A-Z0-9]+)*(?!\w)")
_LONG_CODE: Final = 5


def spell_numbers(text: str) -> str:
    """Return *text* with the digits of telephones, orders and codes apart: ``418205`` → ``4 1 8 2 0 5``."""
    text = _PHONE.sub(lambda found: _groups(found[0]), text)
    text = _GROUPED.sub(lambda found: _groups(found[0]), text)
    text = _CUED.sub(lambda found: found[1] + " ".join(found[2]), text)
    text = _LONG.sub(lambda found: " ".join(found[0]), text)
    text = _ZERO.sub(lambda found: " ".join(found[0]), text)
    return _CODE.sub(lambda found: _code(found[0]), text)


def _groups(number: str) -> str:
    """Return a telephone number digit by digit, with a short halt between its groups."""
    groups = [" ".join(group) for group in re.findall(r"\d+", number)]
    plus = "plus " if number.startswith("+") else ""
    return plus + ", ".join(groups)


def _code(code: str) -> str:
    """Return a code of letters and digits sign by sign, if it is too long to be a word such as MP3."""
    signs = code.replace("-", "")
    mixed = not (signs.isdigit() or signs.isalpha())
    return " ".join(signs) if mixed and len(signs) >= _LONG_CODE else code
