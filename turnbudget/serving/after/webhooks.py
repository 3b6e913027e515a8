"""Webhooks: what happened is told to a tenant's own server, signed, until it says it has it, for a day.

The signature is that of Standard Webhooks 1.0: HMAC-SHA256 over id, timestamp and body. A message has one id
however often it is sent, so a receiver who keeps ids takes each once; its timestamp is that of the sending,
so an old one that is replayed can be refused. A call never waits: it only leaves a message here.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import hashlib
import hmac
import logging
import re
import secrets
from collections import deque
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, Protocol

import aiohttp
import msgspec

from turnbudget.serving.after.messages import Message, MessageStore
from turnbudget.voice.errors import RunError
from turnbudget.voice.time import clock
from turnbudget.voice.time.crew import Crew

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from turnbudget.serving.config import WebhookTable

ANSWER_US: Final = 10 * clock.SECOND
"""How long a server may take to say that it has a message (µs; 10 s)."""
LOOK_US: Final = 5 * clock.SECOND
"""How often it is looked what waits: other workers put messages there as well (µs)."""
FIRST_S: Final = 5
"""How long to wait behind the first failure (seconds)."""
GROWTH: Final = 3
"""By how much each wait is longer than the one before."""
LONGEST_S: Final = 3_600
"""The longest wait between two tries (seconds; an hour)."""
GIVE_UP_S: Final = 24 * 3_600
"""How long a message is tried (seconds; a day)."""
REMEMBERED: Final = 2_000
"""Messages that wait for the disk at a time; the oldest are given up first."""
TOLERANCE_S: Final = 300
"""How old a message may be that a receiver believes (seconds; 5 min)."""
KEY: Final = "whsec_"
"""What a secret begins with that is base64."""
GONE: Final = 410
"""The HTTP status by which a server wants nothing more."""
log = logging.getLogger(__name__)


class Post(Protocol):
    """Sends one request."""

    async def __call__(self, url: str, headers: Mapping[str, str], body: bytes, until_us: int) -> int:
        """Return the status of the answer, 0 if none came until *until_us*; raises OSError."""
        ...


def sign(secret: str, name: str, timestamp: int, body: bytes) -> str:
    """Return the signature of the message *name* with *body*, sent at *timestamp*."""
    mac = hmac.new(_key(secret), f"{name}.{timestamp}.".encode() + body, hashlib.sha256)
    return "v1," + base64.b64encode(mac.digest()).decode()


def is_signed(
    secret: str, headers: Mapping[str, str], body: bytes, now_s: int, *, tolerance_s: int = TOLERANCE_S
) -> bool:
    """Say whether a message was signed with *secret*, and a moment ago: what a receiver asks first.

    Whether its ``webhook-id`` has come before is for the receiver to remember.
    """
    name, stamp = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
    if not re.fullmatch(r"[0-9]{1,12}", stamp) or abs(now_s - int(stamp)) > tolerance_s:
        return False
    right = sign(secret, name, int(stamp), body).encode()
    told = headers.get("webhook-signature", "").encode("utf-8", "replace").split(b" ")
    return any([hmac.compare_digest(right, one) for one in told])  # noqa: C419 - all of them, always


class Webhooks:
    """The messages of one worker to every tenant's server."""

    def __init__(self, folder: Path, hook: Callable[[str], WebhookTable | None], post: Post) -> None:
        """Keep messages in *folder*, send each by *post* to the *hook* of its tenant, by name."""
        self._folder = folder
        self._hook = hook
        self._post = post
        self._store: MessageStore | None = None
        self._due: deque[Message] = deque()
        self._ready = asyncio.Event()
        self._busy: set[str] = set()
        """Tenants whose server has a message under way."""
        self._numbers = 0
        self.sent = 0
        self.given_up = 0

    def tell(self, tenant: str, event: str, data: Mapping[str, Any], name: str = "") -> None:
        """Have *event* told to the server of *tenant*, if it wants to know; never blocks."""
        hook = self._hook(tenant)
        if not hook or not hook.url or event not in hook.events:
            return
        now = now_s()
        name = name or f"msg_{secrets.token_hex(16)}"
        body = msgspec.json.encode({"type": event, "timestamp": _shown(now), "data": data}).decode()
        if len(self._due) >= REMEMBERED:
            self._due.popleft()
            self.given_up += 1
        self._numbers += 1
        self._due.append(
            Message(id=name, tenant=tenant, body=body, created_s=now, due_s=now, number=self._numbers)
        )
        self._ready.set()

    async def run(self) -> None:
        """Write and deliver for ever; raises RunError if there can be no folder."""
        try:
            self._store = store = await clock.offload(MessageStore, self._folder)
        except OSError as error:
            raise RunError(f"cannot be made ({error.strerror})", where=str(self._folder)) from None
        try:
            async with Crew() as crew:
                while True:
                    self._ready.clear()
                    await self._round(store, crew)
                    async with clock.move_on_at(clock.now() + LOOK_US):
                        await self._ready.wait()
        finally:
            await asyncio.shield(self.flush())
            await asyncio.shield(clock.offload(store.close))

    async def _round(self, store: MessageStore, crew: Crew) -> None:
        """Write what was left here, and begin to send what is due, if it is for us to deliver."""
        await self.flush()
        try:
            if await clock.offload(store.hold):
                await self._deliver(store, crew)
        except OSError as error:
            log.error("webhooks: cannot be read (%s)", error.strerror)  # noqa: TRY400 - one line

    async def flush(self) -> None:
        """Write what was left here; what the disk refuses waits."""
        while self._store and self._due:
            try:
                await asyncio.shield(clock.offload(self._store.put, self._due[0]))
            except OSError as error:
                log.error("webhooks: cannot be written (%s)", error.strerror)  # noqa: TRY400 - one line
                return
            self._due.popleft()

    async def _deliver(self, store: MessageStore, crew: Crew) -> None:
        """Begin to send the oldest message that is due to each server that has none under way."""
        for message in await clock.offload(store.look):
            if message.due_s <= now_s() and message.tenant not in self._busy:
                self._busy.add(message.tenant)
                crew.create_task(self._send(store, message), name=f"webhook {message.id}")

    async def _send(self, store: MessageStore, message: Message) -> None:
        try:
            hook = self._hook(message.tenant)
            whole = await clock.offload(store.whole, message)
            if whole is None or whole.due_s > now_s():  # it was sent since it was looked what waits
                return
            said = await self._answer(hook, whole) if hook and hook.url else "the tenant has no webhook"
            if not said:
                self.sent += 1
                await clock.offload(store.take, message)
                return
            tried = msgspec.structs.replace(
                whole, attempts=whole.attempts + 1, due_s=now_s() + backoff_s(whole)
            )
            if said == GONE or tried.due_s - message.created_s > GIVE_UP_S:
                self.given_up += 1
                log.error(
                    "webhook %s of %s: given up, %s, %d tries", whole.id, whole.tenant, said, tried.attempts
                )
                await clock.offload(store.take, message)
            else:
                log.info(
                    "webhook %s of %s: %s, tried %d times", message.id, message.tenant, said, tried.attempts
                )
                await clock.offload(store.put, tried)
        except OSError as error:
            log.error("webhooks: cannot be written (%s)", error.strerror)  # noqa: TRY400 - one line
        finally:
            self._busy.discard(message.tenant)
            self._ready.set()

    async def _answer(self, hook: WebhookTable, message: Message) -> str | int:
        """Send *message*; return '' if the server has it, else what it said, or why it said nothing."""
        body, stamp = message.body.encode(), now_s()
        headers = {
            "content-type": "application/json",
            "webhook-id": message.id,
            "webhook-timestamp": str(stamp),
            "webhook-signature": sign(hook.secret, message.id, stamp, body),
        }
        try:
            status: int = await self._post(hook.url, headers, body, clock.now() + ANSWER_US)
        except OSError as error:
            return error.strerror or type(error).__name__
        if 200 <= status < 300:  # noqa: PLR2004 - HTTP's successes
            return ""
        return status or "no answer in time"


def backoff_s(message: Message) -> int:
    """Return how long to wait behind one more failure: 5 s, 15 s, … an hour, a part of it by the id.

    Messages that failed together are so not sent together again.
    """
    wait: int = min(LONGEST_S, FIRST_S * GROWTH ** min(message.attempts, 8))
    part = hashlib.sha256(message.id.encode()).digest()[0] / 256
    return int(wait * (1 + part / 4))


class HttpPost:
    """Sends requests over HTTP; follows nobody elsewhere."""

    def __init__(self) -> None:
        self._session: aiohttp.ClientSession | None = None

    async def __call__(self, url: str, headers: Mapping[str, str], body: bytes, until_us: int) -> int:
        """Send *body*; the address is in no error."""
        status: int = 0
        if self._session is None:
            timeout = aiohttp.ClientTimeout(total=None, sock_connect=None)
            self._session = aiohttp.ClientSession(timeout=timeout, cookie_jar=aiohttp.DummyCookieJar())
        sent = self._session.post(url, data=body, headers=dict(headers), allow_redirects=False)
        try:
            with clock.beyond():
                async with clock.move_on_at(until_us), sent as response:
                    status = int(response.status)
        except (aiohttp.ClientError, ValueError) as error:
            raise OSError(0, type(error).__name__) from None
        return status

    async def aclose(self) -> None:
        """Close every connection."""
        if self._session:
            await self._session.close()


def now_s() -> int:
    """Return the calendar time in seconds; where time is skipped or virtual, that of the loop."""
    label = clock.label() if clock.kind() == "wall" else None
    return int(datetime.fromisoformat(label).timestamp()) if label else clock.now() // clock.SECOND


def _shown(now: int) -> str:
    return clock.label() or f"{now} s"


def _key(secret: str) -> bytes:
    try:
        return (
            base64.b64decode(secret.removeprefix(KEY), validate=True)
            if secret.startswith(KEY)
            else secret.encode()
        )
    except binascii.Error:
        return secret.encode()
