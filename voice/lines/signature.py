"""Twilio's signature: proof that a request, or a socket's upgrade, comes from who holds the account's token.

``X-Twilio-Signature`` is the base64 of HMAC-SHA1, keyed by the token, over the address that was *called*,
followed by the form's fields sorted by name. Behind a proxy nobody but the configuration knows that address,
so it is never taken from a request. Whoever signed may have written it with its default port or without, and
with a slash at its end or without; a socket's begins with ``wss``. A signature holds no time: against a
request sent twice only a token used once helps.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from turnbudget.voice.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterable

_PORTS = {"https": 443, "wss": 443, "http": 80, "ws": 80}
_SOCKETS = {"https": "wss", "wss": "wss", "http": "ws", "ws": "ws"}
_PAGES = {"https": "https", "wss": "https", "http": "http", "ws": "http"}


def sign(token: str, url: str, form: Iterable[tuple[str, str]] = ()) -> str:
    """Return Twilio's signature of *url*, as it was called, and of the fields of *form*."""
    fields = sorted(set(form))
    text = url + "".join(name + value for name, value in fields)
    digest = hmac.new(_bytes(token), _bytes(text), hashlib.sha1).digest()
    return base64.b64encode(digest).decode()


def signed_request(
    token: str, signature: str, origin: str, target: str, form: Iterable[tuple[str, str]] = ()
) -> bool:
    """Say whether a request for *target* (path and query) with *form* was signed with *token*.

    *origin* is our public address, such as ``https://calls.example.com``, from the configuration; raises
    ConfigError if it is none.
    """
    fields = list(form)
    return _signed(token, signature, [(url, fields) for url in _addresses(origin, target, _PAGES)])


def signed_upgrade(token: str, signature: str, origin: str, target: str) -> bool:
    """Say whether a socket's upgrade at *target* (path and query) was signed with *token*; see above."""
    return _signed(token, signature, [(url, []) for url in _addresses(origin, target, _SOCKETS)])


def same(one: str, other: str) -> bool:
    """Say whether two secrets are the same, in a time that tells nothing of them; an empty one never is."""
    return bool(one) and bool(other) and hmac.compare_digest(_bytes(one), _bytes(other))


def _signed(token: str, signature: str, signings: list[tuple[str, list[tuple[str, str]]]]) -> bool:
    """Compare with every signing, whatever the first ones give; without a token nothing is signed."""
    if not token:
        return False
    return any([same(sign(token, url, fields), signature) for url, fields in signings])  # noqa: C419 - all of them, always


def _addresses(origin: str, target: str, schemes: dict[str, str]) -> list[str]:
    """Return the ways in which our address may have been written by who signed it."""
    try:
        parts = urlsplit(origin)
        port = parts.port
    except ValueError as error:
        raise ConfigError(f"public address {origin!r}: {error}") from error
    scheme = schemes.get(parts.scheme)
    if scheme is None or not parts.hostname:
        raise ConfigError(
            f"public address {origin!r} is none", remedy="write it like https://calls.example.com"
        )
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    hosts = dict.fromkeys([host, f"{host}:{port or _PORTS[scheme]}"])
    path, query = target.partition("?")[::2]
    bare = parts.path.rstrip("/") + path.rstrip("/")
    tail = f"?{query}" if query else ""
    return [f"{scheme}://{name}{bare}{slash}{tail}" for name in hosts for slash in ("", "/")]


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
