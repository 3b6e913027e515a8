"""The seam between the Turn and any speech synthesizer, and what came out of it.

A synthesizer renders one piece of text (a sentence, a clause) to checked, trimmed audio. Text reaches it
cleaned and cut by :mod:`turnbudget.voice.language.speakable`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from turnbudget.voice.sound.audio import Int16
    from turnbudget.voice.time.budget import Budget


@dataclass(frozen=True, slots=True, kw_only=True)
class Speech:
    """A piece of text and its sound: int16 at 16 kHz, audible, trimmed, faded at both ends.

    ``onset`` is the index of its first audible sample (at most 320: 20 ms are kept before a soft start);
    ``padding_us`` is the leading silence the engine made and we cut off; ``cost_us`` is what the render
    took on the loop's clock, waiting for the engine included; ``doubt`` says what is odd about its length;
    ``cpu_us`` is what the render took of its process's CPU, 0 where nobody measures (a scripted voice) or it
    was read from disk.
    """

    text: str
    samples: Int16
    onset: int
    voice: str
    padding_us: int = 0
    cost_us: int = 0
    doubt: str = ""
    cpu_us: int = 0


class Synthesizer(Protocol):
    """A speech synthesizer (TTS)."""

    name: str
    """Name of the engine, as the ledger tells it."""
    voice: str
    """Voice, rate and versions: two voices that sound different differ in it or in ``name``."""

    async def warm(self) -> None:
        """Load the voice and render once, so that the first turn costs no more than later ones."""
        ...

    async def render(self, text: str, budget: Budget | None = None) -> Speech:
        """Return *text* as sound before *budget* ends; raises :class:`~turnbudget.voice.errors.TtsError`.

        A text with nothing to speak in it ("", ".") raises it, and so does a budget that has ended already.
        Calls may overlap; they are served one after another.
        """
        ...

    async def aclose(self) -> None:
        """End the engine."""
        ...
