"""A pass: proof, in a path's last segment, that a call was let in a moment ago, good for one socket.

It is the tenant, the carrier's id of the call, by when and a number, under an HMAC of a secret that the
workers share. Carriers strip queries, so it is part of the path; paths are logged on the way, so it is good
once.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import msgspec

from turnbudget.voice.time import clock

if TYPE_CHECKING:
    from turnbudget.serving.doors.once import OnceStore

LIFE_US: Final = 60 * clock.SECOND
"""How long a pass is good, in which a carrier opens the socket (µs; 1 min)."""
LONGEST: Final = 1_024
"""Characters of a pass; a longer text is none."""


@dataclass(frozen=True, slots=True)
class Pass:
    """Who was let in."""

    tenant: str
    """Whose call it lets in."""
    call: str
    """The only call that it lets in, by the carrier's id; '' for any."""
    number: str
    """The pass's own; the place that was kept for the call is found by it."""


class _Body(msgspec.Struct, frozen=True, array_like=True):
    tenant: str
    call: str
    until_us: int
    number: str


class Passes:
    """Issues passes and takes each back once."""

    def __init__(self, once: OnceStore, secret: bytes = b"") -> None:
        """Sign with *secret* (by default one that nobody else knows); what is spent stands in *once*."""
        self._once = once
        self._secret = secret or secrets.token_bytes(32)

    def issue(self, tenant: str, call: str = "") -> tuple[str, Pass]:
        """Return a pass for *call* of *tenant*, as text and as what it says; without a call it is for any."""
        number = secrets.token_hex(8)
        body = msgspec.json.encode(_Body(tenant, call, clock.now() + LIFE_US, number))
        return f"{_text(body)}.{_text(self._sign(body))}", Pass(tenant, call, number)

    def redeem(self, text: str) -> Pass | None:
        """Return what the pass *text* says, once; ``None`` if it is false, too old, or was used."""
        body, _, signature = text.partition(".")
        if len(text) > LONGEST:
            return None
        try:
            signed, claimed = _bytes(body), _bytes(signature)
        except ValueError:
            return None
        if not hmac.compare_digest(self._sign(signed), claimed):
            return None
        told = msgspec.json.decode(signed, type=_Body)
        if clock.now() > told.until_us or not self._once.put(f"pass {told.number}"):
            return None
        return Pass(told.tenant, told.call, told.number)

    def spent(self, number: str) -> bool:
        """Say whether the pass *number* was used."""
        return self._once.look(f"pass {number}") is not None

    def _sign(self, body: bytes) -> bytes:
        return hmac.new(self._secret, body, hashlib.sha256).digest()


def _text(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def _bytes(text: str) -> bytes:
    return base64.b64decode(text.encode("ascii") + b"=" * (-len(text) % 4), b"-_", validate=True)
