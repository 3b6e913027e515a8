"""Workers: processes that share a port, and who watches over them.

A worker that dies is started again, ever more slowly if it keeps dying; what its calls had written stays. A
worker whose supervisor is gone drains: its standard input ends.
"""

from __future__ import annotations

import asyncio
import base64
import gc
import logging
import secrets
import signal
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from turnbudget.serving.server import Worker
from turnbudget.voice.errors import UsageError
from turnbudget.voice.time import clock
from turnbudget.voice.time.crew import Crew

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

AGAIN_US: Final = clock.SECOND
"""How long a dead worker stays down at first (µs; 1 s)."""
SLOWEST_US: Final = 30 * clock.SECOND
"""How long one stays down at most that keeps dying (µs; 30 s)."""
LIVED_US: Final = 60 * clock.SECOND
"""How long a worker lives that did not die of how it begins (µs; 1 min)."""
LAST_US: Final = 10 * clock.SECOND
"""How much longer than its drain a worker may take to end (µs; 10 s)."""
log = logging.getLogger(__name__)


class Shared(msgspec.Struct, frozen=True):
    """What a worker is told on its standard input, in one line."""

    number: int
    """Which worker it is, from 1 on."""
    of: int
    """How many workers there are."""
    secret: str
    """Signs passes and cookies of all of them (base64)."""
    notes: str
    """The folder of the facts that they share."""


def told(line: bytes) -> Worker:
    """Return which worker the *line* of a supervisor makes this process."""
    try:
        shared = msgspec.json.decode(line, type=Shared)
    except msgspec.DecodeError:
        raise UsageError("a worker is started by `turnbudget serve --workers`") from None
    return Worker(shared.number, shared.of, base64.b64decode(shared.secret), Path(shared.notes))


class Supervisor:
    """Runs *count* workers, each by *command* (what follows the interpreter)."""

    def __init__(self, command: Sequence[str], count: int, drain_us: int) -> None:
        self._command = tuple(command)
        self._count = count
        self._drain_us = drain_us
        self._stopping = asyncio.Event()
        self._secret = base64.b64encode(secrets.token_bytes(32)).decode()
        self.processes: dict[int, asyncio.subprocess.Process] = {}
        """The workers that run, by their numbers."""
        self.restarts = 0

    async def run(self) -> None:
        """Run the workers until :meth:`stop`, and until they have drained."""
        with tempfile.TemporaryDirectory(prefix="turnbudget-") as notes:
            async with Crew() as crew:
                keeping = [
                    crew.create_task(self._keep(number, notes), name=f"worker {number}")
                    for number in range(1, self._count + 1)
                ]
                await asyncio.wait(keeping)

    def stop(self) -> None:
        """Let every worker drain; told again, at once."""
        self._stopping.set()
        self.signal(signal.SIGTERM)

    def signal(self, number: signal.Signals) -> None:
        """Send every worker the signal *number*."""
        for process in self.processes.values():
            if process.returncode is None:
                process.send_signal(number)

    def follow_signals(self) -> None:
        """Pass on SIGTERM, Ctrl-C and SIGHUP."""
        loop = asyncio.get_running_loop()
        handlers: dict[signal.Signals, Callable[[], None]] = {
            signal.SIGTERM: self.stop,
            signal.SIGINT: self.stop,
            signal.SIGHUP: lambda: self.signal(signal.SIGHUP),
        }
        for number, handler in handlers.items():
            loop.add_signal_handler(number, handler)

    async def _keep(self, number: int, notes: str) -> None:
        """Keep worker *number* running."""
        pause_us = AGAIN_US
        while not self._stopping.is_set():
            began = clock.now()
            code = await self._once(number, notes)
            if self._stopping.is_set():
                return
            self.restarts += 1
            pause_us = AGAIN_US if clock.now() - began > LIVED_US else min(2 * pause_us, SLOWEST_US)
            log.error("worker %d ended (%d); again in %d s", number, code, pause_us // clock.SECOND)
            async with clock.move_on_at(clock.now() + pause_us):
                await self._stopping.wait()

    async def _once(self, number: int, notes: str) -> int:
        """Run worker *number* once, to its end; a worker that will not end is killed."""
        # Ctrl-C reaches us alone: a worker ends when we say so.
        process = await asyncio.create_subprocess_exec(
            sys.executable, *self._command, stdin=asyncio.subprocess.PIPE, start_new_session=True
        )
        self.processes[number] = process
        if self._stopping.is_set():  # it was told while this one was being started
            process.terminate()
        try:
            if process.stdin:
                shared = Shared(number, self._count, self._secret, notes)
                process.stdin.write(msgspec.json.encode(shared) + b"\n")
            async with Crew() as crew:
                ended = crew.create_task(process.wait(), name="worker")
                stopping = crew.create_task(self._stopping.wait(), name="stopping")
                await asyncio.wait([ended, stopping], return_when=asyncio.FIRST_COMPLETED)
                # Until then it drains: its own deadline comes first.
                await clock.wait_until([ended], clock.now() + self._drain_us + LAST_US)
        finally:
            if process.returncode is None:
                process.kill()
        return await process.wait()


async def settle(opened: asyncio.Event) -> None:
    """Once the worker has *opened*, keep the garbage collector from what starting made, for good.

    It would go through modules, engines and tables again whenever calls have made enough that is new, and
    hold the loop for 40 to 80 ms meanwhile: two to four frames of every call (measured with 50 calls a
    worker).
    """
    await opened.wait()
    gc.collect()
    gc.freeze()
