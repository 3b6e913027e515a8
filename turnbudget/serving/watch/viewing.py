"""Where the board is looked at: a page, and what is new for it, four times a second, as Server-Sent Events.

Nobody who looks costs a call anything: they are few, each is sent what changed since it was last sent
something, and who does not read is left.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, Final

import msgspec
from aiohttp import web

from turnbudget.pages import read
from turnbudget.serving.browser.page_policy import headers, policy
from turnbudget.serving.doors.refused import Refused
from turnbudget.voice.time import clock

if TYPE_CHECKING:
    from collections.abc import Callable

    from turnbudget.serving.watch.board import Board

PAGE: Final = "board.html"
MOST: Final = 16
"""Who may look at a time."""
TICK_US: Final = 250 * clock.MS
BEAT_US: Final = 5 * clock.SECOND
"""So often something is sent though nothing has happened: the page then knows that we are there."""
STALL_US: Final = 10 * clock.SECOND
"""How long a page may not read."""
AGAIN_MS: Final = 1_000
"""After what time a page asks again when it has lost us."""


class Viewing:
    """Shows a *board*; *check* refuses whoever may not look, *state* adds how the worker is."""

    def __init__(
        self, board: Board, check: Callable[[web.Request], None], state: Callable[[], dict[str, Any]]
    ) -> None:
        self._board = board
        self._check = check
        self._state = state
        self._viewers = 0
        self._closing = False

    def routes(self) -> list[web.RouteDef]:
        """Return where the board is."""
        return [web.get("/board", self._page), web.get("/board/events", self._events)]

    def close(self) -> None:
        """Send nobody away, but end what they are sent: the server is closing."""
        self._closing = True

    async def _page(self, request: web.Request) -> web.Response:
        try:
            self._check(request)
        except Refused:
            return web.Response(status=303, headers={"Location": "/login", "Cache-Control": "no-store"})
        text = read(PAGE)
        policed = headers(policy(text, connects=True, forms=True))
        return web.Response(text=text, content_type="text/html", headers=policed)

    async def _events(self, request: web.Request) -> web.StreamResponse:
        self._check(request)
        if self._viewers >= MOST:
            raise Refused(f"{MOST} pages look at the board already", 503)
        response = web.StreamResponse(
            headers={
                "Content-Type": "text/event-stream",
                "Cache-Control": "no-store",
                "X-Accel-Buffering": "no",
                "X-Content-Type-Options": "nosniff",
            }
        )
        self._viewers += 1
        try:
            with contextlib.suppress(ConnectionError):
                await response.prepare(request)
                await self._show(response, request)
        finally:
            self._viewers -= 1
        return response

    async def _show(self, response: web.StreamResponse, request: web.Request) -> None:
        """Send what is new until the page has gone, does not read, or may look no longer."""
        seen, told_us = -1, 0
        await response.write(f"retry: {AGAIN_MS}\n\n".encode())
        while not self._closing:
            now = clock.now()
            if self._board.changes != seen or now - told_us >= BEAT_US:
                changes, news = self._board.changes, self._board.news(seen) | {"state": self._state()}
                seen, told_us = changes, now
                async with clock.move_on_at(now + STALL_US) as scope:
                    await response.write(b"data: " + msgspec.json.encode(news) + b"\n\n")
                if scope.expired():
                    return
                self._check(request)
            await clock.sleep(TICK_US)
