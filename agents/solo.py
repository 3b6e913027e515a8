"""One LLM alone as a call's responder: no council, no domain but its system prompt.

While the caller speaks it has the backend made ready for the prompt that will come: connection and prefix
cache are then up to date. What that took longer than the answer's own first token is shown as saved: the
prefill and the handshake that the turn was spared. Asked on a guess it keeps what the backend says, for the
turn if that is about the same words.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from turnbudget.agents.backends.backend import BackendError, Message, Prompt
from turnbudget.agents.kept import Kept
from turnbudget.agents.spoken import speak
from turnbudget.voice.call.responder import Reply, nothing
from turnbudget.voice.time import clock
from turnbudget.voice.time.budget import Budget
from turnbudget.voice.words.same import same

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

    from turnbudget.agents.backends.backend import Backend, Timing
    from turnbudget.voice.call.responder import Notes, Question, Said

SYSTEM: Final = (
    "You answer the telephone for Harper Valley Bank. Answer in one or two short sentences, in plain words "
    "that can be spoken aloud. Ask for one missing detail at a time."
)
PREWARM_US: Final = 5 * clock.SECOND


@dataclass(frozen=True, slots=True)
class _Begun:
    """What the backend was asked on a guess."""

    said: str
    history: tuple[Said, ...]
    answering: Kept[Reply]

    def fits(self, question: Question) -> bool:
        """Whether *question* is about the same words."""
        return self.history == question.history and same(self.said, question.said)


async def _close(reply: Reply) -> None:
    await reply.rest.aclose()


class LlmResponder:
    """Answers with what *backend* says; one a call."""

    def __init__(
        self,
        backend: Backend,
        *,
        system: str = SYSTEM,
        max_tokens: int = 80,
        told: Callable[[Timing], None] = lambda _: None,
    ) -> None:
        """Ask *backend* with *system* before the conversation; *told* gets every attempt's record."""
        self.name = f"llm:{backend.name}"
        self._backend = backend
        self._system = Message("system", system)
        self._max_tokens = max_tokens
        self._told = told
        self._warming: asyncio.Timeout | None = None
        """The end of what is being made ready, while it is."""
        self._warmed: tuple[int, int] | None = None
        """When the backend was last made ready for the turn that comes: begin and end."""
        self._begun: _Begun | None = None

    async def make_ready(self, history: tuple[Said, ...]) -> None:
        """Have connection and prompt cache brought up to what was heard until now."""
        if self._warming:
            return
        budget, began = Budget.of(PREWARM_US), clock.now()
        try:
            async with clock.move_on_at(budget.ends_us) as self._warming:
                await self._backend.prewarm(self._prompt(history), budget)
                self._warmed = began, clock.now()
        finally:
            self._warming = None

    async def answer(self, question: Question) -> Reply:
        """Return the model's first sentence, the rest behind it."""
        begun, self._begun = self._begun, None
        if begun and not question.guess and begun.fits(question):
            with contextlib.suppress(BackendError):  # what failed on a guess is tried once more
                if reply := await begun.answering.take(question.budget.ends_us):
                    return reply
        elif begun:
            begun.answering.drop()
        if not question.guess:
            return await self._ask(question)
        answering = Kept(lambda: self._ask(question), _close, question.crew)
        self._begun = begun = _Begun(question.said, question.history, answering)
        try:
            reply = await answering.come()
        except BaseException:
            answering.drop()
            if self._begun is begun:
                self._begun = None
            raise
        return replace(reply, rest=nothing())

    async def _ask(self, question: Question) -> Reply:
        if self._warming:  # the same prefix twice at once takes a server longer than once
            self._warming.reschedule(clock.now() / clock.SECOND)
        warmed, self._warmed = self._warmed, None

        def tell(timing: Timing) -> None:
            if warmed and not timing.attempt:
                self._spared(warmed, timing, question.notes)
            self._told(timing)

        prompt = self._prompt(question.history, question.said)
        opened = await speak(self._backend, prompt, question.budget, question.notes, tell)
        return Reply(opened.opening, self.name, "first sentence whole", opened.rest)

    def _spared(self, warmed: tuple[int, int], timing: Timing, notes: Notes) -> None:
        """Note what the turn was spared: nothing unless a warm connection or prompt cache was found."""
        began, ended = warmed
        found = timing.ttft_us is not None and (timing.reused or timing.tokens_cached)
        saved = max(0, ended - began - (timing.ttft_us or 0)) if found else 0
        lane = notes.lane(f"{self.name} prewarm", began)
        lane.end("used" if saved else "spared nothing", ended, saved_us=saved)

    def _prompt(self, history: tuple[Said, ...], said: str = "") -> Prompt:
        messages = [
            Message(
                "user" if line.who == "caller" else "assistant", f"{line.text} …" if line.cut else line.text
            )
            for line in history
        ]
        asked = [Message("user", said)] if said else []
        return Prompt((self._system, *messages, *asked), self._max_tokens)
