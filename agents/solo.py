"""One LLM alone as a call's responder: no council, no domain but its system prompt.

While the caller speaks it has the backend made ready for the prompt that will come: connection and prefix
cache are then up to date, and what that took is shown as saved if the answer found its prefix cached.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agents.backends.backend import Message, Prompt
from agents.spoken import speak
from voice import clock
from voice.budget import Budget
from voice.responder import Reply

if TYPE_CHECKING:
    from collections.abc import Callable

    from agents.backends.backend import Backend, Timing
    from voice.responder import Question, Said

SYSTEM: Final = (
    "You answer the telephone for Harper Valley Bank. Answer in one or two short sentences, in plain words "
    "that can be spoken aloud. Ask for one missing detail at a time."
)
PREWARM_US: Final = 5 * clock.SECOND


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
        self._warmed_us = 0

    async def make_ready(self, history: tuple[Said, ...]) -> None:
        """Have connection and prompt cache brought up to what was heard until now."""
        began = clock.now()
        await self._backend.prewarm(self._prompt(history), Budget.of(PREWARM_US))
        self._warmed_us = clock.now() - began

    async def answer(self, question: Question) -> Reply:
        """Return the model's first sentence, the rest behind it."""
        prompt = self._prompt(question.history, question.said)
        warmed, self._warmed_us = self._warmed_us, 0

        def tell(timing: Timing) -> None:
            if warmed and timing.tokens_cached:
                lane = question.notes.lane(f"{self.name} prewarm", timing.began_us - warmed)
                lane.end("cached", timing.began_us, saved_us=warmed)
            self._told(timing)

        opened = await speak(self._backend, prompt, question.budget, question.notes, tell)
        return Reply(opened.opening, self.name, "first sentence whole", opened.rest)

    def _prompt(self, history: tuple[Said, ...], said: str = "") -> Prompt:
        messages = [
            Message(
                "user" if line.who == "caller" else "assistant", f"{line.text} …" if line.cut else line.text
            )
            for line in history
        ]
        asked = [Message("user", said)] if said else []
        return Prompt((self._system, *messages, *asked), self._max_tokens)
