"""A reply bank is a TOML file a person reads and edits: its sentences are the model, nothing is hidden in it.

::

    [[state]]                       # what we said last, so what the caller is answering
    name = "account"
    says = ["what is the source account"]
    asks = "source"                 # the slot it asks for
    kind = "account"                # of which kind its values are: a choice, amount, day, time, or any text

    [[caller]]                      # what callers say there, by what they mean
    state = "account"
    name = "{account}"
    count = 5
    examples = ["my {account} account"]

    [[reply]]                       # what was replied to that
    state = "account"
    caller = "{account}"
    says = "Your {account} account balance is {result}. Is there anything else I can help you with?"
    act = "account balance"
    count = 4
    of = 5
    odds = 0.67                     # (count + share of nothing seen yet) of all that may follow
    announces = true                # it tells of something done or looked up; false: it asks, or takes leave

    [[ending]]                      # how often a caller who had said so much was finished, and of how many
    state = "account"
    span = "turn"                   # all said so far, or the last "3", "2", "1" words
    counts = { "my {account} account" = [5, 5] }

Drop an entry and it is never said again. ``{result}`` stands for what the call cannot know; a reply with it
is guessed by nobody.
"""

from __future__ import annotations

import contextlib
import errno
import json
import re
from collections import defaultdict
from typing import TYPE_CHECKING, Annotated, Final, Literal, TypeVar

import msgspec

from turnbudget.speculative.bank.words import CHOICES, Classes
from turnbudget.voice import reading
from turnbudget.voice.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

N = TypeVar("N")

SCHEMA: Final = 1
ANYWHERE: Final = ""
"""The state of endings that hold whatever was asked."""
RESULT: Final = "result"
SLACK: Final = 0.01
"""Odds are written with few digits; they may sum to this much more than one."""
HOLE: Final = re.compile(r"\{([\w ]+)\}")

Odds = Annotated[float, msgspec.Meta(gt=0, le=1)]
Count = Annotated[int, msgspec.Meta(ge=1)]
Name = Annotated[str, msgspec.Meta(min_length=1)]
Texts = Annotated[tuple[Name, ...], msgspec.Meta(min_length=1)]
Span = Literal["turn", "3", "2", "1", "0"]


class Part(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A table of the file."""


class State(Part, frozen=True, kw_only=True):
    """What we said last, in all its wordings; the slot it asks for, and of which kind its values are."""

    name: Name
    says: Texts
    asks: str = ""
    kind: str = ""


class Caller(Part, frozen=True, kw_only=True):
    """One thing callers mean in a state, with all the sentences it was said in."""

    state: Name
    name: Name
    count: Count
    examples: Texts


class Reply(Part, frozen=True, kw_only=True):
    """What was replied to it, how often, and how likely that makes it."""

    state: Name
    caller: Name
    says: Name
    act: Name
    count: Count
    of: Count
    odds: Odds
    asks: str = ""
    """The slot it asks for."""
    given: tuple[str, ...] = ()
    """The slots that were known each time it was said: they tell two replies to one sentence apart."""
    announces: bool = False
    confirms: bool = False
    """It asks for its slot although callers have told it."""

    @property
    def slots(self) -> tuple[str, ...]:
        """The slots in its text."""
        return tuple(dict.fromkeys(HOLE.findall(self.says)))


class Ending(Part, frozen=True, kw_only=True):
    """Of callers who had said so much in a state: how many were finished, and of how many."""

    state: str = ANYWHERE
    span: Span
    counts: dict[str, tuple[Annotated[int, msgspec.Meta(ge=0)], Count]]


class Calibration(Part, frozen=True, kw_only=True):
    """What turns raw odds into honest ones: logit(honest) = slope × logit(raw) + offset."""

    slope: Annotated[float, msgspec.Meta(gt=0, le=50)] = 1.0
    """Not below 0, which would turn the order of guesses about; nor is either beyond what can be reckoned."""
    offset: Annotated[float, msgspec.Meta(ge=-50, le=50)] = 0.0


class Bank(Part, frozen=True, kw_only=True):
    """Everything that was learned from a set of dialogues."""

    schema: Literal[1] = 1
    dialogues: Annotated[int, msgspec.Meta(ge=0)] = 0
    choices: dict[str, Texts] = msgspec.field(default_factory=lambda: dict(CHOICES))
    calibration: Calibration = Calibration()
    state: tuple[State, ...] = ()
    caller: tuple[Caller, ...] = ()
    reply: tuple[Reply, ...] = ()
    ending: tuple[Ending, ...] = ()

    @property
    def classes(self) -> Classes:
        """The choices as what takes values out of sentences wants them."""
        return tuple((name, tuple(words)) for name, words in self.choices.items())


def read(path: Path) -> Bank:
    """Return the bank at *path*; blocks, raises ConfigError, one line for a person."""
    where = str(path)
    try:
        bank = msgspec.toml.decode(reading.read(path), type=Bank)
    except OSError as error:
        fault = f"cannot be read ({error.strerror})"
        raise ConfigError(fault, where=where, remedy="check the name") from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ConfigError(f"is no reply bank ({error})", where=where, remedy="mend it or mine anew") from None
    check(bank, where)
    return bank


def check(bank: Bank, where: str = "the reply bank") -> None:
    """Raise ConfigError, naming the entry, if *bank* contradicts itself."""
    for fault in _faults(bank):
        raise ConfigError(fault, where=where, remedy="mend the entry, or drop it")


def _faults(bank: Bank) -> Iterator[str]:
    states = [state.name for state in bank.state]
    callers = [(caller.state, caller.name) for caller in bank.caller]
    yield from (f"state {name!r} is there twice" for name in _twice(states))
    yield from (f"caller {name!r} is there twice in state {state!r}" for state, name in _twice(callers))
    yield from _strays(bank, frozenset(states), frozenset(callers))
    yield from _replies(bank)
    yield from _examples(bank)
    for ending in bank.ending:
        for words, (over, of) in ending.counts.items():
            if over > of:
                yield f"ending {words!r} in state {ending.state!r} was over {over} times of {of}"


def _strays(bank: Bank, states: frozenset[str], callers: frozenset[tuple[str, str]]) -> Iterator[str]:
    for caller in bank.caller:
        if caller.state not in states:
            yield f"caller {caller.name!r} is in state {caller.state!r}, which there is not"
    for reply in bank.reply:
        if (reply.state, reply.caller) not in callers:
            answers = f"{reply.caller!r} in state {reply.state!r}"
            yield f"reply {reply.says!r} answers {answers}, which there is not"
    for ending in bank.ending:
        if ending.state and ending.state not in states:
            yield f"an ending is in state {ending.state!r}, which there is not"


def _replies(bank: Bank) -> Iterator[str]:
    sums: dict[tuple[str, str], float] = defaultdict(float)
    for reply in bank.reply:
        if reply.count > reply.of:
            yield f"reply {reply.says!r} was said {reply.count} times of {reply.of}"
        sums[reply.state, reply.caller] += reply.odds
    for (state, caller), odds in sums.items():
        if odds > 1 + SLACK:
            yield f"the odds of the replies to {caller!r} in state {state!r} sum to {odds:.2f}, more than 1"


def _examples(bank: Bank) -> Iterator[str]:
    """Yield where one sentence in one state has two replies, each more likely than not."""
    sole = {(each.state, each.caller): each for each in bank.reply if each.odds > 1 / 2}
    meant: dict[tuple[str, str], Reply] = {}
    for caller in bank.caller:
        reply = sole.get((caller.state, caller.name))
        for example in caller.examples if reply else ():
            other = meant.setdefault((caller.state, example), reply) if reply else None
            if reply and other and other.says != reply.says:
                yield (
                    f"in state {caller.state!r} the sentence {example!r} has two replies, "
                    f"{other.says!r} and {reply.says!r}"
                )


def _twice(names: Iterable[N]) -> Iterator[N]:
    seen: set[N] = set()
    for name in names:
        if name in seen:
            yield name
        seen.add(name)


def write(bank: Bank, path: Path) -> None:
    """Write *bank* to *path*, whole or not at all; blocks, raises ConfigError."""
    check(bank, str(path))
    with _beside(path) as beside:
        beside.write_text(text(bank), "utf-8")
        beside.replace(path)


def try_place(path: Path) -> None:
    """Raise ConfigError if no bank can be written to *path*, before anybody works for it; blocks."""
    with _beside(path) as beside:
        beside.touch()
        beside.unlink()


@contextlib.contextmanager
def _beside(path: Path) -> Iterator[Path]:
    """Yield a name beside *path*; whatever fails there is one ConfigError, and leaves nothing."""
    beside = path.parent / f".{path.name}.part"
    try:
        if path.exists() and not path.is_file():
            raise FileExistsError(errno.EEXIST, "there is something else than a file")
        yield beside
    except OSError as error:
        with contextlib.suppress(OSError):
            beside.unlink()
        raise ConfigError(
            f"cannot be written ({error.strerror})", where=str(path), remedy="make room, or name another file"
        ) from None


def text(bank: Bank) -> str:
    """Return *bank* as the TOML that :func:`read` reads."""
    lines = [f"schema = {SCHEMA}", f"dialogues = {bank.dialogues}", "", "[choices]"]
    lines += [f"{_key(name)} = {_value(words)}" for name, words in bank.choices.items()]
    lines += ["", "[calibration]", *_table(msgspec.structs.asdict(bank.calibration))]
    for kind in ("state", "caller", "reply", "ending"):
        for part in getattr(bank, kind):
            fields = msgspec.structs.asdict(part)
            counts: Mapping[str, object] = fields.pop("counts", {})
            lines += ["", f"[[{kind}]]", *_table(fields)]
            if counts:
                lines += [f"[{kind}.counts]", *_table(counts)]
    return "\n".join(lines) + "\n"


def _table(fields: Mapping[str, object]) -> Iterator[str]:
    for name, value in fields.items():
        if value not in ((), False, ""):
            yield f"{_key(name)} = {_value(value)}"


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _value(name)


def _value(value: object) -> str:
    if isinstance(value, tuple) and any(isinstance(each, str) for each in value):
        return "\n".join(("[", *(f"  {_value(each)}," for each in value), "]"))
    # A JSON text is a TOML basic string, but for the one control character that JSON lets stand.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
