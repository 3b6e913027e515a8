"""Whatever comes over a socket costs that socket at most: calls beside it keep their time."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import logging
import random
import tracemalloc

import aiohttp
import pytest
from floors import AUDIOSOCKET, FARS, SAYS, call, caller, serving, until, url

from turnbudget.serving.events import CallBegan, CallEnded, TurnEnded
from turnbudget.testing.caller import over_tcp, over_websocket
from turnbudget.voice.lines.far.twilio import FarCall, FarTwilio
from turnbudget.voice.time import clock
from turnbudget.voice.time.crew import Crew

pytestmark = [pytest.mark.clock("wall"), pytest.mark.quiet]
BUDGET_US = 800_000
TALK = SAYS[:1]
MESSAGES = 2_000
START = 2
"""Which of a socket's messages is as it should be: the first of the call."""
LARGE = bytes(1_000_000)
GROWTH = 32 * 1024 * 1024
"""Bytes by which a server may grow, whatever it is sent: some buffers of each of its sockets."""
SOCKETS = tuple(path for path in FARS if path != AUDIOSOCKET)


def twilio(number):
    """A carrier's call of its own."""
    return FarTwilio(began_us=clock.now(), call=FarCall(call=f"CA{number}", stream=f"MZ{number}"))


def mutated(chance, message):
    """*message* with something wrong: bytes changed, cut, doubled, blown up, or another kind of message."""
    data = bytearray(message if isinstance(message, bytes) else message.encode())
    match chance.randrange(7):
        case 0:
            for _ in range(1 + len(data) // 50):
                data[chance.randrange(len(data))] = chance.randrange(256)
        case 1:
            del data[chance.randrange(len(data)) :]
        case 2:
            at = chance.randrange(len(data))
            data[at:at] = data[: chance.randrange(len(data))]
        case 3:
            data = bytearray(chance.randbytes(chance.randrange(2_000)))
        case 4:
            data = bytearray(base64.b64encode(chance.randbytes(chance.randrange(200))))
        case 5:
            data += bytes(chance.randrange(60_000))
        case _:
            return message
    if isinstance(message, bytes) == (chance.random() < 0.9):
        return bytes(data)
    return data.decode("utf-8", "replace")


@contextlib.asynccontextmanager
async def undisturbed(server, happenings):
    """Calls beside whatever happens in the block; then check that they were in time, and the next is."""
    async with Crew() as crew:
        works = [call(server, path, twilio(number), TALK) for number, path in enumerate(["/twilio/ws"] * 2)]
        tasks = [crew.create_task(work, name="beside") for work in works]
        await until(lambda: len(server.floor.calls) >= len(tasks))
        yield
        heard = [await task for task in tasks]
    heard.append(await call(server, "/twilio/ws", twilio(3), TALK))
    for one in heard:
        assert (one.greeted, len(one.waits_us), one.unanswered) == (True, len(TALK), 0)
        assert [wait for wait in one.waits_us if wait > BUDGET_US] == []
    await until(lambda: not server.floor.calls and not len(server.floor.pending), 10)
    began = [one.call for one in happenings if isinstance(one, CallBegan)]
    ended = [one.record for one in happenings if isinstance(one, CallEnded)]
    assert sorted(record.call for record in ended) == sorted(began)
    assert [record.ended for record in ended if "we failed" in record.ended] == []


def faults(caplog):
    """What was logged of our own faults."""
    return [one.getMessage() for one in caplog.records if one.levelno >= logging.ERROR and one.exc_info]


async def test_thousands_of_mutated_messages_over_each_socket(tmp_path, caplog):
    """Text and binary, before the start and in mid-call; a socket that is closed is opened anew."""
    async with (
        serving(tmp_path, most_calls=500) as (server, happenings),
        undisturbed(server, happenings),
        aiohttp.ClientSession() as session,
        Crew() as crew,
    ):
        for number, path in enumerate(SOCKETS):
            work = over_websockets(session, url(server, path), path, random.Random(number))  # noqa: S311 - any
            crew.create_task(work, name=path)
        crew.create_task(over_streams(server.listening.audiosocket_port, random.Random(9)), name="tcp")  # noqa: S311 - any
    assert faults(caplog) == []


async def over_websockets(session, address, path, chance):
    """Send what a carrier at *path* would, much of it mutated."""
    sent = 0
    while sent < MESSAGES:
        far = twilio(100 + sent) if path == "/twilio/ws" else FARS[path]()
        told = far.advance(clock.now()) or ["{}"]
        async with session.ws_connect(address) as socket:
            with contextlib.suppress(ConnectionError):
                for number in range(chance.randrange(1, 200)):
                    message = told[0] if number == START else mutated(chance, chance.choice(told))
                    await (
                        socket.send_bytes(message) if isinstance(message, bytes) else socket.send_str(message)
                    )
                    told = far.advance(clock.now()) or told
                    sent += 1
                    if number % 20 == 0:
                        await clock.sleep(1)


async def over_streams(port, chance):
    """Send what Asterisk would over AudioSocket, much of it mutated."""
    sent = 0
    while sent < MESSAGES:
        far = FARS[AUDIOSOCKET]()
        told = far.advance(clock.now())
        async with connected(port) as (_, writer):
            for number in range(chance.randrange(1, 100)):
                message = told[0] if number == 0 and sent % 2 else mutated(chance, chance.choice(told))
                writer.write(as_bytes(message))
                sent += 1
                await writer.drain()
                told = far.advance(clock.now()) or told
            await clock.sleep(1)


def as_bytes(message):
    """*message* on a stream."""
    return message if isinstance(message, bytes) else message.encode()


async def test_oversized_messages_leave_no_memory_behind(tmp_path):
    async with serving(tmp_path) as (server, happenings):
        tracemalloc.start()
        try:
            async with undisturbed(server, happenings), aiohttp.ClientSession() as session:
                before, _ = tracemalloc.get_traced_memory()
                for number in range(40):
                    path = SOCKETS[number % len(SOCKETS)]
                    async with session.ws_connect(url(server, path)) as socket:
                        with contextlib.suppress(ConnectionError):
                            await (
                                socket.send_bytes(LARGE) if number % 2 else socket.send_str(LARGE.decode())
                            )
                            await socket.receive()
                after, most = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert after - before < GROWTH / 4
    assert most - before < GROWTH


async def test_a_thousand_connections_in_a_second_keep_no_call_out(tmp_path):
    """Half of them ask for a call, more than are taken; all are gone soon, and so is what they cost."""
    async with serving(tmp_path, most_calls=20, most_waiting=64, start_ms=700) as (server, happenings):
        before = len(asyncio.all_tasks())
        began = clock.now()
        async with undisturbed(server, happenings), Crew() as crew:
            for number in range(1_000):
                crew.create_task(knock(server, number), name="knock")
                if number % 20 == 0:
                    await clock.sleep_until(began + number * clock.MS)
            await until(lambda: len(server.floor.pending) <= 64)
        assert len(server.floor.pending) <= 64
        await until(lambda: len(asyncio.all_tasks()) <= before + 4)


async def knock(server, number):
    """Open a socket, say nothing or half a request, and wait until it is closed."""
    port = server.listening.audiosocket_port if number % 4 == 3 else server.listening.port
    upgrade = "GET /twilio/ws HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    keys = "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
    async with connected(port) as (reader, writer):
        writer.write(("", upgrade + keys, upgrade, "")[number % 4].encode())
        while await reader.read(1_000):
            pass


@contextlib.asynccontextmanager
async def connected(port):
    """A stream to *port*, which may break."""
    with contextlib.suppress(ConnectionError):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        try:
            yield reader, writer
        finally:
            writer.close()


async def test_a_byte_a_second_is_no_request_and_no_call(tmp_path):
    """TEL-08, slow loris: bytes that dribble keep no socket open longer than silence does."""
    async with serving(tmp_path, start_ms=1_000) as (server, happenings):
        async with undisturbed(server, happenings), Crew() as crew:
            ports = [server.listening.port, server.listening.audiosocket_port]
            tasks = [crew.create_task(dribble(ports[n % 2]), name="loris") for n in range(100)]
            lasted = [await task for task in tasks]
        assert max(lasted) <= 2_500_000


async def dribble(port):
    """Send a byte a second; return how long that went on."""
    began = clock.now()
    async with connected(port) as (reader, writer):
        for byte in b"\x01GET /healthz HTTP/1.1":
            writer.write(bytes([byte]))
            async with clock.move_on_at(clock.now() + clock.SECOND) as scope:
                await reader.read(1)
            if not scope.expired():
                break
    return clock.now() - began


async def test_a_call_id_that_comes_again_and_a_caller_who_leaves_during_the_greeting(tmp_path):
    async with (
        serving(tmp_path) as (server, happenings),
        undisturbed(server, happenings),
        aiohttp.ClientSession() as session,
    ):
        for number in range(20):
            one = caller(twilio(50 + number % 2), says=())
            ends = clock.now() + 10_000 * number
            async with session.ws_connect(url(server, "/twilio/ws")) as socket, clock.move_on_at(ends):
                await over_websocket(one, socket)
        left = caller(FARS[AUDIOSOCKET](), says=())
        async with clock.move_on_at(clock.now() + 100 * clock.MS):
            await over_tcp(left, "127.0.0.1", server.listening.audiosocket_port)
    turns = [one.row for one in happenings if isinstance(one, TurnEnded)]
    assert [row for row in turns if row.outcome in {"failed", "silent"}] == []
