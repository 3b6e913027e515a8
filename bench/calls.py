"""How many calls a core holds: ``python bench/calls.py --calls 100``.

A server in this process, answered by the bank's council with scripted engines (tones for words, a tone for a
voice), and simulated Twilio carriers with their callers in another, on the same machine. First as many callers
as are admitted, then twice as many: the rest have to be shed, and those taken stay in time.
"""

from __future__ import annotations

import asyncio
import dataclasses
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

import aiohttp
import click
import msgspec
from facts import facts

from turnbudget.compose import open_studio
from turnbudget.config import AsrTable, Config, CouncilTable, SpeculationTable, TtsTable, VadTable, dump
from turnbudget.serving.caller import Caller, over_websocket
from turnbudget.serving.events import CallEnded, Shed, TurnEnded
from turnbudget.serving.server import Server, Settings
from turnbudget.serving.tones import Tones, tone_of
from voice import clock
from voice.crew import Crew
from voice.forecast import nearest_rank
from voice.lines.far.twilio import FarCall, FarTwilio

if TYPE_CHECKING:
    from turnbudget.compose import Studio
    from turnbudget.records import Row
    from turnbudget.serving.caller import Heard
    from turnbudget.serving.config import ServeTable
    from turnbudget.serving.events import Happening

SAYS: Final = ("i want to check my balance", "my savings account please", "no thank you goodbye")
RAMP_US: Final = 10 * clock.SECOND
"""Over how long the callers come."""
BANK: Final = Config(
    council=CouncilTable("demos.bank.bank:open_bank"),
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
    cpu_us: int


async def open_bank(config: Config) -> Studio:
    """Return the bank's studio, whose recogniser hears tones."""
    return dataclasses.replace(await open_studio(config), transcriber=Tones(SAYS))


async def one(session: aiohttp.ClientSession, port: int, number: int, count: int) -> Heard | None:
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
    async with session.ws_connect(address) as socket:
        return await over_websocket(caller, socket)


async def callers(port: int, count: int) -> Wave:
    """Let *count* callers call."""
    began = clock.cpu()
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(connector=connector) as session, Crew() as crew:
        tasks = [crew.create_task(one(session, port, n, count), name=f"caller {n}") for n in range(count)]
        heard = [told for task in tasks if (told := await task)]
    return Wave(
        len(heard),
        [wait for told in heard for wait in told.waits_us],
        sum(told.unanswered for told in heard),
        [jitter for told in heard for jitter in told.jitter_us],
        clock.cpu() - began,
    )


async def wave(server: Server, count: int) -> None:
    """Let *count* callers of another process call *server*, and print what came of it."""
    happenings: list[Happening] = []
    server.floor.watch(happenings.append)
    began_us, began_cpu = clock.now(), clock.cpu()
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, __file__, "--callers", str(server.listening.port), "--calls", str(count)),
        stdout=subprocess.PIPE,
    )
    told, _ = await process.communicate()
    took_us, cpu_us = clock.now() - began_us, clock.cpu() - began_cpu
    while server.floor.calls:
        await clock.sleep(50 * clock.MS)
    far = msgspec.json.decode(told, type=Wave)
    rows = [each.row for each in happenings if isinstance(each, TurnEnded) and each.row.kind == "turn"]
    shed = [each.because for each in happenings if isinstance(each, Shed)]
    length_us = sum(each.record.length_us for each in happenings if isinstance(each, CallEnded))
    report(count, far, rows, shed)
    share = cpu_us / max(1, length_us)
    click.echo(
        f"  CPU                   {share * 100:6.2f} % of a core a call, {1 / share:.0f} calls a core; server "
        f"{cpu_us / took_us:.2f} cores, callers {far.cpu_us / took_us:.2f}"
    )
    stalls = [stall for stall in clock.stalls(began_us, clock.now()) if stall.began_us >= began_us]
    causes = sorted({stall.cause for stall in stalls})
    worst = max((stall.ended_us - stall.began_us for stall in stalls), default=0)
    click.echo(f"  stalls over 10 ms     {len(stalls)}, the longest {worst / 1_000:.0f} ms, {causes}")


def report(count: int, far: Wave, rows: list[Row], shed: list[str]) -> None:
    """Print what came of a wave of *count* calls."""
    ours = sorted(row.first_sound_us for row in rows if row.first_sound_us is not None)
    in_time = sum(row.in_time for row in rows)
    click.echo(f"{count} callers: {far.taken} taken, {len(shed)} shed {sorted(set(shed))[:3]}")
    click.echo(f"  turns in time         {in_time} of {len(rows)}, unanswered {far.unanswered}")
    for name, values in (("first sound, ledger", ours), ("first sound, caller", sorted(far.waits_us))):
        click.echo(f"  {name}   {spread(values)}")
    click.echo(f"  frame jitter          {spread(sorted(far.jitter_us))}")


def spread(values: list[int]) -> str:
    """Return percentiles of ascending *values* in ms."""
    if not values:
        return "none"
    shown = (f"p{percent} {nearest_rank(values, percent) / 1_000:.1f}" for percent in (50, 95, 99))
    return f"{', '.join(shown)} ms (n {len(values)})"


async def bench(count: int) -> None:
    """Serve *count* calls, then be asked for twice as many."""
    click.echo(facts())
    with tempfile.TemporaryDirectory() as folder:
        agent = Path(folder) / "bank.toml"
        agent.write_text(dump(BANK), "utf-8")

        def serve(table: ServeTable) -> ServeTable:
            return msgspec.structs.replace(table, port=0, most_calls=count, out=folder, drain_ms=0)

        server = Server(Settings(None, agent, serve), opener=open_bank)
        async with Crew() as crew:
            running = crew.create_task(server.run(), name="server")
            opened = crew.create_task(server.open.wait(), name="open")
            await asyncio.wait([running, opened], return_when=asyncio.FIRST_COMPLETED)
            if not running.done():
                await wave(server, count)
                await wave(server, 2 * count)
                server.stop()
            await running


@click.command()
@click.option("--calls", "count", default=100, show_default=True, help="Calls at a time.")
@click.option("--callers", "port", type=int, hidden=True)
def main(count: int, port: int | None) -> None:
    """Measure how many calls a core holds."""
    if port:
        click.echo(msgspec.json.encode(clock.run(callers(port, count), "wall")))
    else:
        clock.run(bench(count), "wall")


if __name__ == "__main__":
    main()
