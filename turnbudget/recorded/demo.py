"""The demo's call: two parties rendered with the voice that is here, as a stereo file with the caller left.

The caller's words are spoken by a synthesizer, so recognition of them says nothing about people; the
machinery that hears, answers and counts is the real one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import soundfile

from turnbudget.settings.compose import render_phrase
from turnbudget.settings.engines import open_voice
from turnbudget.voice.sound import audio
from turnbudget.voice.time import clock

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from turnbudget.settings.config import Config
    from turnbudget.voice.sound.audio import Int16

LINES: Final = (
    ("agent", "Hello, this is Harper Valley Bank. How can I help you?"),
    ("caller", "Hi. I would like to check my account balance."),
    ("agent", "Sure. Your checking or your savings account?"),
    ("caller", "My savings account please."),
    ("agent", "Alright, I have that done for you. Anything else?"),
    ("caller", "Yes, I lost my credit card. Can you send me a new one?"),
    ("agent", "I have ordered you a new credit card. Anything else?"),
    ("caller", "No, that was it. Thank you very much."),
    ("agent", "Thank you for calling. Have a great day."),
)
"""What the two parties of the demo's call say, in order."""
PAUSE_US: Final = 900 * clock.MS
"""Silence between two speakers (µs; 900 ms, as people leave)."""
NOISE: Final = 12.0
"""Standard deviation of the line's noise: −69 dBFS, as on a quiet telephone line."""


async def render_call(config: Config, folder: Path, doing: Callable[[str], None]) -> Path:
    """Render the call of LINES into *folder* and return the file's path."""
    voice, _ = open_voice(config, "wall")
    try:
        doing(f"loading {voice.name}")
        await voice.warm()
        tracks: dict[str, list[Int16]] = {"caller": [], "agent": []}
        for number, (who, text) in enumerate(LINES, 1):
            doing(f"rendering line {number} of {len(LINES)}")
            sound = audio.join(
                [(await render_phrase(voice, text)).samples, audio.silence(audio.samples(PAUSE_US))]
            )
            for side, track in tracks.items():
                track.append(sound if side == who else audio.silence(sound.size))
    finally:
        await voice.aclose()
    path = folder / "demo.wav"
    await clock.offload(_write, path, audio.join(tracks["caller"]), audio.join(tracks["agent"]))
    return path


def _write(path: Path, caller: Int16, agent: Int16) -> None:
    noise = np.random.default_rng(0).normal(0, NOISE, caller.size)
    noisy = np.clip(caller + noise, -32768, 32767).astype(np.int16)
    soundfile.write(path, np.column_stack((noisy, agent)), audio.RATE, subtype="PCM_16")
