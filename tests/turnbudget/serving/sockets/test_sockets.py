"""Sockets that misbehave: silent, slow, gone, twice, too long; the others never notice."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random
import socket as sockets

import aiohttp
import pytest
from floors import FARS, SAYS, ask, call, caller, serving, until, url

from turnbudget.serving.events import CallBegan, CallEnded, TurnEnded
from turnbudget.serving.sockets import browser
from turnbudget.serving.sockets.websocket import Outbox
from turnbudget.testing.caller import over_websocket
from turnbudget.voice.lines.far.chan_websocket import FarChanWebsocket
from turnbudget.voice.lines.far.twilio import FarCall, FarTwilio
from turnbudget.voice.time import clock
from turnbudget.voice.time.crew import Crew

RESET = b"\x01\0\0\0\0\0\0\0"
"""Linger for 0 s: closing resets the connection."""
wall = pytest.mark.clock("wall")


def ended(happenings):
    """How calls ended."""
    return [one.record.ended for one in happenings if isinstance(one, CallEnded)]


async def knock(port, path=""):
    """A connection; with a *path*, one that was upgraded and says nothing more."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    if path:
        writer.write(
            f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n".encode()
        )
        await reader.readuntil(b"\r\n\r\n")
    return reader, writer


@wall
@pytest.mark.quiet
async def test_silent_sockets_are_dropped_and_keep_no_call_out(tmp_path):
    """TEL-08: 200 upgraded sockets, 50 connections without a request, and calls that come meanwhile."""
    async with serving(tmp_path, most_waiting=32, start_ms=700) as (server, _):
        silent = [await knock(server.listening.port, "/twilio/ws") for _ in range(200)]
        silent += [await knock(server.listening.port) for _ in range(50)]
        silent += [await knock(server.listening.audiosocket_port) for _ in range(50)]
        assert len(server.floor.pending) <= 32
        for _, writer in silent[200:250]:
            writer.write(b"G")
        assert (await call(server, "/twilio/ws", says=())).greeted
        assert (await call(server, "audiosocket", says=())).greeted
        await until(lambda: not (len(server.floor.pending) or len(server.listening.pending)), 2)
        for reader, writer in silent:
            with pytest.raises((asyncio.IncompleteReadError, ConnectionError)):
                await reader.readexactly(1)
            writer.close()


@wall
async def test_a_second_stream_of_a_call_takes_it_over(tmp_path):
    """TEL-09: one voice, one greeting, the first stream closed; and the next call works."""
    async with serving(tmp_path) as (server, happenings), Crew() as crew:
        first = crew.create_task(call(server, "/twilio/ws", says=(), hangs_up=False), name="first")
        await until(lambda: any(isinstance(one, TurnEnded) for one in happenings))
        far = FarTwilio(began_us=clock.now(), call=FarCall(stream="MZ2"))
        second = await call(server, "/twilio/ws", far, says=SAYS[:1])
        assert (await first).closed.startswith("we closed")
        assert len(second.waits_us) == 1
        assert not second.greeted
        await until(lambda: not server.floor.calls)
        assert len([one for one in happenings if isinstance(one, CallBegan)]) == 1
        rows = [one.row for one in happenings if isinstance(one, TurnEnded)]
        assert [(row.kind, row.heard) for row in rows] == [("greeting", ""), ("turn", SAYS[0])]
        assert all(row.in_time for row in rows)
        assert (await call(server, "/twilio/ws", says=())).greeted


@wall
async def test_callers_who_vanish_at_any_moment_leave_nothing_behind(tmp_path):
    """TEL-10: half of them with a reset; tasks are back to their number in 2 s, the next call is in time."""
    chance = random.Random(10)  # noqa: S311 - any moment will do
    async with serving(tmp_path) as (server, happenings):
        await call(server, "/twilio/ws", says=())
        await until(lambda: not server.floor.calls)
        before = len(asyncio.all_tasks())

        async def vanish(number):
            now, path = clock.now(), ("/twilio/ws", "/asterisk/ws")[number % 2]
            far = FarChanWebsocket(began_us=now, channel=f"{number}", transmits_silence=True)
            if "twilio" in path:
                far = FarTwilio(began_us=now, call=FarCall(call=f"CA{number}", stream=f"MZ{number}"))
            one = caller(far)
            async with aiohttp.ClientSession() as session:
                socket = await session.ws_connect(url(server, path))
                transport = socket._response.connection.transport
                with contextlib.suppress(TimeoutError):
                    async with clock.move_on_at(clock.now() + chance.randrange(50_000, 2_500_000)):
                        await over_websocket(one, socket)
                if number % 4 < 2:
                    raw = transport.get_extra_info("socket")
                    raw.setsockopt(sockets.SOL_SOCKET, sockets.SO_LINGER, RESET)
                transport.abort()

        async with Crew() as crew:
            await asyncio.wait([crew.create_task(vanish(number), name="caller") for number in range(15)])
        await until(lambda: not server.floor.calls and len(asyncio.all_tasks()) <= before, 2)
        assert not any("failed" in how for how in ended(happenings))
        heard = await call(server, "/twilio/ws", says=SAYS[:1])
        assert max(heard.waits_us) <= 800_000


@wall
async def test_an_oversized_message_costs_its_socket_and_a_malformed_one_itself(tmp_path):
    async with serving(tmp_path) as (server, happenings), aiohttp.ClientSession() as session:
        socket = await session.ws_connect(url(server, "/twilio/ws"))
        for message in caller(FARS["/twilio/ws"]()).far.advance(clock.now()):
            await socket.send_str(message)
        await until(lambda: server.floor.calls)
        for odd in ("not json", "[]", '{"event":"media"}', '{"event":"foo"}'):
            await socket.send_str(odd)
        await socket.send_bytes(b"\x00")
        (running,) = server.floor.calls.values()
        await until(lambda: running.line.odd == 5)
        assert running.lives
        await socket.send_str("x" * 2_000_000)
        await until(lambda: ended(happenings))
        assert (await call(server, "/asterisk/ws", says=())).greeted


FORM = "application/x-www-form-urlencoded"


@pytest.mark.parametrize(
    ("path", "headers", "body"),
    [
        ("/twilio/voice", {"Content-Type": f"{FORM}; charset=bogus"}, b"CallSid=CA1"),
        ("/twilio/after", {"Content-Type": FORM}, b"CallSid=\xff"),
        ("/twilio/status", {"Content-Type": f"{FORM}; charset=utf-16"}, b"a=1"),
        (
            "/audiosocket/00000000-0000-0000-0000-000000000007",
            {"Content-Type": f"{FORM}; charset=no"},
            b"a=1",
        ),
    ],
)
@wall
async def test_a_body_that_cannot_be_read_is_refused_in_one_line(tmp_path, caplog, path, headers, body):
    """Whoever sends it: no signature is looked at before."""
    async with serving(tmp_path) as (server, _):
        assert await ask(server, "POST", path, data=body, headers=headers) == (400, "bad request\n")
    assert not [record for record in caplog.records if record.exc_info]


@wall
async def test_an_origin_that_cannot_be_read_is_refused_in_one_line(tmp_path, caplog):
    async with serving(tmp_path, mounts=lambda *_: (browser.mount,)) as (server, _):
        odd = {"Origin": "http://[x"}
        assert (await ask(server, "GET", "/talk", headers=odd))[0] == 403
    assert not [record for record in caplog.records if record.exc_info]


@wall
async def test_an_upgrade_that_cannot_be_read_is_refused_in_one_line(tmp_path, caplog):
    async with serving(tmp_path) as (server, _):
        reader, writer = await asyncio.open_connection("127.0.0.1", server.listening.port)
        writer.write(
            b"GET /asterisk/ws HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: \xff\r\n\r\n"
        )
        assert (await reader.readline()).split()[1] == b"400"
        writer.close()
    assert not [record for record in caplog.records if record.exc_info]


@wall
async def test_a_peer_that_sends_but_never_reads_is_closed(tmp_path, caplog):
    """TEL-20, TEL-11: no pong comes, whatever else does; and the log has a line of it, not a flood."""
    caplog.set_level(logging.INFO)
    async with serving(tmp_path, stall_ms=600) as (server, happenings):
        _, writer = await knock(server.listening.port, "/asterisk/ws")
        writer.transport.pause_reading()
        for message in FARS["/asterisk/ws"]().advance(clock.now()):
            data = message.encode()
            writer.write(b"\x81\xfe" + len(data).to_bytes(2, "big") + bytes(4) + data)
        await until(lambda: server.floor.calls)
        await until(lambda: ended(happenings), 2)
        assert ended(happenings) == ["the peer answers no ping"]
        writer.close()
    assert caplog.text.count("not written") <= 1


async def test_messages_that_a_peer_does_not_take_are_bounded_and_end_its_socket():
    """TEL-20: whichever comes first, too many or too old."""
    broken = []

    async def never(_):
        await asyncio.get_running_loop().create_future()

    async with Crew() as crew:
        many, old = (Outbox(never, broken.append, stall_us=clock.SECOND) for _ in range(2))
        for number, outbox in enumerate((many, old)):
            crew.create_task(outbox.run(), name=f"outbox {number}")
        for _ in range(2_000):
            many.put(b"frame")
        assert broken == ["the peer reads too slowly"]
        for _ in range(100):
            old.put(b"frame")
            await clock.sleep(20 * clock.MS)
        assert broken[1:] == ["the peer does not read"]


async def test_what_is_sent_after_the_end_is_counted_and_logged_once(caplog):
    """TEL-11: the peer closes with eight seconds of a reply to come."""
    caplog.set_level(logging.INFO)
    written = []

    async def write(message):
        written.append(message)
        if len(written) == 2:
            raise ConnectionResetError("gone")

    broken = []
    async with Crew() as crew:
        outbox = Outbox(write, broken.append, stall_us=clock.SECOND)
        task = crew.create_task(outbox.run(), name="outbox")
        for _ in range(400):
            outbox.put(b"frame")
            await clock.sleep(20 * clock.MS)
        assert task.done()
    assert (len(written), broken, outbox.lost) == (2, ["gone"], 398)
    assert [record.message for record in caplog.records] == ["not written, for gone"]
