"""A carrier's webhook: who may ask what to do with a call, and what it is told, as pure functions.

The answer is TwiML, or Plivo's XML. A document always ends with hanging up: whatever comes before it ends,
no line stays open behind it.

A request is proven by Twilio's signature: proof that it, or a socket's upgrade, comes from who holds the
account's token. ``X-Twilio-Signature`` is the base64 of HMAC-SHA1, keyed by the token, over the address that
was *called*, followed by the form's fields sorted by name. Behind a proxy nobody but the configuration knows
that address, so it is never taken from a request. Whoever signed may have written it with its default port or
without, and with a slash at its end or without; a socket's begins with ``wss``. A signature holds no time:
against a request sent twice only a token used once helps.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
from typing import TYPE_CHECKING, Final, Literal
from urllib.parse import urlsplit
from xml.etree.ElementTree import Element, SubElement, tostring

from turnbudget.voice.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

LONGEST: Final = 499
"""Longest name and value of a parameter together (characters): Twilio takes fewer than 500."""
HEADERS: Final = 512
"""Most that Plivo gives along with a stream (bytes)."""
_NO_XML: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML cannot hold, even escaped."""


def connect_stream(
    url: str,
    *,
    parameters: Mapping[str, str] | None = None,
    action: str = "",
    status: str = "",
    attributes: Mapping[str, str] | None = None,
) -> str:
    """Return what connects a call with our socket at *url*, both ways, and hangs up when the socket closes.

    With *action*, its answer follows the stream instead: :func:`dial` to transfer, :func:`hang_up` to end.
    *status* is told of the stream's life; *attributes* are what other vendors' ``<Stream>`` needs. Raises
    ConfigError if the carrier would not take *url* or *parameters*.
    """
    _check(url)
    document = Element("Response")
    connect = SubElement(document, "Connect", _given(action=action))
    stream = SubElement(connect, "Stream", _given(url=url, statusCallback=status, **(attributes or {})))
    for name, value in (parameters or {}).items():
        if len(name) + len(value) > LONGEST:
            raise ConfigError(f"parameter {name!r} is longer than {LONGEST} signs with its value")
        SubElement(stream, "Parameter", name=_clean(name), value=_clean(value))
    return _end(document)


def reject(reason: Literal["busy", "rejected"] = "busy") -> str:
    """Return the document that refuses a call before it is answered, and before it costs anything."""
    document = Element("Response")
    SubElement(document, "Reject", reason=reason)
    return _write(document)


def dial(target: str, *, caller_id: str = "", timeout_s: int = 0) -> str:
    """Return what sends the caller to *target*, a number or a SIP address: a transfer, or an overflow.

    *timeout_s* is how long it rings, if not for as long as the carrier lets it.
    """
    document = Element("Response")
    given = _given(callerId=caller_id, timeout=str(timeout_s) if timeout_s else "")
    sip = target.lower().startswith(("sip:", "sips:"))
    number = SubElement(SubElement(document, "Dial", given), "Sip" if sip else "Number")
    number.text = _clean(target)
    return _end(document)


def hang_up() -> str:
    """Return the document that ends a call."""
    return _end(Element("Response"))


def plivo_stream(
    url: str, *, content: str = "audio/x-mulaw;rate=8000", headers: str = "", status: str = ""
) -> str:
    """Return Plivo's and Vobiz's XML for the same: a stream both ways, and hanging up when it has ended.

    *headers* come back in ``start``: ``name=value`` pairs with commas between, letters and digits only.
    """
    _check(url)
    if len(headers.encode()) > HEADERS:
        raise ConfigError(f"what is given along with a stream is longer than {HEADERS} bytes")
    document = Element("Response")
    given = _given(contentType=content, extraHeaders=headers, statusCallbackUrl=status)
    stream = SubElement(document, "Stream", {"bidirectional": "true", "keepCallAlive": "true"} | given)
    stream.text = _clean(url)
    return _end(document)


def _check(url: str) -> None:
    parts = urlsplit(url)
    if parts.scheme not in {"wss", "ws"} or not parts.netloc:
        raise ConfigError(f"{_shown(url)} is no address of a socket", remedy="it begins with wss://")
    if parts.query or parts.fragment:
        raise ConfigError(
            f"{_shown(url)} has a query, which carriers strip", remedy="put it in the path or a parameter"
        )


def _shown(url: str) -> str:
    """Return the part of *url* that may be shown: its path and query may hold a token."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"


def _given(**attributes: str) -> dict[str, str]:
    return {name: _clean(value) for name, value in attributes.items() if value}


def _clean(text: str) -> str:
    return _NO_XML.sub("", text)


def _end(document: Element) -> str:
    SubElement(document, "Hangup")
    return _write(document)


def _write(document: Element) -> str:
    return '<?xml version="1.0" encoding="UTF-8"?>' + tostring(document, encoding="unicode")


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
    """Return whether a request for *target* (path and query) with *form* was signed with *token*.

    *origin* is our public address, such as ``https://calls.example.com``, from the configuration; raises
    ConfigError if it is none.
    """
    fields = list(form)
    return _signed(token, signature, [(url, fields) for url in _addresses(origin, target, _PAGES)])


def signed_upgrade(token: str, signature: str, origin: str, target: str) -> bool:
    """Return whether a socket's upgrade at *target* was signed with *token*; see :func:`signed_request`."""
    return _signed(token, signature, [(url, []) for url in _addresses(origin, target, _SOCKETS)])


def same(one: str, other: str) -> bool:
    """Return whether two secrets are equal, in constant time; an empty one never is."""
    return bool(one) and bool(other) and hmac.compare_digest(_bytes(one), _bytes(other))


def _signed(token: str, signature: str, signings: list[tuple[str, list[tuple[str, str]]]]) -> bool:
    """Return whether any of *signings* matches, after comparing all; without a token none does."""
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
