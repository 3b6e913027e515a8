"""What is made once and kept: a folder in the cache is whole, as its manifest says, or it is made again.

A folder is built beside its place and renamed into it, so nobody ever sees half of one; a lock lets one
process build while others wait; a kill leaves a remnant that the next build removes.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

from turnbudget.voice.errors import ComponentError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

MANIFEST: Final = "manifest.json"
"""File in a cached folder that lists its files, with size and checksum."""


def folder() -> Path:
    """Return our cache folder: ``TURNBUDGET_CACHE``, else ``turnbudget`` in the user's cache."""
    if named := os.environ.get("TURNBUDGET_CACHE"):
        return Path(named)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "turnbudget"


def whole(place: Path) -> bool:
    """Return whether *place* holds every file of its manifest with the right size and checksum."""
    try:
        manifest: dict[str, list[str | int]] = json.loads((place / MANIFEST).read_bytes())
        return bool(manifest) and all(_fingerprint(place / name) == facts for name, facts in manifest.items())
    except (OSError, ValueError, AttributeError):
        return False


def keep(name: str, make: Callable[[Path], None]) -> Path:
    """Return the cached folder *name*; have *make* fill a new one if it is absent, half-made or corrupt.

    Blocks, perhaps for long: call it in a thread. Raises :class:`~turnbudget.voice.errors.ComponentError` if
    the folder cannot be written, and whatever *make* raises.
    """
    place = folder() / name
    if whole(place):
        return place
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        with _alone(place):
            if not whole(place):
                _build(place, make)
    except OSError as error:
        raise ComponentError(
            f"{name} cannot be written: {error.strerror or error}",
            where=str(place.parent),
            remedy="make room there (0.5 GB), or name another folder in TURNBUDGET_CACHE",
        ) from error
    return place


def _build(place: Path, make: Callable[[Path], None]) -> None:
    for remnant in place.parent.glob(f".{place.name}-*"):
        shutil.rmtree(remnant, ignore_errors=True)
    with tempfile.TemporaryDirectory(
        prefix=f".{place.name}-", dir=place.parent, ignore_cleanup_errors=True
    ) as made:
        fresh = Path(made) / place.name
        fresh.mkdir()
        make(fresh)
        manifest = {
            str(file.relative_to(fresh)): _fingerprint(file)
            for file in sorted(fresh.rglob("*"))
            if file.is_file()
        }
        (fresh / MANIFEST).write_text(json.dumps(manifest, indent=1) + "\n")
        if place.exists():
            place.rename(Path(made) / "corrupt")
        fresh.rename(place)


def _fingerprint(file: Path) -> list[str | int]:
    with file.open("rb") as content:
        return [file.stat().st_size, hashlib.file_digest(content, "sha256").hexdigest()]


@contextlib.contextmanager
def _alone(place: Path) -> Iterator[None]:
    """Wait until no other process or thread builds *place*."""
    with place.with_name(f"{place.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
