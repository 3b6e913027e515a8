"""Who calls, asked of the tenant's own records as a call begins: in a second or not at all.

Nobody waits for it: the greeting sounds meanwhile, and what comes in time is among the facts that the agents
see. A number, an answer or a token is in no log.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Final

import aiohttp
import msgspec
from yarl import URL

from turnbudget.voice.time import clock

if TYPE_CHECKING:
    from collections.abc import Mapping

    from turnbudget.serving.config import CrmTable
    from turnbudget.voice.lines.dialect import CallInfo

BUDGET_US: Final = clock.SECOND
"""How long the tenant's records may take to answer (µs; 1 s)."""
LARGEST: Final = 65_536
"""Bytes of an answer."""
MOST: Final = 32
"""Facts that are taken of one answer, the first ones."""
LONGEST: Final = 200
"""Characters of a fact."""
OK: Final = 200
"""The only HTTP status whose body is read."""
log = logging.getLogger(__name__)


class _AnswerError(ValueError):
    """An answer that tells nothing; its words hold nothing of it."""


class Crm:
    """Asks; one for all calls of a worker."""

    def __init__(self) -> None:
        self._session: aiohttp.ClientSession | None = None
        self.asked = 0
        self.late = 0
        """Asked in vain: no answer in time, or none that could be read."""

    async def facts(self, table: CrmTable, info: CallInfo, tenant: str) -> Mapping[str, str]:
        """Return what is known of the caller of *info*; nothing if that failed, or took over a second."""
        if not table.url or not info.caller:
            return {}
        self.asked += 1
        began, until = clock.now(), clock.now() + BUDGET_US
        found: dict[str, str] = {}
        said = "no answer in time"
        holes = {"caller": info.caller, "called": info.called, "call": info.call, "tenant": tenant}
        try:
            with clock.beyond():
                async with clock.move_on_at(until):
                    found = await self._ask(table.address(holes), table.token)
                    said = ""
        except _AnswerError as error:
            said = str(error)
        except (aiohttp.ClientError, OSError, ValueError) as error:
            said = type(error).__name__
        took = (clock.now() - began) // clock.MS
        if said:
            self.late += 1
            log.warning("crm of %s: %s, after %d ms", tenant, said, took)
        else:
            log.info("crm of %s: %d facts after %d ms", tenant, len(found), took)
        return found

    async def _ask(self, url: str, token: str) -> dict[str, str]:
        if self._session is None:
            timeout = aiohttp.ClientTimeout(total=None, sock_connect=None)
            self._session = aiohttp.ClientSession(timeout=timeout, cookie_jar=aiohttp.DummyCookieJar())
        headers = {"accept": "application/json"} | ({"authorization": f"Bearer {token}"} if token else {})
        async with self._session.get(URL(url), headers=headers, allow_redirects=False) as response:
            if response.status != OK:
                raise _AnswerError(f"status {response.status}")
            body = bytearray()
            async for chunk in response.content.iter_any():
                body += chunk
                if len(body) > LARGEST:
                    raise _AnswerError("too long an answer")
        return plain_facts(msgspec.json.decode(bytes(body)))

    async def aclose(self) -> None:
        """Close every connection."""
        if self._session:
            await self._session.close()


def plain_facts(told: Any) -> dict[str, str]:
    """Return the plain values of the object *told*, as text; raises ValueError if it is no object."""
    if not isinstance(told, dict):
        raise _AnswerError("no object")
    facts = {str(key)[:LONGEST]: _plain(value) for key, value in told.items()}
    return dict([(key, value) for key, value in facts.items() if value][:MOST])


def _plain(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)[:LONGEST] if isinstance(value, str | int | float) else ""
