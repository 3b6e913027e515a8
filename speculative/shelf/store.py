"""The shelf on disk: one SQLite database for as many processes as there are, an entry whole or not there.

The database is in WAL mode: readers wait for nobody, writers take turns, and whoever is killed in mid-write
has written nothing. What a failing disk makes of an entry, its checksum tells. Nothing here raises for what
is on the disk or for a disk that is full: it is told once, in :meth:`Store.faults`, and the shelf lives on in
memory. A database that is none is set aside and begun anew, which is told. Every method blocks: call it in a
thread.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import threading
from collections import deque
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

import msgspec
import numpy as np

from turnbudget.speculative.shelf.pieces import Key
from turnbudget.voice import cache
from turnbudget.voice.database import ASIDE, Database
from turnbudget.voice.sound import audio
from turnbudget.voice.tts import finish
from turnbudget.voice.tts.synthesizer import Speech

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Collection, Iterable
    from pathlib import Path

    from turnbudget.voice.database import Begin

T = TypeVar("T")

VERSION: Final = "2"
"""The folder that holds the database; another layout has another."""
FILE: Final = "shelf.sqlite3"
"""The database's name; SQLite lays its write-ahead log and its shared index beside it."""
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
_TABLES: Final = """
CREATE TABLE IF NOT EXISTS speech (
    name BLOB PRIMARY KEY, engine TEXT NOT NULL, voice TEXT NOT NULL, form TEXT NOT NULL, text TEXT NOT NULL,
    made TEXT NOT NULL, onset INTEGER NOT NULL, padding_us INTEGER NOT NULL, cost_us INTEGER NOT NULL,
    doubt TEXT NOT NULL, size INTEGER NOT NULL, checksum BLOB NOT NULL, used INTEGER NOT NULL,
    samples BLOB NOT NULL
);
CREATE INDEX IF NOT EXISTS by_voice ON speech (engine, voice, form);
CREATE INDEX IF NOT EXISTS by_use ON speech (used, size);
CREATE TABLE IF NOT EXISTS removals (count INTEGER NOT NULL);
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
_REMOVALS: Final = "SELECT coalesce(sum(count), 0) FROM removals"
_REMOVED: Final = (
    "INSERT OR REPLACE INTO removals (rowid, count) SELECT 1, coalesce(sum(count), 0) + ? FROM removals"
)
_OF_VOICE: Final = (
    "SELECT text, engine, voice, made, size FROM speech WHERE engine = ? AND voice = ? AND form = ?"
    " ORDER BY used DESC, text"
)
_OF_ANY: Final = (
    "SELECT text, engine, voice, made, size FROM speech WHERE form = ? ORDER BY engine, voice, text"
)

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
        self._database: Database | None = None
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
            self._writing(lambda base: base.execute("VACUUM").close(), None, "")
        with contextlib.suppress(OSError):
            for aside in self.folder.glob(f"{FILE}{ASIDE}*"):
                aside.unlink()
        return count

    def removals(self) -> int:
        """Return how many entries somebody had removed; what only had to make room is not meant."""
        (count,) = self._reading(lambda base: base.execute(_REMOVALS).fetchone(), (0,))
        return int(count)

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

        if used:
            self._writing(lambda base: base.executemany(_TOUCH, used).close(), None)

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
            count = base.execute(statement, values).rowcount
            base.execute(_REMOVED, (count,))
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
            _tell(self._faults, f"{self._file}: {key.text[:60]!r}: {why}; removed, it will be rendered again")
        elif self._odd == NAMED + 1:
            _tell(self._faults, f"{self._file}: there are more such entries, which are not named")

    def _reading(self, work: Callable[[sqlite3.Connection], T], otherwise: T) -> T:
        """Return what *work* reads, *otherwise* if that cannot be or there is nothing yet."""
        if not self._file.exists():
            return otherwise
        return self._try("read", work, otherwise, "BEGIN", "replies will be rendered")

    def _writing(
        self, work: Callable[[sqlite3.Connection], T], otherwise: T, begin: Begin = "BEGIN IMMEDIATE"
    ) -> T:
        """Return what *work* returns that writes, *otherwise* if the disk does not take it."""
        told = "new replies are kept in memory only, make room or name another folder in TURNBUDGET_CACHE"
        return self._try("write", work, otherwise, begin, told)

    def _try(
        self, what: str, work: Callable[[sqlite3.Connection], T], otherwise: T, begin: Begin, told: str
    ) -> T:
        def leniently(base: sqlite3.Connection) -> T:
            base.text_factory = _text
            return work(base)

        with self._guard:
            try:
                done = (self._database or self._open()).transact(leniently, begin)
            except OSError as error:
                self._close()
                why = str(error.strerror or error)
                if why not in self._failing.values():
                    _tell(self._faults, f"{self._file}: {why}; {told}")
                self._failing[what] = why
                return otherwise
            self._failing.pop(what, None)
            return done

    def _open(self) -> Database:
        """Open the database, and make it if there is none; raises OSError."""
        _private(self.folder)
        settings = f"PRAGMA busy_timeout={1_000 * WAIT_S}; PRAGMA page_size={PAGE}; PRAGMA synchronous=NORMAL"
        self._database = Database(self._file, _TABLES, settings, partial(_tell_broken, self._faults))
        return self._database

    def _close(self) -> None:
        database, self._database = self._database, None
        if database:
            database.close()


def _tell(faults: deque[str], fault: str) -> None:
    faults.append(fault)
    _log.warning("%s", fault)


def _tell_broken(faults: deque[str], aside: Path, why: str) -> None:
    place = aside.with_suffix("")
    _tell(faults, f"{place}: {why}; it is now {aside.name}; begun anew, replies will be rendered again")


def _name(key: Key) -> bytes:
    """Return what an entry of *key* is found by: a digest of all that can be heard of it."""
    heard = f"{key.engine}\0{key.voice}\0{FORM}\0{key.text}"
    return hashlib.sha256(heard.encode(errors="surrogatepass")).digest()


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


def _private(place: Path) -> None:
    """Have a folder at *place* that only this user can enter; raises OSError."""
    place.mkdir(mode=0o700, parents=True, exist_ok=True)
    about = place.stat()
    if about.st_uid != os.geteuid():
        raise PermissionError(0, "it belongs to another user", str(place))
    if about.st_mode & 0o077:
        place.chmod(0o700)
