"""What the shelf goes by: the pieces a reply is rendered in, to the letter but for white space.

The turn cuts a reply with ``speakable`` and ``sentences`` of :mod:`turnbudget.voice.language`; so
does this. A longer text is there when all of its pieces are, and sounds like them one after another.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from turnbudget.voice.errors import TtsError
from turnbudget.voice.language.sentences import split
from turnbudget.voice.language.speakable import speakable
from turnbudget.voice.sound import audio
from turnbudget.voice.time.clock import MS
from turnbudget.voice.tts.synthesizer import Speech

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

BREATH: Final = audio.samples(120 * MS)
"""Silence between two pieces (samples; 120 ms)."""
_END: Final = re.compile(
    r"[.!?…,;:—–)]+[\"'”’»)\]]*(?=\s)|[।॥。．！？؟۔、，；：]+[」』】]*",
)
"""Where a sentence or a clause may end. A false end (after "Dr.") does no harm: nothing is kept under it."""


class Key(NamedTuple):
    """Whatever can be heard: another text, engine or voice (its rate and versions included) is another."""

    text: str
    engine: str
    voice: str


def pieces(text: str) -> list[str]:
    """Return the pieces that a reply of *text* is rendered in; none if there is nothing to speak."""
    return [plain(piece) for piece in split(speakable(text))]


def plain(text: str) -> str:
    """Return *text* with single spaces; nothing else about it is the same if it is written otherwise."""
    return " ".join(text.split())


def beginnings(text: str) -> Iterator[tuple[str, str]]:
    """Yield *text* cut in two at the end of a sentence or clause, the longest beginning first: it whole."""
    yield text, ""
    for cut in reversed([mark.end() for mark in _END.finditer(text)]):
        if rest := text[cut:].strip():
            yield text[:cut], rest


def longest(text: str, find: Callable[[str], Speech | None]) -> tuple[Speech, str] | None:
    """Return the longest beginning of *text* that *find* knows, and the text behind it."""
    for beginning, rest in beginnings(plain(text)):
        if (speech := find(beginning)) is not None:
            return speech, rest
    return None


def every_piece(text: str, held: Callable[[str], bool]) -> bool:
    """Say whether *text* is *held*, or each of its pieces is."""
    if held(text):
        return True
    cut = pieces(text)
    return bool(cut) and all(held(piece) for piece in cut)


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
