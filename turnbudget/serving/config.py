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
"""A TCP port; 0 is any that is free."""
Count = Annotated[int, msgspec.Meta(ge=1, le=100_000)]
"""How many there may be of something."""
ENVIRONMENT: Final = "env:"
"""What a credential begins with that is read from the environment."""
SHORTEST: Final = 16
"""Signs of a token: fewer can be guessed."""
DEFAULT: Final = "default"
"""The tenant of a file that names none."""
LOCAL: Final = frozenset({"localhost", "127.0.0.1", "::1"})
"""Hosts that may be asked without TLS."""
HOLES: Final = ("caller", "called", "call", "tenant")
"""What the address of a CRM may hold in braces."""
SHORTEST_SECRET: Final = 24
"""Signs of a webhook's secret."""
EVENTS: Final = ("call.ended", "call.transferred")
"""What a webhook may be told."""
_NO_DIGITS: Final = re.compile(r"[^0-9]")

Agents: TypeAlias = dict[str, Config]
"""The settings of each tenant's agent, by the tenant's name."""


class WebhookTable(Table, frozen=True):
    """``[tenants.NAME.webhook]``: where what happens is told, and the secret that signs it."""

    url: str = ""
    """Where what happens is told; '' is nowhere."""
    secret: str = ""
    """Signs every message: ``whsec_`` and base64, or any text of 24 signs or more."""
    events: tuple[str, ...] = EVENTS
    """What is told: ``call.ended``, ``call.transferred``."""

    def __post_init__(self) -> None:
        if not self.url:
            return
        _check("webhook", self.url)
        if len(self.secret) < SHORTEST_SECRET and not self.secret.startswith("env:"):
            raise ValueError(f"a webhook's secret has {SHORTEST_SECRET} signs or more")
        if unknown := set(self.events) - set(EVENTS):
            raise ValueError(f"there is no event {min(unknown)!r}, but {' and '.join(EVENTS)}")


class CrmTable(Table, frozen=True):
    """``[tenants.NAME.crm]``: the address to ask about who calls; it answers with a flat JSON object."""

    url: str = ""
    """The address to ask, with ``{caller}``, ``{called}``, ``{call}`` and ``{tenant}`` in it; '' is none."""
    token: str = ""
    """Shown to it as a bearer's."""

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

    With a ``public`` address, or on a host that is not this machine's own, every caller needs a signature or
    a token.
    """

    host: str = "127.0.0.1"
    """The address that HTTP listens on."""
    port: Port = 8080
    """The port of HTTP, shared by all workers."""
    ops_port: Port | None = None
    """Worker N answers on this port + N as well, and alone: for metrics and the board of each."""
    public: str = ""
    """The address at which carriers reach the server (``https://calls.example.com``); '' if they do not."""
    audiosocket_host: str = "127.0.0.1"
    """The address that AudioSocket listens on."""
    audiosocket_port: Port | None = None
    """The port of AudioSocket; without one there is no AudioSocket."""
    audiosocket_rate: Literal[8_000, 16_000] = 8_000
    """Sample rate of AudioSocket (Hz); 16000 is for ``Dial(AudioSocket/…/c(slin16))``."""
    operator_token: str = ""
    """Lets operators see the board and reload; without one only this machine may."""
    twilio_token: str = ""
    """Signs Twilio's requests, whichever tenant they are for."""
    most_calls: Count = 40
    """Calls at a time, of all workers together."""
    most_waiting: Count = 128
    """Sockets at a time that have not begun a call."""
    start_ms: Positive = 5_000
    """How long a socket may take to begin its call, and a request to send its body (ms)."""
    stall_ms: Positive = 10_000
    """How long a peer may not read or answer before its socket is closed (ms)."""
    drain_ms: Ms = 60_000
    """How long calls may go on once the server is told to end (ms)."""
    out: str = "runs"
    """The folder in which every worker begins its run."""
    site: str = "main"
    """The name of this place in call events."""
    broker: str = ""
    """The MQTT broker that call events go to; '' is none."""
    otlp: str = ""
    """The address that traces go to, over HTTP; '' is none."""
    texts: bool = False
    """Those who watch see what was said, redacted."""
    redact: bool = True
    """Numbers of cards, telephones and the like are taken out of everything that is written."""
    carriers: dict[str, str] = msgspec.field(default_factory=dict)
    """Lines of your own: what is spoken at ``/NAME/ws``, as ``module:attribute`` (see docs/engines.md)."""

    @property
    def local(self) -> bool:
        """Whether only this machine reaches the server: then no token is asked for."""
        return not self.public and is_loopback(self.host)

    @property
    def local_audiosocket(self) -> bool:
        """Whether only this machine reaches the AudioSocket."""
        return is_loopback(self.audiosocket_host)


class TenantTable(Table, frozen=True):
    """``[tenants.NAME]``: whom a call is for: called numbers or a token say so."""

    called: tuple[str, ...] = ()
    """Numbers whose calls are this tenant's."""
    tokens: tuple[str, ...] = ()
    """Tokens whose bearers may bring this tenant's calls."""
    twilio_token: str = ""
    """Signs Twilio's requests for this tenant."""
    lines: tuple[str, ...] = ()
    """Kinds of line that calls may come over (``twilio``, ``audiosocket``, …); none named: all."""
    config: str = ""
    """The file of settings of its agent, beside this file; '' is the agent of the command line."""
    most_calls: Annotated[int, msgspec.Meta(ge=0, le=100_000)] = 0
    """Calls at a time, of all workers together; 0 is no limit of its own."""
    records: bool = False
    """Its callers consent to be recorded."""
    overflow: str = ""
    """The number that calls go to which are not taken; '' is none: they hear a busy tone."""
    sensitive: tuple[str, ...] = ()
    """Slots while the agent asks for which nothing is recorded."""
    webhook: WebhookTable = WebhookTable()
    """Where the end of its calls is told."""
    crm: CrmTable = CrmTable()
    """Where it is asked who calls."""
    dispositions: tuple[DispositionRule, ...] = ()
    """What its calls are called that are over; the first rule that fits counts."""


class FloorConfig(Table, frozen=True):
    """The whole file of a floor of calls."""

    serve: ServeTable = ServeTable()
    """The server as a whole."""
    tenants: dict[str, TenantTable] = msgspec.field(default_factory=dict)
    """Each tenant, by its name."""

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
