"""Who may look at the floor: whoever bears the operator's token, or showed it and holds a cookie for a while.

Where only this machine reaches us and no token is set, anybody on it may, but no page of another site:
neither one that asks (its ``Origin``) nor one whose name was made to point here (its ``Host``).
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from typing import TYPE_CHECKING, Final

from aiohttp import web

from turnbudget.pages import headers, policy, read
from turnbudget.voice.lines.twilio_webhook import same
from turnbudget.voice.time import clock

if TYPE_CHECKING:
    from turnbudget.serving.doors.door import Door

PAGE: Final = "login.html"
"""The page that asks for the token."""
COOKIE: Final = "turnbudget_operator"
"""The name of the cookie."""
LIFE_US: Final = 12 * 3_600 * clock.SECOND
"""How long a cookie is good: a shift (µs; 12 h)."""
LONGEST: Final = 4_096
"""Bytes of a form; more is none of ours."""
WRONG: Final = "That is not the operator’s token."
"""What the page says to a wrong token."""
NOBODY: Final = "No operator token is set, so nobody is let in from outside: set serve.operator_token."
"""What the page says where no token would help."""


class Login:
    """Lets operators in through the *door*; workers that share a *secret* take one another's cookies."""

    def __init__(self, door: Door, secret: bytes = b"") -> None:
        self._door = door
        self._secret = secret or secrets.token_bytes(32)

    def check(self, request: web.Request) -> None:
        """Raise Refused unless *request* is an operator's."""
        if self._remembers(request.cookies.get(COOKIE, "")):
            return
        self._door.check_operator(request)

    def routes(self) -> list[web.RouteDef]:
        """Return where operators come in, and go."""
        return [
            web.get("/login", self._ask),
            web.post("/login", self._enter),
            web.post("/logout", self._leave),
        ]

    async def _ask(self, request: web.Request) -> web.Response:
        del request
        return _page("" if self._token else NOBODY)

    async def _enter(self, request: web.Request) -> web.Response:
        """Give a cookie for the token; it stands in the body, never in an address that is logged."""
        origin = request.headers.get("Origin", "")
        if (request.content_length or 0) > LONGEST or (origin and origin.partition("://")[2] != request.host):
            raise web.HTTPForbidden
        token = str((await request.post()).get("token", "")).strip()
        if not same(token, self._token):
            return _page(WRONG if self._token else NOBODY, 401)
        response = _see("/board")
        response.set_cookie(
            COOKIE,
            self._cookie(clock.now() + LIFE_US),
            max_age=LIFE_US // clock.SECOND,
            httponly=True,
            samesite="Strict",
            secure=self._door.serve.public.startswith("https:"),
        )
        return response

    async def _leave(self, request: web.Request) -> web.Response:
        del request
        response = _see("/login")
        response.del_cookie(COOKIE)
        return response

    @property
    def _token(self) -> str:
        return self._door.serve.operator_token

    def _cookie(self, until_us: int) -> str:
        """Return what says until when its bearer may look; another token makes it void."""
        text = str(until_us)
        key = self._secret + self._token.encode()
        return f"{text}.{hmac.new(key, text.encode(), hashlib.sha256).hexdigest()}"

    def _remembers(self, cookie: str) -> bool:
        until = cookie.partition(".")[0]
        if not self._token or len(until) > 20 or not (until.isascii() and until.isdigit()):  # noqa: PLR2004 - digits of an int64
            return False
        return same(cookie, self._cookie(int(until))) and clock.now() < int(until)


def _see(where: str) -> web.Response:
    return web.Response(status=303, headers={"Location": where, "Cache-Control": "no-store"})


def _page(note: str, status: int = 200) -> web.Response:
    """Return the page that asks for the token; *note* is text of ours."""
    text = read(PAGE).replace("{{note}}", note)
    return web.Response(
        text=text, status=status, content_type="text/html", headers=headers(policy(read(PAGE), forms=True))
    )
