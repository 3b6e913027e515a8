"""Where a broker is and how to be let in: everything about it that a person writes down, in one URL.

``mqtt://host``, ``mqtts://user@host:8884/bank?ca=/etc/ca.pem``: ``mqtts`` is TLS; the path begins every topic
(``turnbudget`` by default), so that two systems can share a broker; ``ca`` names a private authority. The
password comes from ``TURNBUDGET_MQTT_PASSWORD``; one in the URL works and is hidden, but other people's
process lists show it.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import parse_qs, quote, unquote, urlsplit

from turnbudget.agents.backends.backend import Secret
from turnbudget.voice.errors import ConfigError

PASSWORD: Final = "TURNBUDGET_MQTT_PASSWORD"  # noqa: S105 - where a password is, not one
"""The environment variable that holds the broker's password."""
PORTS: Final = {"mqtt": 1883, "mqtts": 8883}
"""The usual ports, by the scheme of the address."""
LONGEST_NAME: Final = 200
"""How long a seat's or a prefix's name may be (characters)."""
EXAMPLE: Final = "write mqtt://host:1883 or mqtts://user@host"
"""What is told to whoever wrote an address that is none."""


@dataclass(frozen=True, slots=True)
class Broker:
    """A broker's address, and the identity to show it."""

    host: str
    port: int = 1883
    tls: bool = False
    user: str = ""
    password: Secret = field(default_factory=Secret, compare=False)
    ca_file: str = ""
    prefix: str = "turnbudget"

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'mqtts' if self.tls else 'mqtt'}://{host}:{self.port}"


def broker_at(url: str) -> Broker:
    """Return what *url* says; raises ConfigError, which never repeats the URL: a password may be in it."""
    try:
        parts = urlsplit(url)
        host, port, user, password = parts.hostname, parts.port, parts.username, parts.password
    except ValueError:
        raise ConfigError("the broker's address is no URL", where="broker", remedy=EXAMPLE) from None
    if parts.scheme not in PORTS or not host:
        raise ConfigError("the broker's address is none", where="broker", remedy=EXAMPLE)
    asked = parse_qs(parts.query)
    if unknown := sorted(set(asked) - {"ca"}):
        raise ConfigError(f"{', '.join(unknown)} in the broker's URL means nothing", remedy="ca=FILE does")
    return Broker(
        host,
        port or PORTS[parts.scheme],
        parts.scheme == "mqtts",
        unquote(user or ""),
        Secret(os.environ.get(PASSWORD) or unquote(password or "")),
        asked.get("ca", [""])[0],
        "/".join(level(part) for part in unquote(parts.path).split("/") if part) or "turnbudget",
    )


def level(name: str) -> str:
    """Return *name* as one level of a topic: what a user types can neither part it nor match others."""
    if not name or len(name) > LONGEST_NAME:
        raise ConfigError(f"a name has 1 to {LONGEST_NAME} characters, this one {len(name)}", where="seat")
    return quote(name, safe="", errors="replace")


def ask_topic(prefix: str, seat: str) -> str:
    """Return the topic on which questions to *seat* are published."""
    return f"{prefix}/seat/{level(seat)}/ask"


def shared(prefix: str, seat: str) -> str:
    """Return the subscription by which the workers of *seat* share its questions."""
    return f"$share/{level(seat)}/{ask_topic(prefix, seat)}"


def answer_topic(prefix: str, asker: str) -> str:
    """Return the topic on which *asker* is answered."""
    return f"{prefix}/answer/{level(asker)}"


def status_topic(prefix: str, seat: str, worker: str) -> str:
    """Return the topic that says whether *worker* serves *seat*."""
    return f"{prefix}/seat/{level(seat)}/status/{level(worker)}"


def statuses(prefix: str) -> str:
    """Return the subscription to every worker's status."""
    return f"{prefix}/seat/+/status/+"
