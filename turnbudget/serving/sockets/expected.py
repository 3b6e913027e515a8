"""Calls that are expected on the AudioSocket: who calls whom, told beforehand under the call's UUID.

``PUT /audiosocket/UUID`` (or POST, as Asterisk's ``CURL`` does) with ``caller``, ``called`` and ``tenant``;
its answer says whether the call is taken. ``GET /audiosocket/UUID/after`` says where the caller goes when we
have hung up, or nothing.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final
from uuid import UUID

import msgspec
from aiohttp import web

from turnbudget.serving.doors.refused import BUSY, Refused
from turnbudget.voice.lines.audiosocket import AudioSocket
from turnbudget.voice.lines.dialect import Started

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from turnbudget.serving.doors.door import Guest
    from turnbudget.serving.floor import Floor
    from turnbudget.voice.lines.dialect import Inbound, Message

KIND: Final = "audiosocket"


class Expected(msgspec.Struct, frozen=True):
    """Who calls, and under what a place is kept for the call."""

    tenant: str
    place: str
    caller: str = ""
    called: str = ""


class ExpectedAudioSocket(AudioSocket):
    """An AudioSocket whose start says what was told of the call beforehand."""

    def __init__(self, floor: Floor, guest: Guest, rate: int = 8_000) -> None:
        super().__init__(rate)
        self._floor = floor
        self._guest = guest

    def receive(self, message: Message) -> Sequence[Inbound]:
        """Return what a piece of the stream means."""
        return [
            self._with_all(event) if isinstance(event, Started) else event
            for event in super().receive(message)
        ]

    def _with_all(self, started: Started) -> Started:
        told = self._floor.once.take(f"expected {started.info.call}")
        if told is None:
            return started
        expected = msgspec.json.decode(told, type=Expected)
        self._guest.tenant, self._guest.place = expected.tenant, expected.place
        return Started(replace(started.info, caller=expected.caller, called=expected.called))


def mount(app: web.Application, floor: Floor) -> None:
    """Add the requests to *app*."""

    async def expect(request: web.Request) -> web.Response:
        call = _uuid(request)
        told = await _fields(request)
        guest = floor.door.caller_of(request)
        tenants = floor.door.tenants
        name, called = told.get("tenant", ""), told.get("called", "")
        tenant = tenants.named(guest.tenant) if guest.tenant else tenants.on_this_machine(name, called)
        if tenant is None or (name and name != tenant.name):
            raise Refused("a tenant that is not known", 404)
        expected = Expected(tenant.name, f"uuid {call}", told.get("caller", "")[:100], called[:100])
        if not floor.once.put(f"expected {call}", msgspec.json.encode(expected).decode()):
            raise Refused("a call that is expected already", 409)
        verdict = floor.admit(tenant, KIND, expected.place)
        if verdict.mode is None:
            floor.once.take(f"expected {call}")
            return web.Response(status=BUSY, text="refused\n")
        return web.Response(status=201, text="taken\n")

    async def after(request: web.Request) -> web.Response:
        floor.door.caller_of(request)
        return web.Response(text=floor.once.look(f"after {_uuid(request)}") or "")

    app.router.add_put("/audiosocket/{uuid}", expect)
    app.router.add_post("/audiosocket/{uuid}", expect)
    app.router.add_get("/audiosocket/{uuid}/after", after)


def _uuid(request: web.Request) -> str:
    try:
        return str(UUID(request.match_info["uuid"]))
    except ValueError:
        raise Refused("no UUID", 400) from None


async def _fields(request: web.Request) -> Mapping[str, str]:
    """Return what is said of the call, as JSON or as a form."""
    if request.content_type != "application/json":
        return {name: text for name, text in (await request.post()).items() if isinstance(text, str)}
    try:
        return msgspec.json.decode(await request.read(), type=dict[str, str])
    except msgspec.DecodeError:
        raise Refused("no JSON object of texts", 400) from None
