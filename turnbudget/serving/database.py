"""A small database that workers share: SQLite with a write-ahead log, and a lock that goes with its process.

What was written survives whoever is killed, nothing half-written is read, and of two who write at once one
waits for the other, for as long as the other's transaction takes. A file that cannot be read is set aside
with one line in the log, and a new one begins. Everything here blocks.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import logging
import os
import sqlite3
import threading
import weakref
from typing import TYPE_CHECKING, Final, Literal, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

WAIT_S: Final = 1.0
"""How long a transaction waits for another process's (seconds)."""
CHECKPOINT_PAGES: Final = 100
"""Pages of 4 KiB in a write-ahead log that are copied to the database at a time: few, for a copy blocks."""
NOWHERE: Final = 0
"""Stands for the inode of a file that is not there."""
_FILES: Final = ("", "-wal", "-shm")
"""Ends of the names of the files that are one database."""
_BROKEN: Final = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})
"""What SQLite says of a file that is no database, or a damaged one."""
T = TypeVar("T")
log = logging.getLogger(__name__)


class Database:
    """One SQLite database, for several threads and processes at a time."""

    def __init__(self, place: Path | None, tables: str, *, durable: bool = False) -> None:
        """Open the file at *place*, ``None`` for one in memory, with the *tables* it has; raises OSError.

        What was written to a *durable* one survives a power failure as well. A file that is no database, or
        a broken one, is set aside and logged, and one without rows begun in its place.
        """
        self._place = place
        self._tables = tables
        self._synchronous = "FULL" if durable else "OFF"
        self._transacting = threading.Lock()
        self._inode = NOWHERE
        """Inode of the file that is open: another file may have been put in its place."""
        self._close: Callable[[], object] = lambda: None
        self._over = False
        self._connection = self._opened()

    def transact(
        self,
        work: Callable[[sqlite3.Connection], T],
        begin: Literal["BEGIN", "BEGIN IMMEDIATE"] = "BEGIN IMMEDIATE",
    ) -> T:
        """Return what *work* makes of the tables, all of it or nothing; raises OSError.

        With ``BEGIN`` it only reads, and waits for nobody.
        """
        with self._transacting:
            if self._over:
                raise OSError(errno.EBADF, "the database is closed")
            for last in (False, True):
                try:
                    if self._place and (self._inode == NOWHERE or self._inode != _inode(self._place)):
                        self._connection = self._opened()
                    return _attempt(self._connection, work, begin)
                except sqlite3.Error as error:
                    if last or not _is_broken(error):
                        raise OSError(errno.EIO, str(error)) from None
                    self._connection = self._opened(str(error))
            raise AssertionError

    def close(self) -> None:
        """Close the database for good, behind a transaction that is under way."""
        with self._transacting:
            self._over = True
            self._close()

    def _opened(self, broken: str = "") -> sqlite3.Connection:
        """Return a connection; the file that is open, if it is *broken*, is set aside first."""
        self._close()
        before, self._inode = self._inode, NOWHERE
        try:
            with _alone(self._place):
                if broken and _inode(self._place) == before:  # or another process has set it aside
                    self._set_aside(broken)
                try:
                    connection = self._connected()
                except sqlite3.Error as error:
                    if not _is_broken(error):
                        raise
                    self._set_aside(str(error))
                    connection = self._connected()
                self._inode = _inode(self._place)
        except sqlite3.Error as error:
            raise OSError(errno.EIO, str(error)) from None
        self._close = weakref.finalize(self, connection.close)
        return connection

    def _connected(self) -> sqlite3.Connection:
        if self._place and not self._place.exists():
            # Nobody else may read it, nor the files beside it, which SQLite makes like it. One that exists is
            # not opened here: closing it would drop the locks of every connection of this process.
            os.close(os.open(self._place, os.O_RDWR | os.O_CREAT, 0o600))
        connection = sqlite3.connect(
            self._place or ":memory:", timeout=WAIT_S, isolation_level=None, check_same_thread=False
        )
        try:
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute(f"PRAGMA synchronous={self._synchronous}")
            connection.execute(f"PRAGMA wal_autocheckpoint={CHECKPOINT_PAGES}")
            connection.executescript(self._tables)
        except BaseException:
            connection.close()
            raise
        return connection

    def _set_aside(self, why: str) -> None:
        """Rename the files of a broken database; who has it open sees that, and opens the new one."""
        place = self._place
        if place is None:
            return
        aside = place.with_name(f"{place.name}.unreadable")
        for end in _FILES:
            with contextlib.suppress(FileNotFoundError):
                place.with_name(place.name + end).replace(aside.with_name(aside.name + end))
        log.error("%s cannot be read (%s): it is now %s, and a new one begins", place, why, aside.name)


class Hold:
    """A lock file, held by one process at a time; who dies lets go. Everything here blocks, if shortly."""

    def __init__(self, place: Path) -> None:
        self._place = place
        self._lock: int | None = None
        self._over = False
        self._taking = threading.Lock()  # who was cancelled while taking may still take

    def take(self) -> bool:
        """Take the lock, if no other process holds it; say whether we hold it."""
        with self._taking:
            if self._lock is not None or self._over:
                return not self._over
            with contextlib.suppress(OSError):
                lock = os.open(self._place, os.O_RDWR | os.O_CREAT, 0o600)
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except OSError:
                    os.close(lock)
                    raise
                self._lock = lock
            return self._lock is not None

    def close(self) -> None:
        """Release the lock, and take it never again."""
        with self._taking:
            self._over = True
            if self._lock is not None:
                os.close(self._lock)
                self._lock = None


@contextlib.contextmanager
def _alone(place: Path | None) -> Iterator[None]:
    """Let no other process open or set aside the database at *place* until the block ends."""
    if place is None:
        yield
        return
    lock = os.open(place.with_name(f"{place.name}.lock"), os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


def _attempt(
    connection: sqlite3.Connection,
    work: Callable[[sqlite3.Connection], T],
    begin: Literal["BEGIN", "BEGIN IMMEDIATE"],
) -> T:
    """Return what *work* makes in one transaction, which is taken back if it fails."""
    connection.execute(begin)
    try:
        made = work(connection)
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
    return made


def _is_broken(error: sqlite3.Error) -> bool:
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in _BROKEN


def _inode(place: Path | None) -> int:
    """Return the inode of the file at *place*."""
    try:
        return place.stat().st_ino if place else NOWHERE
    except FileNotFoundError:
        return NOWHERE
