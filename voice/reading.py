"""Files that a person has written: a byte-order mark is no fault, an unknown key is told by its line."""

from __future__ import annotations

import codecs
import re
from difflib import get_close_matches
from typing import TYPE_CHECKING, Final, TypeAlias, TypeVar

import msgspec
from msgspec import inspect

from turnbudget.voice.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

T = TypeVar("T")
Keys: TypeAlias = tuple[str | int, ...]
"""A place in a TOML file: the names of tables and keys, and the number of a table in an array of tables."""

UNKNOWN: Final = re.compile(r"Object contains unknown field `(?P<name>.+?)`(?: - at `\$\.?(?P<place>.*)`)?")
"""What msgspec says of a key that it does not know."""
ANY: Final = "..."
"""The name of a table that may have any name, in a place that msgspec tells."""
_STEPS: Final = re.compile(r"\[(\d+|\.\.\.)\]|([^.\[\]]+)")
_NAME: Final = r"""(?:[\w-]+|"[^"]*"|'[^']*')"""
_NAMES: Final = rf"{_NAME}(?:\s*\.\s*{_NAME})*"
_HEADER: Final = re.compile(rf"\s*(\[\[?)\s*({_NAMES})\s*\]")
_KEY: Final = re.compile(rf"\s*({_NAMES})\s*=")


def read(path: Path) -> bytes:
    """Return the content of the file at *path*, without a byte-order mark; blocks, raises OSError."""
    return path.read_bytes().removeprefix(codecs.BOM_UTF8)


def toml(path: Path, kind: type[T], *, remedy: str = "") -> T:
    """Return the TOML file at *path* as a *kind*; blocks, raises ConfigError, one line."""
    try:
        content = read(path)
    except OSError as error:
        raise ConfigError(f"cannot be read ({error.strerror})", where=str(path)) from None
    try:
        return msgspec.toml.decode(content, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        if unknown := UNKNOWN.fullmatch(str(error)):
            raise _unknown(path, content.decode(), kind, unknown, remedy) from None
        raise ConfigError(str(error), where=str(path), remedy=remedy) from None


def _unknown(path: Path, text: str, kind: type, fault: re.Match[str], remedy: str) -> ConfigError:
    """Return what is to be said of an unknown key: its line, its table, and the nearest name there is."""
    name = fault["name"]
    within = tuple(
        int(number) if number.isdigit() else number or step
        for number, step in _STEPS.findall(fault["place"] or "")
    )
    line, place = _line_of(text, (*within, name))
    table = ".".join(str(step) for step in place[: len(within)] if isinstance(step, str))
    if table:
        table = f"[[{table}]]" if within and isinstance(within[-1], int) else f"[{table}]"
    near = get_close_matches(name, _known([inspect.type_info(kind)], within), n=1)
    return ConfigError(
        f"{table} has no key {name}" if table else f"there is no key or table {name}",
        where=f"{path}:{line}",
        remedy=f"did you mean {near[0]}?" if near else remedy,
    )


def _line_of(text: str, wanted: Keys) -> tuple[int, Keys]:
    """Return the number of the line that is nearest to *wanted*, and the place that stands there."""
    best, found, deepest = 1, wanted, 0
    for number, place in _places(text):
        deep = 0
        for step, want in zip(place, wanted, strict=False):
            if want not in (step, ANY):
                break
            deep += 1
        if deep > deepest:
            best, found, deepest = number, (*place[:deep], *wanted[deep:]), deep
    return best, found


def _places(text: str) -> Iterator[tuple[int, Keys]]:
    """Yield each line of a TOML file that names a table or a key, and its place."""
    table: Keys = ()
    latest: dict[Keys, int] = {}
    quoted = ""
    for number, line in enumerate(text.splitlines(), 1):
        outside = not quoted
        for mark in re.findall(r'"""|' + "'''", line):
            quoted = "" if quoted == mark else quoted or mark
        if outside and (header := _HEADER.match(line)):
            place = _under((), header[2], latest)
            if header[1] == "[[":
                array = place[:-1] if isinstance(place[-1], int) else place
                latest[array] = latest.get(array, -1) + 1
                place = (*array, latest[array])
            table = place
            yield number, table
        elif outside and (key := _KEY.match(line)):
            yield number, _under(table, key[1], {})


def _under(place: Keys, names: str, latest: dict[Keys, int]) -> Keys:
    """Return the place of dotted *names* under *place*, in the latest table of each array."""
    for name in re.findall(_NAME, names):
        place = (*place, name.strip("\"'"))
        if place in latest:
            place = (*place, latest[place])
    return place


def _known(types: Sequence[inspect.Type], within: Keys) -> list[str]:
    """Return the names that may stand at the place *within* a file of one of *types*."""
    for step in within:
        inner: list[inspect.Type] = []
        for each in _apart(types):
            if isinstance(each, inspect.StructType):
                inner += [field.type for field in each.fields if field.encode_name == step]
            elif isinstance(each, inspect.DictType):
                inner.append(each.value_type)
            elif isinstance(each, inspect.VarTupleType | inspect.ListType):
                inner.append(each.item_type)
        types = inner
    return [
        field.encode_name
        for each in _apart(types)
        if isinstance(each, inspect.StructType)
        for field in each.fields
    ]


def _apart(types: Sequence[inspect.Type]) -> Iterator[inspect.Type]:
    """Yield *types*, each of a union by itself."""
    for each in types:
        yield from each.types if isinstance(each, inspect.UnionType) else (each,)
