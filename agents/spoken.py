"""An LLM's answer as it is spoken: the first sentence as soon as it is whole, the rest as it comes.

Each attempt's times go into the turn's lanes: what the caller waited for (first token, first sentence), and
what the server said of itself (queue, prefill).
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, NamedTuple

from turnbudget.agents.backends.backend import LOST, BackendError
from turnbudget.voice.time import clock
from turnbudget.voice.words.sentences import Sentences

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Callable

    from turnbudget.agents.backends.backend import Backend, Delta, Prompt, Timing, ToolCall
    from turnbudget.voice.call.responder import Notes
    from turnbudget.voice.time.budget import Budget


class Opened(NamedTuple):
    """An answer whose first sentence is whole; ``rest`` yields the others and closes the stream."""

    opening: str
    rest: AsyncGenerator[str, None]
    calls: list[ToolCall]
    """Tools the model asked for; complete when the rest has ended."""


async def speak(
    backend: Backend, prompt: Prompt, budget: Budget, notes: Notes, told: Callable[[Timing], None]
) -> Opened:
    """Ask *backend* and return its answer once its first sentence is whole.

    Raises :class:`~turnbudget.agents.backends.backend.BackendError`, also for an answer without a word.
    """
    waiting = notes.lane(f"llm:{backend.name} first token")

    def tell(timing: Timing) -> None:
        account(timing, notes)
        told(timing)

    calls: list[ToolCall] = []
    sentences = _sentences(backend.stream(prompt, budget, tell), calls, lambda: waiting.end("came"))
    outcome = "cancelled"
    try:
        opening = await anext(sentences, "")
        outcome = "no word came"
    except Exception:
        outcome = "failed"
        raise
    finally:
        waiting.end(outcome)
    if not opening and not calls:
        raise BackendError("answered without a word", where=backend.name)
    return Opened(opening, sentences, calls)


async def _sentences(
    stream: AsyncIterator[Delta], calls: list[ToolCall], began: Callable[[], None]
) -> AsyncGenerator[str, None]:
    splitter = Sentences()
    async with contextlib.aclosing(stream) as deltas:  # type: ignore[type-var]  # every backend yields one
        async for delta in deltas:
            if delta.call:
                calls.append(delta.call)
            if delta.text:
                began()
                for sentence in splitter.feed(delta.text):
                    yield sentence
    for sentence in splitter.flush():
        yield sentence


def account(timing: Timing, notes: Notes) -> None:
    """Lay one attempt's times into lanes."""
    name = f"llm:{timing.backend}" + (f" attempt {timing.attempt + 1}" if timing.attempt else "")
    ended = clock.now() if timing.ended_us is None else timing.ended_us
    if timing.connected_us is not None and not timing.reused:
        notes.lane(f"{name} connect", timing.began_us).end("done", timing.connected_us)
    asked = timing.began_us
    for what, span in (("queue", timing.server_queue_us), ("prefill", timing.server_prefill_us)):
        if span:
            notes.lane(f"{name} {what}", asked).end("told by the server", asked + span)
            asked += span
    if timing.first_token_us is not None and timing.first_sentence_us is not None:
        notes.lane(f"{name} first sentence", timing.first_token_us).end("done", timing.first_sentence_us)
    unused = timing.first_token_us is None or any(flag.startswith(LOST) for flag in timing.flags)
    wasted = ended - timing.began_us if timing.ending != "done" and unused else 0
    notes.lane(name, timing.began_us).end(timing.ending, ended, wasted_us=wasted)
    for flag in (*timing.flags, *filter(None, (timing.error,))):
        notes.decide(name, flag)
