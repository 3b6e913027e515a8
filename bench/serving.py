"""What simulated serving costs: 500 concurrent calls for 10 minutes of talk, ``python bench/serving.py``.

In virtual time, where nothing waits, the cost is CPU alone; the promise is under 60 s on one core. Each call
is a caller who speaks, hears an answer of some 30 tokens out, and speaks again; after 3 minutes the next
calls. Every token is delivered at its own instant.
"""

from __future__ import annotations

import asyncio
import contextlib
from random import Random
from typing import TYPE_CHECKING

import click
from facts import facts

from turnbudget.agents.backends.backend import BackendError, Message, Prompt
from turnbudget.agents.simulated.make import make
from turnbudget.agents.simulated.presets import PRESETS as ALL
from turnbudget.agents.simulated.words import Script
from turnbudget.voice.time import clock
from turnbudget.voice.time.budget import Budget, nearest_rank
from turnbudget.voice.time.clock import SECOND

if TYPE_CHECKING:
    from turnbudget.agents.backends.backend import Backend, Timing

CALLS = 500
TALK_US = 600 * SECOND
CALL_US = 180 * SECOND
HEARD_US = 8 * SECOND
PATIENCE_US = 10 * SECOND
PRESETS = ("gpu-small", "gpu-batched", "wafer-scale", "api-haiku-4.5")
SYSTEM = Message("system", "You answer for a bank. Be brief. " * 30)
ANSWERS = Script(
    [
        "I can help you with that. Which account should the money leave from, and when is it due to arrive?",
        "Thank you. I have moved forty euros to your savings. Is there anything else that I can do for you?",
        "Your balance is two hundred and twelve euros. The last payment was on Friday, to the water works.",
    ]
)


async def caller(backend: Backend, number: int, timings: list[Timing]) -> None:
    """Talk until the time is over: speak, listen, hang up after a while and begin again."""
    rng = Random(number)  # noqa: S311 - a caller, no secret
    ends, call_ends, history = clock.now() + TALK_US, 0, (SYSTEM,)
    while clock.now() < ends:
        if clock.now() >= call_ends:
            call_ends, history = clock.now() + CALL_US, (SYSTEM,)
        await clock.sleep(rng.randrange(2 * SECOND, 6 * SECOND))
        said = Message(
            "user", f"This is call {number}, I would like to know about {rng.random():.6f}, please."
        )
        prompt = Prompt((*history, said))
        budget = Budget.of(PATIENCE_US)
        answer: list[str] = []
        with contextlib.suppress(BackendError):  # a stall of an API: the caller goes on
            answer += [delta.text async for delta in backend.stream(prompt, budget, timings.append)]
        history = (*prompt.messages, Message("assistant", "".join(answer)))
        await clock.sleep(HEARD_US)


async def talk(preset: str) -> tuple[list[Timing], int]:
    """Return every attempt of all calls, and the CPU used (µs)."""
    backend = make(preset, seed=1, text=ANSWERS)
    timings: list[Timing] = []
    cpu = clock.cpu()
    async with asyncio.TaskGroup() as crew:
        for number in range(CALLS):
            crew.create_task(caller(backend, number, timings))
    return timings, clock.cpu() - cpu


@click.command()
@click.argument("presets", nargs=-1, type=click.Choice(list(ALL)))
def main(presets: tuple[str, ...]) -> None:
    """Print the cost of each preset."""
    print(facts())
    print(f"{CALLS} calls, {TALK_US // SECOND} s of talk each, virtual time, one core; promise: CPU < 60 s")
    columns = ("turns", "tokens", "TTFT p50", "p99", "CPU", "a token", "of 60 s")
    print(f"{'preset':16}" + "".join(f"{column:>10}" for column in columns))
    for preset in presets or PRESETS:
        timings, cpu = clock.run(talk(preset), "virtual")
        tokens = sum(timing.tokens_out or 0 for timing in timings)
        firsts = sorted(timing.ttft_us for timing in timings if timing.ttft_us is not None)
        p50, p99 = (nearest_rank(firsts, rank) / 1000 for rank in (50, 99))
        print(
            f"{preset:16}{len(timings):10}{tokens:10}{p50:7.0f} ms{p99:7.0f} ms"
            f"{cpu / SECOND:8.1f} s{cpu / tokens:7.1f} µs{cpu / SECOND / 60:10.2f}"
        )


if __name__ == "__main__":
    main()
