"""A live call in virtual time: what its person says, and engines that hear it."""

from __future__ import annotations

import msgspec
from calls import QUICK
from sounds import voice

from turnbudget.settings.compose import open_studio
from turnbudget.settings.config import VadTable
from turnbudget.voice.asr.scripted import ScriptedTranscriber, Take
from turnbudget.voice.time.clock import MS

TEXTS = ("what is my balance", "my savings account", "thank you bye")
CONFIG = msgspec.structs.replace(QUICK, vad=VadTable(engine="energy"))
SAYINGS = tuple(voice(seconds) for seconds in (1.2, 0.9, 1.0))


async def studio(config=CONFIG):
    """Engines for a live call in virtual time, whose recogniser hears TEXTS."""
    made = await open_studio(config)
    takes = [Take(text, partials=((500 * MS, text.split()[0]),)) for text in TEXTS]
    made.transcriber = ScriptedTranscriber(takes=takes)
    return made
