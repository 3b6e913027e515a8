"""How many calls a core holds: ``python bench/calls.py --calls 100``.

Workers that share a port, answered by the bank's council with scripted engines (tones for words, a tone for a
voice), and simulated Twilio carriers with their callers in a process of their own, all on this machine. First
all are admitted, then twice as many call a floor that takes no more: the rest have to be shed, those taken
stay in time.
"""

from __future__ import annotations

import asyncio
import dataclasses
import resource
import socket
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

import aiohttp
import click
import msgspec
from facts import facts

from turnbudget.runs.records import CallRecord, Row
from turnbudget.serving.events import CallShed
from turnbudget.serving.server import Server, Settings
from turnbudget.serving.workers import Supervisor, settle, told
from turnbudget.settings.compose import open_studio
from turnbudget.settings.config import (
    AsrTable,
    Config,
    CouncilTable,
    SpeculationTable,
    TtsTable,
    VadTable,
    dump,
)
from turnbudget.testing.caller import Caller, over_websocket
from turnbudget.testing.tones import Tones, tone_of
from turnbudget.voice.lines.far.twilio import FarCall, FarTwilio
from turnbudget.voice.sound import audio
from turnbudget.voice.time import clock
from turnbudget.voice.time.budget import nearest_rank
from turnbudget.voice.time.crew import Crew

if TYPE_CHECKING:
    from turnbudget.serving.config import ServeTable
    from turnbudget.serving.events import FloorEvent
    from turnbudget.settings.compose import Studio
    from turnbudget.testing.caller import CallerReport

SAYS: Final = ("i want to check my balance", "my savings account please", "no thank you goodbye")
RAMP_US: Final = 10 * clock.SECOND
"""Over how long the callers come."""
BANK: Final = Config(
    council=CouncilTable("turnbudget.demos.bank.bank:open_bank"),
    asr=AsrTable(engine="scripted"),
    vad=VadTable(engine="energy"),
    tts=TtsTable(engine="scripted"),
    speculation=SpeculationTable(disk_mb=0),
)


class Wave(msgspec.Struct):
    """What the callers of one wave made of it."""

    taken: int
    waits_us: list[int]
    unanswered: int
    jitter_us: list[int]
    late_us: list[int]
    """How late the callers' own process woke, every 20 ms: their jitter holds it."""
    cpu_us: int


async def open_bank(config: Config) -> Studio:
    """Return the bank's studio, whose recogniser hears tones."""
    return dataclasses.replace(await open_studio(config), transcriber=Tones(SAYS))


async def one(session: aiohttp.ClientSession, port: int, number: int, count: int) -> CallerReport | None:
    """Hold one call; ``None`` if it is not taken."""
    await clock.sleep(RAMP_US * number // count)
    call = f"CA{number:032}"
    form = {"CallSid": call, "From": f"+1555{number:07}", "To": "+15550199"}
    async with session.post(f"http://127.0.0.1:{port}/twilio/voice", data=form) as response:
        document = await response.text()
    if "<Reject" in document:
        return None
    address = document.partition('<Stream url="')[2].partition('"')[0]
    far = FarTwilio(call=FarCall(call=call, stream=f"MZ{number:032}"), began_us=clock.now())
    caller = Caller(far, [tone_of(sentence, SAYS, far.rate) for sentence in SAYS])
    try:
        stream = await session.ws_connect(address)
    except aiohttp.WSServerHandshakeError:  # another worker has this stream, and it is full
        return None
    async with stream:
        return await over_websocket(caller, stream)


async def call_all(port: int, count: int) -> Wave:
    """Let *count* callers call."""
    began = clock.cpu()
    late_us: list[int] = []
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(connector=connector) as session, Crew() as crew:
        crew.create_task(beat(late_us), name="lateness")
        tasks = [crew.create_task(one(session, port, n, count), name=f"caller {n}") for n in range(count)]
        heard = [told for task in tasks if (told := await task)]
    return Wave(
        len(heard),
        [wait for told in heard for wait in told.waits_us],
        sum(told.unanswered for told in heard),
        [jitter for told in heard for jitter in told.jitter_us],
        late_us,
        clock.cpu() - began,
    )


async def beat(late_us: list[int]) -> None:
    """Note for ever how late this process wakes."""
    while True:
        due = clock.now() + audio.FRAME_US
        await clock.sleep_until(due)
        late_us.append(clock.now() - due)


async def serve(folder: Path, port: int, most: int) -> None:
    """Be one worker, which takes its share of *most* calls."""

    def changed(table: ServeTable) -> ServeTable:
        return msgspec.structs.replace(
            table, port=port, most_calls=most, out=str(folder / "runs"), drain_ms=0
        )

    worker = told(sys.stdin.buffer.readline())
    server = Server(Settings(None, folder / "bank.toml", changed), worker=worker, opener=open_bank)
    shed: list[str] = []

    def watch(event: FloorEvent) -> None:
        if isinstance(event, CallShed):
            shed.append(event.because)

    async with Crew() as crew:
        crew.create_task(server.follow_signals(), name="signals")
        crew.create_task(settle(server.open), name="memory")
        running = crew.create_task(server.run(), name="server")
        await server.open.wait()
        server.floor.watch(watch)
        (folder / f"open-{worker.number}").touch()
        await running
    (folder / f"shed-{worker.number}").write_text("\n".join(shed), "utf-8")


async def wave(count: int, most: int, workers: int) -> None:
    """Let *count* callers call *workers* that take *most*, and print what came of it."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        (folder / "bank.toml").write_text(dump(BANK), "utf-8")
        with socket.socket() as probe:  # closed again: a lone worker shares its port with nobody
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        ours = [__file__, "--worker", place, "--port", str(port), "--calls", str(most)]
        supervisor = Supervisor(ours, workers, clock.SECOND)
        before = cpu_of_children()
        async with Crew() as crew:
            running = crew.create_task(supervisor.run(), name="supervisor")
            while len(written(folder, "open-*")) < workers and not running.done():
                await clock.sleep(100 * clock.MS)
            began_us = clock.now()
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, __file__, "--callers", "--port", str(port), "--calls", str(count)),
                stdout=subprocess.PIPE,
            )
            answer, _ = await process.communicate()
            took_us = clock.now() - began_us
            supervisor.stop()
            await running
        far = msgspec.json.decode(answer, type=Wave)
        cpu_us = cpu_of_children() - before - far.cpu_us
        report(folder, count, far)
        report_cpu(folder, cpu_us, far.cpu_us, took_us)


def written(folder: Path, names: str) -> list[Path]:
    """Return the files in *folder* that are called *names*."""
    return list(folder.glob(names))


def cpu_of_children() -> int:
    """Return the CPU time of processes of ours that have ended, in microseconds."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return round((used.ru_utime + used.ru_stime) * clock.SECOND)


def report(folder: Path, count: int, far: Wave) -> None:
    """Print what came of a wave of *count* calls, by the rows in *folder* and by what callers measured."""
    lines = [line for file in folder.glob("runs/*/turns.jsonl") for line in file.read_bytes().splitlines()]
    rows = [row for line in lines if (row := msgspec.json.decode(line, type=Row)).kind == "turn"]
    ours = sorted(row.first_sound_us for row in rows if row.first_sound_us is not None)
    shed = [line for file in folder.glob("shed-*") for line in file.read_text("utf-8").splitlines()]
    click.echo(f"{count} callers: {far.taken} taken, {len(shed)} shed {sorted(set(shed))[:3]}")
    in_time = sum(row.in_time for row in rows)
    click.echo(f"  turns in time         {in_time} of {len(rows)}, unanswered {far.unanswered}")
    for name, values in (("first sound, ledger", ours), ("first sound, caller", sorted(far.waits_us))):
        click.echo(f"  {name}   {spread(values)}")
    click.echo(f"  frame jitter          {spread(sorted(far.jitter_us))}")
    click.echo(f"  callers woke late by  {spread(sorted(far.late_us))}")


def report_cpu(folder: Path, ours_us: int, theirs_us: int, took_us: int) -> None:
    """Print what the calls in *folder* cost: *ours_us* in the workers, their start included."""
    lines = [line for file in folder.glob("runs/*/calls.jsonl") for line in file.read_bytes().splitlines()]
    share = ours_us / max(1, sum(msgspec.json.decode(line, type=CallRecord).length_us for line in lines))
    click.echo(
        f"  CPU                   {share:.2%} of a core a call: {1 / max(share, 1e-6):.0f} calls a core"
    )
    click.echo(f"  cores used            workers {ours_us / took_us:.2f}, callers {theirs_us / took_us:.2f}")


def spread(values: list[int]) -> str:
    """Return percentiles of ascending *values* in ms."""
    if not values:
        return "none"
    shown = (f"p{percent} {nearest_rank(values, percent) / 1_000:.1f}" for percent in (50, 95, 99))
    return f"{', '.join(shown)} ms (n {len(values)})"


async def bench(count: int, workers: int) -> None:
    """Serve *count* calls, then be asked for twice as many."""
    click.echo(f"{facts()}; {workers} workers")
    await wave(count, 2 * count, workers)
    await wave(2 * count, count, workers)


@click.command()
@click.option("--calls", "count", default=100, show_default=True, help="Calls at a time.")
@click.option("--workers", default=2, show_default=True, help="Processes that answer.")
@click.option("--worker", "folder", type=click.Path(path_type=Path), hidden=True)
@click.option("--callers", is_flag=True, hidden=True)
@click.option("--port", default=0, hidden=True)
def main(count: int, workers: int, folder: Path | None, *, callers: bool, port: int) -> None:
    """Measure how many calls a core holds."""
    if callers:
        click.echo(msgspec.json.encode(clock.run(call_all(port, count), "wall")))
    elif folder:
        clock.run(serve(folder, port, count), "wall")
    else:
        clock.run(bench(count, workers), "wall")


if __name__ == "__main__":
    main()
