"""Tenants: for whom a call is, by the called number or a token, and the engines that answer it.

Tenants of the same settings share one set of engines. A set that no tenant uses any more closes behind its
last call, so new settings never end a call.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import msgspec

from turnbudget.serving.config import DEFAULT, digits
from turnbudget.settings.answering import open_answering
from turnbudget.voice.lines.twilio_webhook import same
from turnbudget.voice.time import clock

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from turnbudget.serving.admission import Mode
    from turnbudget.serving.config import Agents, FloorConfig, TenantTable
    from turnbudget.settings.compose import Studio
    from turnbudget.settings.config import Config


@dataclass(frozen=True, slots=True, eq=False)
class Tenant:
    """Whom calls are for."""

    name: str
    """What the settings call it."""
    table: TenantTable
    """Its settings."""
    engines: EngineSet
    """What answers its calls."""

    def takes(self, kind: str) -> bool:
        """Say whether calls may come over lines of this *kind*."""
        return not self.table.lines or kind in self.table.lines


class Tenants:
    """Every tenant; replaced as a whole when the settings are read again."""

    def __init__(self, floor: FloorConfig, agents: Agents, engine_sets: Mapping[Config, EngineSet]) -> None:
        self._tenants = {
            name: Tenant(name, table, engine_sets[agents[name]]) for name, table in floor.tenants.items()
        }
        self._numbers = {
            digits(number): tenant for tenant in self._tenants.values() for number in tenant.table.called
        }

    def __iter__(self) -> Iterator[Tenant]:
        return iter(self._tenants.values())

    def named(self, name: str) -> Tenant | None:
        """Return the tenant called *name*."""
        return self._tenants.get(name)

    def called(self, number: str) -> Tenant | None:
        """Return the tenant who is reached at *number*, however it is written."""
        return self._numbers.get(digits(number)) if digits(number) else None

    def holding(self, token: str) -> Tenant | None:
        """Return the tenant whose token *token* is, in a time that does not tell how much of it is right."""
        found = [
            tenant for tenant in self._tenants.values() for own in tenant.table.tokens if same(own, token)
        ]
        return found[0] if found else None

    @property
    def usual(self) -> Tenant | None:
        """The tenant of calls that name none, where no token is asked for."""
        only = next(iter(self._tenants.values())) if len(self._tenants) == 1 else None
        return self._tenants.get(DEFAULT) or only

    def on_this_machine(self, name: str, called: str) -> Tenant | None:
        """Return whose call it is where no token is asked for: who is named, who is called, or the usual."""
        if name:
            return self.named(name)
        return self.called(called) or self.usual


class Opener(Protocol):
    """Who opens a studio: :func:`turnbudget.settings.compose.open_studio`, or one with engines of its own."""

    async def __call__(self, config: Config) -> Studio:
        """Load and warm the engines of *config*; raises TurnbudgetError, one line."""
        ...


@dataclass(slots=True, eq=False)
class EngineSet:
    """The loaded engines of one configuration, and how many calls use them."""

    studio: Studio
    """What answers calls in full."""
    light: Studio | None
    """The same engines, answered by the shelf and the fast backend; ``None``: nothing would change."""
    calls: int = 0
    """Calls that use it now."""
    left: bool = False
    """No tenant uses it any more."""
    bank_ns: int = 0
    """When the reply bank that it was opened with was written, as the disk says; 0 without one."""

    def of(self, mode: Mode) -> Studio:
        """Return the studio for a call in *mode*."""
        return self.light if mode == "light" and self.light else self.studio

    async def close_if_left(self) -> None:
        """Close, if no tenant uses the engines any more and no call does."""
        if self.left and not self.calls:
            self.left = False
            await self.aclose()

    async def aclose(self) -> None:
        """Close the engines."""
        if self.light:
            await self.light.answering.aclose()
        await self.studio.aclose()


class EnginePool:
    """Every set of engines that is open, one for each different configuration."""

    def __init__(self, opener: Opener) -> None:
        self._opener = opener
        self._engine_sets: dict[Config, EngineSet] = {}

    async def open(self, configs: Iterable[Config]) -> dict[Config, EngineSet]:
        """Return the engines for each of *configs*, new ones opened; if one fails it raises and opens none.

        One whose reply bank was written anew is new.
        """
        fresh: dict[Config, EngineSet] = {}
        wanted = dict.fromkeys(configs)
        try:
            for config in wanted:
                bank_ns = await clock.offload(_bank_ns, config)
                engines = self._engine_sets.get(config)
                if engines is None or engines.bank_ns != bank_ns:
                    fresh[config] = await self._open(config, bank_ns)
        except BaseException:
            for engines in fresh.values():
                await engines.aclose()
            raise
        return {config: fresh.get(config) or self._engine_sets[config] for config in wanted}

    async def use(self, engine_sets: dict[Config, EngineSet]) -> None:
        """Let new calls go to *engine_sets*, and leave the others."""
        before, self._engine_sets = self._engine_sets, engine_sets
        kept = set(map(id, engine_sets.values()))
        for engines in before.values():
            if id(engines) not in kept:
                engines.left = True
                await engines.close_if_left()

    async def aclose(self) -> None:
        """Close every set of engines."""
        engine_sets, self._engine_sets = self._engine_sets, {}
        for engines in engine_sets.values():
            await engines.aclose()

    async def _open(self, config: Config, bank_ns: int) -> EngineSet:
        studio = await self._opener(config)
        lighter = lightened(config)
        if lighter is None:
            return EngineSet(studio, None, bank_ns=bank_ns)
        answering = await clock.offload(open_answering, lighter)
        return EngineSet(studio, replace(studio, config=lighter, answering=answering), bank_ns=bank_ns)


def _bank_ns(config: Config) -> int:
    """Return when the reply bank of *config* was written; 0 if there is none. Blocks."""
    bank = config.speculation.bank
    try:
        return Path(bank).stat().st_mtime_ns if bank else 0
    except OSError:
        return 0


def lightened(config: Config) -> Config | None:
    """Return *config* with nobody but the shelf and the fast backend; ``None`` if there is no fast one apart.

    In the modes fast, race and hedge the first backend is the fast one, in accurate the second.
    """
    llm = config.llm
    if not llm.backend or not llm.second:
        return None
    if llm.mode == "accurate":
        llm = msgspec.structs.replace(llm, backend=llm.second, model=llm.second_model)
    fast = msgspec.structs.replace(llm, mode="fast", second="", second_model="")
    return msgspec.structs.replace(config, llm=fast)
