"""A run folder: what is written there survives a Ctrl-C and a full disk, and can be read again.

Rows are appended as turns end, each whole or not at all; the other files appear complete, by a rename, or
not at all. Everything here blocks: a caller on an event loop offloads it.
"""

from __future__ import annotations

import contextlib
import errno
import threading
from typing import TYPE_CHECKING, Final, NamedTuple, Self, TypeVar

import msgspec

from turnbudget.runs.records import SCHEMA, Comparison, Row, Summary
from turnbudget.runs.report import page, trace
from turnbudget.runs.summary import Header, summarise
from turnbudget.voice.errors import LedgerError, RunError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path
    from types import TracebackType

R = TypeVar("R", bound=msgspec.Struct)

TURNS: Final = "turns.jsonl"
"""File of a run with one row a turn (JSON Lines)."""
SUMMARY: Final = "summary.json"
"""File of a run with its numbers (JSON)."""
REPORT: Final = "report.html"
"""Page of a run, to be read in a browser."""
TRACE: Final = "trace.json"
"""Trace of a run, for Perfetto or chrome://tracing."""
COMPARISON: Final = "comparison.json"
"""File with the numbers of the runs that a run is compared with (JSON)."""
FILES: Final = (TURNS, SUMMARY, REPORT, TRACE, COMPARISON)
"""Files of a run, but for its calls' sound."""

_FULL: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class Run(NamedTuple):
    """A run read back: its numbers and its rows."""

    summary: Summary
    rows: tuple[Row, ...]


class RunWriter:
    """Writes ``runs/<name>/``: rows as they come, and at the end everything made from them.

    Raises :class:`~turnbudget.voice.errors.RunError` where the folder exists, unless *force* says that the
    run in it may be replaced, and wherever the disk refuses.
    """

    def __init__(self, folder: Path, *, force: bool = False) -> None:
        self.folder = folder
        with _told(folder):
            if folder.exists():
                _make_room(folder, force=force)
            folder.mkdir(parents=True, exist_ok=True)
            # Unbuffered: a row that could not be written must not be tried again when the file is closed.
            self._turns = (folder / TURNS).open("xb", buffering=0)
        self._lock = threading.Lock()  # calls of one run are written from threads of their own

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def append(self, row: Row) -> None:
        """Write *row* as the next line, whole or not at all.

        Raises :class:`~turnbudget.voice.errors.LedgerError` for a row that does not sum: a false account is
        worse than none.
        """
        fault = unsound(row)
        if fault:
            raise LedgerError(fault, where=f"call {row.call}, {row.kind} {row.turn}")
        with _told(self.folder / TURNS), self._lock:
            whole = self._turns.tell()
            try:
                _write(self._turns.write, msgspec.json.encode(row) + b"\n")
            except OSError:
                with contextlib.suppress(OSError):
                    self._turns.truncate(whole)
                    self._turns.seek(whole)
                raise

    def finish(self, header: Header) -> Run:
        """Write ``summary.json``, ``report.html`` and ``trace.json`` from the rows on disk; return them."""
        self.close()
        rows, note = _read_rows(self.folder / TURNS)
        if note:
            header = msgspec.structs.replace(header, faults=(*header.faults, note), truncated=True)
        run = Run(summarise(rows, header), rows)
        place(self.folder / SUMMARY, msgspec.json.format(msgspec.json.encode(run.summary), indent=2) + b"\n")
        draw(self.folder, run)
        return run

    def close(self) -> None:
        """Close the file of rows; a second time does nothing."""
        self._turns.close()


def draw(folder: Path, run: Run) -> None:
    """Write ``report.html`` and ``trace.json`` of *run*, also anew for a run made earlier."""
    place(folder / REPORT, page(run.summary, run.rows, comparison(folder)))
    place(folder / TRACE, trace(run.summary, run.rows))


def comparison(folder: Path) -> Comparison | None:
    """Return the comparison that the run in *folder* is one side of, if it is."""
    path = folder / COMPARISON
    return _decode(_read(path), Comparison, str(path)) if path.exists() else None


def take_away(folder: Path) -> None:
    """Remove a run folder in which nothing was measured; where something was, it stays."""
    with contextlib.suppress(OSError):
        if not (folder / TURNS).stat().st_size:
            (folder / TURNS).unlink()
            folder.rmdir()


def compare(folders: Sequence[Path], runs: Sequence[Run], of: Comparison) -> None:
    """Put the comparison *of* the *runs* into their *folders*, and draw their pages anew with it."""
    for folder, run in zip(folders, runs, strict=True):
        place(folder / COMPARISON, msgspec.json.format(msgspec.json.encode(of), indent=2) + b"\n")
        draw(folder, run)


def load(folder: Path) -> Run:
    """Read a run folder back.

    A last line that is half-written is skipped, and the summary's faults and ``truncated`` say so. Raises
    :class:`~turnbudget.voice.errors.RunError` for anything else that is missing or cannot be read.
    """
    if not folder.is_dir():
        raise RunError("no such run folder", where=str(folder), remedy="name a folder that a run has made")
    rows, note = _read_rows(folder / TURNS)
    path = folder / SUMMARY
    summary = _decode(_read(path), Summary, str(path))
    if note and note not in summary.faults:
        summary = msgspec.structs.replace(summary, faults=(*summary.faults, note), truncated=True)
    return Run(summary, rows)


def unsound(row: Row) -> str:
    """Say what is wrong with the account of *row*; the empty string if it sums."""
    total = sum(entry.us for entry in row.entries)
    if total != row.closed_us:
        return f"entries sum to {total} µs, the turn to {row.closed_us} µs"
    if any(entry.us < 0 for entry in row.entries):
        return "an entry is shorter than nothing"
    return ""


def place(path: Path, content: bytes) -> None:
    """Put *content* at *path* complete, or leave there what was there before."""
    part = path.with_name(f"{path.name}.part")
    with _told(path):
        try:
            with part.open("wb", buffering=0) as file:
                _write(file.write, content)
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)


def _write(write: Callable[[memoryview], int | None], content: bytes) -> None:
    """Write all of *content*: an unbuffered file may take less at a time."""
    rest = memoryview(content)
    while rest:
        rest = rest[write(rest) or 0 :]


def _make_room(folder: Path, *, force: bool) -> None:
    """Take away the files of the run in *folder* if *force* allows; never those of anything else."""
    if not folder.is_dir():
        raise RunError(
            "a file is in the way of the run folder", where=str(folder), remedy="choose another --name"
        )
    inside = sorted(path.name for path in folder.iterdir())
    if inside and not force:
        raise RunError("the run folder exists", where=str(folder), remedy="choose another --name, or --force")
    if inside and TURNS not in inside:
        raise RunError(
            "the folder holds something that is no run", where=str(folder), remedy="choose another --name"
        )
    for name in (*_sounds(folder), *FILES):
        (folder / name).unlink(missing_ok=True)


def _sounds(folder: Path) -> list[str]:
    """Return the sound files that the run in *folder* says are its own."""
    try:
        calls = _decode(_read(folder / SUMMARY), Summary, str(folder)).calls
    except RunError:
        return []
    names = (call.audio for call in calls)
    return [name for name in names if name.endswith(".wav") and (folder / name).parent == folder]


def _read_rows(path: Path) -> tuple[tuple[Row, ...], str]:
    """Return the rows of a file, and a note if its last line is half-written and was skipped."""
    lines = _read(path).split(b"\n")
    unended = lines.pop()
    rows = [_row(line, f"{path}, line {number}") for number, line in enumerate(lines, 1)]
    if not unended:
        return tuple(rows), ""
    try:
        rows.append(_row(unended, f"{path}, line {len(lines) + 1}"))
    except RunError:
        return tuple(rows), f"{path.name}, line {len(lines) + 1}: half-written, skipped"
    return tuple(rows), ""


def _row(line: bytes, where: str) -> Row:
    row = _decode(line, Row, where)
    fault = unsound(row)
    if fault:
        raise RunError(fault, where=where, remedy="the file was changed after the run; replay again")
    return row


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise RunError(
            f"{path.name} is missing",
            where=str(path.parent),
            remedy="the run did not get to its end; replay again",
        ) from None
    except OSError as error:
        raise RunError(error.strerror or str(error), where=str(path)) from error


def _decode(content: bytes, kind: type[R], where: str) -> R:
    try:
        schema = msgspec.json.decode(content, type=_Versioned).schema
        if schema == SCHEMA:
            return msgspec.json.decode(content, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise RunError(f"cannot be read ({error})", where=where, remedy="replay again") from error
    raise RunError(
        f"written with schema {schema}, this version reads {SCHEMA}",
        where=where,
        remedy="use the version that wrote it, or replay again",
    )


class _Versioned(msgspec.Struct):
    """Any record of ours, as far as every version can read it."""

    schema: int


@contextlib.contextmanager
def _told(path: Path) -> Iterator[None]:
    """Turn what the disk says into one line."""
    try:
        yield
    except OSError as error:
        full = error.errno in _FULL
        what = "the disk is full" if full else f"cannot be written ({error.strerror or error})"
        remedy = (
            "make room; what was written before is kept" if full else "choose a place that can be written"
        )
        raise RunError(what, where=str(path), remedy=remedy) from error
