"""Voices that cost nothing but what they are told to, and shelves and stores to try them with."""

from __future__ import annotations

import asyncio
import contextlib

from turnbudget.speculative.shelf.shelf import Shelf
from turnbudget.voice.errors import TtsError
from turnbudget.voice.sound import audio
from turnbudget.voice.time import clock
from turnbudget.voice.time.clock import MS
from turnbudget.voice.tts.finish import expected_us
from turnbudget.voice.tts.scripted import tone
from turnbudget.voice.tts.synthesizer import Speech

NAME = "May I have your first and last name, please?"
DONE = "Alright, I have that done for you."
THANKS = "Thank you, Maria."


def speech(text, voice="tone", cpu_us=0):
    samples = tone(audio.samples(max(240 * MS, expected_us(text))))
    return Speech(
        text=text,
        samples=samples,
        onset=audio.first_audible(samples),
        voice=voice,
        cost_us=30 * MS,
        cpu_us=cpu_us,
    )


class Voice:
    """Counts what it renders; a text that contains a word of *faults* fails as often as that says."""

    def __init__(self, *, name="cheap", voice="tone", cost_us=30 * MS, cpu_us=0, faults=()):
        self.name = name
        self.voice = voice
        self.cost_us = cost_us
        self.cpu_us = cpu_us
        self.rendered = []
        self.faults = dict(faults)
        self.cancelled = 0

    async def warm(self):
        """Nothing to load."""

    async def render(self, text, budget=None):
        del budget
        self.rendered.append(text)
        voice = self.voice
        try:
            await clock.sleep(self.cost_us)
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        for word, times in self.faults.items():
            if word in text and times:
                self.faults[word] -= 1
                raise TtsError(f"no {word}")
        return speech(text, voice, self.cpu_us)

    async def aclose(self):
        """Nothing to end."""


@contextlib.asynccontextmanager
async def shelved(voice=None, **options):
    """A shelf that is open, and closed in the end."""
    shelf = Shelf(voice or Voice(), **options)
    await shelf.open()
    try:
        yield shelf
    finally:
        await shelf.aclose()
