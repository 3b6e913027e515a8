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
Ending: TypeAlias = Literal["done", "cancelled", "failed"]
LOST: Final = "lost to attempt"
"""So begins the flag of an attempt that was dropped because another one won: what it took was in vain."""


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a prompt."""

    role: Role
    text: str


@dataclass(frozen=True, slots=True)
class Tool:
    """A function the model may ask for: its parameters as a JSON schema."""

    name: str
    description: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Prompt:
    """Messages and tools for a backend; ``max_tokens`` is low, for some providers reserve it all."""

    messages: tuple[Message, ...]
    max_tokens: int = 120
    temperature: float | None = 0.0
    tools: tuple[Tool, ...] = ()


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A complete call that the model asks for; ``arguments`` is its JSON, as the model wrote it."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Delta:
    """A piece of an answer: text to be spoken, or a tool call once it is complete.

    An empty one says that a tool call has begun to arrive: output, though nothing to act upon yet.
    """

    text: str = ""
    call: ToolCall | None = None


@dataclass(frozen=True, slots=True)
class Timing:
    """Where one attempt's time went: instants in µs on the loop's clock, spans in µs, ``None`` if unknown.

    ``first_token_us`` is the first *answer* token; bytes, roles, keep-alives and reasoning come before it
    and are not it. Server spans are what the provider says of itself. ``retry_of`` is the number of the
    attempt before, in the same turn.
    """

    backend: str
    model: str
    began_us: int
    attempt: int = 0
    retry_of: int | None = None
    reused: bool | None = None
    connected_us: int | None = None
    headers_us: int | None = None
    first_byte_us: int | None = None
    first_token_us: int | None = None
    first_sentence_us: int | None = None
    ended_us: int | None = None
    server_queue_us: int | None = None
    server_prefill_us: int | None = None
    server_decode_us: int | None = None
    tokens_in: int | None = None
    tokens_cached: int | None = None
    tokens_out: int | None = None
    tokens_reasoning: int | None = None
    tier_asked: str | None = None
    tier_served: str | None = None
    ending: Ending = "done"
    error: str = ""
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


def nobody(_: Timing) -> None:
    """Tell nobody."""


class Backend(Protocol):
    """An LLM, shared by all calls of a process."""

    name: str

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
