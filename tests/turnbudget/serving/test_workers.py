"""Several workers on one port: one that dies is started again, and all of them end together."""

from __future__ import annotations

import contextlib
import logging
import re
import socket

import aiohttp
import msgspec
import pytest
from floors import QUICK, until

from turnbudget.commands.serve import log_handler
from turnbudget.serving.doors.once import OnceStore
from turnbudget.serving.doors.passes import Passes
from turnbudget.serving.workers import Shared, Supervisor, told
from turnbudget.settings.config import dump
from turnbudget.voice.errors import UsageError
from turnbudget.voice.time import clock
from turnbudget.voice.time.crew import Crew

PROGRAM = "from turnbudget.commands.serve import serve_command; serve_command(prog_name='serve')"


def free_port():
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


async def answers(port):
    """Whether somebody answers on *port*."""
    with contextlib.suppress(aiohttp.ClientError):
        address = f"http://127.0.0.1:{port}/readyz"
        async with aiohttp.ClientSession() as session, session.get(address) as response:
            return response.status == 200
    return False


async def until_ready(port):
    """Wait until somebody answers on *port*."""
    ends = clock.now() + 20 * clock.SECOND
    while not await answers(port):
        assert clock.now() < ends
        await clock.sleep(50 * clock.MS)


@pytest.mark.quiet
@pytest.mark.clock("wall")
async def test_a_worker_that_is_killed_is_started_again_and_the_other_answers_meanwhile(tmp_path):
    (tmp_path / "agent.toml").write_text(dump(QUICK))
    port, own = free_port(), free_port()
    options = ("--config", tmp_path / "agent.toml", "--port", port, "--out", tmp_path / "runs")
    alone = ("--ops-port", own, "--worker")
    supervisor = Supervisor(["-c", PROGRAM, *map(str, (*options, *alone))], 2, drain_us=clock.SECOND)
    async with Crew() as crew:
        running = crew.create_task(supervisor.run(), name="supervisor")
        await until_ready(port)
        await until(lambda: len(list((tmp_path / "runs").glob("serve*"))) == 2, 20)
        for number in (1, 2):
            await until_ready(own + number)
        victim = supervisor.processes[1]
        victim.kill()
        await until_ready(port)
        await until(lambda: supervisor.processes[1] is not victim, 10)
        assert supervisor.restarts == 1
        await until(lambda: len(list((tmp_path / "runs").glob("serve*"))) == 3, 20)
        supervisor.stop()
        await clock.wait_until([running], clock.now() + 15 * clock.SECOND)
        assert running.done()
        assert [process.returncode for process in supervisor.processes.values()] == [0, 0]
    assert not await answers(port)


@pytest.mark.clock("wall")
async def test_a_worker_that_is_just_being_started_is_told_to_end_as_well():
    """It served on until it was killed, with the calls that it had taken meanwhile."""
    supervisor = Supervisor(["-c", "import time; time.sleep(60)"], 2, drain_us=60 * clock.SECOND)
    async with Crew() as crew:
        running = crew.create_task(supervisor.run(), name="supervisor")
        await clock.sleep(0)
        await clock.sleep(0)
        assert not supervisor.processes
        supervisor.stop()
        await clock.wait_until([running], clock.now() + 10 * clock.SECOND)
        assert running.done()


def test_a_line_of_the_log_keeps_its_time_and_no_number_of_a_person():
    record = logging.LogRecord("x", logging.INFO, "", 0, "call from +1 555-010-0199 began", (), None)
    line = log_handler().format(record)
    assert line.endswith(" INFO call from [phone] began")
    assert re.match(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} ", line)


def test_a_worker_is_told_which_it_is_by_its_supervisor_alone():
    line = msgspec.json.encode(Shared(2, 4, "c2VjcmV0", "/somewhere"))
    worker = told(line)
    assert (worker.number, worker.of, worker.secret) == (2, 4, b"secret")
    with pytest.raises(UsageError, match="--workers"):
        told(b"")


async def test_a_pass_of_one_worker_is_good_at_another_and_once_in_all(tmp_path):
    one, other = (Passes(OnceStore(tmp_path / "notes"), b"shared") for _ in range(2))
    text, shown = one.issue("acme", "CA1")
    assert other.redeem(text) == shown
    assert one.redeem(text) is None
    assert other.redeem(text) is None


async def test_a_pass_that_is_false_too_old_or_of_another_server_is_none(tmp_path):
    passes = Passes(OnceStore(tmp_path / "notes"), b"ours")
    text, _ = passes.issue("acme")
    head, _, signature = text.partition(".")
    for false in (
        "",
        ".",
        head,
        f"{head}.",
        f"{head}.AAAA",
        f"é.{signature}",
        "x" * 5_000,
        f"{head[:-2]}.{signature}",
    ):
        assert passes.redeem(false) is None
    assert Passes(OnceStore(tmp_path / "notes"), b"theirs").redeem(text) is None
    await clock.sleep(61 * clock.SECOND)
    assert passes.redeem(text) is None
