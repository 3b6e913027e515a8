"""The shelf on disk: one file an entry, whole or not there, for as many processes as there are.

A file is written beside its place and renamed into it, so nobody reads half of one, and whoever is killed
leaves at most a remnant that the next to start removes. Nothing here raises for what is on the disk or
for a disk that is full: it is told once, in :meth:`Store.faults`, and the shelf lives on in memory.
Every method blocks and belongs in a thread.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import logging
import os
import re
import threading
from collections import deque
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

from turnbudget.speculative.shelf import entry, files
from turnbudget.speculative.shelf.entry import Corrupt
from turnbudget.speculative.shelf.files import REMNANT
from turnbudget.voice import cache

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator
    from pathlib import Path

    from turnbudget.speculative.shelf.held import Key
    from turnbudget.voice.tts.synthesizer import Speech

VERSION: Final = "1"
SUFFIX: Final = ".speech"
LOCK: Final = ".lock"
REMOVED: Final = ".removed"
"""Grows by a byte each time somebody has entries removed, so that whoever holds them looks for them."""
SLACK: Final = 16
"""The bound is looked after each time so small a part of it has been written; each process may pass it by
as much."""
NAMED: Final = 20
"""So many files that are not what they should be are named; who wants more looks for himself."""
_OURS: Final = re.compile(rf"[0-9a-f]{{32}}{re.escape(SUFFIX)}")

_log = logging.getLogger(__name__)


class Stored(NamedTuple):
    """An entry on disk."""

    key: Key
    made: str
    size: int
    """Bytes of its file."""
    name: str
    used_ns: int = 0
    """When it was last used, as the file system dates it."""


class Store:
    """Entries below *folder* (``shelf`` in our cache), private to the user, at most so much of them."""

    def __init__(
        self, folder: Path | None = None, *, most_bytes: int = 1 << 30, most_entries: int = 20_000
    ) -> None:
        self.folder = (folder or cache.folder() / "shelf") / VERSION
        self.most_bytes = most_bytes
        self.most_entries = most_entries
        self._faults: deque[str] = deque(maxlen=64)
        self._odd = 0
        self._guard = threading.Lock()
        self._written = (0, 0)  # bytes and entries since the bound was last looked after
        self._writable = True

    def faults(self) -> tuple[str, ...]:
        """Return what was wrong on the disk, a line each, the last 64."""
        return tuple(self._faults)

    def index(self, engine: str, voice: str) -> list[Stored]:
        """Return what is there of one voice, the last used first; what cannot be is removed and told."""
        self._sweep()
        found = self._titles(self._place(engine, voice))
        return sorted(found, key=lambda stored: (-stored.used_ns, stored.name))

    def everything(self) -> list[Stored]:
        """Return what is there of any voice, in the order of voice and text."""
        found = [stored for place in files.listed(self.folder) for stored in self._titles(place)]
        return sorted(found, key=lambda stored: (stored.key.engine, stored.key.voice, stored.key.text))

    def read(self, key: Key) -> tuple[Speech, Stored] | None:
        """Return the speech of *key* and what its file says; ``None`` if it is not there or corrupt."""
        path = self._path(key)
        try:
            title, speech = entry.unpack(files.content(path), key)
        except FileNotFoundError:
            return None
        except Corrupt as error:
            self._discard(path, str(error))
        except OSError as error:
            self._name(path, f"{error.strerror}; it will be rendered")
        else:
            return speech, Stored(key, title.made, title.size, path.name)
        return None

    def write(self, key: Key, speech: Speech, made: str, sparing: Collection[Key] = ()) -> Stored | None:
        """Keep *speech* under *key* and return what is on the disk now; ``None`` if it is not.

        Others may have to make room, but none of *sparing*.
        """
        path = self._path(key)
        try:
            whole = entry.pack(key, speech, made)
            files.private(self.folder)
            files.private(path.parent)
            with files.locked(self.folder / LOCK, fcntl.LOCK_SH):
                files.put(path, whole)
        except Corrupt:
            return None
        except OSError as error:
            if self._writable:
                self._tell(
                    f"{self.folder}: {error.strerror or error}; new replies are kept in memory only,"
                    " make room or name another folder in TURNBUDGET_CACHE"
                )
            self._writable = False
            return None
        self._writable = True
        self._look_after(len(whole), sparing)
        return Stored(key, made, len(whole), path.name)

    def remove(self, key: Key) -> bool:
        """Remove the entry of *key*; say whether it was there."""
        return self._removed(int(self._unlink(self._path(key)))) > 0

    def clear(self) -> int:
        """Remove every entry of every voice and return how many there were."""
        return self._removed(sum(self._unlink(path) for path, _ in self._all()))

    def _removed(self, count: int) -> int:
        """Tell other processes that *count* entries were removed; return it."""
        if count:
            try:
                with (self.folder / REMOVED).open("ab") as marks:
                    marks.write(b".")
            except OSError as error:
                self._name(self.folder / REMOVED, error.strerror or str(error))
        return count

    def removals(self) -> int:
        """Return how often somebody had entries removed; what only had to make room is not meant."""
        try:
            return (self.folder / REMOVED).stat().st_size
        except OSError:
            return 0

    def gone(self, stored: Collection[Stored]) -> list[Stored]:
        """Return which of *stored* are no longer there."""
        found: list[Stored] = []
        for place in dict.fromkeys(self._place(each.key.engine, each.key.voice) for each in stored):
            try:
                there = frozenset(files.names(place))
            except OSError as error:  # cannot be read just now: nobody has removed anything
                self._name(place, error.strerror or str(error))
                continue
            found += [
                each
                for each in stored
                if each.name not in there and self._place(each.key.engine, each.key.voice) == place
            ]
        return found

    def touch(self, keys: Iterable[Key]) -> None:
        """Note that *keys* were used, in this order: what was not used for longest goes first."""
        for key in keys:
            with contextlib.suppress(OSError):
                os.utime(self._path(key))

    def name(self, key: Key) -> str:
        """Return the name of the file of *key*."""
        return hashlib.sha256(key.text.encode(errors="surrogatepass")).hexdigest()[:32] + SUFFIX

    def _place(self, engine: str, voice: str) -> Path:
        return self.folder / _folder(engine, voice)

    def _path(self, key: Key) -> Path:
        return self._place(key.engine, key.voice) / self.name(key)

    def _titles(self, place: Path) -> Iterator[Stored]:
        """Yield what the files in *place* say they are; what cannot be is told."""
        try:
            names = files.names(place)
        except OSError as error:
            self._name(place, error.strerror or str(error))
            return
        for name in names:
            if _OURS.fullmatch(name):
                if (stored := self._title(place, name)) is not None:
                    yield stored
            elif not name.startswith("."):
                self._name(place / name, "not ours; left alone")

    def _title(self, place: Path, name: str) -> Stored | None:
        try:
            head, about = files.head(f"{place}/{name}", entry.HEAD)
            title = entry.title(head)
        except FileNotFoundError:
            return None  # another process was faster
        except Corrupt as error:
            self._discard(place / name, str(error))
            return None
        except OSError as error:
            self._name(place / name, error.strerror or str(error))
            return None
        if (place.name, name) != (_folder(title.key.engine, title.key.voice), self.name(title.key)):
            self._discard(place / name, "it belongs elsewhere")
            return None
        if about.st_size != title.size:
            self._discard(place / name, f"it has {about.st_size} bytes of {title.size}")
            return None
        return Stored(title.key, title.made, title.size, name, about.st_mtime_ns)

    def _look_after(self, size: int, sparing: Collection[Key]) -> None:
        """Count what was written and, now and then, remove what was not used for longest."""
        with self._guard:
            size, count = self._written[0] + size, self._written[1] + 1
            due = size > self.most_bytes // SLACK or count > self.most_entries // SLACK
            self._written = (0, 0) if due else (size, count)
        if due:
            self._prune({self._path(key) for key in tuple(sparing)})

    def _prune(self, sparing: Collection[Path]) -> None:
        kept = sorted(self._all(), key=lambda each: (each[1].st_mtime_ns, each[0].name))
        size, count = sum(about.st_size for _, about in kept), len(kept)
        for path, about in kept:
            if size <= self.most_bytes and count <= self.most_entries:
                break
            if path not in sparing:
                self._unlink(path)
                size, count = size - about.st_size, count - 1

    def _all(self) -> Iterator[tuple[Path, os.stat_result]]:
        for place in files.listed(self.folder):
            for path in files.listed(place):
                if _OURS.fullmatch(path.name):
                    with contextlib.suppress(OSError):
                        yield path, path.lstat()

    def _sweep(self) -> None:
        """Remove what killed writers left, unless somebody writes now."""
        with contextlib.suppress(OSError), files.locked(self.folder / LOCK, fcntl.LOCK_EX | fcntl.LOCK_NB):
            for place in files.listed(self.folder):
                for name in files.names(place):
                    if name.startswith(REMNANT):
                        self._unlink(place / name)

    def _discard(self, path: Path, why: str) -> None:
        self._unlink(path)
        self._name(path, f"{why}; removed, it will be rendered again")

    def _unlink(self, path: Path) -> bool:
        try:
            path.unlink()
        except FileNotFoundError:
            return False
        except OSError as error:
            self._name(path, error.strerror or str(error))
            return False
        return True

    def _name(self, path: Path, fault: str) -> None:
        """Tell a *fault* of the file at *path*, unless so many were told already."""
        self._odd += 1
        if self._odd <= NAMED:
            self._tell(f"{path}: {fault}")
        elif self._odd == NAMED + 1:
            self._tell(f"{self.folder}: there are more such files, which are not named")

    def _tell(self, fault: str) -> None:
        self._faults.append(fault)
        _log.warning("%s", fault)


@lru_cache(64)
def _folder(engine: str, voice: str) -> str:
    """Return the name of a voice's folder."""
    voiced = f"{engine}\0{voice}\0{entry.FORM}".encode()
    readable = re.sub(r"[^\w-]+", "-", engine)[:24].strip("-")
    return f"{readable}-{hashlib.sha256(voiced).hexdigest()[:16]}"
