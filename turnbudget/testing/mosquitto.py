"""A mosquitto of our own: on a free port, in a folder that goes with it, for tests, benchmarks and demos."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import socket
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

from turnbudget.council.remote.broker import Broker
from turnbudget.voice.errors import ComponentError, MissingEngine
from turnbudget.voice.time import clock
from turnbudget.voice.time.clock import MS, SECOND

if TYPE_CHECKING:
    from types import TracebackType

START_US: Final = 5 * SECOND
POLL_US: Final = 10 * MS
STOP_US: Final = 2 * SECOND
SBIN: Final = "/usr/sbin"
"""Where Debian installs it, which is not on everybody's path."""


def found() -> str | None:
    """Return where mosquitto is, ``None`` if it is not installed."""
    return shutil.which("mosquitto") or shutil.which("mosquitto", path=SBIN)


class Mosquitto:
    """An MQTT broker of one's own: ``async with Mosquitto() as local`` runs it at ``local.broker``.

    *settings* are further lines of its configuration, under the listener; ``{folder}`` in them is where it
    lives.
    """

    def __init__(self, settings: str = "allow_anonymous true") -> None:
        self._settings = settings
        self._process: subprocess.Popen[bytes] | None = None
        self._folder = tempfile.TemporaryDirectory(prefix="mosquitto-", ignore_cleanup_errors=True)
        self.folder = Path(self._folder.name)
        self.broker = Broker("127.0.0.1", _free_port())

    async def __aenter__(self) -> Self:
        await clock.offload(self._configure)
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()
        await clock.offload(self._folder.cleanup)

    async def start(self) -> None:
        """Start it, and wait until it listens; raises MissingEngine or ComponentError."""
        binary = found()
        if not binary:
            raise MissingEngine("mosquitto is not installed", remedy="type: sudo apt-get install mosquitto")
        self._process = await clock.offload(self._spawn, binary)
        ends = clock.now() + START_US
        with clock.beyond():
            while not await self._listens():
                if self._process.poll() is not None or clock.now() > ends:
                    log = await clock.offload(self._log.read_text, "utf-8")
                    raise ComponentError(f"mosquitto does not start ({log.strip()[-300:]})")
                await clock.sleep(POLL_US)

    async def stop(self, how: signal.Signals = signal.SIGTERM) -> None:
        """End it: at once with SIGKILL."""
        process, self._process = self._process, None
        if process:
            process.send_signal(how)
            await clock.offload(_end, process)

    def pause(self) -> None:
        """Let it stand still, connections open, as behind a cut link."""
        if self._process:
            self._process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Let it go on."""
        if self._process:
            self._process.send_signal(signal.SIGCONT)

    @property
    def _log(self) -> Path:
        return self.folder / "log"

    def _configure(self) -> None:
        user = "user root\n" if hasattr(os, "geteuid") and os.geteuid() == 0 else ""
        settings = self._settings.replace("{folder}", self._folder.name)
        lines = f"{user}persistence false\nlistener {self.broker.port} 127.0.0.1\n{settings}\n"
        (self.folder / "conf").write_text(lines, "utf-8")

    def _spawn(self, binary: str) -> subprocess.Popen[bytes]:
        with self._log.open("ab") as log:
            command = [binary, "-c", str(self.folder / "conf")]
            return subprocess.Popen(command, stdout=log, stderr=log)  # noqa: S603 - found, not typed

    async def _listens(self) -> bool:
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", self.broker.port)
        except OSError:
            return False
        writer.close()
        await writer.wait_closed()
        return True


def _end(process: subprocess.Popen[bytes]) -> None:
    with clock.alarm(STOP_US, process.kill):
        process.wait()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
