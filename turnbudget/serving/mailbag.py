"""Messages that must arrive, each a small file: whoever is killed loses none that was written.

A file appears whole, by a rename. Workers may share a folder: each puts, and the one who holds its lock delivers;
the lock goes with its process. Everything here blocks.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from typing import IO, TYPE_CHECKING, Final

import msgspec

from turnbudget.records import Record

if TYPE_CHECKING:
    from pathlib import Path

MOST: Final = 10_000
"""Messages that wait; beyond, the oldest go."""
LARGEST: Final = 4 << 20
"""Bytes of a file that is read; what is larger is none of ours."""
SUFFIX: Final = ".json"
LOCK: Final = ".deliverer"


class Message(Record, frozen=True, kw_only=True):
    """A message to *whom*, and how often it was tried; times are seconds of the calendar."""

    id: str
    whom: str
    body: str
    created_s: int
    due_s: int
    attempts: int = 0


class Mailbag:
    """The messages in *folder*."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._folder = folder
        self._lock: IO[bytes] | None = None
        self.lost = 0
        """Messages that were given up for newer ones, or could not be read."""

    def put(self, message: Message) -> None:
        """Keep *message*, also one that was tried before; raises OSError where the disk refuses."""
        place = self._place(message)
        part = place.with_suffix(".part")
        try:
            with part.open("wb", opener=_private) as file:
                file.write(msgspec.json.encode(message))
                file.flush()
                os.fsync(file.fileno())
            part.replace(place)
        finally:
            part.unlink(missing_ok=True)

    def take(self, message: Message) -> None:
        """Forget *message*."""
        self._place(message).unlink(missing_ok=True)

    def look(self) -> list[Message]:
        """Return what waits, the oldest first; of too many the oldest go, and what cannot be read goes."""
        places = sorted(self._folder.glob(f"*{SUFFIX}"))
        for place in places[:-MOST]:
            self._drop(place)
        found = [(place, _read(place)) for place in places[-MOST:]]
        for place, message in found:
            if message is None and place.exists():
                self._drop(place)
        return [message for _, message in found if message]

    def hold(self) -> bool:
        """Be the one who delivers, if nobody else is; say whether we are."""
        if self._lock is None:
            lock = (self._folder / LOCK).open("ab", opener=_private)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                lock.close()
                return False
            self._lock = lock
        return True

    def close(self) -> None:
        """Let another one deliver."""
        if self._lock:
            self._lock.close()
            self._lock = None

    def _place(self, message: Message) -> Path:
        return self._folder / f"{message.created_s:012d}-{message.id}{SUFFIX}"

    def _drop(self, place: Path) -> None:
        self.lost += 1
        place.unlink(missing_ok=True)


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _read(place: Path) -> Message | None:
    with contextlib.suppress(OSError, msgspec.DecodeError, UnicodeDecodeError):
        if place.stat().st_size <= LARGEST:
            return msgspec.json.decode(place.read_bytes(), type=Message)
    return None
