"""Tenants: for whom a call is, by the called number or a token, and the room that answers it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from turnbudget.serving.config import DEFAULT, digits
from turnbudget.voice.lines.twilio_webhook import same

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from turnbudget.serving.config import Agents, FloorConfig, TenantTable
    from turnbudget.serving.rooms import Room
    from turnbudget.settings.config import Config


@dataclass(frozen=True, slots=True, eq=False)
class Tenant:
    """Whom calls are for."""

    name: str
    table: TenantTable
    room: Room

    def takes(self, kind: str) -> bool:
        """Say whether calls may come over lines of this *kind*."""
        return not self.table.lines or kind in self.table.lines


class Tenants:
    """Every tenant; replaced as a whole when the settings are read again."""

    def __init__(self, floor: FloorConfig, agents: Agents, rooms: Mapping[Config, Room]) -> None:
        self._tenants = {
            name: Tenant(name, table, rooms[agents[name]]) for name, table in floor.tenants.items()
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
