"""Messages that must arrive, each a small file: whoever is killed loses none that was written.

A file appears whole, by a rename. Workers may share a folder: each puts, and the one who holds its lock
delivers; the lock goes with its process. Everything here blocks.
"""

from __future__ import annotations

import contextlib
import fcntl
import logging
import os
import threading
from typing import IO, TYPE_CHECKING, Final

import msgspec

from turnbudget.runs.records import Record

if TYPE_CHECKING:
    from pathlib import Path

MOST: Final = 10_000
"""Messages that wait; beyond, the oldest go."""
LARGEST: Final = 4 << 20
"""Bytes of a file that is read; what is larger is none of ours."""
SUFFIX: Final = ".json"
LOCK: Final = ".deliverer"
log = logging.getLogger(__name__)
_ANEW: Final = os.O_WRONLY | os.O_CREAT | os.O_TRUNC


class Message(Record, frozen=True, kw_only=True):
    """A message to *whom*, and how often it was tried; times are seconds of the calendar."""

    id: str
    whom: str
    body: str
    created_s: int
    due_s: int
    number: int = 0
    """Its place among those of one second."""
    attempts: int = 0


class Mailbag:
    """The messages in *folder*."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._folder = folder
        self._lock: IO[bytes] | None = None
        self._over = False
        self._putting = threading.Lock()  # who was cancelled while putting may still put
        self._taking = threading.Lock()  # who was cancelled while taking the lock may still take it
        self._known: dict[str, Message | None] = {}
        """Messages that were read, without their bodies, as who delivers left them; ``None``: taken.

        It holds what the disk refuses: a try that it cannot note is a try all the same.
        """
        self.lost = 0
        """Messages that were given up for newer ones, or could not be read."""

    def put(self, message: Message) -> None:
        """Keep *message*, also one that was tried before; raises OSError where the disk refuses."""
        place = self._place(message)
        part = place.with_suffix(".part")
        if place.name in self._known:
            self._known[place.name] = _without_body(message)
        content = msgspec.json.encode(message)
        with self._putting:
            try:
                _place(part, place, content)
            except FileNotFoundError:  # who begins to deliver takes away what a dead one left, and took ours
                _place(part, place, content)

    def take(self, message: Message) -> None:
        """Forget *message*; raises OSError where the disk keeps it."""
        place = self._place(message)
        self._known[place.name] = None
        place.unlink(missing_ok=True)

    def look(self) -> list[Message]:
        """Return what waits, without bodies, the oldest first.

        Of too many the oldest go, and what cannot be read goes.
        """
        names = sorted(place.name for place in self._folder.glob(f"*{SUFFIX}"))
        for name in names[:-MOST]:
            self._drop(name)
        self._known = {
            name: self._known[name] if name in self._known else self._light(name) for name in names[-MOST:]
        }
        return [message for message in self._known.values() if message]

    def whole(self, message: Message) -> Message | None:
        """Return *message* with its body; ``None`` if it is gone."""
        return _read(self._place(message))

    def hold(self) -> bool:
        """Be the one who delivers, if nobody else is; say whether we are."""
        with self._taking:
            if self._lock is None and not self._over:
                lock = os.fdopen(os.open(self._folder / LOCK, os.O_RDWR | os.O_CREAT, 0o600), "r+b")
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except OSError:
                    lock.close()
                    return False
                self._lock = lock
                self._known = {}
                for part in self._folder.glob("*.part"):  # of who was killed; who still writes tries again
                    part.unlink(missing_ok=True)
            return self._lock is not None

    def close(self) -> None:
        """Let another one deliver, for good."""
        with self._taking:
            self._over = True
            if self._lock:
                self._lock.close()
                self._lock = None

    def _place(self, message: Message) -> Path:
        return self._folder / f"{message.created_s:012d}-{message.number:06d}-{message.id}{SUFFIX}"

    def _light(self, name: str) -> Message | None:
        message = _read(self._folder / name)
        if message is None:
            self._drop(name)
            return None
        return _without_body(message)

    def _drop(self, name: str) -> None:
        self.lost += 1
        log.error("webhooks: %s is given up, for there are %d or it cannot be read", name, MOST)
        (self._folder / name).unlink(missing_ok=True)


def _place(part: Path, place: Path, content: bytes) -> None:
    """Put *content* at *place*, whole or not at all, by way of *part*."""
    try:
        with os.fdopen(os.open(part, _ANEW, 0o600), "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        part.replace(place)
    finally:
        part.unlink(missing_ok=True)


def _without_body(message: Message) -> Message:
    return msgspec.structs.replace(message, body="")


def _read(place: Path) -> Message | None:
    with contextlib.suppress(OSError, msgspec.DecodeError, UnicodeDecodeError):
        if place.stat().st_size <= LARGEST:
            return msgspec.json.decode(place.read_bytes(), type=Message)
    return None
