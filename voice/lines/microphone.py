"""A person at this machine: a microphone to hear and a speaker to be heard, as one line.

The card's threads leave what they hear in a bounded ring and wake the loop; places are counted in the card's
own samples, so what was lost leaves a gap where it was. A real card works under ``wall`` only.

What is about to be played lies in a small bounded buffer between our frames and a card that asks for samples.
The pacer's clock rules. A reply begins behind a cushion of 20 ms and the buffer runs empty behind it, so a
card's clock that runs fast or slow (200 ppm: 12 ms in a minute) never adds up beyond one reply. Inside a
reply a buffer that runs empty is filled up with silence and counted, one too long loses its oldest.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
import statistics
import threading
from collections import deque
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from turnbudget.voice.errors import LineError
from turnbudget.voice.lines.canceller import Beside
from turnbudget.voice.lines.line import Frame, Lag
from turnbudget.voice.sound import audio
from turnbudget.voice.sound.echo import Echo
from turnbudget.voice.sound.stream import Downstream, Stream
from turnbudget.voice.time import clock

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

    from turnbudget.voice.lines.canceller import Canceller
    from turnbudget.voice.lines.card import Card
    from turnbudget.voice.sound.audio import Int16


log = logging.getLogger(__name__)

RING: Final = 200
"""Blocks kept for a loop that is held up (2 s of a card with blocks of 10 ms)."""
QUIET_US: Final = 3 * clock.SECOND
"""Time without input at which a card counts as gone (µs; 3 s)."""
STEADY_US: Final = 200 * clock.MS
"""Time of steady hearing and playing after which a card has begun (µs; 200 ms)."""
BEGIN_US: Final = 8 * clock.SECOND
"""Longest wait for a card to begin (µs; 8 s); PulseAudio takes 2 s."""
SMOOTH: Final = 32
"""Blocks over which the input delay is averaged."""
SILENT_DB: Final = -96.0
"""Level reported for digital silence (dB below full scale)."""


CUSHION_US: Final = 20_000
"""Silence played before a reply's first sample, against a pacer that is late with the next (µs; 20 ms)."""
MORE_US: Final = 10_000
"""What each gap adds to that silence (µs; 10 ms)."""
THICKEST_US: Final = 60_000
"""Longest such silence (µs; 60 ms), for busy machines and cards that ask for much at once."""
LONGEST_US: Final = 200_000
"""Sound held at most (µs; 200 ms), so that a card that does not play cannot make us late for ever."""
MEASURED: Final = 50
"""Beginnings of replies of which the latency is the median."""


class _Block(NamedTuple):
    """One block of the microphone's, its place, and what was played meanwhile."""

    data: bytes
    at: int
    played: bytes


class Microphone:
    """One call on *card*; a *canceller*, if given, takes our own voice out of what is heard."""

    heard_us = None
    """``None``: what the card measures is in the latency, reply by reply."""

    def __init__(self, card: Card, canceller: Canceller | None = None) -> None:
        self._card = card
        self._canceller = canceller
        self._playout = PlayoutBuffer(card.rate, card.now)
        self._into = Stream(card.rate)
        self._out = Downstream(card.rate)
        self._far = Stream(card.rate)
        self._played = Beside(card.rate)
        self._echo = Echo() if canceller is None else None
        self._ring: deque[_Block] = deque()
        self._into_us = 0.0
        self._asked = 0
        """Samples that the card asked for in all."""
        self._next = self._taken = self._at = 0
        """Places of what the card gives next, of what was taken of it, and of the next frame (samples)."""
        self._near: Int16 = audio.silence(0)
        self._beside: Int16 = audio.silence(0)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._news = asyncio.Event()
        self._woken = False
        self._early = 0
        self._lost = 0
        self._ended = ""
        self.broken = False
        """Whether the card ended the line."""
        self.open_mic = True
        """Whether the caller is heard; otherwise silence is."""
        self.level_db = SILENT_DB
        """Level of the last frame (dB below full scale)."""

    @property
    def ended(self) -> str:
        """Why the line ended; '' while it is up."""
        return self._ended

    @property
    def latency_us(self) -> int:
        """Delay between handing a sample over and its sound (µs)."""
        return self._playout.latency_us

    @property
    def lag(self) -> Lag:
        """How long sound takes in the card and in our filters."""
        return Lag("device", round(self._into_us) + self._into.pending_us, self.latency_us)

    @property
    def hears_itself(self) -> bool:
        """Whether our voice comes back through the microphone, as far as no canceller takes it out."""
        return self._echo is not None and self._echo.lag_us is not None

    def notes(self) -> tuple[str, ...]:
        """Return what was lost or filled, and the card's delay, a line each."""
        lag, rate = self.lag, self._card.rate
        counted = (
            (
                self._early >= rate // 10,
                f"{_seconds(self._early, rate)} s of sound came before anybody listened",
            ),
            (self._lost, f"{_seconds(self._lost, rate)} s of the microphone's sound were lost"),
            (self._playout.underruns, f"{self._playout.underruns} gaps in our voice"),
            (self._playout.dropped, f"{_seconds(self._playout.dropped, rate)} s of ours never played"),
            (self.hears_itself, "the microphone hears our own voice"),
        )
        told = tuple(what for count, what in counted if count)
        way = f"device latency: microphone {lag.into_us // 1_000} ms, speaker {lag.out_us // 1_000} ms"
        return (*told, way)

    def open(self) -> None:
        """Start the card; what it hears before anybody listens is counted and lost. Raises LineError."""
        self._loop = asyncio.get_running_loop()
        self._card.start(self)

    async def ready(self) -> None:
        """Wait until the card hears and plays steadily; raises LineError if it does not.

        A sound server may stand still for seconds after its first blocks, and a greeting would be lost.
        """
        if self._loop is None:
            self.open()
        by = clock.now() + BEGIN_US
        steady = False
        while not steady and not self._ended:
            heard, asked = self._next, self._asked
            await clock.sleep(STEADY_US)
            least = self._card.rate * STEADY_US // clock.SECOND // 2
            steady = min(self._next - heard, self._asked - asked) >= least
            if clock.now() >= by and not steady:
                self.gone("the sound card does not begin to hear and play")
        if self._ended:
            raise LineError(self._ended, remedy="look whether its sound server runs, or choose another")
        self._ring.clear()
        self._lost = 0

    def close(self) -> None:
        """Stop the card."""
        self._card.stop()

    def hang_up(self, why: str = "you hung up") -> None:
        """End the line."""
        self._ended = self._ended or why
        self._news.set()

    # --- the line ----------------------------------------------------------------------------------

    async def listen(self) -> AsyncIterator[Frame]:
        """Yield what is heard from now on, until somebody hangs up or the card is gone."""
        if self._loop is None:
            self.open()
        self._early = sum(len(block.data) // 2 for block in self._ring) + self._lost
        self._lost = 0
        self._ring.clear()
        if self._early >= self._card.rate // 10:
            log.warning("%s s of sound came before anybody listened", _seconds(self._early, self._card.rate))
        while await self._more():
            while self._ring and not self._ended:
                for frame in self._frames(self._ring.popleft()):
                    yield frame

    def send(self, frame: Int16) -> None:
        """Hand over the next 20 ms to be played."""
        data = self._out.feed(frame)
        self._playout.put(np.frombuffer(data, np.int16), self._out.pending_us)

    def clear(self) -> None:
        """Drop what has not sounded."""
        self._out.reset()
        self._playout.clear()

    def end(self) -> None:
        """Play what is held back of a reply that is over."""
        self._playout.put(np.frombuffer(self._out.flush(), np.int16))
        self._playout.end()

    async def _more(self) -> bool:
        """Wait for the microphone; return whether there is more to hear."""
        by = clock.now() + QUIET_US
        while not self._ring and not self._ended:
            self._news.clear()
            async with clock.move_on_at(by) as scope:
                await self._news.wait()
            if scope.expired():
                self.gone("the microphone gives no sound any more")
        return not self._ended

    def _frames(self, block: _Block) -> Iterator[Frame]:
        """Yield the frames that *block* completes."""
        self._at += round((block.at - self._taken) * audio.RATE / self._card.rate)
        self._taken = block.at + len(block.data) // 2
        self._near = audio.join((self._near, self._into.feed(block.data)))
        self._beside = audio.join((self._beside, self._far.feed(block.played)))
        while self._near.size >= audio.FRAME:
            near, self._near = self._near[: audio.FRAME], self._near[audio.FRAME :]
            far, self._beside = self._beside[: audio.FRAME], self._beside[audio.FRAME :]
            behind = self._near.size + audio.samples(self.lag.into_us)
            yield Frame(self._heard(near, far), audio.Samples(self._at), behind)
            self._at += audio.FRAME

    def _heard(self, near: Int16, far: Int16) -> Int16:
        """Return the caller's part of what was heard *near* us while we played *far*."""
        if self._echo:
            self._echo.sent(far, audio.us(self._at))
            self._echo.masks(near, audio.us(self._at + near.size))
        if self._canceller:
            near = self._canceller.clean(near, far)
        self.level_db = decibels(near)
        return near if self.open_mic else audio.silence(near.size)

    # --- the card's threads ------------------------------------------------------------------------

    def heard(self, data: bytes, lag_us: int, lost: int) -> None:
        """Leave a block for the loop; drop the oldest if nobody takes them."""
        self._next += lost
        self._lost += lost
        self._into_us += (lag_us - self._into_us) / (SMOOTH if self._next else 1)
        self._ring.append(_Block(data, self._next, self._played.take(len(data))))
        self._next += len(data) // 2
        if len(self._ring) > RING:
            self._lost += len(self._ring.popleft().data) // 2
        self._wake()

    def wanted(self, count: int, lead_us: int) -> bytes:
        """Return *count* samples to play, and keep them for the echo canceller."""
        self._asked += count
        data = self._playout.take(count, lead_us).tobytes()
        self._played.keep(data)
        return data

    def gone(self, why: str) -> None:
        """End the call because the card is gone."""
        self.broken |= not self._ended
        self._ended = self._ended or why
        self._wake()

    def _wake(self) -> None:
        """Wake the loop, once until it is awake."""
        if self._loop and not self._woken:
            self._woken = True
            with contextlib.suppress(RuntimeError):  # the loop is closed
                self._loop.call_soon_threadsafe(self._awake)

    def _awake(self) -> None:
        self._woken = False
        self._news.set()


def decibels(sound: Int16) -> float:
    """Return the level of *sound* (dB below full scale)."""
    if not sound.size:
        return SILENT_DB
    power = float(np.mean(np.square(sound.astype(np.float32)))) / 32768**2
    return max(SILENT_DB, 10 * math.log10(power)) if power else SILENT_DB


def _seconds(samples: int, rate: int) -> str:
    return f"{samples / rate:.1f}"


class PlayoutBuffer:
    """Samples at *rate* Hz on their way to a card, whose clock *now* reads (µs)."""

    def __init__(self, rate: int, now: Callable[[], int]) -> None:
        self._rate = rate
        self._now = now
        self._lock = threading.Lock()
        self._held: Int16 = audio.silence(0)
        self._begun: tuple[int, int] | None = None
        """Number of samples before a new reply's first, and when that was sent; ``None`` if no reply
        waits."""
        self._cushion_us = CUSHION_US
        self._cut = False
        self._open = False
        """Whether a reply has begun and not ended."""
        self._owed = False
        """Whether samples of a reply are due; ``False`` once their absence was counted."""
        self._lead_us = 0
        self._latencies: deque[int] = deque(maxlen=MEASURED)
        self.underruns = 0
        """Number of times a reply was not there when the card asked for its next samples."""
        self.dropped = 0
        """Samples that were never played, since too many were held."""

    @property
    def latency_us(self) -> int:
        """Delay from here to the sound: the median of what was measured (µs).

        Before a reply was played it is the cushion, half a block, and what the card says of itself.
        """
        measured = tuple(self._latencies)
        return round(statistics.median(measured)) if measured else self._cushion_us + self._lead_us

    def put(self, samples: Int16, held_us: int = 0) -> None:
        """Add the next *samples* of a reply, of which a filter still holds back *held_us*."""
        if not samples.size:
            return
        with self._lock:
            if self._cut and self._held.size:
                samples = audio.fade(samples, began=True)
            else:
                samples = self._on_from_here(samples, self._cushion_us + held_us)
            self._cut = False
            self._held = audio.join((self._held, samples))
            over = max(0, self._held.size - self._samples(LONGEST_US))
            if over:
                self._held, self._begun = self._held[over:], None
                self.dropped += over

    def take(self, count: int, lead_us: int) -> Int16:
        """Return *count* samples, filled up with silence; the first sounds *lead_us* from now."""
        with self._lock:
            self._lead_us = lead_us + count * 500_000 // self._rate
            taken, self._held = self._held[:count], self._held[count:]
            if self._begun:
                before, sent_us = self._begun
                self._begun = (before - count, sent_us)
                if before < count:
                    sounds_us = self._now() + lead_us + before * 1_000_000 // self._rate
                    self._latencies.append(sounds_us - sent_us)
                    self._begun = None
            if taken.size == count:
                return taken
            if self._owed:
                self._owed = False
                self.underruns += 1
                self._cushion_us = min(self._cushion_us + MORE_US, THICKEST_US)
            return np.concatenate((taken, audio.silence(count - taken.size)))

    def clear(self) -> None:
        """Drop what has not sounded, with a fade of 5 ms; what is sent next fades in."""
        with self._lock:
            self._cut = bool(self._held.size)
            self._held = audio.fade(self._held[: audio.EDGE * self._rate // audio.RATE], ended=True)
            self._begun, self._open, self._owed = None, False, False

    def end(self) -> None:
        """Handle the end of a reply, after which running empty is no fault."""
        with self._lock:
            self._open = self._owed = False

    def _on_from_here(self, samples: Int16, cushion_us: int) -> Int16:
        """Return *samples* behind a cushion of silence, unless something is held already."""
        began, self._open, self._owed = not self._open, True, True
        if self._held.size:
            return samples
        cushion = audio.silence(self._samples(cushion_us))
        if began:
            self._begun = (cushion.size, self._now())
        return audio.join((cushion, samples))

    def _samples(self, us: int) -> int:
        return us * self._rate // 1_000_000
