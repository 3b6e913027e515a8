"""A tenant's own servers, as its settings name them: who is told what happened, and who knows its callers.

Both are reached over TLS, but for one on this machine.
"""

from __future__ import annotations

from typing import Final
from urllib.parse import quote

from yarl import URL

from turnbudget.settings.config import Table

LOCAL: Final = frozenset({"localhost", "127.0.0.1", "::1"})
HOLES: Final = ("caller", "called", "call", "tenant")
SHORTEST: Final = 24
"""Signs of a webhook's secret."""
EVENTS: Final = ("call.ended", "call.transferred")


class WebhookTable(Table, frozen=True):
    """``[tenants.NAME.webhook]``: where what happens is told, and the secret that signs it.

    ``secret`` is ``whsec_`` and base64, or any text of 24 signs or more.
    """

    url: str = ""
    secret: str = ""
    events: tuple[str, ...] = EVENTS

    def __post_init__(self) -> None:
        if not self.url:
            return
        _check("webhook", self.url)
        if len(self.secret) < SHORTEST and not self.secret.startswith("env:"):
            raise ValueError(f"a webhook's secret has {SHORTEST} signs or more")
        if unknown := set(self.events) - set(EVENTS):
            raise ValueError(f"there is no event {min(unknown)!r}, but {' and '.join(EVENTS)}")


class CrmTable(Table, frozen=True):
    """``[tenants.NAME.crm]``: the address to ask about who calls.

    It may hold ``{caller}``, ``{called}``, ``{call}`` and ``{tenant}``. It answers
    with a JSON object of plain values; ``token`` is shown to it as a bearer's.
    """

    url: str = ""
    token: str = ""

    def __post_init__(self) -> None:
        if self.url:
            _check("crm", self.address({}))

    def address(self, holes: dict[str, str]) -> str:
        """Return the address with its *holes* filled; what a caller's line tells can change nothing else."""
        url = self.url
        for hole in HOLES:
            url = url.replace(f"{{{hole}}}", quote(holes.get(hole, ""), safe=""))
        return url


def _check(what: str, url: str) -> None:
    """Raise ValueError unless *url* is one that may be asked."""
    try:
        parsed = URL(url)
    except ValueError:
        parsed = URL()
    if parsed.scheme != "https" and not (parsed.scheme == "http" and parsed.host in LOCAL):
        raise ValueError(f"the url of a {what} begins with https://")
    if parsed.raw_user or parsed.raw_password:
        raise ValueError(f"the url of a {what} holds no user and no password")
