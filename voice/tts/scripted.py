"""A voice for virtual time: a tone as long as the text would take, at a stated cost, with faults on order."""

from __future__ import annotations

import asyncio
from functools import lru_cache
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

import numpy as np

from turnbudget.voice.errors import TtsError
from turnbudget.voice.language.speakable import pronounceable
from turnbudget.voice.sound import audio
from turnbudget.voice.time import clock
from turnbudget.voice.time.budget import Budget
from turnbudget.voice.time.clock import MS, SECOND
from turnbudget.voice.tts.finish import expected_us
from turnbudget.voice.tts.synthesizer import Speech

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from turnbudget.voice.sound.audio import Int16

Fault: TypeAlias = Literal["raise", "hang", "empty"]

PITCH_HZ: Final = 220
"""Pitch of the tone (Hz)."""
LEVEL: Final = 6_000
"""Amplitude of the tone (of 16 bits; −15 dBFS, about as loud as a voice on the telephone)."""
LIMIT_US: Final = 2 * SECOND
"""Longest render without a budget of its own (µs; 2 s)."""


class ScriptedSynthesizer:
    """A voice of tones that takes *cost_us* a render, or the cost at its number in *costs_us* (µs).

    *faults* says what goes wrong at which render (the first is 0; warming is none): ``raise``; ``hang``
    until the Budget ends; ``empty``, a sound that the checks of a real engine refuse.
    """

    def __init__(
        self,
        *,
        name: str = "scripted",
        voice: str = "tone",
        cost_us: int = 30 * MS,
        costs_us: Sequence[int] = (),
        faults: Mapping[int, Fault] | None = None,
    ) -> None:
        self.name = name
        self.voice = voice
        self.rendered = 0
        """Number of renders asked for so far."""
        self._cost_us = cost_us
        self._costs_us = tuple(costs_us)
        self._faults = dict(faults or {})
        self._lock = asyncio.Lock()

    async def warm(self) -> None:
        """Do nothing: there is nothing to load."""

    async def render(self, text: str, budget: Budget | None = None) -> Speech:
        """Return a tone for *text* before *budget* ends (2 s if there is none); raises TtsError."""
        began = clock.now()
        if not pronounceable(text):
            raise TtsError("nothing to speak")
        number = self.rendered
        self.rendered += 1
        spoken = False
        async with clock.move_on_at((budget or Budget.of(LIMIT_US)).ends_us), self._lock:
            await self._work(number)
            spoken = True
        if not spoken:
            raise TtsError(f"{self.name} gave no sound in time")
        samples = tone(audio.samples(max(240 * MS, expected_us(text))))
        onset = audio.first_audible(samples) or 0
        return Speech(text=text, samples=samples, onset=onset, voice=self.voice, cost_us=clock.now() - began)

    async def aclose(self) -> None:
        """Do nothing: there is nothing to end."""

    async def _work(self, number: int) -> None:
        fault = self._faults.get(number)
        if fault == "hang":
            await asyncio.get_running_loop().create_future()
        await clock.sleep(self._costs_us[number] if number < len(self._costs_us) else self._cost_us)
        if fault == "raise":
            raise TtsError(f"{self.name} failed, as told")
        if fault == "empty":
            raise TtsError(f"{self.name} made no sound, as told")


@lru_cache(512)
def tone(count: int) -> Int16:
    """Return *count* samples of a soft tone, the same array each time, which nobody may write to."""
    wave = LEVEL * np.sin(np.arange(count) * (2 * np.pi * PITCH_HZ / audio.RATE))
    sound = audio.fade(np.rint(wave).astype(np.int16), began=True, ended=True)
    sound.setflags(write=False)
    return sound
