"""LLM backends by what a person types: ``simulated:gpu-small``, ``openai:URL``, ``anthropic:MODEL``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from turnbudget.agents.backends import modes
from turnbudget.agents.backends.anthropic import AnthropicBackend
from turnbudget.agents.backends.backend import BackendError
from turnbudget.agents.backends.contest import Plan
from turnbudget.agents.backends.modes import Mode
from turnbudget.agents.backends.openai import OpenAIBackend
from turnbudget.agents.backends.responses_ws import ResponsesBackend
from turnbudget.agents.simulated import make as simulated
from turnbudget.agents.simulated.words import Table
from turnbudget.voice.errors import ConfigError
from turnbudget.voice.time import clock
from turnbudget.voice.time.budget import Budget

if TYPE_CHECKING:
    from turnbudget.agents.backends.backend import Backend
    from turnbudget.agents.simulated.words import Words
    from turnbudget.settings.config import LlmTable, ResponderTable

KINDS: Final = ("simulated:PRESET", "FILE.toml", "openai:URL", "anthropic:MODEL", "responses:MODEL")
VERIFY_US: Final = 5 * clock.SECOND
UNUSABLE: Final = frozenset((401, 403, 404))
"""What a server says to a key or a URL that is wrong: a setting's fault, not its own."""


def open_backend(
    spec: str, *, model: str = "", words: Words | None = None, seed: int = 0, name: str = ""
) -> Backend:
    """Return the backend *spec* names; raises ConfigError, one line, before anything is asked of it.

    A simulated one says *words*; a remote one speaks for itself, its key from the environment. It is called
    *name* in lanes and errors, by default after its kind or preset.
    """
    kind, _, rest = spec.partition(":")
    match kind:
        case "openai":
            return OpenAIBackend(rest, model, name=name or kind)
        case "anthropic":
            return AnthropicBackend(_model(rest or model, kind), name=name or kind)
        case "responses":
            return ResponsesBackend(_model(rest or model, kind), name=name or kind)
    if kind != "simulated" and not spec.endswith(".toml"):
        raise ConfigError(f"{spec!r} names no backend", where="llm", remedy=f"use {', '.join(KINDS)}")
    made = simulated.make(spec, seed=seed, text=words)
    made.name = name or made.name
    return made


def _model(name: str, kind: str) -> str:
    if not name:
        raise ConfigError("which model is not said", where=kind, remedy=f"write it as {kind}:MODEL")
    return name


def open_llm(table: LlmTable, scripted: ResponderTable) -> Backend:
    """Return the backend of *table*, both of them under its mode if it names a second.

    Also one alone is watched: it is left when it falls silent, and asked again when it fails in passing.
    What a simulated one says is what the *scripted* table would: its quality is nobody's claim.
    """
    words = Table({rule.when: rule.say for rule in scripted.rules}, scripted.otherwise.say)
    first = open_backend(table.backend, model=table.model, words=words)
    second = _second(table, words, first.name) if table.second else None
    match table.mode:
        case "fast":
            return modes.fast(first, second) if second else Mode(first.name, (first,), Plan())
        case "hedge":
            return modes.hedge(first, second)
    if second is None:
        raise ConfigError(f"mode {table.mode} needs a second backend", where="llm", remedy="name llm.second")
    if table.mode == "accurate":
        return modes.accurate(first, second)
    return modes.race(first, second, checkpoint_us=table.checkpoint_ms * clock.MS)


def _second(table: LlmTable, words: Words, first: str) -> Backend:
    """Return the second backend, which is never called as the *first*: a forecast goes by the name."""
    second = open_backend(table.second, model=table.second_model, words=words, seed=1)
    if second.name != first:
        return second
    return open_backend(table.second, model=table.second_model, words=words, seed=1, name=f"{first} 2")


def members(backend: Backend) -> tuple[Backend, ...]:
    """Return the backends that *backend* chooses from, each once; itself if it is no mode."""
    return tuple(dict.fromkeys(getattr(backend, "backends", (backend,))))


async def verify(backend: Backend) -> None:
    """Raise ConfigError if one of the members of *backend* does not have its model, or wants another key.

    Raises BackendError if none of them answers; while one does, a call can be taken.
    """
    several, unreachable = members(backend), []
    for one in several:
        if isinstance(one, OpenAIBackend):
            try:
                await one.verify(Budget.of(VERIFY_US))
            except BackendError as error:
                if error.status in UNUSABLE:
                    raise ConfigError(error.what, where=error.where, remedy=error.remedy) from None
                unreachable.append(error)
    if len(unreachable) == len(several):
        raise unreachable[0]
