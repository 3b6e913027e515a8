"""Files that are written and read whole, and are nobody's business but the user's."""

from __future__ import annotations

import contextlib
import fcntl
import os
import tempfile
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

REMNANT: Final = ".new-"
"""How a file begins that is being written, or that somebody killed was writing."""
_LOOK: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def names(place: Path) -> list[str]:
    """Return the names in the folder *place*, in order; nothing if it is not there; raises OSError."""
    try:
        return sorted(os.listdir(place))  # noqa: PTH208 - ten thousand Paths would take longer than the disk
    except (FileNotFoundError, NotADirectoryError):
        return []


def listed(place: Path) -> list[Path]:
    """Return what lies in *place*, in the order of names; nothing if it is no folder we can read."""
    try:
        return [place / name for name in names(place)]
    except OSError:
        return []


def head(path: str, most: int) -> tuple[bytes, os.stat_result]:
    """Return the first *most* bytes of the file at *path*, and about it."""
    file = os.open(path, _LOOK)
    try:
        return os.read(file, most), os.fstat(file)
    finally:
        os.close(file)


def content(path: Path) -> bytes:
    """Return the file at *path*."""
    with os.fdopen(os.open(path, _LOOK), "rb") as file:
        return file.read()


def private(place: Path) -> None:
    """Have a folder at *place* that only this user can enter; raises OSError."""
    place.mkdir(mode=0o700, parents=True, exist_ok=True)
    about = place.stat()
    if about.st_uid != os.geteuid():
        raise PermissionError(0, "it belongs to another user", str(place))
    if about.st_mode & 0o077:
        place.chmod(0o700)


def put(path: Path, whole: bytes) -> None:
    """Write *whole* beside *path*, readable by this user only, and rename it: all of it is there, or nothing.

    It is not forced onto the disk: what a power failure leaves, a checksum tells.
    """
    handle, beside = tempfile.mkstemp(prefix=REMNANT, dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(whole)
        os.replace(beside, path)  # noqa: PTH105 - the one is a name already
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(beside)  # noqa: PTH108 - likewise
        raise


@contextlib.contextmanager
def locked(path: Path, how: int) -> Iterator[None]:
    """Hold the lock at *path* (``fcntl.LOCK_SH`` …); what a killed process held, the system gives back."""
    lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, how)
        yield
    finally:
        os.close(lock)
