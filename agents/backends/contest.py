"""One prompt under one mode: its attempts, which of them is followed, and what happens when one fails.

Words already given are never given twice: when an answer breaks off, the same backend is asked again, and
of what it says only the part beyond those words is passed on. If it says something else, the answer ends
there with an error. An attempt is read in a task of its own as fast as it comes, so that it can be compared,
dropped or followed, and its times are the provider's, not the listener's.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Protocol, cast

from turnbudget.agents.backends.backend import LOST, BackendError, Delta
from turnbudget.voice.language.sentences import Sentences
from turnbudget.voice.time import clock
from turnbudget.voice.time.clock import MS, SECOND
from turnbudget.voice.time.crew import Crew

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator

    from turnbudget.agents.backends.backend import Backend, Prompt, Timing, Told
    from turnbudget.voice.time.budget import Budget, Forecast


TRIES: Final = 2
"""How many attempts one backend gets before the turn's first token."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How long to wait for what, in µs; each also ends with the Budget."""

    first_us: int = 400 * MS
    """The first token of an attempt, if another backend can be asked instead and still land."""
    turn_us: int = 2 * SECOND
    """The first token of the turn, whoever gives it."""
    gap_us: int = 1_200 * MS
    """The next delta of an answer that has begun."""


PATIENCE: Final = Patience()
"""How long to wait where nobody says otherwise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """When the second backend starts, and whether it may win against one that was first."""

    together: bool = False
    """Both start at once."""
    keeps: bool = False
    """A late one is kept when the other starts."""
    by_forecast: bool = False
    """Late means later than the forecast's p95, not than Patience's first token."""
    checkpoint_us: int | None = None
    """Until then the second is waited for: it wins if its first sentence is whole."""


class Terms(Protocol):
    """What a contest is held by."""

    name: str
    backends: tuple[Backend, ...]
    plan: Plan
    patience: Patience
    forecast: Forecast


class Contest:
    """The attempts at one *prompt*; see :mod:`turnbudget.agents.backends.modes` for who wins."""

    def __init__(self, mode: Terms, prompt: Prompt, budget: Budget, told: Told) -> None:
        self._mode = mode
        self._prompt = prompt
        self._budget = budget
        self._told = told
        self._numbers = itertools.count()
        self._runs: list[Running] = []
        self._changed = asyncio.Event()
        self._crew = Crew()
        self._began_us = clock.now()
        self._turn = budget.share(mode.patience.turn_us)
        self._checkpoint_us = min(self._began_us + (mode.plan.checkpoint_us or 0), self._turn.ends_us)

    async def deltas(self) -> AsyncGenerator[Delta]:
        """Yield the answer; raises BackendError when no attempt can give one."""
        said, called, again = "", False, True
        async with self._crew:
            run = await self._winner()
            while True:
                try:
                    async with contextlib.aclosing(self._follow(run, said)) as deltas:
                        async for delta in deltas:
                            said, called = said + delta.text, called or delta.call is not None
                            yield delta
                except BackendError as error:
                    if not (again and error.again) or called or not self._lands(run.seat, self._budget):
                        raise
                    again = False
                    run = self._start(run.seat, after=run)
                else:
                    return

    async def _winner(self) -> Running:
        """Return the attempt to follow, once it is known; raises BackendError if none can be."""
        self._start(0)
        if self._mode.plan.together:
            self._start(1)
        while (best := self._best()) is None:
            await self._relieve()
            await self._news(min(self._instants()))
        for run in self._runs:
            if run is not best:
                self._drop(run, f"{LOST} {best.number}")
        return best

    def _best(self) -> Running | None:
        """Return the attempt that has won by now."""
        speaking = [run for run in self._runs if run.speaking]
        if not self._mode.plan.checkpoint_us:
            return min(speaking, key=lambda run: run.first_us or 0, default=None)
        careful = self._runs[1]
        if careful.speaking and careful.sentence_us is not None:
            careful.notes.append(f"won: first sentence after {_ms(careful.sentence_us - self._began_us)}")
            return careful
        if clock.now() < self._checkpoint_us and careful.live:
            return None
        if speaking:
            careful.notes.append(f"no first sentence by {_ms(clock.now() - self._began_us)}")
        return next(iter(speaking), None)

    async def _relieve(self) -> None:
        """Start another attempt if the latest failed or is late; raises BackendError if none can land."""
        for run in self._runs:
            if run.error and not isinstance(run.error, BackendError):
                raise run.error  # no provider's fault: ours, or a setting's
        live = [run for run in self._runs if run.live]
        spare = self._spare()
        if not live:
            await self._retry(spare)
        elif self._turn.left() <= 0:
            raise self._none()
        elif spare is not None and clock.now() >= self._late_us(live[-1]):
            why = f"no first token after {_ms(clock.now() - live[-1].began_us)}"
            if self._mode.plan.keeps:
                live[-1].notes.append(f"{why}: hedged")
            else:
                self._drop(live[-1], why)
            self._start(spare, after=live[-1])

    async def _retry(self, spare: int | None) -> None:
        """Start *spare*, or whoever failed in passing, since nothing runs any more."""
        if spare is not None:
            self._start(spare, after=self._runs[-1])
            return
        for run in self._runs:
            tries = sum(other.seat == run.seat for other in self._runs)
            error = run.error
            if isinstance(error, BackendError) and error.again and tries < TRIES:
                wait_us = error.retry_after_us or 0
                if self._lands(run.seat, self._turn.keep(wait_us)):
                    await clock.sleep(wait_us)
                    self._start(run.seat, after=run)
                    return
        raise self._none()

    async def _follow(self, run: Running, heard: str) -> AsyncGenerator[Delta]:
        """Yield what *run* says beyond *heard*; raises BackendError if it fails, stalls or differs."""
        at, text = 0, ""
        while True:
            while at < len(run.deltas):
                delta, at = run.deltas[at], at + 1
                if delta.text and len(text) < len(heard):
                    text += delta.text
                    self._same(run, text, heard)
                    delta = Delta(text[len(heard) :])
                    if not delta.text:
                        continue
                yield delta
            if run.error:
                raise run.error
            if run.ended:
                self._same(run, text + "\0" * (len(text) < len(heard)), heard)
                return
            ends_us = min(self._budget.ends_us, run.latest_us + self._mode.patience.gap_us)
            if clock.now() >= ends_us:
                raise self._stalled(run)
            await self._news(ends_us)

    def _same(self, run: Running, text: str, heard: str) -> None:
        if not (text.startswith(heard) or heard.startswith(text)):
            self._drop(run, "says something else than was said")
            raise BackendError("broke off, and says something else at the second try", where=self._name(run))

    def _stalled(self, run: Running) -> BackendError:
        silent = _ms(clock.now() - run.latest_us)
        over = self._budget.left() <= 0
        why = "the answer did not end in time" if over else f"silent for {silent} in mid-answer"
        self._drop(run, why)
        return BackendError(why, where=self._name(run), again=not over)

    def _start(self, seat: int, after: Running | None = None) -> Running:
        before = after.number if after else None
        run = Running(seat, next(self._numbers), self._changed, before)
        backend = self._mode.backends[seat]
        told = run.telling(self._told, self._numbers)
        work = run.read(backend, self._prompt, self._budget, told)
        run.entrust(self._crew.create_task(work, name=f"{backend.name}, attempt {run.number}"))
        self._runs.append(run)
        return run

    def _drop(self, run: Running, why: str) -> None:
        """Drop *run*; that it was silent for longer than forecast is news for the forecast."""
        silent_us = clock.now() - run.began_us
        if run.live and run.first_us is None and silent_us > self._mode.forecast.of(self._name(run)).p95_us:
            self._mode.forecast.note(self._name(run), silent_us)
        run.drop(why)

    async def _news(self, until_us: int) -> None:
        async with clock.move_on_at(until_us):
            await self._changed.wait()
        self._changed.clear()
        for run in self._runs:
            if run.first_us and not run.counted:
                run.counted = True
                self._mode.forecast.note(self._name(run), run.first_us - run.began_us)

    def _instants(self) -> Iterator[int]:
        """Yield the instants at which something is to be decided even without news."""
        yield self._turn.ends_us
        if clock.now() < self._checkpoint_us:
            yield self._checkpoint_us
        if self._spare() is not None:
            yield self._late_us(self._runs[-1])

    def _late_us(self, run: Running) -> int:
        """Return when the first token of *run* is late."""
        if self._mode.plan.by_forecast:
            return run.began_us + self._mode.forecast.of(self._name(run)).p95_us
        return run.began_us + self._mode.patience.first_us

    def _spare(self) -> int | None:
        """Return the backend that has not been asked yet and can still land."""
        asked = {run.seat for run in self._runs}
        seats = range(len(self._mode.backends))
        return next((seat for seat in seats if seat not in asked and self._lands(seat, self._turn)), None)

    def _lands(self, seat: int, budget: Budget) -> bool:
        """Return whether an attempt begun now is likely to give its first token before *budget* ends."""
        return self._mode.forecast.of(self._mode.backends[seat].name).p50_us < budget.left()

    def _name(self, run: Running) -> str:
        return self._mode.backends[run.seat].name

    def _none(self) -> BackendError:
        """Return why there is no answer, with each attempt's reason."""
        reasons = [str(run.error or f"{self._name(run)}: no first token in time") for run in self._runs]
        errors = [run.error for run in self._runs if isinstance(run.error, BackendError)]
        waits = [error.retry_after_us for error in errors if error.retry_after_us is not None]
        return BackendError(
            "; ".join(reasons),
            where=self._mode.name,
            status=errors[-1].status if errors else None,
            retry_after_us=min(waits, default=None),
        )


def _ms(us: int) -> str:
    return f"{us / MS:.0f} ms"


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
