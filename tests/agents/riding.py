"""Builders for the simulator's tests: prompts, calls on a backend, and a scheduler driven without a clock."""

from __future__ import annotations

from contextlib import aclosing
from random import Random

from turnbudget.agents.backends.backend import BackendError, Message, Prompt
from turnbudget.agents.simulated.scheduler import Scheduler, ServedRequest
from turnbudget.voice.time import clock
from turnbudget.voice.time.budget import Budget
from turnbudget.voice.time.clock import SECOND

FAR_US = 10**15
BANK = Message("system", "You answer for a bank. " * 20)


def prompt(text="I want to move forty euros to my savings, please.", *before, system=BANK, **settings):
    """A prompt of the user's *text* behind a system prompt and *before*."""
    return Prompt((system, *before, Message("user", text)), **settings)


async def ask(backend, asked=None, within=120 * SECOND):
    """Return the text and the Timing of one answer."""
    timings, text = [], ""
    async with aclosing(backend.stream(asked or prompt(), Budget.of(within), timings.append)) as deltas:
        async for delta in deltas:
            text += delta.text
    return text, timings[-1]


def rides(instance, *, arrivals, out, messages=(BANK,), size=64):
    """Return the rides that arrive at the instants given, each with *out* tokens, when all are over."""
    scheduler = Scheduler(instance, 0, lambda _: None)
    done = []
    for arrives in arrivals:
        scheduler.settle(arrives)
        tokens = out if isinstance(out, int) else out(len(done))
        ride = ServedRequest(
            messages, size, ("x",) * tokens, arrives + round(instance.losses.request_us), FAR_US
        )
        scheduler.add(ride)
        done.append(ride)
    scheduler.settle(FAR_US)
    return done


def poisson(per_s, seconds, seed=1):
    """Return arrivals at random, *per_s* on average, for so many seconds (µs)."""
    rng, at, found = Random(seed), 0.0, []  # noqa: S311 - arrivals, no secret
    while at < seconds * SECOND:
        at += rng.expovariate(per_s) * SECOND
        found.append(round(at))
    return found


def evenly(per_s, seconds):
    """Return arrivals at a constant rate (µs)."""
    return [round(number * SECOND / per_s) for number in range(round(per_s * seconds))]


def ttft_ms(instance, ride):
    """Return the time to the first token as a client would see it."""
    return (ride.first_us - ride.arrived_us + instance.losses.request_us) / 1000


def tpot_ms(ride):
    """Return the time per token after the first."""
    return (ride.last_us - ride.first_us) / (ride.tokens - 1) / 1000


def mean(values):
    values = list(values)
    return sum(values) / len(values)


async def fails(backend, within, asked=None):
    """Return the text that came before a BackendError, the instants it came at, the error and the Timing."""
    timings, said, instants = [], "", []
    try:
        async with aclosing(backend.stream(asked or prompt(), Budget.of(within), timings.append)) as deltas:
            async for delta in deltas:
                said += delta.text
                instants.append(clock.now())
    except BackendError as error:
        return said, instants, error, timings[-1]
    raise AssertionError(f"it answered: {said}")
