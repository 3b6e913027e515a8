"""One JSON message of the Twilio family, read field by field: what is not as it should be is absent, or odd.

Nothing a stranger sends is trusted to have a type, a length or a sense. Nothing of it is quoted but the names
of events and encodings, so that neither a token nor what a caller keyed in gets into a log.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import msgspec

from turnbudget.voice.errors import AudioError
from turnbudget.voice.lines.dialect import CallInfo, Odd
from turnbudget.voice.lines.keys import pressed
from turnbudget.voice.lines.reorder import Chunk
from turnbudget.voice.sound.encoding import Encoding, called

if TYPE_CHECKING:
    from collections.abc import Mapping

    from turnbudget.voice.lines.dialect import Dtmf, Message
    from turnbudget.voice.lines.twilio_vendors import Vendor

LIMIT: Final = 262_144
"""Signs in a message: 2 s of the widest audio we take, with room."""
TEXT: Final = 500
"""Signs in an id, a name or a value; Twilio's own limit for a parameter is as much."""
PARAMETERS: Final = 32
RATES: Final = (8_000, 16_000, 24_000, 32_000, 48_000)

_LINEAR: Final = frozenset({"audio/x-l16", "audio/l16", "l16", "audio/x-raw", "raw/slin", "slin", "linear16"})
_G711: Final = frozenset({"mulaw", "alaw"})
_CALLER: Final = frozenset({"", "inbound", "inbound_track"})
_OURS: Final = frozenset({"outbound", "outbound_track"})
_BIGGEST: Final = 2**53
_DIGITS: Final = 16

Fields: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Opening:
    """What ``start`` says."""

    info: CallInfo
    encoding: Encoding
    rate: int


def read(message: Message) -> Fields | Odd:
    """Return the fields of *message*."""
    if isinstance(message, bytes):
        return Odd("a binary message, where all are text")
    if len(message) > LIMIT:
        return Odd(f"a message of {len(message)} signs, over {LIMIT}", fatal=True)
    try:
        fields = msgspec.json.decode(message)
    except (ValueError, RecursionError):
        return Odd("a message that is no JSON")
    return fields if isinstance(fields, dict) else Odd("a message that is no JSON object")


def text(value: object) -> str:
    """Return *value* if it is a short printable text, or a whole number; else an empty text."""
    number = whole(value) if isinstance(value, int) else None
    if number is not None:
        return str(number)
    return value if isinstance(value, str) and len(value) <= TEXT and value.isprintable() else ""


def whole(value: object) -> int | None:
    """Return *value* as a number from 0 on, whether it is one or a text of digits; else ``None``."""
    if isinstance(value, str):
        value = int(value) if value.isascii() and value.isdigit() and len(value) <= _DIGITS else None
    fits = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _BIGGEST
    return value if fits and isinstance(value, int) else None


def inside(fields: Mapping[str, object], name: str) -> Fields:
    """Return the fields inside the field *name*; none if it holds none."""
    found = fields.get(name)
    return found if isinstance(found, dict) else {}


def stream_of(fields: Fields, vendor: Vendor) -> str:
    """Return the id of the stream that a message names, in itself or in its ``start``; may be empty."""
    return text(fields.get(vendor.stream)) or text(inside(fields, "start").get(vendor.stream))


def read_media(fields: Fields) -> Chunk | Odd | None:
    """Return the caller's audio in a ``media`` message; ``None`` if it is our own coming back."""
    media = inside(fields, "media")
    track = text(media.get("track"))
    if track in _OURS:
        return None
    if track not in _CALLER:
        return Odd("media of no track that is known")
    payload = media.get("payload")
    if not isinstance(payload, str):
        return Odd("media without a payload")
    try:
        sound = base64.b64decode(payload, validate=True)
    except ValueError:
        return Odd("media whose payload is no base64")
    if not sound:
        return Odd("media whose payload is empty")
    return Chunk(sound, whole(media.get("timestamp")), whole(media.get("chunk")))


def read_key(fields: Fields) -> Dtmf | Odd:
    """Return the key that was pressed."""
    return pressed(text(inside(fields, "dtmf").get("digit")))


def read_mark(fields: Fields, vendor: Vendor) -> str:
    """Return the name of a mark; may be empty."""
    return text((fields if vendor.flat_marks else inside(fields, "mark")).get("name"))


def read_start(fields: Fields, vendor: Vendor, token: str) -> Opening | Odd:
    """Return what begins a call; *token* is the one in the address, if there was one.

    A call that cannot be answered, for want of an id, or cannot be understood, is refused: the Odd is fatal.
    """
    start = inside(fields, "start")
    stream = stream_of(fields, vendor)
    if not stream:
        return Odd("a start without a stream id", fatal=True)
    encoding, rate = read_format(inside(start, vendor.format), vendor)
    if isinstance(encoding, Odd):
        return encoding
    given = read_parameters(start.get(vendor.parameters) or fields.get(vendor.parameters))
    token = given.pop("token", "") or token
    info = CallInfo(
        call=text(start.get(vendor.call)) or stream,
        stream=stream,
        caller=text(start.get("from")) or given.get("caller", ""),
        called=text(start.get("to")) or given.get("called", ""),
        tenant=given.get("tenant", ""),
        token=token,
        parameters=given,
    )
    return Opening(info, encoding, rate)


def read_format(form: Fields, vendor: Vendor) -> tuple[Encoding | Odd, int]:
    """Return how the caller's audio is written, and its rate."""
    name, _, options = (text(form.get("encoding")) or vendor.encoding).lower().partition(";")
    said = form.get(vendor.rate_field) or options.strip().removeprefix("rate=") or vendor.rate
    rate = whole(said)
    if rate not in RATES:
        return Odd("audio at a rate that is not known", fatal=True), vendor.rate
    if whole(form.get("channels", 1)) != 1:
        return Odd("audio that is not of one channel", fatal=True), rate
    name = name.strip()
    try:
        encoding = called(vendor.linear if name in _LINEAR else name)
    except AudioError:
        return Odd(f"audio in an encoding that is not known: {name[:40]!r}", fatal=True), rate
    if name not in _LINEAR and encoding.name not in _G711:
        return Odd(f"audio in an encoding no telephone speaks: {name[:40]!r}", fatal=True), rate
    return encoding, rate


def read_parameters(given: object) -> dict[str, str]:
    """Return what we gave along with the call: an object, or a text of ``name=value`` pairs."""
    if isinstance(given, str):
        pairs = [
            pair.partition("=")[::2] for pair in given[:LIMIT].replace(";", ",").split(",") if "=" in pair
        ]
        given = {name.strip(): value.strip() for name, value in pairs[:PARAMETERS]}
    if not isinstance(given, dict):
        return {}
    kept = [(text(name), text(value)) for name, value in list(given.items())[:PARAMETERS]]
    return {name: value for name, value in kept if name and value}
