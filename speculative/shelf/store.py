"""The shelf on disk: one SQLite database for as many processes as there are, an entry whole or not there.

The database is in WAL mode: readers wait for nobody, writers take turns, and whoever is killed in mid-write
has written nothing. What a failing disk makes of an entry, its checksum tells. Nothing here raises for what
is on the disk or for a disk that is full: it is told once, in :meth:`Store.faults`, and the shelf lives on in
memory. A database that is none is told, removed and begun anew. Every method blocks and belongs in a thread.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import logging
import os
import sqlite3
import stat
import threading
import weakref
from collections import deque
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

import msgspec
import numpy as np

from turnbudget.speculative.shelf.pieces import Key
from turnbudget.voice import cache
from turnbudget.voice.sound import audio
from turnbudget.voice.tts import finish
from turnbudget.voice.tts.synthesizer import Speech

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator
    from pathlib import Path

T = TypeVar("T")

VERSION: Final = "2"
"""The folder that holds the database; another layout has another."""
FILE: Final = "shelf.sqlite3"
"""The database's name; SQLite lays its write-ahead log and its shared index beside it."""
BROKEN: Final = f"{FILE}.broken"
"""What the last database that was none is called, once it has been emptied."""
FORM: Final = f"int16 {audio.RATE} Hz, finish {finish.EDITION}"
"""How samples are kept; entries in another form are not found."""
WAIT_S: Final = 5
"""How long one process waits for another's write to end (seconds)."""
PAGE: Final = 16_384
"""Bytes of a page of the database: with four times the usual, 64 KB of sound are read in half the time."""
SLACK: Final = 16
"""Each process looks after the bounds whenever it has written one part in so many of them."""
NAMED: Final = 20
"""How many entries that are not what they should be are told one by one."""
_SCHEMA: Final = """
CREATE TABLE speech (
    name BLOB PRIMARY KEY, engine TEXT NOT NULL, voice TEXT NOT NULL, form TEXT NOT NULL, text TEXT NOT NULL,
    made TEXT NOT NULL, onset INTEGER NOT NULL, padding_us INTEGER NOT NULL, cost_us INTEGER NOT NULL,
    doubt TEXT NOT NULL, size INTEGER NOT NULL, checksum BLOB NOT NULL, used INTEGER NOT NULL,
    samples BLOB NOT NULL
);
CREATE INDEX by_voice ON speech (engine, voice, form);
CREATE INDEX by_use ON speech (used, size);
CREATE TABLE removals (count INTEGER NOT NULL);
INSERT INTO removals VALUES (0);
PRAGMA user_version = 1
"""
"""The tables: ``size`` is bytes, ``used`` grows with each use, ``samples`` are 16 bit little-endian.

Samples stand last, so that a list of what is there reads none of them.
"""
_READ: Final = (
    "SELECT engine, voice, form, text, made, onset, padding_us, cost_us, doubt, size, checksum, samples"
    " FROM speech WHERE name = ?"
)
_WRITE: Final = (
    "INSERT OR REPLACE INTO speech VALUES"
    " (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, coalesce((SELECT max(used) FROM speech), 0) + 1, ?)"
)
_TOUCH: Final = "UPDATE speech SET used = (SELECT max(used) + 1 FROM speech) WHERE name = ?"
_OF_VOICE: Final = (
    "SELECT text, engine, voice, made, size FROM speech WHERE engine = ? AND voice = ? AND form = ?"
    " ORDER BY used DESC, text"
)
_OF_ANY: Final = (
    "SELECT text, engine, voice, made, size FROM speech WHERE form = ? ORDER BY engine, voice, text"
)

_NO_DATABASE: Final = frozenset((sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB))
"""The errors, in their last byte, of a file that is no database or no longer one."""

_log = logging.getLogger(__name__)


class Corrupt(Exception):  # noqa: N818 - reads as what it is
    """This row is not the entry it should be."""


class Stored(NamedTuple):
    """An entry on disk."""

    key: Key
    """What it is found by."""
    made: str
    """When it was rendered (UTC); '' in virtual time."""
    size: int
    """The bytes of its samples and of what is known of them."""


class Store:
    """Entries in *folder* (``shelf`` in our cache), private to the user, at most so much of them."""

    def __init__(
        self, folder: Path | None = None, *, most_bytes: int = 1 << 30, most_entries: int = 20_000
    ) -> None:
        self.folder = (folder or cache.folder() / "shelf") / VERSION
        self.most_bytes = most_bytes
        self.most_entries = most_entries
        self._file = self.folder / FILE
        self._base: sqlite3.Connection | None = None
        self._closing: weakref.finalize[[], Store] | None = None
        """Closes the database, at the latest when nobody has this store any more."""
        self._inode = 0
        self._guard = threading.Lock()
        self._faults: deque[str] = deque(maxlen=64)
        self._failing: dict[str, str] = {}
        """What has failed and not succeeded since, and why: a reason is told once."""
        self._odd = 0
        self._written = (0, 0)
        """Bytes and entries written since the bounds were last looked after."""

    def faults(self) -> tuple[str, ...]:
        """Return what was wrong on the disk, a line each, the last 64."""
        return tuple(self._faults)

    def index(self, engine: str, voice: str) -> list[Stored]:
        """Return what is there of one voice, the last used first."""
        return self._listed(_OF_VOICE, (engine, voice, FORM))

    def everything(self) -> list[Stored]:
        """Return what is there of any voice, in the order of voice and text."""
        return self._listed(_OF_ANY, (FORM,))

    def read(self, key: Key) -> tuple[Speech, Stored] | None:
        """Return the speech of *key* and what is told of it; ``None`` if it is not there or corrupt."""
        row = self._reading(lambda base: base.execute(_READ, (_name(key),)).fetchone(), None)
        if row is None:
            return None
        try:
            return _speech(key, *row)
        except Corrupt as error:
            self._discard(key, str(error))
            return None

    def write(self, key: Key, speech: Speech, made: str, sparing: Collection[Key] = ()) -> Stored | None:
        """Keep *speech* under *key* and return what is on the disk now; ``None`` if it is not.

        Others may have to make room, but none of *sparing*.
        """
        facts = (
            key.engine,
            key.voice,
            FORM,
            key.text,
            made,
            speech.onset,
            speech.padding_us,
            speech.cost_us,
            speech.doubt,
        )
        samples = speech.samples.astype("<i2").tobytes()
        try:
            told = msgspec.json.encode(facts)
        except UnicodeEncodeError:
            return None  # half a character is nothing that can be kept
        stored = Stored(key, made, len(told) + len(samples))
        row = (_name(key), *facts, stored.size, _checksum(told, samples), samples)

        def write(base: sqlite3.Connection) -> Stored:
            with _transaction(base):
                base.execute(_WRITE, row)
                self._look_after(base, stored.size, sparing)
            return stored

        return self._writing(write, None)

    def remove(self, key: Key) -> bool:
        """Remove the entry of *key*; say whether it was there."""
        return self._removed("DELETE FROM speech WHERE name = ?", (_name(key),)) > 0

    def clear(self) -> int:
        """Remove every entry of every voice, give back their room, and return how many there were."""
        count = self._removed("DELETE FROM speech", ())
        if count:
            self._writing(lambda base: base.execute("VACUUM").close(), None)
        return count

    def removals(self) -> int:
        """Return how many entries somebody had removed; what only had to make room is not meant."""
        return self._reading(_removals, 0)

    def gone(self, stored: Collection[Stored]) -> list[Stored]:
        """Return which of *stored* are no longer there."""
        there: set[Key] = set()
        for engine, voice in {(each.key.engine, each.key.voice) for each in stored}:
            there |= {each.key for each in self.index(engine, voice)}
        if "read" in self._failing:  # it cannot be read just now: nobody has removed anything
            return []
        return [each for each in stored if each.key not in there]

    def touch(self, keys: Iterable[Key]) -> None:
        """Note that *keys* were used, in this order: what was not used for longest goes first."""
        used = [(_name(key),) for key in keys]

        def touch(base: sqlite3.Connection) -> None:
            with _transaction(base):
                base.executemany(_TOUCH, used)

        if used:
            self._writing(touch, None)

    def close(self) -> None:
        """Close the database; it is opened again where it is needed."""
        with self._guard:
            self._close()

    def _listed(self, query: str, values: tuple[str, ...]) -> list[Stored]:
        rows: list[Any] = self._reading(lambda base: base.execute(query, values).fetchall(), [])
        return [Stored(Key(text, engine, voice), made, size) for text, engine, voice, made, size in rows]

    def _removed(self, statement: str, values: tuple[bytes, ...]) -> int:
        """Remove entries and let other processes know; return how many."""
        if not self._file.exists():
            return 0

        def remove(base: sqlite3.Connection) -> int:
            with _transaction(base):
                count = base.execute(statement, values).rowcount
                base.execute("UPDATE removals SET count = count + ?", (count,))
            return count

        return self._writing(remove, 0)

    def _look_after(self, base: sqlite3.Connection, size: int, sparing: Collection[Key]) -> None:
        """Count what was written and, now and then, remove what was not used for longest."""
        size, count = self._written[0] + size, self._written[1] + 1
        if size <= self.most_bytes // SLACK and count <= self.most_entries // SLACK:
            self._written = (size, count)
            return
        self._written = (0, 0)
        count, size = base.execute("SELECT count(*), sum(size) FROM speech").fetchone()
        spared = {_name(key) for key in sparing}
        doomed = []
        for name, takes in base.execute("SELECT name, size FROM speech ORDER BY used"):
            if size <= self.most_bytes and count <= self.most_entries:
                break
            if name not in spared:
                doomed.append((name,))
                size, count = size - takes, count - 1
        base.executemany("DELETE FROM speech WHERE name = ?", doomed)

    def _discard(self, key: Key, why: str) -> None:
        """Remove an entry that is not what it should be, and tell of it, unless so many were told already."""
        gone = (_name(key),)
        self._writing(lambda base: base.execute("DELETE FROM speech WHERE name = ?", gone).close(), None)
        self._odd += 1
        if self._odd <= NAMED:
            self._tell(f"{self._file}: {key.text[:60]!r}: {why}; removed, it will be rendered again")
        elif self._odd == NAMED + 1:
            self._tell(f"{self._file}: there are more such entries, which are not named")

    def _reading(self, work: Callable[[sqlite3.Connection], T], otherwise: T) -> T:
        """Return what *work* reads, *otherwise* if that cannot be or there is nothing yet."""
        if not self._file.exists():
            return otherwise
        return self._try("read", work, otherwise, "replies will be rendered")

    def _writing(self, work: Callable[[sqlite3.Connection], T], otherwise: T) -> T:
        """Return what *work* returns that writes, *otherwise* if the disk does not take it."""
        told = "new replies are kept in memory only, make room or name another folder in TURNBUDGET_CACHE"
        return self._try("write", work, otherwise, told)

    def _try(self, what: str, work: Callable[[sqlite3.Connection], T], otherwise: T, told: str) -> T:
        with self._guard:
            try:
                done = work(self._base or self._open())
            except (sqlite3.Error, OSError) as error:
                self._close()
                if getattr(error, "sqlite_errorcode", 0) & 0xFF in _NO_DATABASE:
                    self._begin_anew(error)
                else:
                    why = str(getattr(error, "strerror", None) or error)
                    if why not in self._failing.values():
                        self._tell(f"{self._file}: {why}; {told}")
                    self._failing[what] = why
                return otherwise
            self._failing.pop(what, None)
            return done

    def _open(self) -> sqlite3.Connection:
        """Open the database, and make it if there is none; raises sqlite3.Error and OSError."""
        _private(self.folder)
        with _alone(self.folder):  # two who make it at once would be in each other's way
            self._inode = _private_file(self._file)
            base = sqlite3.connect(self._file, WAIT_S, isolation_level=None, check_same_thread=False)
            self._base = base
            self._closing = weakref.finalize(self, base.close)
            base.text_factory = _text
            base.execute(f"PRAGMA page_size = {PAGE}")
            base.execute("PRAGMA journal_mode = WAL")
            base.execute("PRAGMA synchronous = NORMAL")
            if not base.execute("PRAGMA user_version").fetchone()[0]:
                with _transaction(base):
                    for statement in _SCHEMA.split(";"):
                        base.execute(statement)
        return base

    def _close(self) -> None:
        closing, self._base, self._closing = self._closing, None, None
        if closing:
            with contextlib.suppress(sqlite3.Error):
                closing()

    def _begin_anew(self, error: Exception) -> None:
        """Remove a database that is none, unless another process has begun anew already."""
        try:
            with _alone(self.folder):
                if self._file.stat().st_ino == self._inode:
                    # Emptied, not removed: whoever else has it open must not take the next one for it.
                    os.truncate(self._file.replace(self._file.with_name(BROKEN)), 0)
                    for suffix in ("-wal", "-shm"):
                        self._file.with_name(FILE + suffix).unlink(missing_ok=True)
        except OSError as failure:
            self._tell(f"{self._file}: {error}, and {failure.strerror or failure}; remove it")
        else:
            self._tell(f"{self._file}: {error}; begun anew, replies will be rendered again")

    def _tell(self, fault: str) -> None:
        self._faults.append(fault)
        _log.warning("%s", fault)


def _name(key: Key) -> bytes:
    """Return what an entry of *key* is found by: a digest of all that can be heard of it."""
    heard = f"{key.engine}\0{key.voice}\0{FORM}\0{key.text}"
    return hashlib.sha256(heard.encode(errors="surrogatepass")).digest()


def _removals(base: sqlite3.Connection) -> int:
    count: int = base.execute("SELECT count FROM removals").fetchone()[0]
    return count


def _text(data: bytes) -> str:
    """Return *data* as text, whatever a failing disk has made of it: its checksum tells."""
    return data.decode("utf-8", "replace")


def _checksum(facts: bytes, samples: bytes) -> bytes:
    """Return the checksum over all that is kept of a speech but when it was used."""
    digest = hashlib.sha256(facts)
    digest.update(samples)
    return digest.digest()


def _speech(key: Key, *row: Any) -> tuple[Speech, Stored]:
    """Return the entry of *key* that *row* is; raises Corrupt.

    Only checked audio is written, and the checksum says that this is what was.
    """
    *facts, size, checksum, data = row
    told = msgspec.json.encode(facts)
    if not isinstance(data, bytes) or _checksum(told, data) != checksum:
        raise Corrupt("its checksum is wrong")
    if size != len(told) + len(data):
        raise Corrupt(f"it has {len(told) + len(data)} bytes of {size}")
    engine, voice, form, text, made, onset, padding_us, cost_us, doubt = facts
    if (engine, voice, form, text) != (key.engine, key.voice, FORM, key.text):
        raise Corrupt("it belongs elsewhere")
    # A view of what was read, which nobody can write to: to copy it costs more than all the rest.
    samples = np.frombuffer(data, "<i2")
    if audio.first_audible(samples[: onset + 1]) != onset:
        raise Corrupt("it is not heard from where it should be")
    speech = Speech(
        text=key.text,
        samples=samples,
        onset=onset,
        voice=key.voice,
        padding_us=padding_us,
        cost_us=cost_us,
        doubt=doubt,
    )
    return speech, Stored(key, made, size)


@contextlib.contextmanager
def _transaction(base: sqlite3.Connection) -> Iterator[None]:
    """Have the block's changes take effect together, or not at all; raises sqlite3.Error."""
    base.execute("BEGIN IMMEDIATE")
    try:
        yield
        base.execute("COMMIT")
    except BaseException:
        if base.in_transaction:
            base.execute("ROLLBACK")
        raise


def _private(place: Path) -> None:
    """Have a folder at *place* that only this user can enter; raises OSError."""
    place.mkdir(mode=0o700, parents=True, exist_ok=True)
    about = place.stat()
    if about.st_uid != os.geteuid():
        raise PermissionError(0, "it belongs to another user", str(place))
    if about.st_mode & 0o077:
        place.chmod(0o700)


def _private_file(file: Path) -> int:
    """Have a *file* that only this user can read, and return its inode; raises OSError.

    It is opened only where it is made: to close a file gives up every lock that this process holds on it.
    """
    with contextlib.suppress(FileExistsError):
        os.close(os.open(file, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    about = file.lstat()
    if not stat.S_ISREG(about.st_mode):
        raise OSError(0, "it is no file", str(file))
    if about.st_mode & 0o077:
        file.chmod(0o600)
    return about.st_ino


@contextlib.contextmanager
def _alone(place: Path) -> Iterator[None]:
    """Hold the lock of the folder *place*; what a killed process held, the system gives back."""
    lock = os.open(place, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)
