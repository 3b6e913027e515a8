"""The Mouth: speech in, paced 20 ms frames out; it knows what has been heard and stops within a frame.

It can be held: it falls silent within a frame, keeps what it has to say, and goes on from there.

Frames leave on the clock's own schedule, each 20 ms after the one before, so that a late wake-up is caught
up and never adds up. Until its first audible sample has left, a reply has no schedule to keep: it sounds
when it is handed over, not when it should have been. Only one reply sounds at a time.

A reply's pieces come as they are rendered, a few ahead of the Mouth. Whoever makes them always says when
they have ended, without waiting, so the Mouth never waits for a piece that nobody makes.
"""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

from turnbudget.voice.sound import audio
from turnbudget.voice.sound.audio import Samples
from turnbudget.voice.time import clock
from turnbudget.voice.time.clock import Micros

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

    from turnbudget.voice.lines.line import Line
    from turnbudget.voice.sound.audio import Int16
    from turnbudget.voice.sound.echo import Echo
    from turnbudget.voice.speaking.tape import Tape
    from turnbudget.voice.tts.synthesizer import Speech


LATE_US: Final = 60 * clock.MS
"""Lateness of a frame that counts as an underrun, at which the schedule starts anew (µs; 60 ms)."""

ASKED: Final = 0.6
"""Share of a question that must be heard before an answer to it counts as one."""

Sounding: TypeAlias = "Callable[[Micros, Micros], None]"
"""Called once with when the first audible sample left, by the clock and by the tape (µs on the clock)."""


@dataclass(slots=True)
class Playback:
    """What the caller has heard of a reply so far."""

    text: str = ""
    """The words that have sounded."""
    complete: bool = False
    """Whether it was played to its end."""


async def at_once(*pieces: Speech) -> AsyncGenerator[Speech, None]:
    """Yield *pieces* that are ready."""
    for piece in pieces:
        yield piece


class Mouth:
    """Our voice on one line."""

    def __init__(self, line: Line, tape: Tape, echo: Echo | None = None) -> None:
        """Speak on *line*; *echo* is told of every frame, since it will come back."""
        self._line = line
        self._tape = tape
        self._echo = echo
        self._turn = asyncio.Lock()
        self._free = asyncio.Event()
        self._free.set()
        self._due = 0
        self._hushed = False
        """Whether what sounded was faded out, so that nothing is left to fade."""
        self._heard_us: int | None = None
        """When the far side began to sound a reply that was held since (µs on the clock)."""
        self._onset_us = 0
        self.asking = False
        """Whether the latest sound asked a question and most of it was heard."""
        self.sounding_since_us: int | None = None
        """When the current reply began to sound (µs on the clock); ``None`` while none sounds."""
        self.quiet_since_us = clock.now()
        """When our last sound ended (µs on the clock)."""

    @property
    def heard_us(self) -> int | None:
        """When the far side played the latest reply's first audible sample (µs on the clock), if it tells."""
        heard = self._line.heard_us if self._heard_us is None else self._heard_us
        return None if heard is None else heard + self._onset_us

    @property
    def held(self) -> bool:
        """Whether it is held silent."""
        return not self._free.is_set()

    def hold(self) -> None:
        """Fall silent within a frame, and keep what was to be said."""
        self._free.clear()

    def go_on(self) -> None:
        """Go on with what was held."""
        self._free.set()

    async def freed(self) -> None:
        """Wait until it is not held."""
        while self.held:
            await self._free.wait()

    async def play(self, pieces: AsyncGenerator[Speech, None], heard: Playback, sounding: Sounding) -> None:
        """Play *pieces* one after another, adding to *heard*; cancelling stops within a frame."""
        async with contextlib.aclosing(pieces), self._turn:
            told = False
            heard.complete = False
            self._heard_us = None
            try:
                async for piece in pieces:
                    told = await self._piece(piece, heard, None if told else sounding) or told
                self._line.end()
                await clock.sleep_until(self._due)
                heard.complete = True
            finally:
                self.sounding_since_us = None
                self.quiet_since_us = clock.now()

    async def _piece(self, piece: Speech, heard: Playback, sounding: Sounding | None) -> bool:
        """Play one piece; return whether *sounding* has been called."""
        sent, told, size, before = 0, False, piece.samples.size, heard.text
        try:
            while sent < size:
                again = await self._may_go_on(piece.samples[sent : sent + audio.EDGE] if sent else None)
                mute = sounding is not None and not told
                frame = piece.samples[sent : sent + audio.FRAME]
                place = self._send(audio.fade(frame, began=again and sent > 0), begins=mute or again)
                self._hushed = False
                if sounding and mute and sent <= piece.onset < sent + audio.FRAME:
                    told = True
                    self._onset_us = audio.us(piece.onset)
                    self._witness(piece, place, sent, sounding)
                sent = min(sent + audio.FRAME, size)
                heard.text = _so_far(before, piece.text, sent / size)
                self.asking = piece.text.rstrip().endswith("?") and sent > ASKED * size
        except asyncio.CancelledError:
            if not self._hushed:
                self._hush(piece.samples[sent : sent + audio.EDGE] if sent else None)
            raise
        return told

    async def _may_go_on(self, last: Int16 | None) -> bool:
        """Wait until the next frame is due and nobody holds us; return whether somebody did.

        *last* is what would follow what has sounded; if we are held, it fades out. A wait that ends while
        somebody holds us anew goes on: not a frame leaves in between.
        """
        await clock.sleep_until(self._due)
        held = self.held
        if held:
            self._hush(last)
        while self.held:
            await self.freed()
            await clock.sleep_until(self._due)
        return held

    def _hush(self, last: Int16 | None) -> None:
        """Take back what has not sounded yet, and fade out *last*, the samples that would follow."""
        self._hushed = True
        self._heard_us = self._line.heard_us if self._heard_us is None else self._heard_us
        self._line.clear()
        if last is not None and last.size:
            self._send(audio.fade(last, ended=True))
            self._line.end()

    def _send(self, samples: Int16, *, begins: bool = False) -> Samples:
        """Hand over a frame, filled up with silence; return its place on the tape."""
        now = clock.now()
        fresh = now - self._due > (0 if begins else LATE_US)
        if fresh:
            self._due = now
        frame = samples
        if samples.size < audio.FRAME:
            frame = audio.silence(audio.FRAME)
            frame[: samples.size] = samples
        place = self._tape.agent(frame, fresh=fresh)
        if self._echo:
            self._echo.sent(frame, now)
        self._line.send(frame)
        self._due += audio.FRAME_US
        return place

    def _witness(self, piece: Speech, place: Samples, sent: int, sounding: Sounding) -> None:
        """Tell when the first audible sample of *piece* left, whose sample *sent* stands at *place*.

        By the clock it left where the voice says it begins; by the tape, where the samples do.
        """
        latency = self._line.latency_us
        by_clock = clock.now() + audio.us(piece.onset - sent) + latency
        audible = audio.first_audible(piece.samples) or 0
        by_tape = self._tape.clock_at(Samples(place - sent + audible)) + latency
        self.sounding_since_us = by_clock
        sounding(Micros(by_clock), Micros(by_tape))


def _so_far(before: str, text: str, share: float) -> str:
    """Return *before* and the first *share* (0–1) of the words of *text*."""
    words = text.split()
    return " ".join(filter(None, (before, *words[: round(len(words) * share)])))


AHEAD: Final = 4
"""Pieces of a reply rendered ahead of its playing."""


class Rendering:
    """Pieces of one reply, passed from whoever renders them to the Mouth."""

    def __init__(self) -> None:
        self.ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Done when the first piece is there, or when none will be."""
        self.ready_us: int | None = None
        """When that was (µs on the clock); ``None`` before."""
        self.failure = "no answer came in time"
        """Why there is nothing to play; '' once a piece is there."""
        self.broken = ""
        """Why the reply ended before its last piece; '' if it did not."""
        self._room = asyncio.Semaphore(AHEAD)
        self._pieces: asyncio.Queue[Speech | None] = asyncio.Queue(AHEAD + 1)

    async def put(self, speech: Speech) -> None:
        """Add the next piece; wait while enough are ahead."""
        await self._room.acquire()
        self._pieces.put_nowait(speech)
        self._settle("")

    def end(self, failure: str) -> None:
        """Note that no further piece will come; *failure* says why if some are missing."""
        if self.ready.done():
            self.broken = failure
        self._settle(failure)
        self._pieces.put_nowait(None)

    def _settle(self, failure: str) -> None:
        if not self.ready.done():
            self.ready_us = clock.now()
            self.failure = failure
            self.ready.set_result(None)

    async def pieces(self) -> AsyncGenerator[Speech, None]:
        """Yield the pieces in order, until the end."""
        while (piece := await self._pieces.get()) is not None:
            self._room.release()
            yield piece

    def unheard_us(self) -> int:
        """Return what the pieces cost that were never played (µs), and forget them."""
        cost = 0
        while not self._pieces.empty():
            piece = self._pieces.get_nowait()
            cost += piece.cost_us if piece else 0
        return cost
