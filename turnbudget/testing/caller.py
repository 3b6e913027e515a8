"""SIMULATED: a caller behind a simulated carrier, on a real socket, in real time.

They wait until the greeting is over, say a sentence, wait for the answer to end, say the next, and hang up.
What they measure is theirs: from the last sample they said to the first they heard, and how evenly frames
came.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from aiohttp import WSMsgType

from turnbudget.voice.sound import audio
from turnbudget.voice.time import clock
from turnbudget.voice.time.crew import Crew

if TYPE_CHECKING:
    from collections.abc import Coroutine, Sequence

    from aiohttp import ClientWebSocketResponse

    from turnbudget.voice.lines.dialect import Message
    from turnbudget.voice.lines.far.side import FarSide
    from turnbudget.voice.sound.audio import Int16

QUIET_US: Final = 500 * clock.MS
"""How long nothing sounds when a reply is over."""
DEAF_US: Final = 8 * clock.SECOND
"""How long an answer is waited for."""
APART_US: Final = 100 * clock.MS
"""Frames further apart than this are not of one sound."""
AUDIBLE: Final = 300
"""A sample as loud as this is heard."""


@dataclass(slots=True)
class CallerReport:
    """What a caller made of a call."""

    waits_us: list[int] = field(default_factory=list)
    """From the last sample of each sentence to the first that was heard of an answer."""
    unanswered: int = 0
    jitter_us: list[int] = field(default_factory=list)
    """How far from 20 ms apart frames of one sound came."""
    greeted: bool = False
    closed: str = ""
    """Why the call ended."""


class Caller:
    """A simulated caller who says *sentences* (sound at the rate of *far*), one a turn, then hangs up."""

    def __init__(
        self, far: FarSide, sentences: Sequence[Int16], *, quiet_us: int = QUIET_US, hangs_up: bool = True
    ) -> None:
        self.far = far
        self.heard = CallerReport()
        self._sentences = list(sentences)
        self._quiet_us = quiet_us
        self._hangs_up = hangs_up
        self._began_us = self._loud_us = clock.now()
        self._said_us: int | None = None
        """When the sentence that waits for an answer will have been said."""
        self._frame_us = self._frame_size = 0

    @property
    def over(self) -> bool:
        """Whether the call is over, whoever ended it."""
        return bool(self.far.closed)

    def advance(self) -> list[Message]:
        """Let the time until now pass; return what the far side sends."""
        now = clock.now()
        messages = self.far.advance(now)
        frames = self.far.playout.heard()
        for start in range(0, frames.size, self.far.frame):
            if int(abs(frames[start : start + self.far.frame]).max()) >= AUDIBLE:
                self._listen(now)
        self._act(now)
        return [*messages, *self.far.advance(now)] if self.over else messages

    def receive(self, message: Message) -> None:
        """Take what we are sent."""
        now = clock.now()
        if len(message) > 100:  # noqa: PLR2004 - audio, not control
            apart, size = now - self._frame_us, len(message)
            if apart < APART_US and size == self._frame_size:  # the first and the last of a reply are shorter
                self.heard.jitter_us.append(abs(apart - audio.FRAME_US))
            self._frame_us, self._frame_size = now, size
        self.far.receive(message, now)

    def _listen(self, now: int) -> None:
        self._loud_us = now
        if self._said_us is None:
            self.heard.greeted = self.heard.greeted or not self.heard.waits_us
        elif now >= self._said_us:
            self.heard.waits_us.append(now - self._said_us)
            self._said_us = None

    def _act(self, now: int) -> None:
        """Say the next sentence when it is our turn; hang up behind the last answer."""
        if self._said_us is not None:
            if now - self._said_us < DEAF_US:
                return
            self.heard.unanswered += 1
            self._said_us = None
        if now - self._loud_us < self._quiet_us or (
            not self.heard.greeted and now - self._began_us < DEAF_US // 4
        ):
            return
        if self._sentences:
            sound = self._sentences.pop(0)
            self.far.say(sound)
            frames = -(-sound.size // self.far.frame)
            self._said_us = now + frames * audio.FRAME_US
        elif self._hangs_up:
            self.far.hang_up()


async def over_websocket(caller: Caller, socket: ClientWebSocketResponse) -> CallerReport:
    """Hold *caller*'s call on *socket*, which is open, to its end."""

    async def send(message: Message) -> None:
        await (socket.send_str(message) if isinstance(message, str) else socket.send_bytes(message))

    async def read() -> None:
        async for message in socket:
            if message.type in {WSMsgType.TEXT, WSMsgType.BINARY}:
                caller.receive(message.data)

    async def tick() -> None:
        while not caller.over:
            for message in caller.advance():
                await send(message)
            await clock.sleep_until(caller.far.next_us)

    try:
        await _either(read(), tick())
    except ConnectionError as error:
        caller.far.closed = caller.far.closed or f"the socket broke ({type(error).__name__})"
    caller.heard.closed = caller.far.closed or f"we closed ({socket.close_code})"
    await socket.close()
    return caller.heard


async def over_tcp(caller: Caller, host: str, port: int) -> CallerReport:
    """Hold *caller*'s call on a TCP stream of its own to its end."""
    reader, writer = await asyncio.open_connection(host, port)

    async def read() -> None:
        while data := await reader.read(65_536):
            caller.receive(data)

    async def tick() -> None:
        while not caller.over:
            for message in caller.advance():
                writer.write(message if isinstance(message, bytes) else message.encode())
            await clock.sleep_until(caller.far.next_us)

    try:
        await _either(read(), tick())
    except ConnectionError as error:
        caller.far.closed = caller.far.closed or f"the stream broke ({type(error).__name__})"
    finally:
        writer.close()
    caller.heard.closed = caller.far.closed or "we closed"
    return caller.heard


async def _either(*works: Coroutine[None, None, None]) -> None:
    """Run *works* until one of them ends."""
    async with Crew() as crew:
        tasks = [crew.create_task(work, name="caller") for work in works]
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
