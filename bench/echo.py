"""Our own voice in the caller's microphone, and what a canceller leaves of it: ``python bench/echo.py``.

The synthetic echo of VAD-08: three replies of the voice that is here come back 150 ms late and 18 dB weaker,
once as they are and once with the reverberation of a small room, alone and with a caller who says "wait,
Thursday" over the second of them. Judged by the detector that calls use: how long it hears a voice where
nobody speaks, and how much of the caller it still hears.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
import numpy as np
from facts import facts

from turnbudget.settings.compose import render_phrase
from turnbudget.settings.config import Config
from turnbudget.settings.engines import open_voice
from turnbudget.voice.hearing.ear import HIGH
from turnbudget.voice.hearing.vad import Silero
from turnbudget.voice.lines.canceller import Canceller
from turnbudget.voice.lines.microphone import decibels
from turnbudget.voice.sound import audio
from turnbudget.voice.time import clock
from turnbudget.voice.time.budget import nearest_rank
from turnbudget.voice.time.clock import MS

if TYPE_CHECKING:
    from turnbudget.voice.sound.audio import Int16

REPLIES = (
    "I can replace it. Is it your debit or credit card?",
    "The branch is open from nine to five, Monday to Friday, and on Saturday mornings from nine until noon.",
    "Alright, I have that done for you. Anything else?",
)
CALLER = "Wait, Thursday."
LATE = audio.samples(150 * MS)
GAIN = 10 ** (-18 / 20)
NOISE = 12.0
"""Standard deviation of the card's noise: −69 dBFS."""


async def spoken(*texts: str) -> list[Int16]:
    """Return *texts* as sound."""
    voice, _ = open_voice(Config(), "wall")
    try:
        await voice.warm()
        return [(await render_phrase(voice, text)).samples for text in texts]
    finally:
        await voice.aclose()


def room(*, reverberant: bool) -> np.ndarray:
    """Return what an impulse of ours comes back as."""
    answer = np.zeros(LATE + (3_200 if reverberant else 1))
    answer[LATE] = 1.0
    if reverberant:  # 200 ms that die away
        fading = np.exp(-np.arange(3_200) / 600)
        answer[LATE:] = np.random.default_rng(1).normal(0, 1, 3_200) * fading
    return answer * GAIN / np.sqrt((answer**2).sum())


def voiced_us(sound: Int16) -> int:
    """Return how long the detector hears a voice in *sound*."""
    vad = Silero()
    size = vad.window
    places = range(0, sound.size - size + 1, size)
    return audio.us(size * sum(vad.probability(sound[at : at + size], at) >= HIGH for at in places))


def cancelled(near: Int16, far: Int16) -> tuple[Int16, list[int]]:
    """Return *near* without *far*, frame by frame as in a call, and what each frame cost (µs of CPU)."""
    canceller, frames, costs = Canceller(), [], []
    for at in range(0, near.size - audio.FRAME + 1, audio.FRAME):
        began = clock.cpu()
        frames.append(canceller.clean(near[at : at + audio.FRAME], far[at : at + audio.FRAME]))
        costs.append(clock.cpu() - began)
    return audio.join(frames), sorted(costs)


@click.command()
def main() -> None:
    """Print what is left of the echo, and of the caller."""
    print(facts())
    *replies, caller = clock.run(spoken(*REPLIES, CALLER), "wall")
    pause = audio.silence(audio.RATE)
    far = audio.join([piece for reply in replies for piece in (reply, pause)])
    begins = replies[0].size + pause.size + 2 * audio.RATE
    over = slice(begins, begins + caller.size)
    print(
        f"{'echo':12}{'level':>16}{'voice where nobody speaks':>30}{'of the caller':>22}{'CPU a frame':>14}"
    )
    for name, reverberant in (("bare", False), ("in a room", True)):
        noise = np.random.default_rng(0).normal(0, NOISE, far.size)
        echo = np.convolve(far, room(reverberant=reverberant))[: far.size] + noise
        alone = echo.astype(np.int16)
        echo[over] += caller
        both = np.clip(echo, -32768, 32767).astype(np.int16)
        left, costs = cancelled(alone, far)
        kept, _ = cancelled(both, far)
        level = f"{decibels(alone):.0f} → {decibels(left):.0f} dB"
        false = f"{voiced_us(alone) // MS:,} → {voiced_us(left) // MS:,} ms"
        true = f"{voiced_us(kept[over]) // MS} of {voiced_us(caller) // MS} ms"
        cost = f"{nearest_rank(costs, 50)} µs"
        print(f"{name:12}{level:>16}{false:>30}{true:>22}{cost:>14}")


if __name__ == "__main__":
    main()
