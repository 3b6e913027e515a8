"""The small state of workers that must not be lost: what may be used once, and messages that are to be sent.

It stands in SQLite with a write-ahead log: what was written survives whoever is killed, nothing half-written
is read, and of two who write at once one waits for the other, for as long as the other's transaction takes.
Everything here blocks. On the loop only a :class:`OnceStore` is asked: 20 µs, of 15,000 the longest 160 µs.
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
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, TypeVar

import msgspec

from turnbudget.runs.records import Record
from turnbudget.voice.time import clock

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

WAIT_S: Final = 1.0
"""How long a transaction waits for another process's (seconds)."""
CHECKPOINT_PAGES: Final = 100
"""Pages of 4 KiB in a write-ahead log that are copied to the database at a time: few, for a copy blocks."""
KEPT_US: Final = 3_600 * clock.SECOND
"""How long a fact is kept that nobody takes (µs; an hour)."""
MOST_FACTS: Final = 20_000
"""Facts that are kept at a time; the oldest are forgotten first."""
MOST_MESSAGES: Final = 10_000
"""Messages that wait at a time; the oldest are given up first."""
LARGEST: Final = 4 << 20
"""Bytes of the body of a message that is sent; a larger one is given up."""
FACTS: Final = """
CREATE TABLE IF NOT EXISTS facts (number INTEGER PRIMARY KEY, key BLOB UNIQUE, value BLOB, since_us INTEGER);
CREATE INDEX IF NOT EXISTS facts_by_age ON facts (since_us);
"""
MESSAGES: Final = """
CREATE TABLE IF NOT EXISTS messages (
    created_s INTEGER, number INTEGER, id TEXT, tenant TEXT, due_s INTEGER, attempts INTEGER, body BLOB,
    PRIMARY KEY (created_s, number, id)
);
"""
Key: TypeAlias = tuple[int, int, str]
"""What tells a message from all others: when it was made, its number, its id."""
NOWHERE: Final = 0
"""Number of no file."""
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
        """Number of the file that is open: another may have been put in its place."""
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
        if self._place:  # nobody else may read it, nor the files beside it, which SQLite makes like it
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
        """Rename the files of a broken database."""
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
        """Hold it, if nobody else does; say whether we do."""
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
        """Let go, for good."""
        with self._taking:
            self._over = True
            if self._lock is not None:
                os.close(self._lock)
                self._lock = None


class OnceStore:
    """Facts that may be used once: a token that was spent, a call that is expected, where one goes next.

    One worker keeps them in memory, several share a database. One that takes no more costs no call: each
    worker then keeps in memory what it is told itself. What nobody takes is forgotten after a while.
    """

    def __init__(self, folder: Path | None = None) -> None:
        """Keep facts in *folder*, or in memory."""
        self._beside: OnceStore | None = None
        """What the database did not take, and under ``taken KEY`` what it did not give away."""
        self._database: Database | None = None
        try:
            if folder:
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._database = Database(folder / "facts.sqlite" if folder else None, FACTS)
        except OSError as error:
            self._unshared(error)

    def put(self, key: str, value: str = "") -> bool:
        """Keep *value* under *key*; ``False``: there was one already, which stays."""
        if self._beside and any(self._beside.look(name) is not None for name in (key, f"taken {key}")):
            return self._beside.put(key, value)
        now = clock.now()

        def work(connection: sqlite3.Connection) -> bool:
            connection.execute("DELETE FROM facts WHERE since_us < ?", (now - KEPT_US,))
            made = connection.execute(
                "INSERT OR IGNORE INTO facts (key, value, since_us) VALUES (?, ?, ?)",
                (_bytes(key), _bytes(value), now),
            )
            if made.rowcount and made.lastrowid:
                connection.execute("DELETE FROM facts WHERE number <= ?", (made.lastrowid - MOST_FACTS,))
            return bool(made.rowcount)

        try:
            return self._transact(work)
        except OSError as error:
            return self._unshared(error).put(key, value)

    def take(self, key: str) -> str | None:
        """Return what is kept under *key* and forget it; ``None`` if there is nothing: another was first."""
        if self._beside and (value := self._beside.take(key)) is not None:
            return value

        def work(connection: sqlite3.Connection) -> str | None:
            value = _found(connection, key)
            if value is not None:
                connection.execute("DELETE FROM facts WHERE key = ?", (_bytes(key),))
            return value

        if self._beside and self._beside.look(f"taken {key}") is not None:
            return None
        try:
            return self._transact(work)
        except OSError as error:
            value = self.look(key)
            return value if value is not None and self._unshared(error).put(f"taken {key}") else None

    def look(self, key: str) -> str | None:
        """Return what is kept under *key*, and keep it; ``None`` if there is nothing."""
        if self._beside and (value := self._beside.look(key)) is not None:
            return value
        if self._beside and self._beside.look(f"taken {key}") is not None:
            return None
        try:
            return self._transact(lambda connection: _found(connection, key), "BEGIN")
        except OSError:
            return None

    def close(self) -> None:
        """Close the database."""
        if self._database:
            self._database.close()

    def _transact(
        self,
        work: Callable[[sqlite3.Connection], T],
        begin: Literal["BEGIN", "BEGIN IMMEDIATE"] = "BEGIN IMMEDIATE",
    ) -> T:
        if self._database is None:
            raise OSError(errno.EBADF, "there is no database")
        return self._database.transact(work, begin)

    def _unshared(self, error: OSError) -> OnceStore:
        """Return what is kept in memory beside the database, and log at the first time why."""
        if self._beside is None:
            log.error("facts are not shared with other workers: %s", error.strerror)
            self._beside = OnceStore()
        return self._beside


class Message(Record, frozen=True, kw_only=True):
    """A message to the server of a *tenant*."""

    id: str
    tenant: str
    body: str
    created_s: int
    """When it was made (seconds of the calendar)."""
    due_s: int
    """When it is to be sent next (seconds of the calendar)."""
    number: int = 0
    """Its place among those of one second."""
    attempts: int = 0
    """How often it was sent in vain."""

    @property
    def key(self) -> Key:
        """What tells it from all others."""
        return self.created_s, self.number, self.id


class MessageStore:
    """Messages that must arrive: workers share them, each puts, and the one who holds the lock delivers."""

    def __init__(self, folder: Path) -> None:
        """Keep them in *folder*; raises OSError."""
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._database = Database(folder / "messages.sqlite", MESSAGES, durable=True)
        self._delivering = Hold(folder / ".deliverer")
        self._unwritten: dict[Key, Message | None] = {}
        """Messages, without bodies, as they were left by changes that the disk refused; ``None``: taken.

        A try that it cannot note is a try all the same.
        """
        self.lost = 0
        """Messages that were given up for newer ones, or were too large."""

    def put(self, message: Message) -> None:
        """Keep *message*, also one that was tried before; raises OSError where the disk refuses."""
        values = (*message.key, message.tenant, message.due_s, message.attempts, message.body.encode())
        self._unwritten[message.key] = msgspec.structs.replace(message, body="")
        self._database.transact(
            lambda connection: connection.execute(
                "INSERT OR REPLACE INTO messages VALUES (?, ?, ?, ?, ?, ?, ?)", values
            )
        )
        self._unwritten.pop(message.key, None)

    def take(self, message: Message) -> None:
        """Forget *message*; raises OSError where the disk keeps it."""
        self._unwritten[message.key] = None
        self._database.transact(
            lambda connection: connection.execute(
                "DELETE FROM messages WHERE (created_s, number, id) = (?, ?, ?)", message.key
            )
        )
        self._unwritten.pop(message.key, None)

    def look(self) -> list[Message]:
        """Return what waits, without bodies, the oldest first; raises OSError.

        Of too many the oldest go, and what is too large goes.
        """
        rows = self._database.transact(
            lambda connection: connection.execute(
                "SELECT length(body), created_s, number, id, tenant, due_s, attempts FROM messages"
                " ORDER BY created_s, number, id"
            ).fetchall(),
            "BEGIN",
        )
        kept = {}
        for number, (length, *columns) in enumerate(rows, 1):
            message = _message(*columns)
            if length > LARGEST or number <= len(rows) - MOST_MESSAGES:
                self._give_up(message)
            else:
                kept[message.key] = message
        for key in list(self._unwritten):
            if key not in kept:
                self._unwritten.pop(key, None)
        return [left for key, message in kept.items() if (left := self._unwritten.get(key, message))]

    def whole(self, message: Message) -> Message | None:
        """Return *message* as it stands now, with its body; ``None`` if it is gone. Raises OSError."""
        row = self._database.transact(
            lambda connection: connection.execute(
                "SELECT body, created_s, number, id, tenant, due_s, attempts FROM messages"
                " WHERE (created_s, number, id) = (?, ?, ?)",
                message.key,
            ).fetchone(),
            "BEGIN",
        )
        left = self._unwritten.get(message.key, _message(*row[1:])) if row else None
        return msgspec.structs.replace(left, body=row[0].decode()) if left else None

    def hold(self) -> bool:
        """Be the one who delivers, if nobody else is; say whether we are."""
        return self._delivering.take()

    def close(self) -> None:
        """Let another one deliver, for good."""
        self._delivering.close()
        self._database.close()

    def _give_up(self, message: Message) -> None:
        self.take(message)
        self.lost += 1
        log.error(
            "webhooks: %s is given up, for there are over %d or it is too large", message.id, MOST_MESSAGES
        )


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
    """Return the number of the file at *place*."""
    try:
        return place.stat().st_ino if place else NOWHERE
    except FileNotFoundError:
        return NOWHERE


def _found(connection: sqlite3.Connection, key: str) -> str | None:
    """Return the fact *key*, if there is one that is not too old."""
    row = connection.execute(
        "SELECT value FROM facts WHERE key = ? AND since_us >= ?", (_bytes(key), clock.now() - KEPT_US)
    ).fetchone()
    return row[0].decode("utf-8", "surrogatepass") if row else None


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _message(created_s: int, number: int, name: str, tenant: str, due_s: int, attempts: int) -> Message:  # noqa: PLR0913, PLR0917 - a row
    return Message(
        id=name,
        tenant=tenant,
        body="",
        created_s=created_s,
        due_s=due_s,
        number=number,
        attempts=attempts,
    )
