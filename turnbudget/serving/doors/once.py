"""Small facts that may be used once: a token that was spent, a call that is expected, where one goes next.

One worker keeps them in memory; several share a folder, in which a file is made or taken by one of them only.
A folder that takes no more costs no call: each worker then keeps in memory what it is told itself.
What nobody takes is forgotten after a while.
"""

from __future__ import annotations

import hashlib
import logging
from contextlib import suppress
from typing import TYPE_CHECKING, Final, Protocol

from turnbudget.voice.time import clock

if TYPE_CHECKING:
    from pathlib import Path

KEPT_US: Final = 3_600 * clock.SECOND
MOST: Final = 20_000
"""Facts that are kept at a time; the oldest are forgotten first."""
SWEEP: Final = 1_000
"""Facts after which a folder is looked through for old ones."""
log = logging.getLogger(__name__)


class Once(Protocol):
    """Where the facts are. None of it blocks for longer than a file of a few bytes takes."""

    def put(self, key: str, value: str = "") -> bool:
        """Keep *value* under *key*; ``False``: there was one already, which stays."""
        ...

    def take(self, key: str) -> str | None:
        """Return what is kept under *key* and forget it; ``None`` if there is nothing: another was first."""
        ...

    def look(self, key: str) -> str | None:
        """Return what is kept under *key*, and keep it; ``None`` if there is nothing."""
        ...


class InMemory:
    """Facts of one worker."""

    def __init__(self) -> None:
        self._kept: dict[str, tuple[int, str]] = {}

    def put(self, key: str, value: str = "") -> bool:
        """Keep *value* under *key*, unless there is one."""
        self._forget()
        if key in self._kept:
            return False
        self._kept[key] = clock.now(), value
        return True

    def take(self, key: str) -> str | None:
        """Return and forget what is kept under *key*."""
        self._forget()
        _, value = self._kept.pop(key, (0, None))
        return value

    def look(self, key: str) -> str | None:
        """Return what is kept under *key*."""
        self._forget()
        return self._kept.get(key, (0, None))[1]

    def _forget(self) -> None:
        """Forget what is old, and the oldest of what is too much."""
        old = clock.now() - KEPT_US
        while self._kept:
            key, (since, _) = next(iter(self._kept.items()))
            if since >= old and len(self._kept) < MOST:
                return
            del self._kept[key]


class InFolder:
    """Facts of several workers, each a file whose name tells nothing of it."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._folder = folder
        self._puts = 0
        self._refused: InMemory | None = None
        """What the folder did not take; ``None``: it has taken everything."""

    def put(self, key: str, value: str = "") -> bool:
        """Keep *value* under *key*, unless there is one."""
        self._puts += 1
        if self._puts % SWEEP == 0:
            self._sweep()
        if self._refused and self._refused.look(key) is not None:
            return False
        place = self._place(key)
        try:
            with place.open("x", encoding="utf-8") as file:
                file.write(value)
        except FileExistsError:
            return False
        except OSError as error:
            with suppress(OSError):
                place.unlink(missing_ok=True)  # what was begun of it
            if self._refused is None:
                log.error("facts are not shared with other workers: %s", error.strerror)  # noqa: TRY400
                self._refused = InMemory()
            return self._refused.put(key, value)
        return True

    def take(self, key: str) -> str | None:
        """Return and forget what is kept under *key*; of two who take it one gets it."""
        place = self._place(key)
        try:
            value = place.read_text("utf-8")
            place.unlink()
        except FileNotFoundError:
            return self._refused.take(key) if self._refused else None
        return value

    def look(self, key: str) -> str | None:
        """Return what is kept under *key*."""
        try:
            return self._place(key).read_text("utf-8")
        except FileNotFoundError:
            return self._refused.look(key) if self._refused else None

    def _place(self, key: str) -> Path:
        return self._folder / hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()

    def _sweep(self) -> None:
        """Remove the older half, by the order of their making, if there are too many."""
        files = sorted(self._folder.iterdir(), key=_made)
        for file in files[: max(0, len(files) - MOST)]:
            with suppress(OSError):
                file.unlink()


def _made(file: Path) -> int:
    try:
        return file.stat().st_mtime_ns
    except OSError:
        return 0
