"""Every sound a voice makes leaves here at 16 kHz, trimmed, without clicks and plausible, or is refused.

How long a text takes was measured on espeak-ng at 200 words a minute and on Piper's joe: of 74 sentences
of telephone calls with twenty letters or more, all lie between 0.8 and 1.2 times (espeak-ng) and all but
one between 0.72 and 1.4 times (Piper) of what :func:`expected_us` says; a digit of an amount takes up to
500 ms.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
import soxr

from turnbudget.voice.errors import TtsError
from turnbudget.voice.sound import audio

if TYPE_CHECKING:
    import numpy.typing as npt

    from turnbudget.voice.sound.audio import Int16

LETTER_US: Final = 58_000
"""Time that a letter takes at 200 words a minute (µs; 58 ms)."""
DIGIT_US: Final = 290_000
"""Time that a digit takes (µs; 290 ms)."""
PAUSE_US: Final = 250_000
"""Time that a mark inside the text takes (µs; 250 ms)."""
TAIL: Final = audio.samples(50_000)
"""Silence kept after the last audible sample (samples; 50 ms)."""
LOUDEST: Final = 0.6
"""RMS (of full scale) from which sound is noise: speech stays below 0.3, samples read a byte off near 0.6."""
OFFSET: Final = 0.004
"""Mean (of full scale) from which sound has a DC offset, which would click at joins (0.004: −48 dBFS)."""
EDITION: Final = 1
"""Edition of this file's work; raise it when the same raw sound comes out differently, to drop kept
sounds."""
STRANGE: Final = 1.4
"""Ratio to the expected length from which the sound's rate is doubted."""


class Sound(NamedTuple):
    """A finished sound."""

    samples: Int16
    """int16 at 16 kHz, trimmed and faded."""
    onset: int
    """Index of the first audible sample."""
    padding_us: int
    """Silence cut off before it (µs)."""
    doubt: str = ""
    """What is doubtful about its length; '' if nothing."""
    cpu_us: int = 0
    """CPU time of its worker that it cost (µs)."""


def finish(samples: npt.NDArray[np.float32], rate: int, text: str, pace: float = 1.0) -> Sound:
    """Return raw sound (full scale ±1, mono or frames × channels) made fit to be heard.

    Raises :class:`~turnbudget.voice.errors.TtsError` if it is empty, silent, noise, or cannot be *text* at
    *pace*.
    """
    raw = _internal(_mono(samples), rate)
    start = audio.first_audible(raw)
    if start is None:
        raise TtsError(f"the voice made no sound of {text[:40]!r}")
    lead = max(0, start - audio.FRAME)
    shaped = _shape(raw[lead:])
    while (onset := audio.first_audible(shaped)) is not None and onset > audio.FRAME:
        lead += onset - audio.FRAME
        shaped = _shape(raw[lead:])
    if onset is None:
        raise TtsError(f"the voice made no sound of {text[:40]!r}")
    return Sound(shaped, onset, audio.us(lead), _judge(shaped, text, pace))


def expected_us(text: str, pace: float = 1.0) -> int:
    """Return how long *text* likely takes (µs)."""
    letters, digits, marks = _count(text)
    return round(pace * (letters * LETTER_US + digits * DIGIT_US + marks * PAUSE_US))


def shortest_us(text: str, pace: float = 1.0) -> int:
    """Return the shortest time in which *text* can be spoken: a third of the expected one (µs)."""
    letters, digits, _ = _count(text)
    return round(pace * (letters + digits) * LETTER_US / 3)


def longest_us(text: str, pace: float = 1.0) -> int:
    """Return the longest time that *text* can take, spelled out letter by letter (µs)."""
    letters, digits, marks = _count(text)
    return round(pace * (1_000_000 + (letters + digits) * 600_000 + marks * 2 * PAUSE_US))


def _count(text: str) -> tuple[int, int, int]:
    letters = sum(sign.isalpha() for sign in text)
    digits = sum(sign.isdigit() for sign in text)
    marks = sum(sign in ".,;:!?" for sign in text.rstrip(" .,;:!?\"'"))
    return letters, digits, marks


def _mono(samples: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    mono = samples.mean(axis=1, dtype=np.float32) if samples.ndim > 1 else samples
    if not mono.size:
        raise TtsError("the voice returned an empty sound")
    if not np.isfinite(mono).all():
        raise TtsError("the voice returned samples that are no numbers")
    offset = float(mono.mean())
    return mono - np.float32(offset) if abs(offset) > OFFSET else mono


def _internal(mono: npt.NDArray[np.float32], rate: int) -> Int16:
    if rate <= 0:
        raise TtsError(f"the voice returned sound of {rate} Hz")
    at_rate = mono if rate == audio.RATE else soxr.resample(mono, rate, audio.RATE)
    loudness = float(np.sqrt(np.mean(np.square(at_rate, dtype=np.float64)))) if at_rate.size else 0.0
    if loudness > LOUDEST:
        raise TtsError("the voice returned noise at full scale")
    return np.rint(np.clip(at_rate, -1.0, 1.0) * 32767).astype(np.int16)


def _shape(sound: Int16) -> Int16:
    loud = np.flatnonzero(np.abs(sound.astype(np.int32)) >= audio.AUDIBLE)
    end = int(loud[-1]) + 1 + TAIL if loud.size else 0
    return audio.fade(sound[:end], began=True, ended=True)


def _judge(sound: Int16, text: str, pace: float) -> str:
    """Return what is doubtful about the length of *sound*, '' if nothing; raises if it cannot be *text*."""
    took, likely = audio.us(sound.size), expected_us(text, pace)
    if not shortest_us(text, pace) <= took <= longest_us(text, pace):
        raise TtsError(f"{took // 1000} ms of sound cannot be {text[:40]!r}")
    letters, digits, _ = _count(text)
    if letters < 20 or digits:  # noqa: PLR2004 - the measured range, see the top
        return ""
    if likely / STRANGE <= took <= likely * STRANGE:
        return ""
    return f"lasts {took // 1000} ms where {likely // 1000} ms are likely: is its rate what it says?"
