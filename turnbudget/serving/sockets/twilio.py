"""Twilio's webhooks: a call is let in or turned away before it is answered, and sent on when it is over.

``/twilio/voice`` is what a number calls. Its answer connects the call with ``/twilio/ws/PASS``; what follows
the stream asks ``/twilio/after``; the stream's own life is told ``/twilio/status``. Twilio asks again where
an answer did not reach it, and gets the same one until its call has begun; what comes later is refused.
"""

from __future__ import annotations

import hashlib
import logging
from typing import TYPE_CHECKING, Final

import msgspec
from aiohttp import web

from turnbudget.serving.doors.door import SIGNATURE, Refused
from turnbudget.serving.doors.passes import LIFE_US
from turnbudget.voice.lines import twilio_webhook
from turnbudget.voice.time import clock

if TYPE_CHECKING:
    from turnbudget.serving.doors.tenants import Tenant
    from turnbudget.serving.floor import Floor

LINE: Final = "twilio"
"""What the line is called."""
log = logging.getLogger(__name__)


class _Given(msgspec.Struct, frozen=True):
    """What was answered for a call, with the pass *number*, and until when it is good."""

    until_us: int
    number: str
    document: str


def mount(app: web.Application, floor: Floor) -> None:
    """Add the webhooks to *app*."""

    async def voice(request: web.Request) -> web.Response:
        form, tenant = await _read(request, floor)
        call = form.get("CallSid", "")
        if again := _given_before(floor, call):
            return _xml(again)
        signature = request.headers.get(SIGNATURE, "")
        digest = hashlib.sha256(signature.encode("utf-8", "surrogatepass")).hexdigest()
        if signature and not floor.once.put(f"signed {digest}"):
            raise Refused("a request that came before")
        if tenant is None:
            log.warning("twilio: a call for a number of no tenant")
            return _xml(twilio_webhook.reject("rejected"))
        number, document = _answer(request, floor, tenant, form)
        if call:
            given = _Given(clock.now() + LIFE_US, number, document)
            floor.once.take(f"given {call}")  # an older one, of a call that asked and never began
            floor.once.put(f"given {call}", msgspec.json.encode(given).decode())
        return _xml(document)

    async def after(request: web.Request) -> web.Response:
        form, _ = await _read(request, floor)
        target = floor.once.look(f"after {form.get('CallSid', '')}")
        return _xml(twilio_webhook.dial(target) if target else twilio_webhook.hang_up())

    async def status(request: web.Request) -> web.Response:
        form, _ = await _read(request, floor)
        event = form.get("StreamEvent") or form.get("CallStatus") or "nothing"
        log.info("twilio: told of %s", event[:40])
        return web.Response(status=204)

    app.router.add_post("/twilio/voice", voice)
    app.router.add_post("/twilio/after", after)
    app.router.add_post("/twilio/status", status)


def _given_before(floor: Floor, call: str) -> str:
    """Return what was answered for *call* a moment ago; '' if nothing was, or it has begun since."""
    kept = floor.once.look(f"given {call}") if call else None
    if kept is None:
        return ""
    given = msgspec.json.decode(kept, type=_Given)
    fresh = clock.now() <= given.until_us and not floor.door.passes.spent(given.number)
    return given.document if fresh else ""


async def _read(request: web.Request, floor: Floor) -> tuple[dict[str, str], Tenant | None]:
    """Return a request's form and whom it is for, its signature checked; raises Refused."""
    posted = await request.post()
    fields = [(name, value) for name, value in posted.items() if isinstance(value, str)]
    form = dict(fields)
    tenants = floor.door.tenants
    tenant = tenants.called(form.get("To", ""))
    floor.door.check_webhook(request, fields, tenant)
    if tenant is None and floor.serve.local:
        tenant = tenants.usual
    return form, tenant


def _answer(request: web.Request, floor: Floor, tenant: Tenant, form: dict[str, str]) -> tuple[str, str]:
    """Return what Twilio is to do with the call, behind the number of its pass."""
    token, shown = floor.door.passes.issue(tenant.name, form.get("CallSid", ""))
    verdict = floor.admit(tenant, LINE, shown.number)
    if verdict.mode is None:
        overflow = tenant.table.overflow
        return shown.number, twilio_webhook.dial(overflow) if overflow else twilio_webhook.reject("busy")
    origin = floor.serve.public.rstrip("/") or f"http://{request.host}"
    return shown.number, twilio_webhook.connect_stream(
        f"{origin.replace('http', 'ws', 1)}/twilio/ws/{token}",
        parameters={
            "tenant": tenant.name,
            "caller": form.get("From", "")[:100],
            "called": form.get("To", "")[:100],
        },
        action=f"{origin}/twilio/after",
        status=f"{origin}/twilio/status",
    )


def _xml(document: str) -> web.Response:
    return web.Response(text=document, content_type="text/xml")
