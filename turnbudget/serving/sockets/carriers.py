"""Which socket speaks what: the last of a path names a token, the first the carrier.

``/twilio/ws/TOKEN`` and its kin, ``/asterisk/ws``, ``/vonage/ws``, ``/jambonz/ws``. Asterisk, whose dial
string ends in a query, may send its token there; carriers that strip queries put it in the path, or in what
the call says of itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from turnbudget.serving.doors.door import BUSY, Refused
from turnbudget.serving.sockets.websocket import attend
from turnbudget.voice.lines.chan_websocket import ChanWebsocket
from turnbudget.voice.lines.jambonz import Jambonz
from turnbudget.voice.lines.pcm_websocket import PcmWebsocket
from turnbudget.voice.lines.twilio import TwilioDialect
from turnbudget.voice.lines.twilio_messages import VENDORS
from turnbudget.voice.lines.vonage import Vonage

if TYPE_CHECKING:
    from collections.abc import Mapping

    from aiohttp import web

    from turnbudget.serving.doors.door import Guest
    from turnbudget.serving.floor import Floor
    from turnbudget.voice.lines.dialect import Dialect

SIGNED: Final = "twilio"
"""The carrier whose upgrades are signed."""
QUERIES: Final = "chan_websocket"
"""Who says in the query whose call it is; the others say so once they are let in."""


def dialect_of(carrier: str, token: str, query: Mapping[str, str]) -> Dialect:
    """Return what *carrier* speaks on a socket opened with *token* and *query*; raises Refused."""
    match carrier:
        case "asterisk":
            return PcmWebsocket(
                ChanWebsocket({name: text for name, text in query.items() if name != "token"})
            )
        case "vonage":
            return PcmWebsocket(Vonage())
        case "jambonz":
            return PcmWebsocket(Jambonz())
    vendor = VENDORS.get(carrier)
    if vendor is None:
        raise Refused("a carrier that is not known", 404)
    return TwilioDialect(vendor, token=token)


def mount(app: web.Application, floor: Floor) -> None:
    """Add the carriers' sockets to *app*."""

    async def socket(request: web.Request) -> web.StreamResponse:
        carrier, token = request.match_info["carrier"], request.match_info.get("token", "")
        query = dict(request.query)
        dialect = dialect_of(carrier, "", query)
        guest = floor.door.guest(token or query.get("token", ""), request)
        guest.query = query
        try:
            if carrier == SIGNED:
                floor.door.check_upgrade(request, floor.door.tenants.named(guest.tenant))
            _let_in(floor, dialect, guest)
            return await attend(request, floor, dialect, guest)
        finally:
            floor.forget(guest)

    app.router.add_get("/{carrier}/ws", socket)
    app.router.add_get("/{carrier}/ws/{token}", socket)


def _let_in(floor: Floor, dialect: Dialect, guest: Guest) -> None:
    """Keep a place for *guest*, if whose call it will be is known and none was kept; raises Refused."""
    if floor.keeps(guest.place):
        return
    tenants = floor.door.tenants
    tenant = tenants.named(guest.tenant)
    if guest.trusted and dialect.name == QUERIES:
        tenant = tenants.on_this_machine(guest.query.get("tenant", ""), guest.query.get("called", ""))
    if tenant:
        guest.place = guest.place or f"socket {id(guest)}"
        verdict = floor.admit(tenant, dialect.name, guest.place)
        if verdict.mode is None:
            raise Refused(verdict.because, BUSY)
    elif floor.draining:
        raise Refused("draining", BUSY)
