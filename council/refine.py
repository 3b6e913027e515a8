"""Refining: several drafts, distilled and written anew by a fast backend, only when that can still land.

After Parallel-Distill-Refine (arXiv 2510.01123): drafts in parallel, distilled into a short workspace, and
one answer written from that workspace: two calls one after the other, so two more TTFTs. It begins only if
the forecast's p95 for both calls, and never less than two TTFTs, fits before the deadline, and is cut there
in any case; then the best draft stands. What an opinion would *do* is never reworded: drafts with an action,
a question for a slot, a transfer or a goodbye are left as they are.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from turnbudget.agents.backends.backend import Message, Prompt
from turnbudget.council.convene import dismiss, words
from turnbudget.voice.language.sentences import Sentences
from turnbudget.voice.time import clock

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Coroutine, Sequence

    from turnbudget.agents.agent import Opinion
    from turnbudget.agents.backends.backend import Backend, Timing
    from turnbudget.council.convene import HeardOpinion
    from turnbudget.voice.call.responder import Notes
    from turnbudget.voice.time.budget import Budget, Forecast
    from turnbudget.voice.time.crew import Crew

DRAFTS: Final = 2
"""How many drafts it takes: of fewer there is nothing to distil."""
STAGES: Final = ("ttft", "distil", "write")
"""What is forecast of a backend called ``fast``: ``ttft:fast`` and so on; a prior for the first is needed."""
DISTIL: Final = (
    "You compare draft answers of a telephone agent. List in a few words what they agree on, where they "
    "contradict each other, and what the caller still needs. Add nothing that no draft says."
)
"""What the backend is told that takes notes of the drafts."""
WRITE: Final = (
    "You speak on the telephone. Answer the caller from the notes alone: one or two short sentences, the "
    "answer first, no lists, nothing that the notes do not say."
)
"""What the backend is told that makes an answer of the notes."""


@dataclass(frozen=True, slots=True)
class Refiner:
    """A fast backend, and what it has lately cost."""

    backend: Backend
    forecast: Forecast
    workspace_tokens: int = 60
    answer_tokens: int = 80

    def needs_us(self) -> int:
        """Return how long refining likely takes until its opening can be spoken."""
        ttft, distil, write = (self.forecast.of(f"{stage}:{self.backend.name}").p95_us for stage in STAGES)
        return max(2 * ttft, distil + write)

    def fits(self, budget: Budget) -> bool:
        """Say whether two more calls can land before *budget* ends; without a forecast it is not known."""
        return 0 < self.needs_us() <= budget.left()

    async def refine(
        self, said: str, drafts: Sequence[HeardOpinion], best: Opinion, budget: Budget
    ) -> Opinion | None:
        """Return *best* in the words distilled from *drafts*; ``None`` if nothing came of it."""
        listed = "\n".join(f"- {one.opinion.opening} ({one.opinion.confidence:.2f})" for one in drafts)
        began = clock.now()
        asked = _prompt(DISTIL, f"Caller: {said}\nDrafts:\n{listed}", self.workspace_tokens)
        notes = await self._whole(asked, budget)
        self._note("distil", began)
        if not words(notes):
            return None
        began = clock.now()
        asked = _prompt(WRITE, f"Caller: {said}\nNotes:\n{notes}", self.answer_tokens)
        spoken = self._spoken(asked, budget)
        opening = await anext(spoken, "")
        self._note("write", began)
        if not words(opening):
            await spoken.aclose()
            return None
        because = f"distilled from {len(drafts)} drafts; {best.because}"
        return replace(best, opening=opening, rest=spoken, because=because)

    async def _whole(self, prompt: Prompt, budget: Budget) -> str:
        stream = self.backend.stream(prompt, budget, self._told)
        async with contextlib.aclosing(stream) as deltas:  # type: ignore[type-var]
            return "".join([delta.text async for delta in deltas])

    async def _spoken(self, prompt: Prompt, budget: Budget) -> AsyncGenerator[str, None]:
        """Yield the answer sentence by sentence."""
        sentences = Sentences()
        stream = self.backend.stream(prompt, budget, self._told)
        async with contextlib.aclosing(stream) as deltas:  # type: ignore[type-var]
            async for delta in deltas:
                for piece in sentences.feed(delta.text):
                    yield piece
        for piece in sentences.flush():
            yield piece

    def _told(self, timing: Timing) -> None:
        if timing.ttft_us is not None:
            self.forecast.note(f"ttft:{self.backend.name}", timing.ttft_us)

    def _note(self, stage: str, began_us: int) -> None:
        self.forecast.note(f"{stage}:{self.backend.name}", clock.now() - began_us)


async def refined(  # noqa: PLR0913 - the attempt, and where its work and its notes belong
    refiner: Refiner,
    said: str,
    heard: Sequence[HeardOpinion],
    best: HeardOpinion,
    *,
    sound_by: Budget,
    budget: Budget,
    crew: Crew,
    notes: Notes,
) -> Opinion | None:
    """Return *best* refined from what was *heard* before *sound_by*, if that can land, and does.

    *budget* is how long the rest of the answer may still come, behind its opening.
    """
    drafts = [one for one in heard if refinable(one.opinion)]
    if best not in drafts or len(drafts) < DRAFTS:
        return None
    need_ms, left_ms = refiner.needs_us() // clock.MS, sound_by.left() // clock.MS
    if not refiner.fits(sound_by):
        notes.decide("not refined", f"two more calls need {need_ms} ms, {left_ms} ms are left")
        return None
    lane = notes.lane(f"refine:{refiner.backend.name}")
    attempt = Attempt()
    work = attempt.run(refiner.refine(said, drafts, best.opinion, budget))
    task = crew.create_task(work, name=lane.name)
    try:
        await clock.wait_until([task], sound_by.ends_us)
        opinion = attempt.take() if clock.now() < sound_by.ends_us else None
    finally:
        task.cancel()
        if late := attempt.leave():
            crew.create_task(dismiss(late), name="closing what was refined too late")
    lane.end("used" if opinion else "dropped", wasted_us=0 if opinion else clock.now() - lane.began_us)
    why = attempt.failure or f"{len(drafts)} drafts, two more calls need {need_ms} ms, {left_ms} ms were left"
    notes.decide("refined" if opinion else "refining came to nothing", why)
    return opinion


class Attempt:
    """Work that may fail or be walked away from; whatever it holds open is closed then."""

    def __init__(self) -> None:
        self.failure = ""
        self._opinion: Opinion | None = None
        self._left = False

    async def run(self, work: Coroutine[None, None, Opinion | None]) -> None:
        """Do the work; no error of it leaves this task."""
        opinion: Opinion | None = None
        try:
            opinion = await work
        except Exception as error:  # noqa: BLE001 - a backend may raise anything
            self.failure = f"{type(error).__name__}: {error}"
        if opinion and self._left:
            await dismiss(opinion)
        else:
            self._opinion = opinion

    def take(self) -> Opinion | None:
        """Return what came of it."""
        opinion, self._opinion = self._opinion, None
        return opinion

    def leave(self) -> Opinion | None:
        """Walk away; return what has come of it and was not taken."""
        self._left = True
        return self.take()


def refinable(opinion: Opinion) -> bool:
    """Say whether *opinion* is nothing but words."""
    return not (opinion.action or opinion.expects or opinion.transfer or opinion.ends_call)


def _prompt(system: str, text: str, max_tokens: int) -> Prompt:
    return Prompt((Message("system", system), Message("user", text)), max_tokens=max_tokens)
