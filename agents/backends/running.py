"""An attempt under way, read in a task of its own, so that it can be compared, dropped or followed.

It is read as fast as it comes, whoever listens: its times are the provider's, not the listener's.
"""

from __future__ import annotations

import contextlib
from dataclasses import replace
from typing import TYPE_CHECKING, cast

from turnbudget.agents.backends.backend import BackendError
from turnbudget.voice.time import clock
from turnbudget.voice.words.sentences import Sentences

if TYPE_CHECKING:
    import asyncio
    import itertools
    from collections.abc import AsyncGenerator, AsyncIterator, Callable

    from turnbudget.agents.backends.backend import Backend, Delta, Prompt, Timing, Told
    from turnbudget.voice.time.budget import Budget


class Running:
    """An attempt at the backend in *seat*; *changed* is set whenever there is news of it."""

    def __init__(self, seat: int, number: int, changed: asyncio.Event, retry_of: int | None) -> None:
        self.seat = seat
        self.number = number
        self.began_us = clock.now()
        self.first_us: int | None = None
        """When its first token came; white space is none."""
        self.sentence_us: int | None = None
        """When its first sentence was whole."""
        self.latest_us = self.began_us
        """When its latest delta came."""
        self.deltas: list[Delta] = []
        self.ended = False
        self.dropped = False
        self.counted = False
        """Whether the forecast has learned from it."""
        self.error: Exception | None = None
        self.notes: list[str] = []
        """What was decided about it, for its record."""
        self._changed = changed
        self._retry_of = retry_of
        self._task: asyncio.Task[None] | None = None
        self._sentences = Sentences()

    @property
    def speaking(self) -> bool:
        """Whether it has said something and nothing is wrong with it."""
        return self.first_us is not None and self.error is None and not self.dropped

    @property
    def live(self) -> bool:
        """Whether it may still say something."""
        return not (self.ended or self.dropped)

    def entrust(self, task: asyncio.Task[None]) -> None:
        """Know the *task* that reads it."""
        self._task = task

    async def read(self, backend: Backend, prompt: Prompt, budget: Budget, told: Told) -> None:
        """Read the answer to its end; an error is kept, not raised."""
        try:
            async with closing(backend.stream(prompt, budget, told)) as deltas:
                async for delta in deltas:
                    self._take(delta)
            if self.first_us is None:
                self.error = BackendError("answered without a word", where=backend.name, again=True)
            elif self.sentence_us is None:
                self.sentence_us = clock.now()
        except Exception as error:  # noqa: BLE001 - whoever follows it raises it
            self.error = error
        finally:
            self.ended = True
            self._changed.set()

    def drop(self, why: str) -> None:
        """End it now; its record says *why*."""
        if self.live and self._task:
            self.notes.append(why)
            self._task.cancel()
        self.dropped = True

    def telling(self, told: Told, numbers: itertools.count[int]) -> Callable[[Timing], None]:
        """Return what tells *told* of this attempt, and of more if its backend makes more of it."""
        mine = {0: self.number}

        def tell(timing: Timing) -> None:
            if timing.attempt not in mine:
                mine[timing.attempt] = next(numbers)
            before = self._retry_of if timing.retry_of is None else mine.get(timing.retry_of)
            flags = (*timing.flags, *self.notes)
            told(replace(timing, attempt=mine[timing.attempt], retry_of=before, flags=flags))

        return tell

    def _take(self, delta: Delta) -> None:
        self.deltas.append(delta)
        self.latest_us = clock.now()
        if self.first_us is None and (delta.text.strip() or not delta.text):
            self.first_us = self.latest_us
        if self.sentence_us is None and (delta.call or self._sentences.feed(delta.text)):
            self.sentence_us = self.latest_us
        self._changed.set()


def closing(stream: AsyncIterator[Delta]) -> contextlib.aclosing[AsyncGenerator[Delta]]:
    """Return a block that closes *stream* at its end: every backend's is a generator, or closes like one."""
    return contextlib.aclosing(cast("AsyncGenerator[Delta]", stream))
