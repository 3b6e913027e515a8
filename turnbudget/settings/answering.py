"""Who answers the calls of a run: a scripted table, an LLM or a council; one responder a call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from turnbudget.agents.llm import LlmResponder
from turnbudget.agents.scripted import Rule, ScriptedResponder
from turnbudget.runs.records import Engine
from turnbudget.settings import plugins
from turnbudget.settings.backends import members, open_llm, verify
from turnbudget.voice.errors import ConfigError
from turnbudget.voice.time import clock

if TYPE_CHECKING:
    from collections.abc import Callable

    from turnbudget.agents.backends.backend import Backend, Timing
    from turnbudget.settings.config import Config, ResponderTable
    from turnbudget.voice.call.responder import Responder


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


def councils(spec: str, *, where: str, **given: object) -> Callable[[], Any]:
    """Return what makes each call's council, by the function that *spec* names; raises ConfigError."""
    make: Callable[[], Any] = plugins.make(spec, where=where, **given)
    if not callable(make):
        raise ConfigError(f"{spec} makes no councils", where=where, remedy="see demos/bank")
    return make


def scripted(table: ResponderTable) -> ScriptedResponder:
    """Return the scripted responder of *table*."""
    return ScriptedResponder(
        [Rule(rule.when, rule.say, rule.delay_ms * clock.MS) for rule in table.rules],
        Rule("", table.otherwise.say, table.otherwise.delay_ms * clock.MS),
    )
