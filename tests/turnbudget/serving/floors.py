"""What the tests of the server share: a server with scripted engines, and callers on real sockets."""

from __future__ import annotations

import contextlib
import dataclasses
import uuid

import aiohttp
import msgspec

from turnbudget.serving.server import Server, Settings
from turnbudget.settings.compose import open_studio
from turnbudget.settings.config import (
    AsrTable,
    Config,
    EndpointTable,
    OtherwiseTable,
    PhraseTable,
    ResponderTable,
    RuleTable,
    SpeculationTable,
    TtsTable,
    VadTable,
    dump,
)
from turnbudget.testing.caller import Caller, over_tcp, over_websocket
from turnbudget.testing.tones import Tones, tone_of
from turnbudget.voice.lines.far.audiosocket import FarAudioSocket
from turnbudget.voice.lines.far.chan_websocket import FarChanWebsocket
from turnbudget.voice.lines.far.jambonz import FarJambonz
from turnbudget.voice.lines.far.twilio import FarTwilio
from turnbudget.voice.lines.far.vonage import FarVonage
from turnbudget.voice.time import clock
from turnbudget.voice.time.crew import Crew

SAYS = ("my balance please", "my savings account", "goodbye then")
QUICK = Config(
    endpoint=EndpointTable(silence_ms=200),
    asr=AsrTable(engine="scripted"),
    vad=VadTable(engine="energy"),
    tts=TtsTable(engine="scripted"),
    phrases=PhraseTable(greeting="Hi.", bridge="Hm.", pardon="What?", apology="Sorry.", reprompt=""),
    responder=ResponderTable(
        (RuleTable("balance", "Yes."), RuleTable("bye", "Bye.")), OtherwiseTable("Right.")
    ),
    speculation=SpeculationTable(disk_mb=0),
)
QUIET_US = 200_000
AUDIOSOCKET = "audiosocket"
FARS = {
    "/twilio/ws": lambda: FarTwilio(began_us=clock.now()),
    "/asterisk/ws": lambda: FarChanWebsocket(began_us=clock.now(), transmits_silence=True),
    "/vonage/ws": lambda: FarVonage(began_us=clock.now()),
    "/jambonz/ws": lambda: FarJambonz(began_us=clock.now()),
    AUDIOSOCKET: lambda: FarAudioSocket(uuid.uuid4().bytes, began_us=clock.now()),
}


async def open_tones(config):
    """A studio whose recogniser hears tones."""
    studio = await open_studio(config)
    return dataclasses.replace(studio, transcriber=Tones(SAYS))


@contextlib.asynccontextmanager
async def serving(tmp_path, *, floor=None, opener=open_tones, config=QUICK, mounts=lambda *_: (), **serve):
    """A server on free ports of this machine, and what happens on it; *floor* is the text of its file."""
    agent = tmp_path / "agent.toml"
    agent.write_text(dump(config))
    path = tmp_path / "floor.toml" if floor is not None else None
    if path:
        path.write_text(floor)
    changed = {"port": 0, "audiosocket_port": 0, "out": str(tmp_path / "runs"), "drain_ms": 0, **serve}
    settings = Settings(path, agent, lambda table: msgspec.structs.replace(table, **changed))
    server = Server(settings, opener=opener, mounts=mounts)
    happenings = []
    async with Crew() as crew:
        task = crew.create_task(server.run(), name="server")
        opened = crew.create_task(server.open.wait(), name="open")
        await clock.wait_until([task, opened], clock.now() + 10 * clock.SECOND, first=True)
        if task.done():
            task.result()
        server.floor.watch(happenings.append)
        try:
            yield server, happenings
        finally:
            server.stop()
            await clock.wait_until([task], clock.now() + 10 * clock.SECOND)
            assert task.done(), "the server did not end"
            task.result()


async def until(true, seconds=5.0):
    """Wait until *true* says so; fail if it does not in time."""
    ends = clock.now() + round(seconds * clock.SECOND)
    while not true():
        assert clock.now() < ends, "it did not come to that"
        await clock.sleep(5 * clock.MS)


def url(server, path, scheme="http"):
    """Where *path* is."""
    return f"{scheme}://127.0.0.1:{server.listening.port}{path}"


def caller(far, says=SAYS, **how):
    """A caller behind *far* who says *says*."""
    return Caller(far, [tone_of(sentence, SAYS, far.rate) for sentence in says], quiet_us=QUIET_US, **how)


async def call(server, path, far=None, says=SAYS, headers=None, **how):
    """Hold a call at *path*, or over the AudioSocket; return what its caller heard."""
    far = far or FARS[path]()
    if path == AUDIOSOCKET:
        return await over_tcp(caller(far, says, **how), "127.0.0.1", server.listening.audiosocket_port)
    async with (
        aiohttp.ClientSession() as session,
        session.ws_connect(url(server, path), headers=headers) as socket,
    ):
        return await over_websocket(caller(far, says, **how), socket)


async def ask(server, method, path, **how):
    """Send a request; return its status and its text."""
    async with (
        aiohttp.ClientSession() as session,
        session.request(method, url(server, path), **how) as response,
    ):
        return response.status, await response.text()
