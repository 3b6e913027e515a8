"""The HTTP face of a floor: health, reload, the carriers; and a place for what others mount.

Who is refused hears a word, not a reason: reasons are in the log, which holds no path, for paths hold tokens.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final, TypeAlias

from aiohttp import web

from turnbudget.serving.doors.refused import Refused
from turnbudget.serving.sockets import carriers, expected, twilio
from turnbudget.voice.errors import TurnbudgetError
from turnbudget.voice.time import clock

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from aiohttp.typedefs import Middleware

    from turnbudget.serving.doors.doorstep import Doorstep
    from turnbudget.serving.floor import Floor

Mount: TypeAlias = "Callable[[web.Application, Floor], None]"
Handler: TypeAlias = "Callable[[web.Request], Awaitable[web.StreamResponse]]"
LARGEST: Final = 65_536
"""Bytes of a request's body."""
WORDS: Final = {
    400: "bad request",
    401: "who are you",
    403: "refused",
    404: "not found",
    409: "conflict",
    503: "busy",
}
log = logging.getLogger(__name__)


def make_app(
    floor: Floor, doorstep: Doorstep, reload: Callable[[], Awaitable[str]], mounts: Sequence[Mount] = ()
) -> web.Application:
    """Return the application of *floor* and *mounts*; who sends a request leaves the *doorstep*."""
    app = web.Application(client_max_size=LARGEST, middlewares=[_gate(floor, doorstep)])

    async def health(_: web.Request) -> web.Response:
        return web.json_response({"state": floor.state, "calls": len(floor.calls)})

    async def ready(_: web.Request) -> web.Response:
        return web.json_response({"state": floor.state}, status=503 if floor.draining else 200)

    async def read_again(request: web.Request) -> web.Response:
        floor.door.check_operator(request)
        return web.Response(text=f"{await reload()}\n")

    app.router.add_get("/healthz", health)
    app.router.add_get("/readyz", ready)
    app.router.add_post("/reload", read_again)
    for mount in (twilio.mount, expected.mount, *mounts, carriers.mount):
        mount(app, floor)
    return app


def _gate(floor: Floor, doorstep: Doorstep) -> Middleware:
    """Return what stands before every request: bounds on its time, and words for refusals."""

    @web.middleware
    async def gate(request: web.Request, handler: Handler) -> web.StreamResponse:
        doorstep.leave(request.protocol)
        try:
            await _read_body(request, floor.serve.start_ms * clock.MS)
            return await handler(request)
        except Refused as refused:
            log.warning("%s: refused, %s", _route(request), refused)
            return web.Response(status=refused.status, text=WORDS.get(refused.status, "refused") + "\n")
        except TurnbudgetError as error:
            log.error("%s: %s", _route(request), error)  # noqa: TRY400 - one line is all it needs
            return web.Response(status=409, text=f"{error}\n" if _is_operators(request) else "failed\n")

    return gate


async def _read_body(request: web.Request, patience_us: int) -> None:
    """Read the body, if there is one, within *patience_us*: no handler waits for it then, or fails at it."""
    if not request.body_exists:
        return
    if request.content_type.startswith("multipart/"):
        raise Refused("a body in parts", 400)
    try:
        async with clock.move_on_at(clock.now() + patience_us) as scope:
            await request.read()
            await request.post()  # a form is kept as it is read
    except (web.RequestPayloadError, LookupError, ValueError):
        raise Refused("a body that cannot be read", 400) from None
    if scope.expired():
        raise Refused("a body that did not come", 400)


def _route(request: web.Request) -> str:
    """Return the route of *request* as it was declared: without what stands in its place of a token."""
    resource = request.match_info.route.resource
    return resource.canonical if resource else "no such page"


def _is_operators(request: web.Request) -> bool:
    return _route(request) == "/reload"
