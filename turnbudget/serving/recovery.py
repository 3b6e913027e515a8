"""What a worker that died left behind: each of its calls that had not ended gets its record, from another.

A folder where calls stand as begun, and that nobody holds, is a dead worker's. Who takes hold of it closes
its calls, in their order, with the rows and the sound that came to disk; whoever comes meanwhile passes by. A
record is written behind what follows its call, so who dies on the way leaves the rest to the next.
"""

from __future__ import annotations

import logging
import os
import struct
from collections import Counter, deque
from typing import TYPE_CHECKING, Final, TypeVar

import msgspec

from turnbudget.runs.folder import TURNS
from turnbudget.runs.records import CallRecord, Row
from turnbudget.serving.after.vcon import Closed
from turnbudget.serving.ending import disposition, reason
from turnbudget.serving.journal import BEGUN, CALLS, HOLDER, BegunCall, add_line
from turnbudget.serving.running import MOST_ROWS
from turnbudget.voice.database import Hold
from turnbudget.voice.errors import AudioError
from turnbudget.voice.sound import audio, wav
from turnbudget.voice.time import clock

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from turnbudget.serving.after.aftercall import AfterCall
    from turnbudget.serving.ending import DispositionRule

DIED: Final = "broken off: the worker died"
"""What the record of a dead worker's call says of its end."""
NOTE: Final = "what came shortly before is missing; its length is that of what came to disk"
"""What that record notes."""
_HEAD: Final = 4_096
"""Bytes at the start of a WAV in which its header ends."""
_RIFF: Final = 8
"""Bytes of a WAV that its own size leaves out."""
_SIZE: Final = struct.Struct("<I")
_LARGEST: Final = 0xFFFF_FFFF
R = TypeVar("R", bound=msgspec.Struct)
log = logging.getLogger(__name__)


class Recovery:
    """Closes what dead workers left below *out*; *after* does what follows a call, by a folder."""

    def __init__(
        self,
        out: Path,
        after: Callable[[Path], AfterCall],
        *,
        rules: Callable[[str], Sequence[DispositionRule]] = lambda _: (),
    ) -> None:
        """Name what came of a call by the *rules* of its tenant."""
        self._out = out
        self._after = after
        self._rules = rules
        self.closed = 0
        """Calls that got their record."""

    async def run(self) -> None:
        """Close all there is; what a folder raises costs that folder, until the next worker comes."""
        for folder in await clock.offload(_begun, self._out):
            try:
                await self._close(folder)
            except Exception:
                log.exception("%s: its calls are not closed", folder)

    async def _close(self, folder: Path) -> None:
        left = DeadFolder(folder, self._rules)
        try:
            if not await clock.offload(left.take):
                return
            after = self._after(folder)
            for closed in await clock.offload(left.calls):
                try:
                    await after.finish(closed)
                except Exception:
                    log.exception("what follows call %s failed", closed.record.call)
                await clock.offload(left.record, closed.record)
                self.closed += 1
                log.warning("call %s of %s: %s", closed.record.call, closed.tenant, DIED)
            await clock.offload(left.settle)
        finally:
            left.close()


class DeadFolder:
    """The folder of a worker; everything here blocks, and all but :meth:`take` is for who holds it."""

    def __init__(self, folder: Path, rules: Callable[[str], Sequence[DispositionRule]]) -> None:
        self._folder = folder
        self._rules = rules
        self._hold = Hold(folder / HOLDER)

    def take(self) -> bool:
        """Hold it, if its worker is dead and nobody else does; say whether we do."""
        return self._hold.take()

    def close(self) -> None:
        """Release the folder."""
        self._hold.close()

    def calls(self) -> list[Closed]:
        """Return its calls that began and have no record, the oldest first."""
        _cut(self._folder / CALLS)
        ended = {one.call for one in _lines(self._folder / CALLS, _Named)}
        begun = {one.call: one for one in _lines(self._folder / BEGUN, BegunCall) if one.call not in ended}
        if not begun:
            return []
        rows: dict[str, deque[Row]] = {call: deque(maxlen=MOST_ROWS) for call in begun}
        turns: Counter[str] = Counter()
        for row in _lines(self._folder / TURNS, Row, begun):
            rows[row.call].append(row)
            turns[row.call] += row.kind == "turn"
        return [self._closed(one, tuple(rows[one.call]), turns[one.call]) for one in begun.values()]

    def record(self, record: CallRecord) -> None:
        """Write *record*; raises RunError."""
        add_line(self._folder / CALLS, record)

    def settle(self) -> None:
        """Remove the list of calls that began, once each has its record."""
        (self._folder / BEGUN).unlink(missing_ok=True)

    def _closed(self, begun: BegunCall, rows: tuple[Row, ...], turns: int) -> Closed:
        sound = self._folder / f"{begun.call}.wav"
        sound_us, notes = 0, [NOTE]
        try:
            sound_us = mend(sound)
        except (OSError, AudioError) as error:
            notes.append(f"its sound cannot be read: {error}")
        record = CallRecord(
            call=begun.call,
            source=begun.line,
            length_us=max([sound_us, *(row.speech_ended_call_us + row.closed_us for row in rows)]),
            turns=turns,
            audio=sound.name if sound_us else "",
            ended=DIED,
            notes=tuple(notes),
        )
        why = reason(DIED)
        return Closed(
            record=record,
            rows=rows,
            tenant=begun.tenant,
            line=begun.line,
            began=begun.began,
            reason=why,
            disposition=disposition(why, rows, self._rules(begun.tenant)),
            caller=begun.caller,
            called=begun.called,
            session=begun.session,
            consent=bool(record.audio),
        )


def mend(place: Path) -> int:
    """Give the WAV at *place* the sizes that its writer had no time for; return how long it lasts, in µs.

    0 if there is none, or no sound in it. Blocks; raises OSError, and AudioError for a header of no sense.
    """
    if not place.is_file():
        return 0
    with place.open("r+b") as file:
        header = wav.read_header(file.read(_HEAD), str(place))
        if header is None:
            return 0
        frames = (file.seek(0, os.SEEK_END) - header.start) // header.format.block
        size = frames * header.format.block
        file.truncate(header.start + size)
        for at, declared in ((4, header.start + size - _RIFF), (header.start - _SIZE.size, size)):
            file.seek(at)
            file.write(_SIZE.pack(min(declared, _LARGEST)))
    return audio.us(frames)


class _Named(msgspec.Struct):
    """Any line of ours, as far as it says whose it is."""

    call: str


def _begun(out: Path) -> list[Path]:
    """Return the folders below *out* where calls stand as begun."""
    return sorted(place.parent for place in out.glob(f"*/{BEGUN}"))


def _cut(place: Path) -> None:
    """Take away a last line that was not written to its end: another would be read as its rest."""
    if place.is_file():
        os.truncate(place, place.read_bytes().rfind(b"\n") + 1)


def _lines(place: Path, kind: type[R], calls: dict[str, BegunCall] | None = None) -> Iterator[R]:
    """Yield the lines at *place*, of *calls* alone if they are named; none that is half-written."""
    if not place.is_file():
        return
    with place.open("rb") as file:
        for line in file:
            try:
                if calls is None or msgspec.json.decode(line, type=_Named).call in calls:
                    yield msgspec.json.decode(line, type=kind)
            except (msgspec.DecodeError, UnicodeDecodeError):
                continue
