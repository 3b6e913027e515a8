"""The seam between an agent and any LLM: a prompt in, deltas out, and a record of where the time went.

A delta's text is answer text and nothing else: reasoning is never spoken, and what arrives in one chunk may
be many tokens or none. Every attempt, also one that fails or is cancelled, leaves one :class:`Timing`.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol, TypeAlias

from turnbudget.voice.errors import ComponentError, ConfigError
from turnbudget.voice.language.sentences import Sentences
from turnbudget.voice.time import clock

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping

    from turnbudget.voice.time.budget import Budget

Role: TypeAlias = Literal["system", "user", "assistant"]
"""Who says a message of a prompt."""
Ending: TypeAlias = Literal["done", "cancelled", "failed"]
"""How an attempt ended."""
LOST: Final = "lost to attempt"
"""How the flag of an attempt begins that was dropped because another won: what it took was in vain."""


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a prompt."""

    role: Role
    """Who says it."""
    text: str
    """What is said."""


@dataclass(frozen=True, slots=True)
class Tool:
    """A function the model may ask for: its parameters as a JSON schema."""

    name: str
    """What the model calls it."""
    description: str
    """What it is for, in words for the model."""
    parameters: Mapping[str, Any]
    """Its parameters, as a JSON schema."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """Messages and tools for a backend."""

    messages: tuple[Message, ...]
    """What was said, the system's words first."""
    max_tokens: int = 120
    """The most tokens of an answer: few, for a caller listens and some providers reserve them all."""
    temperature: float | None = 0.0
    """How much chance there is in the answer; ``None`` leaves it to the provider."""
    tools: tuple[Tool, ...] = ()
    """The functions that the model may ask for."""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A complete call that the model asks for."""

    id: str
    """The provider's id of the call."""
    name: str
    """The function that is called."""
    arguments: str
    """Its arguments in JSON, as the model wrote them."""


@dataclass(frozen=True, slots=True)
class Delta:
    """A piece of an answer: text to be spoken, or a tool call once it is complete.

    An empty one says that a tool call has begun to arrive: output, though nothing to act upon yet.
    """

    text: str = ""
    """Text to be spoken."""
    call: ToolCall | None = None
    """A tool call that is complete."""


@dataclass(frozen=True, slots=True)
class Timing:
    """Where one attempt's time went: instants in µs on the loop's clock, spans in µs, ``None`` if unknown."""

    backend: str
    """The backend's name."""
    model: str
    """The model's name."""
    began_us: int
    """When the attempt began (µs on the loop's clock)."""
    attempt: int = 0
    """The number of the attempt in its turn, from 0."""
    retry_of: int | None = None
    """The number of the attempt it follows; ``None`` for the first."""
    reused: bool | None = None
    """Whether it went over a connection that was there; ``None`` if none came about."""
    connected_us: int | None = None
    """When there was a connection (µs on the loop's clock)."""
    headers_us: int | None = None
    """When the response's headers were there (µs on the loop's clock)."""
    first_byte_us: int | None = None
    """When the first byte of the body came (µs on the loop's clock)."""
    first_token_us: int | None = None
    """When the first answer token came (µs on the loop's clock); reasoning is none."""
    first_sentence_us: int | None = None
    """When the first sentence was whole (µs on the loop's clock)."""
    ended_us: int | None = None
    """When the attempt ended (µs on the loop's clock)."""
    server_queue_us: int | None = None
    """How long the request waited, as the provider says (µs)."""
    server_prefill_us: int | None = None
    """How long the prompt was read, as the provider says (µs)."""
    server_decode_us: int | None = None
    """How long the answer was made, as the provider says (µs)."""
    tokens_in: int | None = None
    """The tokens of the prompt, cached ones included."""
    tokens_cached: int | None = None
    """The tokens of the prompt that were cached."""
    tokens_out: int | None = None
    """The tokens of the answer, reasoning included."""
    tokens_reasoning: int | None = None
    """The tokens of the reasoning."""
    tier_asked: str | None = None
    """The service tier that was asked for."""
    tier_served: str | None = None
    """The service tier that was given."""
    ending: Ending = "done"
    """How the attempt ended."""
    error: str = ""
    """What went wrong; '' if nothing."""
    flags: tuple[str, ...] = ()
    """What was odd about it: no finish reason, usage missing, cache lost by a change of tier, …"""

    @property
    def ttft_us(self) -> int | None:
        """Time to the first answer token."""
        return None if self.first_token_us is None else self.first_token_us - self.began_us

    @property
    def tpot_us(self) -> float | None:
        """Time per output token after the first, by the provider's own count: chunks are not tokens."""
        if self.ended_us is None or self.first_token_us is None or (self.tokens_out or 0) < 2:  # noqa: PLR2004
            return None
        return (self.ended_us - self.first_token_us) / ((self.tokens_out or 0) - 1)


Told: TypeAlias = "Callable[[Timing], None]"
"""Takes the record of each attempt."""


def nobody(_: Timing) -> None:
    """Tell nobody."""


class Backend(Protocol):
    """An LLM, shared by all calls of a process."""

    name: str
    """What the backend is called in records and forecasts."""

    def stream(self, prompt: Prompt, budget: Budget, told: Told = nobody) -> AsyncIterator[Delta]:
        """Yield the answer to *prompt* until it or *budget* ends; *told* gets a Timing per attempt.

        Raises :class:`BackendError`. Leaving early (use ``contextlib.aclosing``) or cancelling frees the
        socket, and the seat on the server, at once.
        """
        ...

    async def prewarm(self, prefix: Prompt, budget: Budget) -> None:
        """Bring connection and prompt cache up to *prefix* before it is needed; a failure is not one."""
        ...

    async def aclose(self) -> None:
        """Close connections."""
        ...


class BackendError(ComponentError):
    """An LLM failed, refused, or was silent; says whether and when another try makes sense."""

    def __init__(  # noqa: PLR0913 - each is asked for by whoever decides on another try
        self,
        what: str,
        *,
        where: str = "",
        remedy: str = "",
        status: int | None = None,
        retry_after_us: int | None = None,
        again: bool = False,
    ) -> None:
        """*again*: the same request may succeed now (a dead reused connection, a passing 503)."""
        super().__init__(what, where=where, remedy=remedy)
        self.status = status
        self.retry_after_us = retry_after_us
        self.again = again


class Stopwatch:
    """Fills a :class:`Timing` while an attempt runs; every backend uses one, so all mean the same."""

    def __init__(self, backend: str, model: str, *, attempt: int = 0, retry_of: int | None = None) -> None:
        self._timing = Timing(backend, model, clock.now(), attempt=attempt, retry_of=retry_of)
        self._sentences: Sentences | None = Sentences()

    def connected(self, *, reused: bool) -> None:
        """Note that there is a connection."""
        self._timing = replace(self._timing, connected_us=clock.now(), reused=reused)

    def headers(self) -> None:
        """Note the response's headers."""
        self._timing = replace(self._timing, headers_us=clock.now())

    def byte(self) -> None:
        """Note bytes of the body, whatever they hold."""
        if self._timing.first_byte_us is None:
            self._timing = replace(self._timing, first_byte_us=clock.now())

    def text(self, text: str) -> None:
        """Note answer text; white space alone is no token of an answer."""
        if self._timing.first_token_us is None and text.strip():
            self._timing = replace(self._timing, first_token_us=clock.now())
        if self._sentences and self._sentences.feed(text):
            self._sentences = None
            self._timing = replace(self._timing, first_sentence_us=clock.now())

    def call(self) -> None:
        """Note a tool call: output like a first token."""
        if self._timing.first_token_us is None:
            self._timing = replace(self._timing, first_token_us=clock.now())

    def know(self, **facts: Any) -> None:
        """Set fields that the provider told (server spans, tokens, tiers)."""
        self._timing = replace(self._timing, **facts)

    def flag(self, oddity: str) -> None:
        """Note something odd."""
        if oddity not in self._timing.flags:
            self._timing = replace(self._timing, flags=(*self._timing.flags, oddity))

    @property
    def answered(self) -> bool:
        """Whether a first answer token has come."""
        return self._timing.first_token_us is not None

    def end(self, ending: Ending, error: str = "") -> Timing:
        """Return the record of the attempt."""
        timing = replace(self._timing, ended_us=clock.now(), ending=ending, error=error)
        if ending == "done" and self._sentences and self._sentences.flush():
            timing = replace(timing, first_sentence_us=timing.ended_us)
        return timing


class Secret:
    """Holds a key so that no log, error or repr shows it."""

    __slots__ = ("_value",)

    def __init__(self, value: str = "") -> None:
        self._value = value

    def __bool__(self) -> bool:
        return bool(self._value)

    def __repr__(self) -> str:
        return "Secret(***)"

    def reveal(self) -> str:
        """Return the key, for the request's header."""
        return self._value

    def hide(self, text: str) -> str:
        """Return *text* without the key: providers repeat it in their errors."""
        return text.replace(self._value, "***") if self._value else text


def from_environment(variable: str, *, where: str, needed: bool = True) -> Secret:
    """Return the key in the environment's *variable*; raises ConfigError if it is *needed* and not there."""
    value = os.environ.get(variable, "").strip() if variable else ""
    if needed and not value:
        raise ConfigError("no key", where=where, remedy=f"set {variable}")
    if not value.isprintable() or not value.isascii():
        raise ConfigError(f"the key in {variable} is not printable ASCII", where=where, remedy="set it anew")
    return Secret(value)
