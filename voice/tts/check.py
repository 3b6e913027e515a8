"""What any synthesizer owes a call, as a check that its maker can run: ``await check_synthesizer(mine)``."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

import numpy as np

from turnbudget.voice.errors import BrokenPromise, TtsError
from turnbudget.voice.promises import closed, lacking, tried
from turnbudget.voice.sound import audio
from turnbudget.voice.time import clock
from turnbudget.voice.time.budget import Budget
from turnbudget.voice.time.clock import MS, SECOND
from turnbudget.voice.tts.synthesizer import Synthesizer

if TYPE_CHECKING:
    from turnbudget.voice.tts.synthesizer import Speech

TEXTS: Final = ("One moment, please.", "Your appointment is on Friday at 8:15 a.m., is that right?", "Yes.")
UNSPEAKABLE: Final = ("", "  \n", ".")
WARMING_US: Final = 600 * SECOND
"""Longest that loading a voice may take (µs; 10 minutes)."""
LONG_US: Final = 120 * SECOND
"""Longest that all renders together may take (µs; 120 s): each has a budget that is shorter."""
GRACE_US: Final = 100 * MS
"""A refusal may come so long after the Budget has ended: the loop has other things to do."""


async def check_synthesizer(synthesizer: Synthesizer) -> None:
    """Raise :class:`BrokenPromise`, which lists all that *synthesizer* breaks of what a voice promises.

    It warms, renders and closes it; a render may take 10 s here.
    """
    whose = type(synthesizer).__name__
    BrokenPromise.unless_kept(whose, lacking(synthesizer, Synthesizer))
    broken: list[str] = []
    broken += await _warm(synthesizer)
    broken += await tried(
        _speak(synthesizer, broken),
        LONG_US,
        f"a render does not end, however long its budget has ended ({LONG_US} µs)",
        "a plain text raises: {}",
    )
    broken += await closed(synthesizer)
    BrokenPromise.unless_kept(whose, broken)


async def _warm(synthesizer: Synthesizer) -> list[str]:
    """Return what is wrong when it is warmed, and warmed again."""
    broken: list[str] = []
    for _ in range(2):
        broken += await tried(
            synthesizer.warm(), WARMING_US, f"warm does not end within {WARMING_US} µs", "warm raises {!r}"
        )
    return broken


async def _speak(synthesizer: Synthesizer, broken: list[str]) -> None:
    """Add to *broken* what is wrong with what is rendered."""
    for text in TEXTS:
        broken += _faults(text, await synthesizer.render(text, Budget.of(10 * SECOND)))
    together = await asyncio.gather(
        *(synthesizer.render(text, Budget.of(10 * SECOND)) for text in TEXTS), return_exceptions=True
    )
    for text, speech in zip(TEXTS, together, strict=True):
        if isinstance(speech, BaseException):
            broken.append(f"renders that overlap raise {speech!r}")
        else:
            broken += _faults(text, speech)
    for text in UNSPEAKABLE:
        broken += await _refusal(synthesizer, text, SECOND)
    broken += await _refusal(synthesizer, TEXTS[1], 0)
    broken += _faults(TEXTS[0], await synthesizer.render(TEXTS[0], Budget.of(10 * SECOND)))


def _faults(text: str, speech: Speech) -> list[str]:
    """Return what is wrong with *speech*."""
    sound = speech.samples
    first = audio.first_audible(sound)
    if sound.dtype != np.int16 or sound.ndim != 1 or first is None:
        return [f"{text!r}: not audible int16 mono"]
    edges = max(abs(int(sound[0])), abs(int(sound[-1])))
    checks = {
        "the text is another": speech.text == text,
        f"the onset is {speech.onset}, the first audible sample {first}": speech.onset == first,
        f"{first} samples of silence come first, at most 320 may": first <= audio.FRAME,
        "the ends are not faded": edges < audio.AUDIBLE,
        "a cost or padding is negative": speech.cost_us >= 0 and speech.padding_us >= 0,
        "the voice has no name": bool(speech.voice),
    }
    return [f"{text!r}: {fault}" for fault, holds in checks.items() if not holds]


async def _refusal(synthesizer: Synthesizer, text: str, us: int) -> list[str]:
    """Return what is wrong if *text* is not refused by a TtsError within *us*."""
    budget = Budget.of(us)
    try:
        await synthesizer.render(text, budget)
    except TtsError:
        if clock.now() > budget.ends_us + GRACE_US:
            return [f"{text!r}: refused long after its budget had ended"]
        return []
    except Exception as error:  # noqa: BLE001 - whatever else it raises is the finding
        return [f"{text!r}: raises {error!r} instead of TtsError"]
    return [f"{text!r}: spoken although there is nothing to speak or no time"]
