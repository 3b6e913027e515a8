"""A longer text and its pieces: it is there when all of them are, and sounds like them one after another."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from turnbudget.speculative.shelf.pieces import pieces
from turnbudget.voice.errors import TtsError
from turnbudget.voice.sound import audio
from turnbudget.voice.time.clock import MS
from turnbudget.voice.tts.synthesizer import Speech

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

BREATH: Final = audio.samples(120 * MS)
"""Between two pieces."""


def whole(text: str, speeches: Sequence[Speech]) -> Speech:
    """Return *text* as one sound from those of its pieces; raises TtsError if there are none."""
    if not speeches:
        raise TtsError("nothing to speak")
    first = speeches[0]
    if len(speeches) == 1:
        return first
    parts = [part for speech in speeches for part in (audio.silence(BREATH), speech.samples)]
    cost = sum(speech.cost_us for speech in speeches)
    doubt = next((speech.doubt for speech in speeches if speech.doubt), "")
    cpu = sum(speech.cpu_us for speech in speeches)
    return Speech(
        text=text,
        samples=audio.join(parts[1:]),
        onset=first.onset,
        voice=first.voice,
        padding_us=first.padding_us,
        cost_us=cost,
        doubt=doubt,
        cpu_us=cpu,
    )


def every_piece(text: str, held: Callable[[str], bool]) -> bool:
    """Say whether *text* is *held*, or each of its pieces is."""
    if held(text):
        return True
    cut = pieces(text)
    return bool(cut) and all(held(piece) for piece in cut)
