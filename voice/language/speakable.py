"""Text as it is spoken: what is written for the eye is taken out, and every sign is replaced once.

Amounts, years, dates and times are left to the engine, which reads them well; numbers that are names
(telephones, orders, codes) are read digit by digit.
"""

from __future__ import annotations

import html
import re
import unicodedata
from typing import Final

from turnbudget.voice.language.language import ENGLISH, Language

_URL: Final = r"(?:https?://|www\.)[^\s<>\])]*[^\s<>\]).,;:!?]"
_WITHIN: Final = r"(?<=[\w)])\s*{}\s*(?=[\w(\-$€£])"

_BLOCKS: Final[tuple[tuple[re.Pattern[str], str], ...]] = (
    (re.compile(r"<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", re.DOTALL | re.IGNORECASE), " "),
    (re.compile(r"```.*?(?:```|\Z)", re.DOTALL), " "),
    (
        re.compile(r"<\|im_start\|>\s*(?:system|user|assistant|tool)?\b|<\|[^|<>]{1,40}\|>", re.IGNORECASE),
        " ",
    ),
    (re.compile(r"\[/?INST\]|<</?SYS>>|<(?:start|end)_of_turn>(?:user|model)?|</?s>|<(?:bos|eos|pad)>"), " "),
    (re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL), " "),
    (re.compile(r"!?\[([^\]\[]*)\]\([^()\s]*(?:\s+\"[^\"]*\")?\)"), r"\1"),
    (re.compile(r"\[([^\]\[]+)\]\[[^\]\[]*\]"), r"\1"),
    (re.compile(rf"<{_URL}>|\(\s*{_URL}\s*\)|{_URL}", re.IGNORECASE), " "),
    (
        re.compile(
            r"</?[a-z][\w-]*(?:\s+[\w:-]+\s*=\s*(?:\"[^\"]*\"|'[^']*'|[^\s<>]+))*\s*/?>", re.IGNORECASE
        ),
        " ",
    ),
)
"""What is left out whole or shown by its text alone, in this order."""

_MAIL: Final = re.compile(r"(?<![\w+-])[\w+-]{1,64}(?:\.[\w+-]{1,64}){0,8}@\w[\w-]*(?:\.\w[\w-]*)+")
_ITEM: Final = re.compile(r"\d{1,3}[.)]\s")

_LINES: Final[tuple[tuple[re.Pattern[str], str], ...]] = (
    (re.compile(r"^[\s|:+=*_~-]+$"), ""),
    (re.compile(r"^\s*(?:>\s*)*(?:#{1,6}\s+|[-*+•‣▪]\s+(?:\[[ xX]\]\s+)?)?"), ""),
    (re.compile(r"^\s*\|?(.*\|.*?)\|?\s*$"), r"\1"),
    (re.compile(r"\s*\|\s*"), ", "),
)
"""Within a line: rules and the ruling of tables; marks of quotes, headings and lists; the cells of a row."""

_SIGNS: Final[tuple[tuple[re.Pattern[str], str], ...]] = (
    (re.compile(r"(\*{1,3}|~~|`+)(?=\S)(.{1,200}?)(?<=\S)\1"), r"\2"),
    (re.compile(r"\s*&\s*"), " and "),
    (re.compile(_WITHIN.format(r"(?:<=|≤)")), " at most "),
    (re.compile(_WITHIN.format(r"(?:>=|≥)")), " at least "),
    (re.compile(_WITHIN.format("<")), " less than "),
    (re.compile(_WITHIN.format(r"(?<![-=])>")), " greater than "),
    (re.compile(_WITHIN.format("={1,3}")), " equals "),
    (re.compile(r"(?<=\d)\s*[*×]\s*(?=\d)"), " times "),
    (re.compile(r"(?<=\d)\s*\+\s*(?=\d)"), " plus "),
    (re.compile(r"(?<=\w)\+\+"), " plus plus "),
    (re.compile(r"#(?=\d)"), "number "),
    (re.compile(r"(?<=\d)\s*°\s*([CF])?\b"), r" degrees \1"),
    (re.compile(r"(?<=\d)\s*–\s*(?=\d)"), " to "),
    (re.compile(r"\s+(?:--?|[–—])\s+|\s*—\s*|--+"), ", "),
    (re.compile(r"[_\\^|<>{}\[\]*`~=#+]"), " "),
)
"""Signs that have a name are named, the rest of what nobody says goes."""

_TIDY: Final[tuple[tuple[re.Pattern[str], str], ...]] = (
    (re.compile(r"\(\s*\)|\"\s*\"|“\s*”"), " "),
    (re.compile(r"\s+"), " "),
    (re.compile(r"([!?])[!?]+"), r"\1"),
    (re.compile(r"\s+(?=[,.;:!?…)।॥。！？؟])"), ""),
    (re.compile(r"([,;:])(?:[,;:]\s*)+"), r"\1 "),
    (re.compile(r"[,;:]+(?=[.!?])"), ""),
    (re.compile(r"^[\s,;:.!?…)\-–—]+(?=\s|\w|[\"“‘'(])"), ""),
    (re.compile(r"(?:\s*[,;:(\-–—])*\s*$"), ""),
)


def speakable(text: str, language: Language = ENGLISH, *, other_scripts: bool = False) -> str:
    """Return *text* as it is to be spoken, on one line; '' if nothing in it can be.

    A voice for English is given Latin letters only: letters of other scripts it would spell one by one by
    their Unicode names. A *language* with letters of its own keeps them, as *other_scripts* does.
    """
    other_scripts = other_scripts or bool(language.letters)
    for pattern, instead in _BLOCKS:
        text = pattern.sub(instead, text)
    text = _MAIL.sub(lambda found: found[0].replace("@", " at ").replace(".", " dot "), html.unescape(text))
    text = " ".join(_line(line) for line in text.splitlines())
    text = "".join(_sign(sign, other_scripts=other_scripts) for sign in unicodedata.normalize("NFC", text))
    text = spell_numbers(" ".join(text.split()))
    for pattern, instead in (*_SIGNS, *_TIDY):
        text = pattern.sub(instead, text)
    text = text.strip()
    return text if pronounceable(text) else ""


def pronounceable(text: str) -> bool:
    """Return whether there is anything in *text* to speak: a letter or a digit."""
    return any(sign.isalnum() for sign in text)


def _line(line: str) -> str:
    """Return a line without its marks; an item, a heading or a row ends like a sentence."""
    plain = line.strip()
    for pattern, instead in _LINES:
        plain = pattern.sub(instead, plain) if pattern is not _LINES[-1][0] or "|" in plain else plain
    plain = plain.strip(" ,")
    marked = bool(plain) and (plain != line.strip() or _ITEM.match(plain) is not None)
    return f"{plain}." if marked and plain.rstrip("*_~`\"')")[-1:].isalnum() else plain


def _sign(sign: str, *, other_scripts: bool) -> str:
    """Return a sign, or what stands for it: nothing for emoji, a space for what separates."""
    kind = unicodedata.category(sign)
    if sign == "°" or kind in {"Nd", "Zs", "Sc"}:
        return sign
    if kind in {"So", "Sk", "Cs", "Co", "Cn", "Cc"}:
        return " "
    if kind in {"Cf", "Me"} or "VARIATION SELECTOR" in unicodedata.name(sign, ""):
        return ""
    if kind[0] in "LM" and not other_scripts and not _latin(sign):
        return ""
    return sign


def _latin(sign: str) -> bool:
    return sign.isascii() or unicodedata.name(sign, "").startswith(
        ("LATIN", "COMBINING", "FEMININE", "MASCULINE")
    )


_CUES: Final = (
    "access|account|booking|card|case|claim|code|confirmation|customer|dial|ext|extension|fax|id|invoice|member"
    "|number|order|passcode|phone|pin|policy|postcode|ref|reference|reservation|telephone|ticket|tracking"
    "|zip"
)
_UNITS: Final = rf"\s*(?:%|[€$£]|{'|'.join(ENGLISH.words('number.counted'))})\b"
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
