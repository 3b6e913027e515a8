"""One provider's connections: kept warm, timed, and their errors translated here and nowhere else.

aiohttp's own time-outs are off: the Budget ends every wait. A connection is made before a call needs it and
goes back to the pool when a body has been read to its end; leaving earlier closes it at once, which is how
a provider learns that nobody listens any more. A refusal says whether and when another try makes sense.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final

import aiohttp
from yarl import URL

from turnbudget.agents.backends.backend import BackendError, Secret, Stopwatch
from turnbudget.agents.backends.reader import complaint, loaded
from turnbudget.voice.errors import ConfigError
from turnbudget.voice.time import clock
from turnbudget.voice.time.clock import MS, SECOND

if TYPE_CHECKING:
    from collections.abc import Mapping

    from turnbudget.voice.time.budget import Budget


KEPT_S: Final = 300
"""How long an idle connection is kept (seconds): longer than a caller is silent."""
DEAD: Final = 4
"""How many dead pooled connections in a row are replaced before the request is given up."""
BODY_US: Final = 200 * MS
"""How long the reason for a refusal is waited for (µs; 200 ms)."""
BODY: Final = 1 << 16
"""How much of a refusal is read (bytes; 64 KB)."""
TOLD: Final = 200
"""How much of a provider's own words an error repeats (characters)."""
LOST: Final = "the connection was lost"
"""What is said of a connection that broke."""
OK: Final = 200
"""The HTTP status of an answer."""
LIMITED: Final = 429
"""The HTTP status of a request that is one too many."""
PASSING: Final = frozenset((408, 425, 500, 502, 503, 504, 529))
"""The HTTP statuses that may be over at the next attempt; 429 is one only if it says when."""
REMEDIES: Final = {401: "check the key", 403: "check the key", 404: "check the URL and the model"}
"""What to do about a refusal, by its HTTP status."""
_KINDS: Final[tuple[tuple[type[Exception], str, str, bool], ...]] = (
    (aiohttp.ClientConnectorDNSError, "the name {host!r} has no address", "check URL and network", False),
    (aiohttp.ClientSSLError, "no secure connection to {host}:{port}: {detail}", "check the URL", False),
    (aiohttp.ClientConnectorError, "no connection to {host}:{port}: {detail}", "", False),
    (aiohttp.ServerDisconnectedError, "closed the connection without an answer", "", True),
    (aiohttp.ClientPayloadError, "broke off in mid-answer", "", True),
    (OSError, LOST, "", True),
)
"""What a foreign error is in our words, what to do about it, and whether another try makes sense now."""


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """What is asked: where below the provider's URL, and the JSON to send."""

    path: str
    """Where it goes, below the provider's URL."""
    body: Mapping[str, Any]
    """The JSON that is sent."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """Headers of this request alone."""


class Pool:
    """Connections to the provider at *url*, shared by all calls; made in the loop that first uses it."""

    def __init__(
        self, url: str, *, where: str, headers: Mapping[str, str], secret: Secret, force_close: bool = False
    ) -> None:
        """Check *url*; raises ConfigError. *headers* may hold the key; *force_close* keeps no connection."""
        self.url = checked(url, where)
        self.where = where
        self.secret = secret
        self.force_close = force_close
        self._headers = {**headers, "Accept-Encoding": "identity"}  # a proxy that compresses also holds back
        self._session: aiohttp.ClientSession | None = None

    async def post(self, request: HttpRequest, budget: Budget, watch: Stopwatch) -> HttpResponse:
        """Send *request* and return the reply once its headers are there; raises BackendError.

        A pooled connection that turns out dead before any answer is replaced, and the request sent again.
        """
        for _ in range(DEAD + 1):
            trace = SimpleNamespace(watch=watch, reused=False)
            try:
                return await self._post(request, budget, trace)
            except (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError) as error:
                if not trace.reused:
                    raise self.translated(error) from None
                watch.flag("reconnected: the pooled connection was dead")
            except (aiohttp.ClientError, OSError, ValueError) as error:
                raise self.translated(error) from None
        raise BackendError("every pooled connection was dead", where=self.where, again=True)

    async def touch(self, request: HttpRequest, budget: Budget) -> None:
        """Send *request* for what it does to the provider's cache; raises BackendError."""
        reply = await self.post(request, budget, Stopwatch(self.where, ""))
        try:
            await reply.finish(budget.ends_us)
        finally:
            reply.close()

    async def get(self, path: str, budget: Budget) -> Any:
        """Return the JSON at *path*; the connection stays warm. Raises BackendError."""
        body, status = b"", 0
        asked = self.session().get(self.url / path, allow_redirects=False)
        try:
            async with clock.move_on_at(budget.ends_us), asked as response:
                body, status = await response.read(), response.status
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise self.translated(error) from None
        if not status:
            raise BackendError("no answer in time", where=self.where)
        if status != OK:
            raise self.owned(refused(status, body, {}))
        try:
            return loaded(body.decode("utf-8", "replace"))
        except BackendError as error:
            raise self.owned(error) from None

    def session(self) -> aiohttp.ClientSession:
        """Return the session, made at its first use; raises ConfigError in virtual time."""
        if clock.kind() == "virtual":
            raise ConfigError(
                "a socket takes real time, and virtual time has none",
                where=self.where,
                remedy="use a simulated or scripted backend, or --clock skip",
            )
        if self._session is None or self._session.closed:
            trace = aiohttp.TraceConfig()
            trace.on_connection_create_end.append(_created)
            trace.on_connection_reuseconn.append(_reused)
            connector = aiohttp.TCPConnector(
                limit=0,  # a call does not wait for another's
                force_close=self.force_close,
                keepalive_timeout=None if self.force_close else KEPT_S,
            )
            self._session = aiohttp.ClientSession(
                connector=connector,
                headers=self._headers,
                timeout=aiohttp.ClientTimeout(total=None, connect=None, sock_read=None, sock_connect=None),
                cookie_jar=aiohttp.DummyCookieJar(),
                trace_configs=[trace],
            )
        return self._session

    def translated(self, error: Exception) -> BackendError:
        """Return *error* as ours."""
        return self.owned(_ours(error, self.url))

    def owned(self, error: BackendError) -> BackendError:
        """Return *error* with this provider's name, and without its key."""
        return BackendError(
            self.secret.hide(error.what)[:TOLD],
            where=error.where or self.where,
            remedy=error.remedy,
            status=error.status,
            retry_after_us=error.retry_after_us,
            again=error.again,
        )

    async def aclose(self) -> None:
        """Close every connection."""
        if self._session:
            await self._session.close()

    async def _post(self, request: HttpRequest, budget: Budget, trace: SimpleNamespace) -> HttpResponse:
        if budget.left() <= 0:
            raise BackendError("no time is left", where=self.where)
        response: aiohttp.ClientResponse | None = None
        async with clock.move_on_at(budget.ends_us):
            response = await self.session().post(
                self.url / request.path,
                json=request.body,
                headers=request.headers,
                trace_request_ctx=trace,
                allow_redirects=False,
            )
        if response is None:
            raise BackendError("no answer in time", where=self.where)
        trace.watch.headers()
        reply = HttpResponse(self, response)
        if response.status != OK:
            raise self.owned(await reply.refusal(budget))
        return reply


class HttpResponse:
    """A response whose headers are there."""

    def __init__(self, pool: Pool, response: aiohttp.ClientResponse) -> None:
        self._pool = pool
        self._response = response
        # Compared with None: a protocol is also a queue, and false while that is empty.
        self._protocol = response.connection.protocol if response.connection is not None else None

    async def read(self, until_us: int) -> bytes | None:
        """Return what has come of the body, empty at its end, ``None`` if nothing has by *until_us*."""
        chunk: bytes | None = None
        try:
            async with clock.move_on_at(until_us):
                chunk = await self._response.content.readany()
        except (aiohttp.ClientError, OSError) as error:
            raise self._pool.translated(error) from None
        lost = None if self._protocol is None else self._protocol.exception()
        if chunk == b"" and isinstance(lost, aiohttp.ClientOSError):
            # Where a body ends with its connection, aiohttp takes a reset for the end.
            raise BackendError(LOST, where=self._pool.where, again=True)
        return chunk

    async def finish(self, until_us: int) -> None:
        """Read on to the body's end, so that the connection can serve again."""
        try:
            while await self.read(until_us):
                pass
        except BackendError:
            pass  # then it cannot

    async def refusal(self, budget: Budget) -> BackendError:
        """Return what a response without an answer says."""
        body = b""
        until_us = min(budget.ends_us, clock.now() + BODY_US)
        try:
            while len(body) < BODY and (chunk := await self.read(until_us)):
                body += chunk
        except BackendError:
            pass  # what has come of it must do
        finally:
            self.close()
        return refused(self._response.status, body, self._response.headers)

    def close(self) -> None:
        """Close the connection, unless the body has been read to its end."""
        self._response.close()


def checked(url: str, where: str) -> URL:
    """Return *url* if it can be called; raises ConfigError."""
    try:
        parsed = URL(url)
    except ValueError:
        parsed = URL()
    if parsed.raw_user or parsed.raw_password or parsed.query_string:
        raise ConfigError(
            "the URL holds a user or a query", where=where, remedy="keys are for the environment"
        )
    if parsed.scheme not in {"http", "https", "ws", "wss"} or not parsed.host:
        raise ConfigError(f"{url!r} is no URL", where=where, remedy="write it as https://host/v1")
    return parsed


def _ours(error: Exception, url: URL) -> BackendError:
    """Return a foreign *error* as ours; the first kind that fits is the one."""
    cause = getattr(error, "os_error", error)
    detail = getattr(cause, "strerror", None) or str(cause) or type(error).__name__
    for kind, what, remedy, again in _KINDS:
        if isinstance(error, kind):
            return BackendError(
                what.format(host=url.host, port=url.port, detail=detail), remedy=remedy, again=again
            )
    return BackendError(f"does not speak HTTP as it should: {type(error).__name__}")


async def _created(_: object, context: SimpleNamespace, __: object) -> None:
    if traced := context.trace_request_ctx:
        traced.watch.connected(reused=False)


async def _reused(_: object, context: SimpleNamespace, __: object) -> None:
    if traced := context.trace_request_ctx:
        traced.reused = True
        traced.watch.connected(reused=True)


def refused(status: int, body: bytes, headers: Mapping[str, str]) -> BackendError:
    """Return the error that a response with another *status* than OK is."""
    wait_us = retry_after(headers)
    try:
        says = complaint(loaded(body.decode("utf-8", "replace")))
    except BackendError:
        says = ""
    return BackendError(
        f"HTTP {status}: {says}" if says else f"HTTP {status}",
        status=status,
        retry_after_us=wait_us,
        again=status in PASSING or (status == LIMITED and wait_us is not None),
        remedy=REMEDIES.get(status, ""),
    )


def retry_after(headers: Mapping[str, str]) -> int | None:
    """Return the wait that *headers* ask for, in µs: seconds, milliseconds, or a date.

    A date is measured from the response's own ``Date``, so that no two clocks are compared.
    """
    asked = headers.get("retry-after", "").strip()
    for text, unit in ((headers.get("retry-after-ms", ""), MS), (asked, SECOND)):
        if text.replace(".", "", 1).isdecimal() and text.isascii():
            return round(float(text[:12]) * unit)
    try:
        then = parsedate_to_datetime(asked)
        said = headers.get("date") or ""
        today = parsedate_to_datetime(said) if said else datetime.fromisoformat(clock.label() or "")
    except (ValueError, OverflowError):  # a year that no calendar has
        return None
    aware = (day if day.tzinfo else day.replace(tzinfo=UTC) for day in (then, today))
    wait = next(aware) - next(aware)
    return max(0, round(wait.total_seconds() * SECOND))
