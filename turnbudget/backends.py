"""LLM backends by what a person types: ``simulated:gpu-small``, ``openai:URL``, ``anthropic:MODEL``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agents.backends import modes
from agents.backends.anthropic import AnthropicBackend
from agents.backends.openai import OpenAIBackend
from agents.backends.responses_ws import ResponsesBackend
from agents.simulated import make as simulated
from agents.simulated.words import Table
from voice import clock
from voice.budget import Budget
from voice.errors import ConfigError

if TYPE_CHECKING:
    from agents.backends.backend import Backend
    from agents.simulated.words import Words
    from turnbudget.config import LlmTable, ResponderTable

KINDS: Final = ("simulated:PRESET", "FILE.toml", "openai:URL", "anthropic:MODEL", "responses:MODEL")
VERIFY_US: Final = 5 * clock.SECOND


def open_backend(spec: str, *, model: str = "", words: Words | None = None, seed: int = 0) -> Backend:
    """Return the backend *spec* names; raises ConfigError, one line, before anything is asked of it.

    A simulated one says *words*; a remote one speaks for itself, its key from the environment.
    """
    kind, _, rest = spec.partition(":")
    match kind:
        case "simulated":
            return simulated.make(rest, seed=seed, text=words)
        case "openai":
            return OpenAIBackend(rest, model)
        case "anthropic":
            return AnthropicBackend(rest or model)
        case "responses":
            return ResponsesBackend(rest or model)
        case _ if spec.endswith(".toml"):
            return simulated.make(spec, seed=seed, text=words)
        case _:
            raise ConfigError(f"{spec!r} names no backend", where="llm", remedy=f"use {', '.join(KINDS)}")


def open_llm(table: LlmTable, scripted: ResponderTable) -> Backend:
    """Return the backend of *table*, both of them under its mode if it names a second.

    What a simulated one says is what the *scripted* table would: its quality is nobody's claim.
    """
    words = Table({rule.when: rule.say for rule in scripted.rules}, scripted.otherwise.say)
    first = open_backend(table.backend, model=table.model, words=words)
    second = (
        open_backend(table.second, model=table.second_model, words=words, seed=1) if table.second else None
    )
    match table.mode:
        case "fast":
            return modes.fast(first, second) if second else first
        case "hedge":
            return modes.hedge(first, second)
    if second is None:
        raise ConfigError(f"mode {table.mode} needs a second backend", where="llm", remedy="name llm.second")
    if table.mode == "accurate":
        return modes.accurate(first, second)
    return modes.race(first, second, checkpoint_us=table.checkpoint_ms * clock.MS)


async def verify(backend: Backend) -> None:
    """Raise ConfigError if *backend*, or one of those it chooses from, does not have its model."""
    for one in getattr(backend, "backends", (backend,)):
        if isinstance(one, OpenAIBackend):
            await one.verify(Budget.of(VERIFY_US))
