"""What an end-of-turn model makes of recorded callers' pauses: of ends, and of pauses within a turn.

A turn ends where the agent speaks next, by the reference's word times; a pause is a gap of 0.15 s or more
between two words of one turn. The model hears the turn from 0.2 s before its first word to *after* ms behind
the word before the pause.

    python bench/end_of_turn.py ../shared/data/harper-valley [--after 60]
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from facts import facts

from turnbudget.recorded.harper import open_call
from turnbudget.speculative.spend import UNFINISHED
from turnbudget.voice.hearing.end_of_turn import SmartTurn
from turnbudget.voice.sound import audio
from turnbudget.voice.time import clock

if TYPE_CHECKING:
    from collections.abc import Iterator

    from turnbudget.recorded.conversation import Conversation
    from turnbudget.voice.sound.audio import Int16

GAP_US: Final = 150 * clock.MS
MARGIN_US: Final = 200 * clock.MS
THRESHOLDS: Final = (0.02, UNFINISHED, 0.1, 0.2, 0.5, 0.9)


@dataclass(frozen=True, slots=True)
class Pause:
    """A pause as the model hears it, and whether the turn was over."""

    sound: Int16
    ended: bool


def pauses(call: Conversation, after_us: int) -> Iterator[Pause]:
    """Yield the pauses of *call*'s caller, the ends of turns among them."""
    words = sorted((word for one in call.caller_speech for word in one.words), key=lambda word: word.began_us)
    began = words[0].began_us
    for word, after in zip(words, [*words[1:], None], strict=True):
        ended = after is None or any(
            word.began_us < reply.began_us < after.began_us for reply in call.agent_speech
        )
        if ended or (after and after.began_us - word.ended_us >= max(GAP_US, after_us)):
            first, last = audio.samples(began - MARGIN_US), audio.samples(word.ended_us + after_us)
            yield Pause(call.caller[max(0, first) : last], ended)
        if ended and after:
            began = after.began_us


async def measured(folder: Path, after_ms: int) -> None:
    """Print what the model makes of every pause in *folder*."""
    calls = [open_call(path) for path in sorted((folder / "transcript").glob("*.json"))]
    all_pauses = [pause for call in calls for pause in pauses(call, after_ms * clock.MS)]
    model = SmartTurn()
    cpu = clock.cpu()
    likely = [(pause.ended, await model.ended(pause.sound)) for pause in all_pauses]
    cpu = clock.cpu() - cpu
    await model.aclose()
    print(facts())
    print(f"{model.name}, {after_ms} ms behind the word, {cpu // len(likely) / clock.MS:.0f} ms CPU a pause")
    print("below   of ends      of pauses within a turn")
    for threshold in THRESHOLDS:
        below = [[one < threshold for over, one in likely if over is ended] for ended in (True, False)]
        ends, within = (f"{sum(each)} of {len(each)}" for each in below)
        print(f"{threshold:5.2f}   {ends:10}   {within}")


def main() -> None:
    """Read the options, and measure."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path, help="recorded calls in HarperValley layout")
    parser.add_argument("--after", type=int, default=60, metavar="MS", help="silence that is heard (60)")
    given = parser.parse_args()
    clock.run(measured(given.folder, given.after), "wall")


if __name__ == "__main__":
    main()
