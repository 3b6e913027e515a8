"""The kill matrix, processes: SIGTERM lets calls end, SIGKILL of a worker costs its own calls alone."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import sys
from collections import Counter

import aiohttp
import pytest
from faults import command, free_port, kept, lay, opened, records, written
from floors import QUICK, SAYS, caller, until

from turnbudget.serving.journal import BEGUN
from turnbudget.serving.recovery import DIED
from turnbudget.serving.workers import Supervisor
from turnbudget.testing.caller import over_websocket
from turnbudget.voice.lines.far.twilio import FarCall, FarTwilio
from turnbudget.voice.time import clock
from turnbudget.voice.time.crew import Crew

pytestmark = [pytest.mark.clock("wall"), pytest.mark.quiet]
TALK = SAYS[:2]


async def health(port):
    """Whether somebody on *port* takes calls, and how many they have; ``None`` if nobody answers."""
    with contextlib.suppress(aiohttp.ClientError):
        address = f"http://127.0.0.1:{port}/healthz"
        async with aiohttp.ClientSession() as session, session.get(address) as response:
            told = await response.json()
            return told["state"], told["calls"]
    return None


async def until_it_says(port, wanted):
    """Wait until who answers on *port* is in the state *wanted*, with so many calls."""
    ends = clock.now() + 20 * clock.SECOND
    while await health(port) != wanted:
        assert clock.now() < ends
        await clock.sleep(20 * clock.MS)


async def hold(port, number, says=TALK):
    """Hold a call on *port*; return what its caller heard, or the status of its refusal."""
    far = FarTwilio(began_us=clock.now(), call=FarCall(call=f"CA{number}", stream=f"MZ{number}"))
    one = caller(far, says)
    async with aiohttp.ClientSession() as session:
        try:
            socket = await session.ws_connect(f"http://127.0.0.1:{port}/twilio/ws")
        except aiohttp.WSServerHandshakeError as refused:
            return refused.status
        return await over_websocket(one, socket)


async def test_sigterm_lets_calls_end_takes_no_more_and_ends(tmp_path):
    lay(tmp_path, QUICK)
    port = free_port()
    process = await asyncio.create_subprocess_exec(
        sys.executable, *command(tmp_path, port), stdin=asyncio.subprocess.DEVNULL
    )
    try:
        await until_it_says(port, ("open", 0))
        async with Crew() as crew:
            tasks = [crew.create_task(hold(port, number), name="caller") for number in range(3)]
            await until_it_says(port, ("open", 3))
            process.send_signal(signal.SIGTERM)
            await until_it_says(port, ("draining", 3))
            assert await hold(port, 9) == 503
            heard = [await task for task in tasks]
        assert [(len(one.waits_us), one.unanswered) for one in heard] == [(len(TALK), 0)] * 3
        await clock.wait_until([asyncio.ensure_future(process.wait())], clock.now() + 5 * clock.SECOND)
        assert process.returncode == 0
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()
    folder = tmp_path / "runs" / "serve"
    assert len(records(folder)) == 3
    turns = [row for row in written(folder) if row.kind == "turn"]
    assert len(turns) == 3 * len(TALK)
    assert all(row.in_time for row in turns)


async def test_sigkill_of_a_worker_costs_its_own_calls_and_the_next_call_works(tmp_path):
    """Each has its record all the same, by another worker, with what it had said until two seconds before.

    Calls of the other worker notice nothing.
    """
    lay(tmp_path, QUICK)
    port = free_port()
    supervisor = Supervisor(command(tmp_path, port), 2, drain_us=clock.SECOND)
    async with Crew() as crew:
        running = crew.create_task(supervisor.run(), name="supervisor")
        await until(lambda: opened(tmp_path) == 2, 20)
        tasks = [crew.create_task(hold(port, number, SAYS), name="caller") for number in range(12)]
        await until(lambda: len(kept(tmp_path)) == len(tasks))
        victim = supervisor.processes[1]
        victim.kill()
        heard = [await task for task in tasks]
        lived = [one for one in heard if one.closed == "the caller hung up"]
        await until(lambda: opened(tmp_path) == 3, 20)
        after = await hold(port, 9, SAYS[:1])
        assert (after.greeted, len(after.waits_us), after.unanswered) == (True, 1, 0)
        supervisor.stop()
        await clock.wait_until([running], clock.now() + 15 * clock.SECOND)
        assert running.done()
    assert 0 < len(lived) < len(heard), "by chance all calls were one worker's"
    assert [(len(one.waits_us), one.unanswered) for one in lived] == [(len(SAYS), 0)] * len(lived)
    folders = sorted((tmp_path / "runs").glob("serve*"))
    calls = [record for folder in folders for record in records(folder)]
    ends = Counter(record.ended for record in calls)
    assert ends == {"caller hung up (stop)": len(lived) + 1, DIED: len(heard) - len(lived)}
    assert {record.call for record in calls} == kept(tmp_path)
    [left] = [folder for folder in folders if DIED in {record.ended for record in records(folder)}]
    assert len(list(left.glob("*.vcon"))) == len(records(left)) == len(heard) - len(lived)
    turns = Counter(row.call for row in written(left) if row.kind == "turn")
    assert all(record.turns == turns[record.call] for record in records(left))
    assert not list((tmp_path / "runs").glob(f"*/{BEGUN}"))
