"""A small database that workers share: SQLite with a write-ahead log, and a lock that goes with its process.

What was written survives whoever is killed, nothing half-written is read, and of two who write at once one
waits for the other, for as long as the other's transaction takes. A file that cannot be read is set aside
whole and told in one line, and a new one begins; of several, the last is kept. Everything here blocks.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import logging
import os
import sqlite3
import stat
import threading
import weakref
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

SETTINGS: Final = "PRAGMA busy_timeout=1000; PRAGMA synchronous=OFF; PRAGMA wal_autocheckpoint=100;"
"""Settings for what may be lost in a power failure.

A transaction waits for another process's for 1 s. 100 pages of 4 KiB in the write-ahead log are copied to the
database at a time: few, for a copy blocks.
"""
DURABLE: Final = f"{SETTINGS} PRAGMA synchronous=FULL;"
"""Settings for what survives a power failure."""
ASIDE: Final = ".unreadable"
"""End of the name of a file that was set aside."""
NOWHERE: Final = 0
"""Stands for the inode of a file that is not there."""
_FILES: Final = ("", "-wal", "-shm")
"""Ends of the names of the files that are one database."""
_BROKEN: Final = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})
"""What SQLite says of a file that is no database, or a damaged one."""
Begin: TypeAlias = Literal["BEGIN", "BEGIN IMMEDIATE", ""]
"""What a transaction begins with; only one that is to write waits for others."""
T = TypeVar("T")
log = logging.getLogger(__name__)


class Database:
    """One SQLite database, for several threads and processes at a time."""

    def __init__(
        self,
        place: Path | None,
        tables: str,
        settings: str = SETTINGS,
        tell: Callable[[Path, str], object] | None = None,
    ) -> None:
        """Open the file at *place*, ``None`` for one in memory, with the *tables* it has; raises OSError.

        *settings* are the pragmas of each connection. A file that is no database, or a broken one, is set
        aside, and one without rows begun in its place; *tell* is told where it is now and why, else the log.
        """
        self._place = place
        self._script = (settings, "PRAGMA journal_mode=WAL", tables)
        self._tell = tell or _log_broken
        self._transacting = threading.Lock()
        self._inode = NOWHERE
        """Inode of the file that is open: another file may have been put in its place."""
        self._close: Callable[[], object] = lambda: None
        self._over = False
        self._connection = self._opened()

    def transact(self, work: Callable[[sqlite3.Connection], T], begin: Begin = "BEGIN IMMEDIATE") -> T:
        """Return what *work* makes of the tables, all of it or nothing; raises OSError.

        With ``BEGIN`` it only reads, and waits for nobody; with "" it is one statement that no transaction
        can hold.
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
            with contextlib.suppress(sqlite3.Error):
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
        if self._place:
            _make_private(self._place)
        connection = sqlite3.connect(self._place or ":memory:", isolation_level=None, check_same_thread=False)
        try:
            for part in self._script:
                connection.executescript(part)
        except BaseException:
            connection.close()
            raise
        return connection

    def _set_aside(self, why: str) -> None:
        """Rename the files of a broken database; who has it open sees that, and opens the new one."""
        place = self._place
        if place is None:
            return
        aside = place.with_name(place.name + ASIDE)
        for end in _FILES:
            aside.with_name(aside.name + end).unlink(missing_ok=True)  # of the one before
            with contextlib.suppress(FileNotFoundError):
                place.with_name(place.name + end).replace(aside.with_name(aside.name + end))
        self._tell(aside, why)


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
    """Let no other process open or set aside a database in the folder of *place* until the block ends."""
    if place is None:
        yield
        return
    lock = os.open(place.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


def _attempt(connection: sqlite3.Connection, work: Callable[[sqlite3.Connection], T], begin: Begin) -> T:
    """Return what *work* makes in one transaction, which is taken back if it fails."""
    connection.execute(begin)
    try:
        made = work(connection)
        if begin:
            connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
    return made


def _make_private(place: Path) -> None:
    """Have a file at *place* that nobody else can read, as SQLite makes those beside it; raises OSError.

    One that exists is not opened: closing it would drop the locks of every connection of this process.
    """
    with contextlib.suppress(FileExistsError):
        os.close(os.open(place, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
    about = place.lstat()
    if not stat.S_ISREG(about.st_mode):
        raise OSError(errno.EINVAL, "it is no file", str(place))
    if about.st_mode & 0o077:
        place.chmod(0o600)


def _log_broken(aside: Path, why: str) -> None:
    place = aside.with_suffix("")
    log.error("%s cannot be read (%s): it is now %s, and a new one begins", place, why, aside.name)


def _is_broken(error: sqlite3.Error) -> bool:
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in _BROKEN


def _inode(place: Path | None) -> int:
    """Return the inode of the file at *place*."""
    try:
        return place.stat().st_ino if place else NOWHERE
    except FileNotFoundError:
        return NOWHERE
