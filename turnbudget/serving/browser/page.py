"""The page with the talk button: what a browser is given, and what it may do with it.

The page asks nothing of any other place: no script, style, image or socket that is not of this server. It
carries one pass, good for one call; for the next it asks for itself again.
"""

from __future__ import annotations

import html
import mimetypes
from typing import Final

from aiohttp import web

from turnbudget.pages import read

PAGE: Final = "talk.html"
ASSETS: Final = frozenset(
    {
        *("common.css", "turn.css", "talk.css"),
        *("common.js", "talk.js", "talk-line.js", "talk-turn.js", "talk-waterfall.js", "talk-worklet.js"),
    }
)
TOKEN: Final = "{{token}}"  # noqa: S105 - the place of one
POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; "
    "connect-src 'self' ws://{host} wss://{host}; "  # Safari's 'self' is no WebSocket
    "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS: Final = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


def page(token: str, host: str) -> web.Response:
    """Return the page for a browser that asked *host*; *token* lets its one call in."""
    text = read(PAGE).replace(TOKEN, html.escape(token))
    headers = HEADERS | {
        "Content-Security-Policy": POLICY.format(host=host if _is_plain(host) else ""),
        "Permissions-Policy": "microphone=(self), camera=(), geolocation=()",
        "Cache-Control": "no-store",
    }
    return web.Response(text=text, content_type="text/html", headers=headers)


async def asset(request: web.Request) -> web.Response:
    """Return one of the page's own files, by its name in the path (``/page/{name}``); raises HTTPNotFound."""
    name = request.match_info["name"]
    if name not in ASSETS:
        raise web.HTTPNotFound
    kind, _ = mimetypes.guess_type(name)
    return web.Response(
        text=read(name), content_type=kind or "text/plain", headers=HEADERS | {"Cache-Control": "no-cache"}
    )


def _is_plain(host: str) -> bool:
    """Say whether *host* is an address and a port, and nothing that a policy could be made to say."""
    return bool(host) and all(sign.isalnum() or sign in ".-:[]" for sign in host)
