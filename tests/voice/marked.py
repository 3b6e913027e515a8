"""A voice whose every frame says which piece it belongs to and which of its frames it is.

So what left can be read off the line: nothing twice, nothing left out, nothing mixed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from turnbudget.voice.sound import audio
from turnbudget.voice.tts.scripted import ScriptedSynthesizer

PIECE_AT, FRAME_AT, ZERO = 100, 101, 1_000
"""Where in a frame the marks stand: behind what a fade may touch."""
RENDERED = 10
"""Pieces from this number on are rendered in the call, each once; those below it may be said again."""


def marked(speech, number):
    """Return *speech*, filled up to whole frames, with the piece's *number* in each of them."""
    count = -(-speech.samples.size // audio.FRAME)
    samples = np.zeros(count * audio.FRAME, np.int16)
    samples[: speech.samples.size] = speech.samples
    frames = samples.reshape(count, audio.FRAME)
    frames[:, PIECE_AT] = ZERO + number
    frames[:, FRAME_AT] = ZERO + np.arange(count)
    return replace(speech, samples=samples, onset=audio.first_audible(samples))


class MarkedVoice(ScriptedSynthesizer):
    """A scripted voice that numbers what it renders."""

    def __init__(self, **how):
        super().__init__(**how)
        self.pieces = {}

    async def render(self, text, budget=None):
        speech = await super().render(text, budget)
        number = RENDERED + len(self.pieces)
        self.pieces[number] = marked(speech, number)
        return self.pieces[number]


@dataclass
class Run:
    """Frames of one piece that left one after another."""

    piece: int
    frames: int = 0

    def words(self, pieces):
        """What was heard of it, by proportion, as the Mouth counts."""
        speech = pieces[self.piece]
        words = speech.text.split()
        share = self.frames * audio.FRAME / speech.samples.size
        return words[: round(len(words) * share)]


def runs(sent):
    """Read the frames that left; raises AssertionError if one came twice, was left out, or was mixed in."""
    found, faded = [], True
    for at, frame in sent:
        piece, number = int(frame[PIECE_AT]) - ZERO, int(frame[FRAME_AT]) - ZERO
        if piece < 0:
            assert not frame[audio.EDGE :].any(), "a frame that is no fade and bears no mark"
            assert not faded, f"a sound that faded out before fades out again, at {at}"
            faded = True
            continue
        faded = False
        if not found or found[-1].piece != piece or (number == 0 and piece < RENDERED):
            assert piece < RENDERED or piece not in [run.piece for run in found], f"{piece} again, at {at}"
            found.append(Run(piece))
        assert number == found[-1].frames, f"frame {number} of {piece} after {found[-1].frames}, at {at}"
        found[-1].frames += 1
    return found
