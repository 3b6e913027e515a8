"""The command that serves live calls, and what it mounts beside the lines."""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click
import msgspec

from turnbudget.commands.shell import Taught, one_line
from turnbudget.redaction.redact import RedactedFormatter
from turnbudget.serving.config import load
from turnbudget.serving.server import Server, Settings, Worker
from turnbudget.serving.sockets import browser
from turnbudget.serving.watch.watching import Watching
from turnbudget.serving.workers import Supervisor, settle, told
from turnbudget.voice.errors import ConfigError
from turnbudget.voice.time import clock
from turnbudget.voice.time.crew import Crew

if TYPE_CHECKING:
    from collections.abc import Sequence

    from turnbudget.serving.app import Mount
    from turnbudget.serving.config import ServeTable

FORMAT: Final = "%(asctime)s %(levelname)s %(message)s"
"""Form of a line of the log."""


@click.command(
    name="serve",
    cls=Taught,
    epilog="turnbudget serve\n"
    "turnbudget serve --config agent.toml --audiosocket-port 9092\n"
    "turnbudget serve floor.toml --workers 2",
)
@click.argument("floor", required=False, type=click.Path(path_type=Path))
@click.option("--config", metavar="FILE", type=click.Path(path_type=Path), help="The agent's settings.")
@click.option("--host", help="Where to listen; by default on this machine alone.")
@click.option("--port", type=click.IntRange(0, 65_535), help="HTTP and WebSockets.  [default: 8080]")
@click.option(
    "--audiosocket-port", type=click.IntRange(0, 65_535), help="Asterisk's AudioSocket; none by default."
)
@click.option("--out", help="Where calls are written down.  [default: runs]")
@click.option(
    "--ops-port", type=click.IntRange(0, 65_279), help="Worker N answers on this + N as well, and alone."
)
@click.option("--workers", type=click.IntRange(1, 256), default=1, show_default=True, help="Processes.")
@click.option("--worker", is_flag=True, hidden=True, help="Be one of the workers, as --workers starts them.")
@one_line
def serve_command(
    floor: Path | None, config: Path | None, *, workers: int, worker: bool, **given: str | int | None
) -> None:
    """Answer live calls: telephone lines over WebSockets and AudioSocket, and browsers.

    FLOOR is a file with [serve] and [tenants.NAME]: who is called, which agent answers, how many calls are
    taken. Without it one agent answers whoever reaches this machine itself. SIGTERM lets calls end, SIGHUP
    reads the settings again.

    Several workers share the ports of calls; /metrics and /board tell of one of them. With --ops-port 9100
    worker 1 answers on 9101 as well, worker 2 on 9102: ask each of them.
    """
    wanted = {name: value for name, value in given.items() if value is not None}

    def changed(table: ServeTable) -> ServeTable:
        return msgspec.structs.replace(table, **wanted)

    logging.basicConfig(level=logging.INFO, handlers=[log_handler()])
    settings = Settings(floor, config, changed)
    if worker:
        clock.run(_work(settings, told(sys.stdin.buffer.readline())), "wall")
    elif workers == 1:
        clock.run(_work(settings, None), "wall")
    else:
        table = changed(load(floor, config)[0].serve)
        if not table.port:
            raise ConfigError("several workers share a port that is known", remedy="name one with --port")
        command = ["-m", "turnbudget", *sys.argv[1:], "--worker"]
        clock.run(_supervise(command, workers, table.drain_ms * clock.MS), "wall")


def log_handler() -> logging.Handler:
    """Return what writes the log: its lines redacted, on standard error."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(RedactedFormatter(FORMAT))
    return handler


async def _work(settings: Settings, worker: Worker | None) -> None:
    """Serve as one process."""
    worker = worker or Worker(secret=secrets.token_bytes(32))

    def mounts(server: Server, serve: ServeTable) -> Sequence[Mount]:
        watching = Watching(
            server.stop,
            secret=worker.secret,
            worker=str(worker.number),
            site=serve.site,
            broker=serve.broker,
            otlp=serve.otlp,
            texts=serve.texts,
        )
        return browser.mount, watching.mount

    server = Server(settings, worker=worker, mounts=mounts)
    async with Crew() as crew:
        crew.create_task(server.follow_signals(), name="signals")
        crew.create_task(settle(server.open), name="memory")
        if worker.of > 1:
            asyncio.get_running_loop().add_reader(sys.stdin.fileno(), _orphaned, server)
        await server.run()


def _orphaned(server: Server) -> None:
    """Drain when the supervisor is gone: its end of our standard input is closed."""
    if not os.read(sys.stdin.fileno(), 64):
        asyncio.get_running_loop().remove_reader(sys.stdin.fileno())
        server.stop()


async def _supervise(command: Sequence[str], workers: int, drain_us: int) -> None:
    """Serve as several processes."""
    supervisor = Supervisor(command, workers, drain_us)
    supervisor.follow_signals()
    await supervisor.run()
