"""What the tests of the page share: a server with the page on it, and a page's end of its socket."""

from __future__ import annotations

import contextlib
import json
import re

import aiohttp
import msgspec
import numpy as np
from floors import QUICK, SAYS, open_tones

from turnbudget.serving.server import Server, Settings
from turnbudget.serving.sockets import browser
from turnbudget.settings.config import dump
from turnbudget.testing.tones import tone_of
from turnbudget.voice.time import clock
from turnbudget.voice.time.clock import MS, SECOND
from turnbudget.voice.time.crew import Crew

FRAME = 320
HELLO = {"event": "hello", "version": 1, "rate": 16_000, "frame": FRAME}


@contextlib.asynccontextmanager
async def serving_page(tmp_path, *, config=QUICK, opener=open_tones, floor=None, worker=None, **serve):
    """A server with the page, on a free port of this machine; and its address."""
    agent = tmp_path / "agent.toml"
    agent.write_text(dump(config))
    path = tmp_path / "floor.toml" if floor is not None else None
    if path:
        path.write_text(floor)
    changed = {"port": 0, "out": str(tmp_path / "runs"), "drain_ms": 0, **serve}
    settings = Settings(path, agent, lambda table: msgspec.structs.replace(table, **changed))
    server = Server(settings, worker=worker, opener=opener, mounts=lambda *_: (browser.mount,))
    async with Crew() as crew:
        task = crew.create_task(server.run(), name="server")
        opened = crew.create_task(server.open.wait(), name="open")
        await clock.wait_until([task, opened], clock.now() + 60 * SECOND, first=True)
        if task.done():
            task.result()
        try:
            yield server, f"http://127.0.0.1:{server.listening.port}"
        finally:
            server.stop()
            await clock.wait_until([task], clock.now() + 10 * SECOND)
            assert task.done(), "the server did not end"
            task.result()


class End:
    """A page's end of one socket, without a browser: it speaks tones and acknowledges nothing by itself."""

    def __init__(self, socket):
        self.socket = socket
        self.heard = []
        self.told = []
        self.at = 0

    async def say(self, **event):
        await self.socket.send_str(json.dumps(event))

    async def frame(self, samples):
        await self.socket.send_bytes(self.at.to_bytes(4, "little") + samples.astype("<i2").tobytes())
        self.at += FRAME

    async def next(self):
        """Take one message; what is told, a frame, or ``None`` at the end."""
        message = await self.socket.receive()
        if message.type is aiohttp.WSMsgType.BINARY:
            self.heard.append(message.data)
            return message.data
        if message.type is aiohttp.WSMsgType.TEXT:
            self.told.append(json.loads(message.data))
            return self.told[-1]
        return None

    async def until(self, event):
        """Return the first *event* that is told, or ``None`` if the socket closes before."""
        async with clock.move_on_at(clock.now() + 10 * SECOND):
            while (told := await self.next()) is not None:
                if isinstance(told, dict) and told["event"] == event:
                    return told
        return None

    async def speak(self, sentence, then_us=SECOND):
        """Say *sentence* as its tone, and nothing for *then_us*, at the pace of speech."""
        tone = tone_of(sentence, SAYS, 16_000)
        sound = np.concatenate([tone, np.zeros(then_us * 16 // MS - tone.size % FRAME, np.int16)])
        due = clock.now()
        for start in range(0, sound.size - FRAME + 1, FRAME):
            await self.frame(sound[start : start + FRAME])
            due += 20 * MS
            await clock.sleep_until(due)


async def page_of(session, url):
    """Return the page's text and its pass."""
    async with session.get(url) as answer:
        text = await answer.text()
    return text, re.search(r'name="token" content="([^"]*)"', text)[1]


@contextlib.asynccontextmanager
async def dialled(session, url, origin=None, **hello):
    """An end that has said hello."""
    async with session.ws_connect(f"{url}/talk", headers={"Origin": origin or url}) as socket:
        end = End(socket)
        await end.say(**HELLO | hello)
        yield end
