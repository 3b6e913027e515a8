"""Who answers the calls of a run: a table, an LLM, a council or somebody's own; one responder a call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from turnbudget.agents.backends import modes
from turnbudget.agents.backends.anthropic import AnthropicBackend
from turnbudget.agents.backends.backend import Backend, BackendError
from turnbudget.agents.backends.contest import Plan
from turnbudget.agents.backends.modes import Mode
from turnbudget.agents.backends.openai import OpenAIBackend
from turnbudget.agents.backends.responses_ws import ResponsesBackend
from turnbudget.agents.llm import LlmResponder
from turnbudget.agents.scripted import Rule, ScriptedResponder
from turnbudget.agents.simulated import make as simulated
from turnbudget.agents.simulated.words import Table
from turnbudget.runs.records import Engine
from turnbudget.settings import engines
from turnbudget.voice.call.responder import Responder
from turnbudget.voice.errors import ConfigError
from turnbudget.voice.named import is_spec
from turnbudget.voice.time import clock
from turnbudget.voice.time.budget import Budget

if TYPE_CHECKING:
    from collections.abc import Callable

    from turnbudget.agents.backends.backend import Timing
    from turnbudget.agents.simulated.words import Words
    from turnbudget.settings.config import Config, LlmTable, ResponderTable


class Answering:
    """Makes the responder of each call, and keeps account of what the run's LLM attempts cost."""

    def __init__(self, engine: Engine, make: Callable[[], Responder], backend: Backend | None = None) -> None:
        """Make responders with *make*, which answer by *backend*, if by an LLM."""
        self.engine = engine
        self.make = make
        self.attempts = 0
        self._backend = backend
        backends = members(backend) if backend else ()
        self._prices = {each.name: getattr(each, "price", _unknown) for each in backends}
        self._usd: float | None = 0.0

    def attempted(self, timing: Timing) -> None:
        """Know that an attempt has ended; a server makes millions, so none is kept."""
        self.attempts += 1
        cost = self._prices.get(timing.backend, _unknown)(timing)
        self._usd = None if self._usd is None or cost is None else self._usd + cost

    async def ready(self) -> None:
        """Check what only the other side knows; raises ConfigError."""
        if self._backend:
            await verify(self._backend)

    def usd(self) -> float | None:
        """Return what the attempts cost, each by the price of its backend; ``None`` if one names none."""
        return self._usd if self.attempts else None

    async def aclose(self) -> None:
        """Close connections."""
        if self._backend:
            await self._backend.aclose()


def _unknown(_: Timing) -> float | None:
    """Know no price."""
    return None


def open_answering(config: Config) -> Answering:
    """Return who answers by *config*; raises ConfigError before a call begins."""
    llm = config.llm
    if config.council.open:
        return _council(config)
    if config.responder.engine:
        return _responder(config)
    if not llm.backend:
        engine = Engine(
            job="responder", name="scripted", why="a table of patterns and replies, from the config"
        )
        scripted(config.responder)  # a fault in the table is told now, not in a call
        return Answering(engine, lambda: scripted(config.responder))
    backend = open_llm(llm, config.responder)
    why = f"llm.backend = {llm.backend!r}" + (f", {llm.mode} with {llm.second!r}" if llm.second else "")
    engine = Engine(job="responder", name=f"llm:{backend.name}", why=why)

    def make() -> LlmResponder:
        return LlmResponder(backend, system=llm.system, max_tokens=llm.max_tokens, told=answering.attempted)

    answering = Answering(engine, make, backend)
    return answering


def _council(config: Config) -> Answering:
    """Return the council that the configuration names, the LLM among its seats if it names one as well."""
    spec, where = config.council.open, "council.open"
    backend = open_llm(config.llm, config.responder) if config.llm.backend else None
    make = councils(spec, where=where, **({"backend": backend} if backend else {}))
    return Answering(Engine(job="responder", name="council", why=f"council.open = {spec!r}"), make, backend)


def _responder(config: Config) -> Answering:
    """Return somebody's own responder, which is given the LLM if the configuration names one as well."""
    spec, where = config.responder.engine, "responder.engine"
    backend = open_llm(config.llm, config.responder) if config.llm.backend else None
    found = engines.load(spec, where=where)
    given = {**config.responder.options, **({"backend": backend} if backend else {})}

    def make() -> Responder:
        one: Responder = engines.made(found, spec, given, where=where, seam=Responder)
        return one

    name = make().name  # what it cannot be made for is told now, not in a call
    return Answering(Engine(job="responder", name=name, why=f"{where} = {spec!r}"), make, backend)


def councils(name: str, *, where: str, **given: object) -> Callable[[], Any]:
    """Return what makes each call's council, by the function or demo of that *name*; raises ConfigError."""
    spec = engines.council_spec(name, where=where)
    make: Callable[[], Any] = engines.make(spec, given, where=where)
    if not callable(make):
        raise ConfigError(f"{spec} makes no councils", where=where, remedy="see docs/engines.md")
    return make


def scripted(table: ResponderTable) -> ScriptedResponder:
    """Return the scripted responder of *table*."""
    return ScriptedResponder(
        [Rule(rule.when, rule.say, rule.delay_ms * clock.MS) for rule in table.rules],
        Rule("", table.otherwise.say, table.otherwise.delay_ms * clock.MS),
    )


KINDS: Final = (
    "simulated:PRESET",
    "FILE.toml",
    "openai:URL",
    "anthropic:MODEL",
    "responses:MODEL",
    "module:attribute",
)
"""How an LLM is written in a setting or an option."""
VERIFY_US: Final = 5 * clock.SECOND
"""How long a server may take to say which models it has (µs; 5 s)."""
UNUSABLE: Final = frozenset((401, 403, 404))
"""Status codes of a server to a key or a URL that is wrong: a setting's fault, not its own."""


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
    if kind != "simulated" and is_spec(spec):
        own: Backend = engines.make(
            spec, {"model": model} if model else {}, where="llm.backend", seam=Backend
        )
        own.name = name or own.name
        return own
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
