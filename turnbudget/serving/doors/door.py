"""The door: who may open a socket or send a request, by signature, pass or token, and for which tenant.

Where nobody but this machine can reach us no token is asked for; a browser's page is refused even there, for
any page may open a socket to this machine, and so is who comes through a tunnel or a proxy. Everywhere else
whoever shows nothing is refused.

Sockets that have not begun a call yet are bounded in number and in time. Who stays silent is dropped after a
while; when too many wait the one that has waited longest goes, for a carrier begins within moments: so a
flood of silent sockets never keeps a call out.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from turnbudget.serving.config import is_loopback
from turnbudget.voice.lines.twilio_webhook import same, signed_request, signed_upgrade
from turnbudget.voice.time import clock

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Collection, Hashable

    from aiohttp.web import BaseRequest

    from turnbudget.serving.config import ServeTable
    from turnbudget.serving.doors.passes import Passes
    from turnbudget.serving.doors.tenants import Tenant, Tenants
    from turnbudget.voice.lines.dialect import CallInfo

SIGNATURE = "X-Twilio-Signature"
"""The header of Twilio's signature."""
OTHERS: Final = ("Origin", "Forwarded", "X-Forwarded-For")
"""Headers that a program on this machine does not send on its own behalf."""
BUSY: Final = 503
"""HTTP status of a refusal for now."""


class Refused(Exception):  # noqa: N818 - reads as what it is
    """Somebody is not let in; ``status`` is the HTTP status that they get."""

    def __init__(self, why: str, status: int = 403) -> None:
        super().__init__(why)
        self.status = status


@dataclass(slots=True, eq=False)
class Guest:
    """Who opened a socket, as far as it is known."""

    tenant: str = ""
    """Whose call it may be; '' until the call says so."""
    call: str = ""
    """The only call it may be, by the carrier's id; '' for any."""
    trusted: bool = False
    """No token is asked for, for only this machine reaches us."""
    place: str = ""
    """Under what a place is kept for the call, if one is."""
    query: dict[str, str] = field(default_factory=dict)
    """What the query of the socket's address says."""


class Door:
    """Who may come in."""

    def __init__(self, serve: ServeTable, tenants: Tenants, passes: Passes) -> None:
        self.serve = serve
        self.tenants = tenants
        self.passes = passes

    # --- sockets -----------------------------------------------------------------------------------

    def guest(self, token: str, request: BaseRequest | None = None) -> Guest:
        """Return who shows *token*, a pass or a tenant's own, on a socket; raises Refused if it is none.

        Who shows none may still do so with the call's first message (:meth:`tenant_of`).
        """
        if passed := self.passes.redeem(token) if "." in token else None:
            return Guest(passed.tenant, passed.call, place=passed.number)
        if tenant := self.tenants.holding(token):
            return Guest(tenant.name)
        if token:
            raise Refused("a token that is false or was used")
        return Guest(trusted=self.serve.local and not from_outside(request))

    def tenant_of(self, guest: Guest, info: CallInfo) -> Tenant:
        """Return whose call *guest*'s is, which says *info* of itself; raises Refused."""
        if not guest.tenant and info.token:
            shown = self.guest(info.token)
            guest.tenant, guest.call, guest.place = shown.tenant, shown.call, shown.place
        if guest.call and guest.call != info.call:
            raise Refused("a pass for another call")
        if guest.tenant:
            tenant = self.tenants.named(guest.tenant)
            if info.tenant and info.tenant != guest.tenant:
                raise Refused("a token of another tenant")
        elif guest.trusted:
            tenant = self.tenants.on_this_machine(info.tenant or guest.query.get("tenant", ""), info.called)
        else:
            raise Refused("no token")
        if tenant is None:
            raise Refused("a tenant that is not known", 404)
        return tenant

    # --- Twilio's signature ------------------------------------------------------------------------

    def check_webhook(
        self, request: BaseRequest, form: Collection[tuple[str, str]], tenant: Tenant | None
    ) -> None:
        """Raise Refused unless *request* with *form* was signed with a token of *tenant*; ``None``: any's."""
        self._check(request, tenant, partial(signed_request, form=form), "a request")

    def check_upgrade(self, request: BaseRequest, tenant: Tenant | None) -> None:
        """Raise Refused unless the upgrade *request* was signed with a token of *tenant*; ``None``: any's."""
        self._check(request, tenant, signed_upgrade, "an upgrade")

    def _check(
        self,
        request: BaseRequest,
        tenant: Tenant | None,
        signed: Callable[[str, str, str, str], bool],
        what: str,
    ) -> None:
        own = [one.table.twilio_token for one in ([tenant] if tenant else self.tenants)]
        tokens = [token for token in (*own, self.serve.twilio_token) if token]
        if self.serve.local and not tokens and not from_outside(request):
            return  # it comes from this machine, and nobody has a token
        signature, origin = request.headers.get(SIGNATURE, ""), self.serve.public
        right = [signed(token, signature, origin, request.path_qs) for token in tokens if origin]
        if not any(right):
            raise Refused(f"{what} without Twilio's signature")

    # --- people and programs -----------------------------------------------------------------------

    def check_operator(self, request: BaseRequest) -> None:
        """Raise Refused unless *request* bears the operator's token, or comes from here and none is set."""
        token = self.serve.operator_token
        if token and same(token, bearer(request)):
            return
        if token or not self.serve.local or from_outside(request):
            raise Refused("not the operator", 401)

    def caller_of(self, request: BaseRequest) -> Guest:
        """Return who sends *request* for a tenant, by a bearer token or ``?token=``; raises Refused."""
        guest = self.guest(bearer(request) or request.query.get("token", ""), request)
        if not guest.tenant and not guest.trusted:
            raise Refused("no token", 401)
        return guest


class PendingSockets:
    """Who waits, in the order in which they came."""

    def __init__(self, most: int, patience_us: int) -> None:
        self._most = most
        self._patience_us = patience_us
        self._waiting: dict[Hashable, tuple[asyncio.TimerHandle, Callable[[str], None]]] = {}
        self.dropped = 0

    def __len__(self) -> int:
        return len(self._waiting)

    def enter(self, who: Hashable, drop: Callable[[str], None]) -> None:
        """Let *who* wait; *drop* is called, with the reason, if they have to go."""
        while len(self._waiting) >= self._most:
            self._drop(next(iter(self._waiting)), "too many sockets wait")
        due = clock.now() + self._patience_us
        timer = clock.call_at(due, lambda: self._drop(who, "nothing began in time"))
        self._waiting[who] = timer, drop

    def leave(self, who: Hashable) -> None:
        """Stop the time of *who*: a call began, or the socket is gone."""
        timer, _ = self._waiting.pop(who, (None, None))
        if timer:
            timer.cancel()

    def _drop(self, who: Hashable, why: str) -> None:
        found = self._waiting.pop(who, None)
        if found:
            timer, drop = found
            timer.cancel()
            self.dropped += 1
            drop(why)


def bearer(request: BaseRequest) -> str:
    """Return the token in a request's ``Authorization``; '' if there is none."""
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""


def from_outside(request: BaseRequest | None) -> bool:
    """Say whether *request* may come from elsewhere than a program on this machine.

    A browser's page sends its ``Origin``, which carriers and switches do not. A tunnel or a proxy that runs
    here reaches us like any program; but it names the address that was called, or who called it.
    """
    if request is None:
        return False
    try:
        named = urlsplit(f"//{request.headers.get('Host', 'localhost')}").hostname or ""
    except ValueError:
        return True
    return not is_loopback(named) or any(name in request.headers for name in OTHERS)
