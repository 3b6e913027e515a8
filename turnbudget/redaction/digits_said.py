"""Digits as people write and say them: runs of numbers in a text, and every way a run may be meant.

"4111 1111", "four one one one", "double one", "forty-one eleven" and "4 thousand one hundred eleven" are all
digits. Words may be meant in several ways ("twenty one": 21 or 20 1), so a run is not read but searched: a
number is found if *any* reading of a stretch of the run is one.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, TypeAlias

from turnbudget.voice.language.language import ENGLISH
from turnbudget.voice.language.language import TENS as TENTHS
from turnbudget.voice.language.numbers import CLOSE, PAUSE, Token, tokens

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_KNOWN: Final = ENGLISH.numbers
_VALUES: Final = {word: str(value) for word, value in _KNOWN.cardinals.items()} | _KNOWN.dictated
ALIKE: Final = frozenset(_KNOWN.alike)
"""Words that are digits only between digits."""
UNITS: Final = {word: digits for word, digits in (_VALUES | _KNOWN.alike).items() if len(digits) == 1}
TEENS: Final = {
    word: digits for word, digits in _VALUES.items() if len(digits) > 1 and int(digits) not in TENTHS
}
TENS: Final = {word: digits[0] for word, digits in _VALUES.items() if int(digits) in TENTHS}
TIMES: Final = _KNOWN.times
SCALES: Final = {word: value for word, value in _KNOWN.scales.items() if value in {100, 1_000}}
FILLERS: Final = frozenset(_KNOWN.between)
"""What may stand between the digits of one number; so may punctuation, but for times and amounts."""
_ENDING: Final = frozenset(_KNOWN.ending)
_NAMES: Final = frozenset((*UNITS, *TEENS, *TENS, *TIMES, *SCALES))
_LOOSE: Final = frozenset((*ALIKE, *SCALES, *TIMES))
_BREAK: Final = re.compile(r"[:$€£¥%@]")

Run: TypeAlias = tuple[Token, ...]


def runs(text: str) -> Iterator[Run]:
    """Yield the runs of numbers in *text*: tokens with nothing between them but what parts digits."""
    run: list[Token] = []
    for token in tokens(text):
        between = text[run[-1].end : token.start] if run else ""
        if run and _BREAK.search(between):
            yield from _whole(run)
            run, between = [], ""
        if token.written or token.text in _NAMES:
            joined, paused = (CLOSE.fullmatch(between) is not None, PAUSE.search(between) is not None)
            run.append(token._replace(joined=bool(run) and joined, paused=bool(run) and paused))
        elif run and token.text not in FILLERS:
            yield from _whole(run)
            run = []
    yield from _whole(run)


def _whole(run: list[Token]) -> Iterator[Run]:
    """Yield *run*, if anything in it is a digit by itself."""
    if any(token.text not in _LOOSE for token in run):
        yield tuple(run)


def trimmed(run: Run) -> Run:
    """Return *run* without words at its ends that only sound like digits, or mean none alone."""
    loose = (ALIKE | SCALES.keys()) - _ENDING
    start, end = 0, len(run)
    while start < end and run[start].text in loose:
        start += 1
    while start < end and run[end - 1].text in loose | TIMES.keys():
        end -= 1
    return run[start:end]


def readings(run: Run, at: int) -> list[tuple[int, str]]:
    """Return every way to read *run* from *at* on: where the reading ends, and its digits; longest first."""
    found = [*_thousands(run, at), *_hundreds(run, at), *_small(run, at), *_repeated(run, at)]
    if run[at].written:
        found.append((at + 1, run[at].text))
    return sorted(dict.fromkeys(found), key=lambda each: -each[0])


def _word(run: Run, at: int) -> str:
    return run[at].text if at < len(run) else ""


def _small(run: Run, at: int) -> Iterator[tuple[int, str]]:
    """Yield what is said in one or two words below a hundred."""
    word = _word(run, at)
    if word in UNITS:
        yield at + 1, UNITS[word]
    elif word in TEENS:
        yield at + 1, TEENS[word]
    elif word in TENS:
        yield at + 1, f"{TENS[word]}0"
        unit = UNITS.get(_word(run, at + 1), "0")
        if unit != "0" and run[at + 1].joined:
            yield at + 2, TENS[word] + unit
    elif word.isdigit() and len(word) <= 2:  # noqa: PLR2004 - below a hundred
        yield at + 1, word


def _repeated(run: Run, at: int) -> Iterator[tuple[int, str]]:
    times, digit = TIMES.get(_word(run, at), 0), _word(run, at + 1)
    digit = UNITS.get(digit, digit)
    if times and digit.isdigit() and len(digit) == 1:
        yield at + 2, digit * times


def _hundreds(run: Run, at: int) -> Iterator[tuple[int, str]]:
    for end, count in _small(run, at):
        if SCALES.get(_word(run, end)) == 100:  # noqa: PLR2004 - a hundred
            yield end + 1, f"{count}00"
            yield from ((last, count + rest.zfill(2)) for last, rest in _small(run, end + 1))


def _thousands(run: Run, at: int) -> Iterator[tuple[int, str]]:
    for end, count in _small(run, at):
        if SCALES.get(_word(run, end)) == 1_000:  # noqa: PLR2004 - a thousand
            yield end + 1, f"{count}000"
            rests = (*_hundreds(run, end + 1), *_small(run, end + 1))
            yield from ((last, count + rest.zfill(3)) for last, rest in rests if len(rest) <= 3)  # noqa: PLR2004 - below a thousand


def plain(run: Run) -> tuple[str, tuple[int, ...]]:
    """Return the likeliest reading of *run*, and how many digits stand in each of its groups.

    Groups are parted by punctuation, or are what was written together.
    """
    digits, groups, at = "", [0], 0
    while at < len(run):
        if at and (run[at].paused or (run[at].written and run[at - 1].written)):
            groups.append(0)
        found = readings(run, at)
        at, said = found[0] if found else (at + 1, "")
        digits += said
        groups[-1] += len(said)
    return digits, tuple(groups)


def luhn_stretches(run: Run, lengths: range) -> list[tuple[int, int]]:
    """Return the stretches of *run*, by token, of which some reading passes Luhn's check at one of *lengths*.

    Read forwards a sum is kept for either place that a digit may have from the end, which is not known yet.
    """
    found = []
    ways = [readings(run, at) for at in range(len(run))]
    for start in range(len(run)):
        states: dict[int, set[tuple[int, int, int]]] = {start: {(0, 0, 0)}}
        best = 0
        for at in range(start, min(len(run), start + lengths.stop) + 1):
            for length, plain_sum, doubled_sum in states.get(at, ()):
                if length in lengths and plain_sum == 0:
                    best = at
                for end, digits in ways[at] if at < len(run) else ():
                    if length + len(digits) < lengths.stop:
                        after = _summed(digits, plain_sum, doubled_sum)
                        states.setdefault(end, set()).add((length + len(digits), *after))
        if best:
            found.append((start, best))
    return found


def _summed(digits: str, plain_sum: int, doubled_sum: int) -> tuple[int, int]:
    for digit in map(int, digits):
        plain_sum, doubled_sum = (doubled_sum + digit) % 10, (plain_sum + digit * 2 - 9 * (digit > 4)) % 10  # noqa: PLR2004 - Luhn's
    return plain_sum, doubled_sum


def passes_luhn(digits: str) -> bool:
    """Say whether *digits* pass Luhn's check."""
    return bool(digits) and _summed(digits, 0, 0)[0] == 0


def merged(stretches: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return *stretches*, which are ordered by their starts, with those that overlap as one."""
    whole: list[tuple[int, int]] = []
    for start, end in stretches:
        if whole and start < whole[-1][1]:
            whole[-1] = whole[-1][0], max(end, whole[-1][1])
        else:
            whole.append((start, end))
    return whole
