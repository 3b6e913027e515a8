"""Facts that may be used once: a token that was spent, a call that is expected, where one goes next.

One worker keeps them in memory, several share a database. One that takes no more costs no call: each worker
then keeps in memory what it is told itself. What nobody takes is forgotten after a while. It is asked on the
loop, where a fact takes 20 µs, and of 15,000 the longest took 160 µs.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from turnbudget.voice.database import Database
from turnbudget.voice.time import clock

if TYPE_CHECKING:
    import sqlite3
    from pathlib import Path

KEPT_US: Final = 3_600 * clock.SECOND
"""How long a fact is kept that nobody takes (µs; an hour)."""
MOST: Final = 20_000
"""Facts that are kept at a time; the oldest are forgotten first."""
TABLES: Final = """
CREATE TABLE IF NOT EXISTS facts (number INTEGER PRIMARY KEY, key BLOB UNIQUE, value BLOB, since_us INTEGER);
CREATE INDEX IF NOT EXISTS facts_by_age ON facts (since_us);
"""
"""The table of facts, as SQLite is told to make it."""
log = logging.getLogger(__name__)


class OnceStore:
    """Facts of one worker, or of all that share a folder."""

    def __init__(self, folder: Path | None = None) -> None:
        """Keep facts in *folder*; without one, or where there can be none, in memory."""
        self._beside: OnceStore | None = None
        """What the database did not take, and under ``taken KEY`` what it did not let go."""
        try:
            if folder:
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._database = Database(folder / "facts.sqlite" if folder else None, TABLES)
        except OSError as error:
            _complain(error)
            self._database = Database(None, TABLES)

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
                connection.execute("DELETE FROM facts WHERE number <= ?", (made.lastrowid - MOST,))
            return bool(made.rowcount)

        try:
            return self._database.transact(work)
        except OSError as error:
            return self._unshared(error).put(key, value)

    def take(self, key: str) -> str | None:
        """Return what is kept under *key* and forget it; ``None`` if there is nothing: another was first."""
        if self._beside:
            value = self._beside.take(key)
            if value is not None or self._beside.look(f"taken {key}") is not None:
                return value

        def work(connection: sqlite3.Connection) -> str | None:
            value = _found(connection, key)
            if value is not None:
                connection.execute("DELETE FROM facts WHERE key = ?", (_bytes(key),))
            return value

        try:
            return self._database.transact(work)
        except OSError as error:
            value = self.look(key)
            return value if value is not None and self._unshared(error).put(f"taken {key}") else None

    def look(self, key: str) -> str | None:
        """Return what is kept under *key*, and keep it; ``None`` if there is nothing."""
        if self._beside:
            value = self._beside.look(key)
            if value is not None or self._beside.look(f"taken {key}") is not None:
                return value
        try:
            return self._database.transact(lambda connection: _found(connection, key), "BEGIN")
        except OSError:
            return None

    def close(self) -> None:
        """Close the database."""
        self._database.close()

    def _unshared(self, error: OSError) -> OnceStore:
        """Return what is kept beside the database, which said *error*."""
        if self._beside is None:
            _complain(error)
            self._beside = OnceStore()
        return self._beside


def _complain(error: OSError) -> None:
    log.error("facts are not shared with other workers: %s", error.strerror)


def _found(connection: sqlite3.Connection, key: str) -> str | None:
    """Return the fact *key*, if there is one that is not too old."""
    row = connection.execute(
        "SELECT value FROM facts WHERE key = ? AND since_us >= ?", (_bytes(key), clock.now() - KEPT_US)
    ).fetchone()
    return row[0].decode("utf-8", "surrogatepass") if row else None


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
