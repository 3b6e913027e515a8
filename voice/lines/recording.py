"""A line whose caller is a recording.

The recorded caller cannot react, so pacing decides what a replay shows. *Gated*, each of the caller's turns
waits until we have answered the one before, and then for the pause the person made; the pauses inside a
turn stay as they were recorded, so a reply begun in one is talked over. *Timeline*, the recording runs as
it was. *Script*, clips are set off by what we do: a barge-in some time into our reply, a hang-up.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Literal, Protocol

import numpy as np

from turnbudget.voice.lines.line import Frame
from turnbudget.voice.sound import audio
from turnbudget.voice.time import clock

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from turnbudget.voice.asr.reference import Reference
    from turnbudget.voice.asr.transcriber import Word
    from turnbudget.voice.sound.audio import Int16

GIVE_UP_US: Final = 15 * clock.SECOND
"""Longest wait of a recorded caller for their turn; then they speak anyhow (µs)."""
UNANSWERED_US: Final = 3 * clock.SECOND
"""Time without an answer after which a recorded caller goes on (µs)."""
GOODBYE_US: Final = 500 * clock.MS
"""Time that the line stays open after the last reply (µs)."""


class Floor(Protocol):
    """What a recorded caller hears of us, so as to know whose turn it is."""

    @property
    def settled(self) -> bool:
        """Whether nobody speaks and no answer is due."""
        ...

    @property
    def sounding_since_us(self) -> int | None:
        """When the current reply began to sound (µs on the clock); ``None`` while none sounds."""
        ...

    @property
    def quiet_since_us(self) -> int:
        """When our last sound ended (µs on the clock)."""
        ...


@dataclass(frozen=True, slots=True)
class Clip:
    """A piece of a recorded caller's side of the call, and what sets it off.

    Its words, and where the caller's turns in it begin and end, stand in µs from its own first sample. It
    begins ``pause_us`` after the floor is free (``when`` is "settled"), after our reply began to sound, even
    if it has ended by then ("sounding"), or after the clip before ("at once"); ``lead_us`` of it is recorded
    background before the first word, and is played inside the pause. A clip that ``hangs_up`` ends the call.
    """

    samples: Int16
    words: tuple[Word, ...] = ()
    turns: tuple[tuple[int, int], ...] = ()
    pause_us: int = 0
    lead_us: int = 0
    when: Literal["settled", "sounding", "at once"] = "settled"
    hangs_up: bool = False


class RecordedLine:
    """A line whose caller is a recording: it plays *clips*, and keeps nothing of what it is sent."""

    latency_us = 0
    heard_us = None

    def __init__(self, clips: Sequence[Clip], reference: Reference, background: Int16) -> None:
        """Play *clips*; *background* is the line's own noise, looped while the caller waits."""
        self._clips = clips
        self._begun = 0
        self._reference = reference
        loop = np.concatenate((background, background[::-1])) if background.size else audio.silence(1)
        self._period = loop.size
        self._background = np.resize(loop, loop.size + audio.FRAME)
        self._floor: Floor | None = None
        self._at = 0
        self._epoch = 0
        self._clip_ended_us = 0
        self._sounding_us: int | None = None

    def follow(self, floor: Floor) -> None:
        """Take turns with *floor*."""
        self._floor = floor

    @property
    def has_more(self) -> bool:
        """Whether the caller is silent now, as recorded, and will speak again."""
        left = self._clips[self._begun :]
        return any(clip.turns for clip in left) and left[0].when == "settled"

    def send(self, frame: Int16) -> None:
        """Take our audio, which nobody hears."""

    def clear(self) -> None:
        """Do nothing: what is sent sounds at once."""

    def end(self) -> None:
        """Do nothing at the end of a reply."""

    async def listen(self) -> AsyncIterator[Frame]:
        """Yield the caller's frames, each when its last sample was spoken."""
        self._epoch = self._clip_ended_us = clock.now()
        for clip in self._clips:
            since, self._sounding_us = clock.now(), None
            while not self._due(clip, since):
                yield await self._frame(self._noise())
            if clip.hangs_up:
                return
            self._begun += 1
            self._announce(clip)
            for start in range(0, clip.samples.size, audio.FRAME):
                yield await self._frame(clip.samples[start : start + audio.FRAME])
            self._clip_ended_us = clock.now()
        ending = Clip(audio.silence(0), pause_us=GOODBYE_US)
        since = clock.now()
        while not self._due(ending, since):
            yield await self._frame(self._noise())

    def _due(self, clip: Clip, since: int) -> bool:
        """Return whether *clip*, which waits *since* then, may begin with the next frame."""
        floor, now = self._floor, clock.now()
        wait = max(0, clip.pause_us - clip.lead_us)
        if floor is None or clip.when == "at once":
            return now >= since + wait
        if now >= since + GIVE_UP_US + wait:
            return True
        if clip.when == "sounding":
            if floor.sounding_since_us is not None:
                self._sounding_us = floor.sounding_since_us
            return self._sounding_us is not None and now >= self._sounding_us + wait
        answered = floor.quiet_since_us > self._clip_ended_us or now >= self._clip_ended_us + UNANSWERED_US
        return floor.settled and answered and now >= floor.quiet_since_us + wait

    def _announce(self, clip: Clip) -> None:
        """Add the words of *clip* to the reference, where they will be spoken."""
        start = audio.us(self._at)
        words = [
            replace(word, began_us=word.began_us + start, ended_us=word.ended_us + start)
            for word in clip.words
        ]
        self._reference.announce(words, [(began + start, ended + start) for began, ended in clip.turns])

    def _noise(self) -> Int16:
        """Return the next frame of the line's background."""
        at = self._at % self._period
        return self._background[at : at + audio.FRAME]

    async def _frame(self, samples: Int16) -> Frame:
        """Return *samples* as the next frame, at the moment its last sample has been spoken."""
        if samples.size < audio.FRAME:
            samples = np.concatenate((samples, audio.silence(audio.FRAME - samples.size)))
        frame = Frame(samples, audio.Samples(self._at))
        self._at += audio.FRAME
        await clock.sleep_until(self._epoch + audio.us(self._at))
        return frame
