"""An LLM that answers callers: as one agent among others, or alone as a call's responder.

Its answer is spoken from the first whole sentence on, the rest as it comes. Each attempt's times go into the
turn's lanes: what the caller waited for (first token, first sentence), and what the server said of itself
(queue, prefill).
"""

from __future__ import annotations

import contextlib
import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, NamedTuple

from turnbudget.agents.agent import Action, Opinion
from turnbudget.agents.backends.backend import LOST, BackendError, Message, Prompt, nobody
from turnbudget.agents.phrases import found, patterns
from turnbudget.agents.prefetch import Prefetch
from turnbudget.agents.values.heard import plain
from turnbudget.voice.call.ledger import Lane
from turnbudget.voice.call.responder import Reply, nothing
from turnbudget.voice.language.sentences import Sentences
from turnbudget.voice.language.text import same
from turnbudget.voice.time import clock
from turnbudget.voice.time.budget import Budget

if TYPE_CHECKING:
    import asyncio
    from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence

    from turnbudget.agents.agent import Context
    from turnbudget.agents.backends.backend import Backend, Delta, Timing, Told, Tool, ToolCall
    from turnbudget.voice.call.responder import Notes, Question, Said


SYSTEM: Final = (
    "You answer the telephone. Answer in one or two short sentences, in plain words that can be spoken aloud."
    " Ask for one missing detail at a time. Never invent facts about the caller."
)
"""What a model is told that is one agent among others, where its file does not say."""
ALONE: Final = (
    "You answer the telephone for Harper Valley Bank. Answer in one or two short sentences, in plain words "
    "that can be spoken aloud. Ask for one missing detail at a time."
)
"""What a model is told that answers a call alone, where the settings do not say."""
CONFIDENCE: Final = 0.6
"""The confidence in whatever a model says."""
PREWARM_US: Final = 5 * clock.SECOND
"""How long a backend may take to be made ready (µs; 5 s)."""


class _Aside:
    """Lanes that nobody reads: an agent's own times are in the lane of its seat."""

    def lane(self, name: str, began_us: int | None = None) -> Lane:
        return Lane(name, clock.now() if began_us is None else began_us)

    def decide(self, took: str, because: str) -> None:
        del took, because


class Llm:
    """An agent that asks a backend with a domain prompt.

    What it may do stays proposed: a tool it calls becomes the opinion's action. With tools its whole answer
    is awaited, since a call may come behind a sentence that promises it; without, the rest streams on.
    """

    def __init__(  # noqa: PLR0913 - each is a line of the user's file
        self,
        name: str,
        backend: Backend,
        *,
        system: str = SYSTEM,
        tools: Sequence[Tool] = (),
        says: Mapping[str, str] | None = None,
        trigger: Sequence[str] = (),
        confidence: float = CONFIDENCE,
        max_tokens: int = 80,
        told: Told = nobody,
    ) -> None:
        """Ask *backend* with *system* before the conversation.

        *tools* are offered to the model in its provider's format; *says* has for each what is said with its
        ``{result}``. With *trigger* patterns it speaks only where one is found. *told* gets every attempt's
        record.
        """
        self.name = name
        self._backend = backend
        self._system = system
        self._tools = tuple(tools)
        self._says = says or {}
        self._trigger = patterns(trigger, f"agent {name}")
        self._confidence = confidence
        self._max_tokens = max_tokens
        self._told = told

    async def answer(self, utterance: str, context: Context, budget: Budget) -> Opinion | None:
        """Return its first sentence once that is whole; raises BackendError if the backend fails."""
        words = plain(utterance).words
        if not words or (self._trigger and not found(self._trigger, words)):
            return None
        opened = await speak(self._backend, self._prompt(utterance, context), budget, _Aside(), self._told)
        if not self._tools:
            return Opinion(opened.opening, self._confidence, "first sentence whole", rest=opened.rest)
        others = [sentence async for sentence in opened.rest]
        if not opened.calls:
            return Opinion(opened.opening, self._confidence, "no tool wanted", rest=_each(others))
        return self._called(opened.calls[0], opened.opening)

    def _called(self, call: ToolCall, said: str) -> Opinion:
        """Return the opinion that proposes what the model called; of several calls the first."""
        if not any(tool.name == call.name for tool in self._tools):
            raise BackendError(f"asked for a tool {call.name!r} that there is not", where=self.name)
        told = json.loads(call.arguments or "{}")
        arguments = {
            key: value if isinstance(value, str) else json.dumps(value) for key, value in told.items()
        }
        says = self._says.get(call.name, "{result}" if not said else f"{said} {{result}}")
        return Opinion(says, self._confidence, f"calls {call.name}", action=Action(call.name, arguments))

    def _prompt(self, utterance: str, context: Context) -> Prompt:
        """Return what is asked; what is known stands last, so that the prefix stays as it was."""
        known = "; ".join(f"{name} = {value}" for name, value in sorted(context.slots.items()))
        heard = (
            Message(
                "user" if line.who == "caller" else "assistant", f"{line.text} …" if line.cut else line.text
            )
            for line in context.history
        )
        last = f"{utterance}\n(Known so far: {known})" if known else utterance
        messages = (Message("system", self._system), *heard, Message("user", last))
        return Prompt(messages, self._max_tokens, tools=self._tools)


async def _each(sentences: Sequence[str]) -> AsyncGenerator[str, None]:
    for sentence in sentences:
        yield sentence


class SpokenAnswer(NamedTuple):
    """An answer whose first sentence is whole; ``rest`` yields the others and closes the stream."""

    opening: str
    rest: AsyncGenerator[str, None]
    calls: list[ToolCall]
    """Tools the model asked for; complete when the rest has ended."""


async def speak(
    backend: Backend, prompt: Prompt, budget: Budget, notes: Notes, told: Callable[[Timing], None]
) -> SpokenAnswer:
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
    return SpokenAnswer(opening, sentences, calls)


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


@dataclass(frozen=True, slots=True)
class _Begun:
    """What the backend was asked on a guess."""

    said: str
    history: tuple[Said, ...]
    answering: Prefetch[Reply]

    def fits(self, question: Question) -> bool:
        """Whether *question* is about the same words."""
        return self.history == question.history and same(self.said, question.said)


async def _close(reply: Reply) -> None:
    await reply.rest.aclose()


class LlmResponder:
    """A responder that has one LLM answer the whole call, with no domain but its system prompt.

    While the caller speaks it has the backend made ready for the prompt that will come: connection and prefix
    cache are then up to date. What that took longer than the answer's own first token is shown as saved: the
    prefill and the handshake that the turn was spared. Asked on a guess it keeps what the backend says, for
    the turn if that is about the same words.
    """

    def __init__(
        self,
        backend: Backend,
        *,
        system: str = ALONE,
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
        answering = Prefetch(lambda: self._ask(question), _close, question.crew)
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
