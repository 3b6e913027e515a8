"""Names: a call's, whose file must stay in its run's folder; a run's, which must not take another's place."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from turnbudget.voice.errors import RunError

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Sequence
    from pathlib import Path

LONGEST: Final = 100
"""A file name may have 255 bytes, which a name in another script fills sooner."""
LONE: Final = re.compile("[\ud800-\udfff]")
"""Half a character: JSON and file systems can hold one, UTF-8 cannot."""
UNSAFE: Final = re.compile(r'[\x00-\x1f\x7f/\\:*?"<>|]')
"""What steers a terminal, or parts a path on some system."""


def legible(text: str) -> str:
    """Return *text* as it can be written: half a character becomes ``�``."""
    return LONE.sub("\ufffd", text)


def call_name(wanted: str, taken: Container[str]) -> str:
    """Return *wanted* as the name of a file, numbered if it is *taken* (names in lower case)."""
    name = UNSAFE.sub("_", legible(wanted)).strip(". ")[:LONGEST] or "call"
    number, free = 1, name
    while free.casefold() in taken:
        number += 1
        free = f"{name}-{number}"
    return free


def run_name(paths: Iterable[Path]) -> str:
    """Return what a run of *paths* is called by default: after the first of them."""
    first = next(iter(paths), None)
    if first is None:
        raise RunError("there is nothing to replay", remedy="name recordings or a folder")
    whole = first.resolve()
    return call_name(whole.name if whole.is_dir() else whole.stem, ())


def named_folder(parent: Path, name: str) -> Path:
    """Return the folder below *parent* called *name*; raises RunError if it would lie elsewhere."""
    if name in {"", ".", ".."} or UNSAFE.search(name):
        raise RunError(
            f"{name!r} is no name of a folder", remedy="give one without slashes, and its place with --out"
        )
    return parent / name


def fresh_folder(parent: Path, name: str, endings: Sequence[str] = ("",)) -> Path:
    """Return a folder below *parent* that does not exist yet, called *name* or *name* with a number.

    Nor does one of its name with any of the *endings*.
    """
    number, folder = 1, parent / name
    while any(folder.with_name(folder.name + ending).exists() for ending in endings):
        number += 1
        folder = parent / f"{name}-{number}"
    return folder
