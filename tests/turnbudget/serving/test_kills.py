"""The kill matrix: what dies while calls run costs its own part of them, and the next call works."""

from __future__ import annotations

import contextlib
import dataclasses
import errno
import os
import signal

import aiohttp
import msgspec
import pytest
from faults import Provider, account, failing
from floors import QUICK, SAYS, ask, call, caller, open_tones, serving, until, url
from seated import Echo, needs_mosquitto, served

from turnbudget.agents.faq import Faq, Passage
from turnbudget.council.convene import Seat
from turnbudget.council.council import Council
from turnbudget.council.remote.agent import RemoteAgent, Requester
from turnbudget.runs import folder as runs
from turnbudget.runs.records import Engine
from turnbudget.serving.events import CallEnded, TurnEnded
from turnbudget.serving.journal import CALLS
from turnbudget.serving.watch.watching import Watching
from turnbudget.settings.answering import Answering
from turnbudget.settings.config import LlmTable, TtsTable, dump
from turnbudget.testing.caller import over_websocket
from turnbudget.testing.mosquitto import Mosquitto
from turnbudget.voice.lines.far.chan_websocket import FarChanWebsocket
from turnbudget.voice.lines.far.twilio import FarCall, FarTwilio
from turnbudget.voice.time import clock
from turnbudget.voice.time.crew import Crew
from turnbudget.voice.tts import pyttsx3

pytestmark = [pytest.mark.clock("wall"), pytest.mark.quiet]
BUDGET_US = 800_000
TALK = SAYS[:2]
"""One sentence before something dies, one after."""
MIXED = ("/twilio/ws", "audiosocket", "/asterisk/ws")


def turns(happenings):
    """The turns so far."""
    return [one.row for one in happenings if isinstance(one, TurnEnded) and one.row.kind == "turn"]


@contextlib.asynccontextmanager
async def calling(server, paths=MIXED):
    """Calls that run; their tasks, which end with the block."""
    async with Crew() as crew:
        yield [crew.create_task(call(server, path, says=TALK), name=path) for path in paths]


def live_on(heard):
    """Check that callers heard an answer to whatever they said."""
    assert [(len(one.waits_us), one.unanswered) for one in heard] == [(len(TALK), 0)] * len(heard)


def twilio(number):
    """A carrier's call of its own."""
    return FarTwilio(began_us=clock.now(), call=FarCall(call=f"CA{number}", stream=f"MZ{number}"))


def lay_tenants(folder):
    """Write down a floor of two tenants, of which the second comes last; return the paths of their calls."""
    table = "[tenants.{0}]\nconfig = '{0}.toml'\ntokens = ['token-of-tenant-{0}']\n"
    for name in "ab":
        (folder / f"{name}.toml").write_text(dump(QUICK))
    (folder / "floor.toml").write_text("".join(table.format(name) for name in "ab"))
    return [f"/twilio/ws/token-of-tenant-{name}" for name in "ab"]


@contextlib.asynccontextmanager
async def both(server, paths):
    """A call that runs at each of *paths*; their tasks, which end with the block."""
    async with Crew() as crew:
        works = [call(server, path, twilio(number), TALK) for number, path in enumerate(paths)]
        yield [crew.create_task(work, name="caller") for work in works]


async def over(server):
    """Wait until no call runs."""
    await until(lambda: not server.floor.calls, 20)


async def next_works(server, path="/twilio/ws"):
    """Hold one more call, whose turn is in time."""
    heard = await call(server, path, twilio(99), SAYS[:1])
    assert heard.greeted
    assert [wait for wait in heard.waits_us if wait > BUDGET_US] == []
    assert (len(heard.waits_us), heard.unanswered) == (1, 0)
    await over(server)


async def test_an_llm_that_stalls_is_bridged_and_excused_and_asked_again(tmp_path):
    provider = Provider()
    async with provider.serving():
        llm = LlmTable(backend=f"openai:http://127.0.0.1:{provider.port}/v1", model="small")
        config = msgspec.structs.replace(QUICK, llm=llm, patience_ms=1_500)
        async with serving(tmp_path, config=config) as (server, happenings):
            async with calling(server) as tasks:
                await until(lambda: len(turns(happenings)) == len(MIXED))
                provider.stalls = True
                await until(lambda: provider.stalled >= len(MIXED))
                live_on([await task for task in tasks])
            await next_works(server)
    rows = account(happenings, server.floor.journal.folder)
    assert all(row.first_sound_us <= BUDGET_US for row in rows)
    assert sum(row.first_answer_us is None for row in rows) >= len(MIXED), "these were only excused"


async def test_a_voice_whose_process_is_killed_in_mid_call_costs_no_turn(tmp_path):
    if not pyttsx3.reachable():
        pytest.skip(f"no real voice: {pyttsx3.REMEDY}")
    config = msgspec.structs.replace(QUICK, tts=TtsTable(engine="pyttsx3"))
    async with serving(tmp_path, config=config) as (server, happenings):
        voice = next(iter(server.floor.door.tenants)).engines.studio.voice
        async with calling(server) as tasks:
            for number in (1, 2):
                await until(lambda seen=number: len(turns(happenings)) >= seen)
                os.kill(voice._live.child.pid, signal.SIGKILL)
            live_on([await task for task in tasks])
        assert voice.replaced >= 1
        await next_works(server)
    rows = account(happenings, server.floor.journal.folder)
    assert all(row.first_sound_us <= BUDGET_US for row in rows)


async def test_a_recogniser_that_dies_costs_one_text_and_the_caller_is_asked_again(tmp_path):
    engine, opener = failing()
    async with serving(tmp_path, opener=opener) as (server, happenings):
        async with calling(server) as tasks:
            await until(lambda: len(turns(happenings)) == len(MIXED))
            engine.faults += ["raises", "hangs", "has a bug"]
            live_on([await task for task in tasks])
        assert engine.faults == []
        await next_works(server)
    rows = account(happenings, server.floor.journal.folder)
    assert sum(not row.heard for row in rows) == len(MIXED)
    assert all(row.first_sound_us <= BUDGET_US for row in rows)


def council_of(requester):
    """Who opens studios answered by a council of one seat here, and one at the far side of a broker."""
    here = Faq("here", [Passage("balance savings account goodbye", "Yes.")], least=0.0)

    async def opener(config):
        def make():
            return Council((Seat(RemoteAgent("echo", requester), rank=1), Seat(here, settle=0.0)), "call")

        answering = Answering(Engine(job="responder", name="council", why="a test"), make)
        return dataclasses.replace(await open_tones(config), answering=answering)

    return opener


@needs_mosquitto
async def test_a_broker_that_stops_costs_a_seats_opinion_and_no_turn(tmp_path):
    async with Mosquitto() as local, Requester(local.broker) as requester, served(Echo(), local.broker):
        await until(lambda: requester.serving("echo"))

        def mounts(server, _):
            return (Watching(server.stop, broker=str(local.broker)).mount,)

        opener = council_of(requester)
        async with serving(tmp_path, opener=opener, mounts=mounts) as (server, happenings):
            async with calling(server) as tasks:
                await until(lambda: len(turns(happenings)) == len(MIXED))
                await local.stop(signal.SIGKILL)
                live_on([await task for task in tasks])
            await next_works(server)
            await local.start()
            await until(lambda: requester.serving("echo"), 20)
            before = len(turns(happenings))
            await next_works(server)
            again = turns(happenings)[before:]
        rows = account(happenings, server.floor.journal.folder)
    assert rows[0].said.startswith("You said")
    assert again[0].said.startswith("You said"), "the seat is back with its broker"
    assert all(row.first_sound_us <= BUDGET_US for row in rows)


async def test_a_full_disk_costs_what_it_refuses_and_what_is_remembered_comes_later(tmp_path, monkeypatch):
    """MET-10: calls live on without a record, with it once there is room, and say so of their sound."""
    paths = lay_tenants(tmp_path)
    floor = (tmp_path / "floor.toml").read_text() + "records = true\n"

    def refuse(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    async with serving(tmp_path, floor=floor) as (server, happenings):
        folder = server.floor.journal.folder
        async with both(server, paths) as tasks:
            await until(lambda: len(turns(happenings)) == len(paths))
            with monkeypatch.context() as full:
                full.setattr(runs, "_write", refuse)
                full.setattr("soundfile.SoundFile.write", refuse)
                (folder / CALLS).symlink_to("/dev/full")
                live_on([await task for task in tasks])
                await over(server)
                assert server.floor.journal.lost == 0
            (folder / CALLS).unlink()
        await next_works(server, paths[1])
    rows = account(happenings, folder)
    assert all(row.in_time for row in rows)
    ended = {one.record.call: one for one in happenings if isinstance(one, CallEnded)}
    noted = sorted((one.tenant, bool(one.record.notes)) for one in ended.values())
    assert noted == [("a", False), ("b", False), ("b", True)]


async def test_a_tenants_settings_that_are_broken_cost_one_line_and_the_old_ones_stay(tmp_path):
    paths = lay_tenants(tmp_path)
    floor = (tmp_path / "floor.toml").read_text()
    async with serving(tmp_path, floor=floor) as (server, happenings):
        async with both(server, paths) as tasks:
            await until(lambda: len(turns(happenings)) == len(paths))
            (tmp_path / "b.toml").write_text("budget_ms = 'soon'")
            status, text = await ask(server, "POST", "/reload")
            assert (status, text.count("\n")) == (409, 1)
            assert "b.toml" in text
            live_on([await task for task in tasks])
        await next_works(server, paths[1])
    rows = account(happenings, server.floor.journal.folder)
    assert len(rows) == 2 * len(TALK) + 1
    assert all(row.in_time for row in rows)


async def test_a_client_that_vanishes_in_mid_reply_ends_its_own_call_and_no_other(tmp_path):
    async with serving(tmp_path) as (server, happenings):
        async with calling(server) as tasks, Crew() as crew:
            for far in (
                twilio(9),
                FarChanWebsocket(began_us=clock.now(), channel="9", transmits_silence=True),
            ):
                one = caller(far, TALK)
                path = "/twilio/ws" if isinstance(far, FarTwilio) else "/asterisk/ws"
                async with aiohttp.ClientSession() as session:
                    socket = await session.ws_connect(url(server, path))
                    crew.create_task(over_websocket(one, socket), name="vanishing")
                    await until(lambda one=one: one.heard.waits_us)
                    before = len(server.floor.calls)
                    socket._response.connection.transport.abort()
                    await until(lambda before=before: len(server.floor.calls) < before, 1)
            live_on([await task for task in tasks])
        await next_works(server)
    account(happenings, server.floor.journal.folder)
    assert sum(isinstance(one, CallEnded) for one in happenings) == len(MIXED) + 3
