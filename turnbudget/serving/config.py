"""The settings of a floor of calls: ``[serve]``, and one ``[tenants.NAME]`` for each who is called.

A credential may be written as ``env:NAME``: then it is read from the environment and stands in no file.
"""

from __future__ import annotations

import ipaddress
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, Literal, TypeAlias
from urllib.parse import quote, urlsplit

import msgspec
from yarl import URL

from turnbudget.serving.ending import DispositionRule  # noqa: TC001 - msgspec reads it when it decodes
from turnbudget.settings.config import Config, Ms, Positive, Table
from turnbudget.settings.config import load as load_agent
from turnbudget.voice.errors import ConfigError
from turnbudget.voice.reading import toml

if TYPE_CHECKING:
    from collections.abc import Iterator

Port = Annotated[int, msgspec.Meta(ge=0, le=65_535)]
Count = Annotated[int, msgspec.Meta(ge=1, le=100_000)]
ENVIRONMENT: Final = "env:"
SHORTEST: Final = 16
"""Signs of a token: fewer can be guessed."""
DEFAULT: Final = "default"
LOCAL: Final = frozenset({"localhost", "127.0.0.1", "::1"})
HOLES: Final = ("caller", "called", "call", "tenant")
SHORTEST_SECRET: Final = 24
"""Signs of a webhook's secret."""
EVENTS: Final = ("call.ended", "call.transferred")
_NO_DIGITS: Final = re.compile(r"[^0-9]")

Agents: TypeAlias = dict[str, Config]


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
        if len(self.secret) < SHORTEST_SECRET and not self.secret.startswith("env:"):
            raise ValueError(f"a webhook's secret has {SHORTEST_SECRET} signs or more")
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


class ServeTable(Table, frozen=True):
    """``[serve]``: where the server listens, how much it takes, and who may ask it.

    ``public`` is the address at which carriers reach it (``https://calls.example.com``); with it, or on a
    host that is not this machine's own, every caller needs a signature or a token. Without
    ``audiosocket_port`` there is no AudioSocket; port 0 is any that is free; its ``audiosocket_rate`` is
    16000 for ``Dial(AudioSocket/…/c(slin16))``. ``broker`` and ``otlp`` are where events and traces go;
    ``texts`` shows what was said to those who watch. Worker N answers on ``ops_port`` + N as well, and
    alone: for whoever has to ask each worker, for metrics and the board. ``redact`` takes numbers of cards,
    telephones and the like out of everything that is written. ``carriers`` are lines of your own: what is
    spoken at ``/NAME/ws``, as ``module:attribute`` (see docs/engines.md).
    """

    host: str = "127.0.0.1"
    port: Port = 8080
    ops_port: Port | None = None
    public: str = ""
    audiosocket_host: str = "127.0.0.1"
    audiosocket_port: Port | None = None
    audiosocket_rate: Literal[8_000, 16_000] = 8_000
    operator_token: str = ""
    twilio_token: str = ""
    most_calls: Count = 40
    most_waiting: Count = 128
    start_ms: Positive = 5_000
    stall_ms: Positive = 10_000
    drain_ms: Ms = 60_000
    out: str = "runs"
    site: str = "main"
    broker: str = ""
    otlp: str = ""
    texts: bool = False
    redact: bool = True
    carriers: dict[str, str] = msgspec.field(default_factory=dict)

    @property
    def local(self) -> bool:
        """Whether only this machine reaches the server: then no token is asked for."""
        return not self.public and is_loopback(self.host)

    @property
    def local_audiosocket(self) -> bool:
        """Whether only this machine reaches the AudioSocket."""
        return is_loopback(self.audiosocket_host)


class TenantTable(Table, frozen=True):
    """``[tenants.NAME]``: whom a call is for: called numbers or a token say so.

    ``lines`` are the kinds of line it may come over ('twilio', 'audiosocket', …; none named: all), ``config``
    is a file of settings for its agent, ``most_calls`` 0 is no limit of its own, ``records`` says that its
    callers consent to be recorded, ``overflow`` is the number that calls go to which are not taken. While
    the agent asks for a slot that is ``sensitive`` nothing is recorded; ``dispositions`` say what is made of
    a call that is over.
    """

    called: tuple[str, ...] = ()
    tokens: tuple[str, ...] = ()
    twilio_token: str = ""
    lines: tuple[str, ...] = ()
    config: str = ""
    most_calls: Annotated[int, msgspec.Meta(ge=0, le=100_000)] = 0
    records: bool = False
    overflow: str = ""
    sensitive: tuple[str, ...] = ()
    webhook: WebhookTable = WebhookTable()
    crm: CrmTable = CrmTable()
    dispositions: tuple[DispositionRule, ...] = ()


class FloorConfig(Table, frozen=True):
    """The whole file of a floor of calls."""

    serve: ServeTable = ServeTable()
    tenants: dict[str, TenantTable] = msgspec.field(default_factory=dict)

    def __post_init__(self) -> None:
        public = self.serve.public
        if public and not (public.startswith(("http://", "https://")) and urlsplit(public).hostname):
            raise ValueError("serve.public is written like https://calls.example.com")
        own = [table.twilio_token for table in self.tenants.values()]
        if not public and any((self.serve.twilio_token, *own)):
            raise ValueError("twilio_token needs serve.public: Twilio signs the address that it calls")
        numbers = [number for table in self.tenants.values() for number in table.called]
        for number in numbers:
            if not digits(number):
                raise ValueError(f"the called number {number!r} has no digits")
        _once("called number", [digits(number) for number in numbers])


def load(path: Path | None, agent: Path | None = None) -> tuple[FloorConfig, Agents]:
    """Return the floor's settings at *path* and each tenant's agent; raises ConfigError, one line.

    Without tenants there is one, called ``default``, answered by the agent of the file *agent*.
    """
    floor = toml(path, FloorConfig) if path else FloorConfig()
    folder = path.parent if path else Path()
    if not floor.tenants:
        floor = msgspec.structs.replace(floor, tenants={DEFAULT: TenantTable()})
    agents = {
        name: load_agent(folder / table.config if table.config else agent)
        for name, table in floor.tenants.items()
    }
    try:
        floor = _with_secrets(floor)
    except ValueError as error:
        raise ConfigError(str(error), where=str(path)) from None
    tokens = [token for table in floor.tenants.values() for token in table.tokens]
    short = [token for token in (*tokens, floor.serve.operator_token) if token and len(token) < SHORTEST]
    if short:
        raise ConfigError(f"a token has fewer than {SHORTEST} signs", where=str(path), remedy="take a longer")
    try:
        _once("token", tokens)
    except ValueError as error:
        raise ConfigError(str(error), where=str(path)) from None
    return floor, agents


def is_loopback(host: str) -> bool:
    """Say whether *host* is this machine's own address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def digits(number: str) -> str:
    """Return the digits of *number*: ``+1 555-0100``, ``15550100`` and ``sip:15550100@host`` are one."""
    return _NO_DIGITS.sub("", number.partition("@")[0])


def is_of_the_internet(host: str) -> bool:
    """Say whether anybody may be at the address *host*, and not only who stands in front of us."""
    try:
        return ipaddress.ip_address(host).is_global
    except ValueError:
        return True


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


def _with_secrets(floor: FloorConfig) -> FloorConfig:
    """Return *floor* with each credential that stands in the environment."""
    serve = msgspec.structs.replace(
        floor.serve,
        operator_token=_secret(floor.serve.operator_token),
        twilio_token=_secret(floor.serve.twilio_token),
    )
    tenants = {
        name: msgspec.structs.replace(
            table,
            tokens=tuple(map(_secret, table.tokens)),
            twilio_token=_secret(table.twilio_token),
            webhook=msgspec.structs.replace(table.webhook, secret=_secret(table.webhook.secret)),
            crm=msgspec.structs.replace(table.crm, token=_secret(table.crm.token)),
        )
        for name, table in floor.tenants.items()
    }
    return msgspec.structs.replace(floor, serve=serve, tenants=tenants)


def _secret(written: str) -> str:
    name = written.removeprefix(ENVIRONMENT)
    if name == written:
        return written
    if not os.environ.get(name):
        raise ConfigError(f"the environment holds no {name}", where="a token written as env:")
    return os.environ[name]


def _once(what: str, values: list[str]) -> None:
    for value in _twice(values):
        shown = "" if what == "token" else f" {value!r}"
        raise ValueError(f"the {what}{shown} stands at two tenants, or twice")


def _twice(values: list[str]) -> Iterator[str]:
    seen: set[str] = set()
    for value in values:
        if value in seen:
            yield value
        seen.add(value)
