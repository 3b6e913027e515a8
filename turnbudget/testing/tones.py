"""SIMULATED: sentences as tones, and a transcriber that hears which sentence a tone is.

Each sentence has its own pitch, so what is "heard" depends on the sound that came through the line, its codec
and its resamplers, and costs next to nothing. For tests and benches of many calls; no speech is recognised.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from turnbudget.voice.asr.transcriber import Transcript, Work
from turnbudget.voice.sound import audio
from turnbudget.voice.time import clock

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Sequence

    from turnbudget.voice.sound.audio import Int16

LOWEST_HZ: Final = 400
APART_HZ: Final = 100
MOST: Final = 28
"""Sentences that fit below a telephone's 3.4 kHz."""
LEVEL: Final = 8_000
WORD_US: Final = 250_000
GAP_US: Final = 60_000
"""Quiet before each word but the first."""
FINAL_US: Final = 80_000
LOOKED_AT: Final = audio.samples(400_000)
"""Samples whose pitch is looked at: the middle of what was fed."""


def tone_of(sentence: str, sentences: Sequence[str], rate: int) -> Int16:
    """Return *sentence* as a tone at *rate* Hz, broken as words are: a piece for each of them."""
    pitch = LOWEST_HZ + APART_HZ * sentences.index(sentence)
    word, gap = WORD_US * rate // clock.SECOND, GAP_US * rate // clock.SECOND
    words = max(3, len(sentence.split()))
    wave: Int16 = np.rint(LEVEL * np.sin(np.arange(words * word) * (2 * np.pi * pitch / rate))).astype(
        np.int16
    )
    wave.reshape(words, word)[:, :gap] = 0
    return wave[gap:]


class Tones:
    """A transcriber that hears which of *sentences* a tone is, *final_us* (µs) after it fell silent."""

    name = "tones"

    def __init__(self, sentences: Sequence[str], *, final_us: int = FINAL_US) -> None:
        assert len(sentences) <= MOST  # noqa: S101 - more cannot be told apart
        self.sentences = tuple(sentences)
        self.final_us = final_us

    async def warm(self) -> None:
        """Have nothing to load."""

    def begin(self, at: int, changed: Callable[[], None]) -> ToneDictation:  # noqa: ARG002 - it knows no place
        """Begin an utterance."""
        return ToneDictation(self, changed)

    async def aclose(self) -> None:
        """Have nothing to free."""


class ToneDictation:
    """One tone on its way to its sentence."""

    def __init__(self, engine: Tones, changed: Callable[[], None]) -> None:
        self._engine = engine
        self._changed = changed
        self._loud: list[Int16] = []
        self._size = 0
        self._paused_us: int | None = None
        self._ready: asyncio.TimerHandle | None = None
        self._text = ""

    @property
    def partial(self) -> str:
        """The sentence, once it is known; '' before."""
        return self._text

    @property
    def whole(self) -> bool:
        """Whether the sentence is known."""
        return bool(self._text)

    def feed(self, samples: Int16) -> None:
        """Hear on."""
        if self._size < 2 * LOOKED_AT and audio.first_audible(samples) is not None:
            self._loud.append(samples)
            self._size += samples.size

    def pause(self) -> None:
        """Begin to make out the sentence."""
        if self._paused_us is None:
            self._paused_us = clock.now()
            self._ready = clock.call_at(self._paused_us + self._engine.final_us, self._know)

    def resume(self) -> None:
        """Forget what was made out."""
        self._paused_us, self._text = None, ""
        if self._ready:
            self._ready.cancel()

    async def final(self) -> Transcript:
        """Return the sentence."""
        self.pause()
        began = self._paused_us or 0
        await clock.sleep_until(began + self._engine.final_us)
        return Transcript(self._made_out(), (), (Work(began, clock.now(), used=True),))

    def drop(self) -> None:
        """Forget the tone."""
        self.resume()

    def _know(self) -> None:
        self._text = self._made_out()
        self._changed()

    def _made_out(self) -> str:
        """Return the sentence whose pitch is loudest; '' if nothing was loud."""
        if self._size < LOOKED_AT // 4:
            return ""
        sound = audio.join(self._loud)
        middle = sound[max(0, sound.size - LOOKED_AT) // 2 :][:LOOKED_AT]
        strength = np.abs(np.fft.rfft(middle * np.hanning(middle.size)))
        pitch = float(np.argmax(strength)) * audio.RATE / middle.size
        number = round((pitch - LOWEST_HZ) / APART_HZ)
        known = self._engine.sentences
        return known[number] if 0 <= number < len(known) else ""
