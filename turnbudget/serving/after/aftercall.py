"""What is done when a call is over: its vCon is written beside its recording, and its tenant's server told.

A watcher of the floor, for whom nobody waits. What the disk refuses is logged and tried again behind the next
call, and at the end; the webhook goes all the same.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import msgspec

from turnbudget.runs.folder import place
from turnbudget.serving.after.messages import LARGEST
from turnbudget.serving.after.vcon import Closed, content_hash, vcon
from turnbudget.serving.ending import disposition, handover, reason
from turnbudget.serving.events import CallBegan, CallEnded
from turnbudget.voice.errors import RunError
from turnbudget.voice.time import clock

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from turnbudget.serving.after.webhooks import Webhooks
    from turnbudget.serving.ending import DispositionRule
    from turnbudget.serving.events import FloorEvent
    from turnbudget.voice.time.crew import Crew

MOST: Final = 10_000
"""Calls at a time whose beginning is remembered until they end."""
WAITING: Final = 500
"""vCons that wait for a disk, some 30 kB each; the oldest are lost first."""
MOST_TOLD: Final = LARGEST // 2 - 65_536
"""Bytes of a vCon that is told whole, some 2 MB; a longer one goes without its rows."""
log = logging.getLogger(__name__)


class AfterCall:
    """Closes calls. *folder* is where their recordings are; ``None``: nothing is written."""

    def __init__(
        self,
        folder: Path | None,
        crew: Crew,
        webhooks: Webhooks | None = None,
        *,
        rules: Callable[[str], Sequence[DispositionRule]] = lambda _: (),
        base: str = "",
    ) -> None:
        """Work in *crew*, by the *rules* of a tenant; *base* is the address of *folder* for others."""
        self._folder = folder
        self._crew = crew
        self._webhooks = webhooks
        self._rules = rules
        self._base = base
        self._began: dict[str, tuple[CallBegan, str | None]] = {}
        self._writing = asyncio.Lock()
        self._under_way: dict[asyncio.Task[None], None] = {}
        self._due: deque[tuple[Path, bytes]] = deque()
        self.lost = 0
        """vCons that the disk refused for too long."""

    def __call__(self, event: FloorEvent) -> None:
        """Note a call that begins, and close one that has ended."""
        match event:
            case CallBegan():
                if len(self._began) < MOST:
                    self._began[event.call] = event, clock.label()
            case CallEnded():
                task = self._crew.create_task(self._close(event), name=f"after call {event.call}")
                self._under_way[task] = None
                task.add_done_callback(lambda done: self._under_way.pop(done, None))
            case _:
                pass

    async def finished(self, until_us: int) -> None:
        """Wait until every call that is over is closed, or until *until_us*."""
        await clock.wait_until(list(self._under_way), until_us)
        async with clock.move_on_at(until_us), self._writing:
            await self._write()

    async def _close(self, ended: CallEnded) -> None:
        try:
            await self.finish(self._closed(ended))
        except Exception:
            log.exception("what follows call %s failed", ended.call)

    def _closed(self, ended: CallEnded) -> Closed:
        began, label = self._began.pop(ended.call, (None, clock.label()))
        why = reason(ended.record.ended, ended.transfer)
        return Closed(
            record=ended.record,
            rows=ended.rows,
            tenant=ended.tenant,
            line=began.line if began else ended.record.source,
            began=label,
            reason=why,
            disposition=ended.disposition or disposition(why, ended.rows, self._rules(ended.tenant)),
            caller=began.info.caller if began else "",
            called=began.info.called if began else "",
            session=began.info.call if began else "",
            consent=bool(ended.record.audio),
            pauses=ended.pauses,
            slots=ended.slots,
            transfer=handover(ended.transfer, ended.rows, ended.slots) if ended.transfer else None,
        )

    async def finish(self, closed: Closed) -> None:
        """Write down what there is to say of a call, and tell its tenant."""
        async with self._writing:  # one after the other: a hundred calls may end at once
            if self._folder and closed.record.audio:
                closed = await _hashed(closed, self._folder)
            written = vcon(closed, base=self._base)
            content = msgspec.json.encode(written)
            if self._folder:
                self._due.append((self._folder / f"{closed.record.call}.vcon", content))
                await self._write()
        if self._webhooks:
            self._tell(self._webhooks, closed, written, shortened=len(content) > MOST_TOLD)

    async def _write(self) -> None:
        """Write the vCons that are due, until the disk refuses one."""
        while self._due:
            try:
                await asyncio.shield(clock.offload(place, *self._due[0]))
            except RunError as error:
                log.error("%s", error)  # noqa: TRY400 - one line is all it needs
                break
            self._due.popleft()
        while len(self._due) > WAITING:
            self._due.popleft()
            self.lost += 1

    def _tell(
        self, webhooks: Webhooks, closed: Closed, written: Mapping[str, object], *, shortened: bool
    ) -> None:
        call = closed.record.call
        data = {
            "call": call,
            "line": closed.line,
            "from": closed.caller,
            "to": closed.called,
            "began": closed.began,
            "length_us": closed.record.length_us,
            "turns": closed.record.turns,
            "reason": closed.reason,
            "disposition": closed.disposition,
        }
        if closed.transfer:
            more = {"handover": closed.transfer}
            webhooks.tell(closed.tenant, "call.transferred", {**data, **more}, f"msg_{call}_transferred")
        if shortened:
            data["shortened"], written = True, vcon(closed, base=self._base, rows=False)
        webhooks.tell(closed.tenant, "call.ended", {**data, "vcon": written}, f"msg_{call}_ended")


async def _hashed(closed: Closed, folder: Path) -> Closed:
    """Return *closed* with its recording's hash; without a recording if that cannot be read."""
    try:
        sha512 = await clock.offload(content_hash, folder / closed.record.audio)
    except OSError as error:
        log.error("%s: %s", closed.record.audio, error.strerror)  # noqa: TRY400 - one line
        return replace(closed, record=msgspec.structs.replace(closed.record, audio=""))
    return replace(closed, sha512=sha512)
