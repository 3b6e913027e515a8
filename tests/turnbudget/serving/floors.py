"""What the tests of the server share: a server with scripted engines, and callers on real sockets."""

from __future__ import annotations

import contextlib
import dataclasses

import aiohttp
import msgspec

from turnbudget.compose import open_studio
from turnbudget.config import (
    AsrTable,
    Config,
    EndpointTable,
    PhraseTable,
    TtsTable,
    VadTable,
    SpeculationTable,
)
from turnbudget.serving.caller import Caller, over_tcp, over_websocket
from turnbudget.serving.server import Server, Settings
from turnbudget.serving.tones import Tones, tone_of
from voice import clock
from voice.crew import Crew

SAYS = ("what is my balance", "i lost my card", "goodbye then")
QUICK = Config(
    endpoint=EndpointTable(silence_ms=200),
    asr=AsrTable(engine="scripted"),
    vad=VadTable(engine="energy"),
    tts=TtsTable(engine="scripted"),
    phrases=PhraseTable(greeting="Hello.", bridge="Hm.", pardon="What?", apology="Sorry.", reprompt=""),
    speculation=SpeculationTable(disk_mb=0),
)


async def open_tones(config):
    """A studio whose recogniser hears tones."""
    studio = await open_studio(config)
    return dataclasses.replace(studio, transcriber=Tones(SAYS))


@contextlib.asynccontextmanager
async def serving(tmp_path, *, floor=None, opener=open_tones, config=QUICK, **serve):
    """A server on free ports of this machine; *floor* is the text of its file."""
    from turnbudget.config import dump

    agent = tmp_path / "agent.toml"
    if not agent.exists():
        agent.write_text(dump(config))
    path = None
    if floor is not None:
        path = tmp_path / "floor.toml"
        path.write_text(floor)
    settings = {"port": 0, "audiosocket_port": 0, "out": str(tmp_path / "runs"), "drain_ms": 0, **serve}
    server = Server(
        Settings(path, agent, lambda table: msgspec.structs.replace(table, **settings)), opener=opener
    )
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


def sounds(far, says=SAYS):
    """Sentences as a far side's caller says them."""
    return [tone_of(sentence, SAYS, far.rate) for sentence in says]


async def call(server, path, far, says=SAYS, headers=None, **how):
    """Hold a call over a WebSocket; what its caller heard."""
    url = f"http://127.0.0.1:{server.listening.port}{path}"
    async with aiohttp.ClientSession() as session, session.ws_connect(url, headers=headers) as socket:
        return await over_websocket(Caller(far, sounds(far, says), **how), socket)


async def call_audiosocket(server, far, says=SAYS, **how):
    """Hold a call over an AudioSocket."""
    return await over_tcp(
        Caller(far, sounds(far, says), **how), "127.0.0.1", server.listening.audiosocket_port
    )
