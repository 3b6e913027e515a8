"""How well a probe foretells: ``python bench/probe.py [URL [MODEL]]``, by default a llama.cpp of its own.

It probes the server, writes the preset, talks to the server (calls of six turns, a prompt that grows), and
lets the simulated endpoint answer the very same prompts in virtual time. The promise, on llama.cpp: time to
first token at p50 within 10 %, at p95 within 20 %. Two things are in a ratio beside the model's error: how
the machine changes from one minute to the next (the talk is cut in halves to show it), and chance.
"""

from __future__ import annotations

import contextlib
import subprocess
import sys
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click
import numpy as np
from facts import facts
from rich.console import Console

from turnbudget.agents.backends.backend import Message, Prompt
from turnbudget.agents.backends.openai import OpenAIBackend
from turnbudget.agents.simulated.make import make
from turnbudget.endpoints.fit import rank
from turnbudget.endpoints.probe import describe, probe, write
from turnbudget.voice.time import clock
from turnbudget.voice.time.budget import Budget
from turnbudget.voice.time.clock import MS, SECOND

if TYPE_CHECKING:
    from collections.abc import Iterator

    from turnbudget.agents.backends.backend import Backend, Timing

CALLS = 20
SEEDS = 25
CUT = 1_000
PAUSE_US = 200 * MS
PATIENCE_US = 120 * SECOND
PROMISE = {50: 0.10, 95: 0.20}
SERVER = Path(__file__).parents[1] / "tests" / "agents" / "llama.py"
SYSTEM = Message(
    "system",
    "You answer the telephone for a bank in a small town. Callers want to move money, to know a balance, to "
    "block a card or to see a person. Say one or two short sentences, and ask for one thing at a time. Never "
    "read a whole account number aloud. The branch is open from nine to five, on Saturdays until noon. " * 3,
)
CALLER = (
    "Hello, I would like to move some money to my savings.",
    "Forty euros, please, from the account that my pay goes into, if possible before the end of the week.",
    "Yes.",
    "And could you tell me what is left on it then?",
    "There was a payment on Tuesday that I do not know, to something with water in its name, I think.",
    "All right, thank you. Goodbye.",
)


@dataclass(frozen=True)
class Turn:
    """A prompt, what the server said to it, and after how long."""

    prompt: Prompt
    said: str
    ttft_us: int


class Replies:
    """The words the server said."""

    def __init__(self, turns: list[Turn]) -> None:
        self._said = {turn.prompt.messages: turn.said for turn in turns}

    def reply(self, prompt: Prompt) -> str:
        """Return what the server said to *prompt*."""
        return self._said[prompt.messages]


async def ask(backend: Backend, prompt: Prompt) -> Turn:
    """Return one turn."""
    timings: list[Timing] = []
    said = [delta.text async for delta in backend.stream(prompt, Budget.of(PATIENCE_US), timings.append)]
    return Turn(prompt, "".join(said), timings[-1].ttft_us or 0)


async def talk(url: str, model: str) -> list[Turn]:
    """Return the turns of all calls with the server; the first call, which warms it up, is left out."""
    backend, turns = OpenAIBackend(url, model), []
    for number in range(CALLS + 1):
        history: tuple[Message, ...] = (SYSTEM,)
        for line in CALLER:
            said = f"It is call {number}. {line}" if len(history) == 1 else line
            turn = await ask(backend, Prompt((*history, Message("user", said)), max_tokens=32))
            history = (*turn.prompt.messages, Message("assistant", turn.said))
            turns.append(turn)
            await clock.sleep(PAUSE_US)
    await backend.aclose()
    return turns


async def again(preset: Path, turns: list[Turn], seed: int) -> list[int]:
    """Return the times to the first token of the same prompts, simulated."""
    backend = make(str(preset), seed=seed, text=Replies(turns))
    times: list[int] = []
    for turn in turns:
        # What was said is cut already, and the simulator counts tokens in its own way.
        times.append((await ask(backend, replace(turn.prompt, max_tokens=CUT))).ttft_us)
        await clock.sleep(PAUSE_US)
    return times


@contextlib.contextmanager
def server() -> Iterator[str]:
    """Yield the URL of a llama.cpp server of our own."""
    command = [sys.executable, str(SERVER)]
    process = subprocess.Popen(  # noqa: S603 - a file of ours
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    with process:
        try:
            yield process.stdout.readline().strip() if process.stdout else ""
        finally:
            process.kill()


def progress(done: int, total: int, what: str) -> None:
    """Show how far the probe is."""
    print(f"\r{done}/{total} {what:10}", end="", file=sys.stderr)


@click.command()
@click.argument("url", default="")
@click.argument("model", default="")
def main(url: str, model: str) -> None:
    """Print the ratios."""
    console = Console(soft_wrap=True)
    console.print(facts())
    with (
        server() if not url else contextlib.nullcontext(url) as address,
        tempfile.TemporaryDirectory() as place,
    ):
        made = clock.run(probe(address, model, progress=progress), "wall")
        turns = clock.run(talk(address, made.remote.model), "wall")
        preset = Path(place) / "probed.toml"
        write(made, preset)
        warm = slice(len(CALLER), None)
        foretold = [np.array(clock.run(again(preset, turns, seed), "virtual")[warm]) for seed in range(SEEDS)]
    console.print(describe(made))
    measured = np.array([turn.ttft_us for turn in turns][warm], np.float64)
    halves = np.array_split(measured, 2)
    print(f"fresh run: {len(measured)} turns; simulated: {SEEDS} times the same")
    for percent, promise in PROMISE.items():
        real = rank(measured, percent)
        of = [rank(times.astype(np.float64), percent) / real for times in foretold]
        pooled = rank(np.concatenate(foretold).astype(np.float64), percent) / real
        drift = rank(halves[1], percent) / rank(halves[0], percent)
        verdict = "kept" if abs(pooled - 1) <= promise else "MISSED"
        print(
            f"p{percent}: measured {real / 1000:.0f} ms, foretold / measured {pooled:.3f} "
            f"(one run of it {min(of):.2f} to {max(of):.2f}; second half / first half of the measured "
            f"{drift:.2f}); promised within {promise:.0%}: {verdict}"
        )


if __name__ == "__main__":
    main()
