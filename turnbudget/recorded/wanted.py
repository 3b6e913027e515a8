"""What a caller wanted, read from a person's transcript: the yardstick for a dialogue without a right answer.

The rule, by the procedure of the bank in the recordings (HarperValleyBank, arXiv 2010.13929):

*task* — by what the **human agent** says, which our agents never hear: each task has words of its own
(:data:`TASKS`); the task with most of them, and where the agent says none of them, by both sides' words.

*slots* — by the **caller's** words, with numbers as ``voice.language.text.normalise`` writes them:

- card, account, day: the last one named;
- amount: the last number before "dollar"; else the last number in a reply to a question for an amount;
- source, destination: there are two accounts, and the first one named is the source, unless "to" or
  "into" stands before it; the other is the other;
- time: the last number before "a m" or "p m"; else the last number in a reply to a question for a time;
- phone: the last ten digits said;
- address: the last "<number> <word> street" (or avenue, road, …), the words after it up to a number, and
  the last number of exactly five digits in one turn after it, else the first five digits after it;
- company: the last words after "company is"; else the reply to a question for the company's name.

A slot the rule does not find is not wanted, and not counted.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from rapidfuzz import fuzz

from turnbudget.voice.language.text import is_words, normalise

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

TASKS: Final[Mapping[str, re.Pattern[str]]] = {
    "replace card": re.compile(r"replac\w*|new (?:credit|debit) card|which card"),
    "check balance": re.compile(r"balance|would you like to check"),
    "transfer money": re.compile(r"transfer\w*|source|destination"),
    "schedule appointment": re.compile(r"appointment|what day|what time"),
    "reset password": re.compile(r"password|phone number"),
    "get branch hours": re.compile(r"branch hours|hours are"),
    "order checks": re.compile(r"check ?book|your address|home address"),
    "pay bill": re.compile(r"company|bill|payment"),
}
"""What agents say who do a task of the recorded bank."""
SLOTS: Final[Mapping[str, tuple[str, ...]]] = {
    "replace card": ("card",),
    "check balance": ("account",),
    "transfer money": ("amount", "source", "destination"),
    "schedule appointment": ("day", "time"),
    "reset password": ("phone",),
    "get branch hours": (),
    "order checks": ("address",),
    "pay bill": ("company", "company_address", "amount"),
}
"""The values that each task of the recorded bank needs."""
FIELDS: Final[Mapping[str, str]] = {
    "replacement card type": "card",
    "balance check account type": "account",
    "transfer amount": "amount",
    "transfer source account": "source",
    "transfer destination account": "destination",
    "day": "day",
    "time": "time",
    "phone": "phone",
    "home address": "address",
    "company name": "company",
    "company address": "company_address",
    "money amount": "amount",
}
"""The corpus's names of what the caller tells; what the bank knows (balance, hours) is not among them."""

_ACCOUNT: Final = re.compile(r"\b(savings|checking)\b")
_NUMBER: Final = re.compile(r"\d(?: \d)*")
_STREET: Final = re.compile(r"(\d(?: \d)*) (\w+ (?:street|avenue|road|drive|lane|boulevard))\b")
_FILLERS: Final = re.compile(
    r"a|an|and|at|be|code|going|gonna|in|is|it|it's|my|of|okay|please|so|that's|the|then|to|uh|uhm|um|yeah|yes|zip"
)
_ZIP: Final = 5
_ALIKE: Final = 85
"""Percent of letters from which two spellings of a name count as one ("forrest ranch", "Forest Ranch")."""

Turns: TypeAlias = "list[tuple[str, str]]"


class Wanted(NamedTuple):
    """A task, and the slots that matter for it."""

    task: str
    slots: Mapping[str, str]


def wanted(turns: Sequence[tuple[str, str]]) -> Wanted:
    """Return what the caller of *turns*, pairs of role and text, wanted by the rule above."""
    plain = [(role, _plain(text)) for role, text in turns if is_words(text)]
    ours = " ".join(text for role, text in plain if role == "agent")
    task = _task(ours) or _task(" ".join(text for _, text in plain))
    found = {slot: _READ[slot](plain) for slot in SLOTS.get(task, ())}
    return Wanted(task, {slot: value for slot, value in found.items() if value})


def told(fields: Mapping[str, object]) -> Wanted:
    """Return what the corpus's own metadata, *fields* of one task, say was wanted."""
    slots = {FIELDS[name]: str(value) for name, value in fields.items() if name in FIELDS}
    return Wanted(str(fields.get("task_type", "")), slots)


def same(slot: str, right: str, got: str) -> bool:
    """Say whether *got* is the value *right* of *slot*: every digit equal, names but for their spelling."""
    if slot == "time":
        return _clock(right) == _clock(got)
    if slot == "amount":
        return _amount(right) == _amount(got)
    digits, letters = zip(_parts(right), _parts(got), strict=True)
    return digits[0] == digits[1] and fuzz.ratio(*letters) >= _ALIKE


def _plain(text: str) -> str:
    return normalise(re.sub(r"\ba (hundred|thousand)\b", r"one \1", text.lower()))


def _parts(text: str) -> tuple[str, str]:
    """Return the digits of *text*, and its letters."""
    plain = _plain(text)
    return "".join(filter(str.isdecimal, plain)), "".join(filter(str.isalpha, plain))


def _amount(text: str) -> float:
    found = re.search(r"\d[\d,]*(?:\.\d+)?", text)
    return float(found[0].replace(",", "")) if found else -1.0


def _clock(text: str) -> int:
    """Return the minute of the day; where no half of it is said, one to six are in the afternoon."""
    plain = _plain(text)
    digits = "".join(_NUMBER.findall(plain)[:1]).replace(" ", "")
    hour, minute = (digits[:-2], digits[-2:]) if len(digits) > 2 else (digits, "0")  # noqa: PLR2004 - "11", "430"
    half = re.search(r"\b([ap]) m\b", plain)
    hours = int(hour or 0)
    if half:
        hours = hours % 12 + 12 * (half[1] == "p")
    elif 1 <= hours <= 6:  # noqa: PLR2004 - see above
        hours += 12
    return hours * 60 + int(minute)


def _task(text: str) -> str:
    votes = {task: len(pattern.findall(text)) for task, pattern in TASKS.items()}
    best = max(votes, key=lambda task: votes[task])
    return best if votes[best] else ""


def _caller(turns: Turns) -> list[str]:
    return [text for role, text in turns if role == "caller"]


def _last(pattern: str, texts: Iterable[str]) -> str:
    found = re.findall(pattern, " | ".join(texts))
    return found[-1] if found else ""


def _replies(question: str, turns: Turns) -> list[str]:
    """Return what the caller says directly after the agent said *question*."""
    return [
        text
        for (asker, asked), (role, text) in pairwise(turns)
        if asker == "agent" and role == "caller" and re.search(question, asked)
    ]


def _named(pattern: str) -> Callable[[Turns], str]:
    return lambda turns: _last(pattern, _caller(turns))


def _accounts(turns: Turns) -> tuple[str, str]:
    """Return source and destination."""
    text = " | ".join(_caller(turns))
    first = _ACCOUNT.search(text)
    if not first:
        return "", ""
    other = "checking" if first[1] == "savings" else "savings"
    into = re.search(r"\b(?:to|into)(?: my| the)? $", text[: first.start()])
    return (other, first[1]) if into else (first[1], other)


def _number_before(unit: str, question: str) -> Callable[[Turns], str]:
    """Return what reads the last number before *unit*, else the last one in a reply to *question*."""
    pattern = rf"({_NUMBER.pattern} {unit})"

    def read(turns: Turns) -> str:
        found = _last(pattern, _caller(turns)) or _last(f"({_NUMBER.pattern})", _replies(question, turns))
        number = _NUMBER.match(found)
        return number[0].replace(" ", "") + found[number.end() :] if number else ""

    return read


def _phone(turns: Turns) -> str:
    return "".join(_NUMBER.findall(" ".join(_caller(turns)))).replace(" ", "")[-10:]


def _address(turns: Turns) -> str:
    said = _caller(turns)
    streets = list(_STREET.finditer(" ".join(said)))
    if not streets:
        return ""
    house, street = streets[-1].groups()
    after = " ".join(said)[streets[-1].end() :]
    place = _names(_NUMBER.split(after)[0])
    numbers = [number.replace(" ", "") for text in said for number in _NUMBER.findall(text)]
    whole = [number for number in numbers if len(number) == _ZIP]
    digits = "".join(_NUMBER.findall(after)).replace(" ", "")
    zip_code = whole[-1] if whole else digits[:_ZIP]
    return " ".join((house.replace(" ", ""), street, place, zip_code))


def _company(turns: Turns) -> str:
    replies = _replies(r"company name|name of the company", turns)
    named = _last(r"company (?:name )?is ([^|]+)", _caller(turns)) or (replies[-1] if replies else "")
    return _names(named)


def _names(text: str) -> str:
    return " ".join(word for word in text.split() if not _FILLERS.fullmatch(word))


_READ: Final[Mapping[str, Callable[[Turns], str]]] = {
    "card": _named(r"\b(credit|debit)\b"),
    "account": _named(_ACCOUNT.pattern),
    "amount": _number_before("dollars?", r"\bamount\b"),
    "source": lambda turns: _accounts(turns)[0],
    "destination": lambda turns: _accounts(turns)[1],
    "day": _named(r"\b((?:sun|mon|tues|wednes|thurs|fri|satur)day)\b"),
    "time": _number_before("[ap] m", r"\btime\b"),
    "phone": _phone,
    "address": _address,
    "company": _company,
    "company_address": _address,
}
