"""Talk: a person at this machine calls us, by microphone and speaker, until one of us hangs up.

The call is a live call like any other; here it gets its card, its echo canceller, and who follows it. Ctrl-C
is how a person hangs up: the turns until then are summed up, and written down if that was asked for.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import sys
import termios
import tty
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

from turnbudget.live.call import LiveCall, live_header
from turnbudget.runs.folder import Run, RunWriter, take_away
from turnbudget.runs.summary import summarise
from turnbudget.settings.compose import open_studio
from turnbudget.voice.errors import UsageError
from turnbudget.voice.lines.canceller import Canceller, installed
from turnbudget.voice.lines.microphone import Microphone
from turnbudget.voice.time import clock
from turnbudget.voice.time.crew import Crew
from turnbudget.voice.time.watch import settle, watch

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator
    from pathlib import Path

    from turnbudget.runs.records import CallRecord, Row
    from turnbudget.runs.summary import Header
    from turnbudget.settings.compose import Studio
    from turnbudget.settings.config import Config
    from turnbudget.voice.lines.card import Card

NAME = "talk"
"""What the call is called, and its recording."""
Echo: TypeAlias = Literal["auto", "cancel", "guard", "none"]
"""What is done about our own voice in the microphone: ``auto`` cancels it where a canceller is installed, and
else guards against it, by hearing only a caller who is louder than it."""


@dataclass(frozen=True, slots=True)
class TalkSettings:
    """How to talk."""

    config: Config
    """The settings of the agent and its engines."""
    folder: Path | None = None
    """Where the run is written to; ``None``: nowhere."""
    echo: Echo = "auto"
    """What is done about our own voice in the microphone."""
    push_to_talk: bool = False
    """The space bar opens and closes the microphone, which begins closed."""
    source: str = "microphone"
    """Where the sound comes from, as the record names it."""
    force: bool = False
    """A run that is already in the folder is written over."""


class Follower(Protocol):
    """Who follows a call as it runs."""

    def doing(self, what: str) -> None:
        """Show what is being made ready."""
        ...

    def ready(self, line: Microphone, echo: str, *, push_to_talk: bool) -> None:
        """Show that the call begins on *line*, and what is done about an *echo*."""
        ...

    def partial(self, text: str) -> None:
        """Show the caller's words so far."""
        ...

    def row(self, row: Row) -> None:
        """Show a turn that has ended."""
        ...


@dataclass(frozen=True, slots=True)
class TalkResult:
    """A call that is over: its run, its record, and whether the card broke it off."""

    run: Run
    """The rows and the summary of the call."""
    record: CallRecord
    """How the call went and ended."""
    broken: bool
    """The sound card broke the call off."""


async def talk(settings: TalkSettings, card: Card, follower: Follower) -> TalkResult:
    """Have one call on *card* and return it; raises TurnbudgetError. On the running clock."""
    folder = settings.folder
    writer = await clock.offload(lambda: RunWriter(folder, force=settings.force)) if folder else None
    try:
        with writer or contextlib.nullcontext():
            echo, cancelling = chosen(settings.echo)
            line = Microphone(card, Canceller() if cancelling else None)
            studio = await open_studio(settings.config, follower.doing)
            try:
                return await _Talk(settings, studio, line, follower=follower, writer=writer).run(echo)
            finally:
                await studio.aclose()
    except BaseException:
        if folder:
            await clock.offload(take_away, folder)
        raise


def chosen(echo: Echo) -> tuple[str, bool]:
    """Return what is done about an *echo*, and whether a canceller does it."""
    if echo == "cancel" or (echo == "auto" and installed()):
        return "cancelled", True
    return ("nothing is done about it", False) if echo == "none" else ("guarded against", False)


class _Talk:
    """One call on its way."""

    def __init__(
        self,
        settings: TalkSettings,
        studio: Studio,
        line: Microphone,
        *,
        follower: Follower,
        writer: RunWriter | None,
    ) -> None:
        self._settings = settings
        self._studio = studio
        self._line = line
        self._follower = follower
        self._writer = writer
        self._rows: list[Row] = []

    async def run(self, echo: str) -> TalkResult:
        """Hold the call to its end and return it summed up."""
        settings, line = self._settings, self._line
        began = clock.label()
        call = LiveCall(
            line,
            self._studio,
            self._writer,
            name=NAME,
            told=self._told,
            partial=self._follower.partial,
            source=settings.source,
            half_duplex=echo == "guarded against",
        )
        settle()
        try:
            with watch(), contextlib.closing(line), self._keys():
                await line.ready()
                self._follower.ready(line, echo, push_to_talk=settings.push_to_talk)
                await self._until_hung_up(call.run())
        finally:
            gc.unfreeze()
        record = call.record()
        header = live_header(
            self._studio,
            [record],
            name=settings.folder.name if settings.folder else NAME,
            began=began,
            faults=(line.ended,) if line.broken else (),
            truncated=line.broken,
        )
        return TalkResult(await self._finish(header), record, line.broken)

    def _told(self, row: Row) -> None:
        self._rows.append(row)
        self._follower.row(row)

    def _keys(self) -> contextlib.AbstractContextManager[None]:
        """Let the space bar open and close the microphone, if it is to."""
        if not self._settings.push_to_talk:
            return contextlib.nullcontext()
        self._line.open_mic = False

        def pressed(key: str) -> None:
            if key == " ":
                self._line.open_mic = not self._line.open_mic

        return keys(pressed)

    async def _until_hung_up(self, calling: Coroutine[object, object, object]) -> None:
        """Run the call to its end; a first Ctrl-C hangs up, a second breaks off."""
        async with Crew() as crew:
            call = crew.create_task(calling, name=NAME)
            try:
                await asyncio.wait([call])
            except asyncio.CancelledError:
                if call.done():
                    raise
                _forgive()
                self._line.hang_up()
                await asyncio.wait([call])

    async def _finish(self, header: Header) -> Run:
        """Return the run, from disk where it was written."""
        if self._writer:
            return await clock.offload(self._writer.finish, header)
        return Run(summarise(self._rows, header), tuple(self._rows))


def _forgive() -> None:
    """Take back the cancellation of Ctrl-C: what comes now is the orderly end."""
    task = asyncio.current_task()
    if task:
        task.uncancel()


@contextlib.contextmanager
def keys(pressed: Callable[[str], None]) -> Iterator[None]:
    """Tell *pressed* every key but Ctrl-C until the block ends; raises UsageError without a terminal."""
    source = sys.stdin.fileno()
    if not os.isatty(source):
        raise UsageError(
            "keys are read from a terminal, and there is none", remedy="leave --push-to-talk out"
        )

    def read() -> None:
        for key in os.read(source, 64).decode(errors="ignore"):
            pressed(key)

    before = termios.tcgetattr(source)
    loop = asyncio.get_running_loop()
    tty.setcbreak(source)
    loop.add_reader(source, read)
    try:
        yield
    finally:
        loop.remove_reader(source)
        termios.tcsetattr(source, termios.TCSADRAIN, before)
