"""What carriers that speak like Twilio say: one table a vendor, and one JSON message, read field by field.

What is not as it should be is absent, or odd. Nothing a stranger sends is trusted to have a type, a length or
a sense. Nothing of it is quoted but the names of events and encodings, so that neither a token nor what a
caller keyed in gets into a log.

No vendor was tried on a carrier's own network. Each table says in ``facts`` what its documents say, what was
read in other people's code, and what is from memory and has to be checked first.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import msgspec

from turnbudget.voice.errors import AudioError
from turnbudget.voice.lines.dialect import CallInfo, Odd
from turnbudget.voice.lines.reorder import Chunk
from turnbudget.voice.lines.wire import pressed
from turnbudget.voice.sound.encoding import Encoding, called

if TYPE_CHECKING:
    from collections.abc import Mapping

    from turnbudget.voice.lines.dialect import Dtmf, Message

AHEAD_US: Final = 10_000_000
"""How far ahead of playing we send audio (µs; 10 s): our choice, as no vendor documents its queue."""


@dataclass(frozen=True, slots=True)
class Vendor:
    """The words and habits of one vendor; the defaults are Twilio's."""

    name: str
    """What settings call it."""
    facts: str
    """What is known of it, and from where."""

    connects: bool = True
    """Whether it says ``connected`` before ``start``."""
    stops: bool = True
    """Whether it says ``stop`` when the call ends; otherwise its socket just closes."""
    stream: str = "streamSid"
    """Field of the stream's id."""
    call: str = "callSid"
    """Field of the call's id, in ``start``."""
    sequence: str = "sequenceNumber"
    """Field of a message's number."""
    format: str = "mediaFormat"
    """Field of the audio's form, in ``start``."""
    rate_field: str = "sampleRate"
    """Field of the sample rate, in the audio's form."""
    parameters: str = "customParameters"
    """Field of the parameters that we gave along, in ``start`` or beside it."""
    numbers_beside: bool = False
    """Whether ``start`` says who called whom; otherwise only the parameters can."""
    media_us: int = 20_000
    """Audio of the caller's in one message (µs)."""
    numbers_as_text: bool = True
    """Whether it writes numbers as JSON strings; both forms are read."""
    names_stream: bool = True
    """Whether our messages carry the stream's id."""

    play: str = "media"
    """Our event with audio."""
    typed: bool = False
    """Whether our audio says its own encoding and rate."""
    piece: int = 0
    """Length of the pieces that our audio goes out in, the last filled up with silence (bytes; 0: any
    length)."""
    mark: str = "mark"
    """Our event that asks for an acknowledgement."""
    played: str = "mark"
    """Its event that acknowledges."""
    flat_marks: bool = False
    """Whether a mark's name stands in the message itself, not in a ``mark`` inside it."""
    clear: str = "clear"
    """Our event that empties its queue."""
    cleared: str = ""
    """Its event that confirms it; '' for none."""
    marks_on_clear: bool = True
    """Whether pending marks come back when the queue is emptied, as if they had been played."""
    dtmf: str = ""
    """Our event that plays a key's tone; '' for none."""
    hang_up: str = ""
    """Our event that ends the stream; '' if closing the socket does."""
    transfers: bool = True
    """Whether the document behind the stream can transfer the caller."""

    encoding: str = "audio/x-mulaw"
    """Encoding if ``start`` does not say."""
    rate: int = 8_000
    """Sample rate if ``start`` does not say (Hz)."""
    linear: str = "pcm16"
    """Name of its 16-bit linear audio in :mod:`turnbudget.voice.sound.encoding`."""
    stream_attributes: Mapping[str, str] = field(default_factory=dict)
    """Attributes that its ``<Stream>`` needs besides an address, for our audio to be heard."""


TWILIO: Final = Vendor(
    "twilio",
    "Documented: every message, mu-law 8 kHz, marks that come back on clear. Tried: the signature and TwiML,"
    " against Twilio's own library.",
)
SIGNALWIRE: Final = Vendor(
    "signalwire",
    "Documented: a <Stream> compatible with Twilio's. From memory: that marks, clear and the field names are"
    " the same, and that its L16 is little-endian.",
)
TELNYX: Final = Vendor(
    "telnyx",
    "Documented: every message, that order is not guaranteed, that our audio is played only in bidirectional"
    " mode rtp, that marks come back on clear. Read in code: L16 is big-endian. From memory: the form of"
    " custom_parameters.",
    stream="stream_id",
    call="call_control_id",
    sequence="sequence_number",
    format="media_format",
    rate_field="sample_rate",
    parameters="custom_parameters",
    numbers_beside=True,
    names_stream=False,
    linear="pcm16be",
    stream_attributes=MappingProxyType({"bidirectionalMode": "rtp", "bidirectionalCodec": "PCMU"}),
)
PLIVO: Final = Vendor(
    "plivo",
    "Documented: every message, that a checkpoint is acknowledged only if it was played. Not documented: a"
    " stop on the socket, which is read if it comes. From memory: L16 is little-endian.",
    connects=False,
    stops=False,
    stream="streamId",
    call="callId",
    parameters="extra_headers",
    numbers_as_text=False,
    play="playAudio",
    typed=True,
    mark="checkpoint",
    played="playedStream",
    flat_marks=True,
    clear="clearAudio",
    cleared="clearedAudio",
    marks_on_clear=False,
    dtmf="sendDTMF",
    encoding="audio/x-l16",
)
VOBIZ: Final = replace(
    PLIVO,
    name="vobiz",
    facts="Documented: every message, that the socket closes without a stop, that a checkpoint is"
    " acknowledged only if it was played and without a stream id. From memory: L16 is little-endian.",
    dtmf="",
    hang_up="stop",
)
EXOTEL: Final = Vendor(
    "exotel",
    "Documented: every message, little-endian linear audio at 8, 16 or 24 kHz, pieces of at least 3,200 bytes"
    " and a multiple of 320, a mark when audio has been played. Not documented: marks on clear; one that"
    " comes is taken for no proof of playback.",
    stream="stream_sid",
    call="call_sid",
    sequence="sequence_number",
    format="media_format",
    rate_field="sample_rate",
    parameters="custom_parameters",
    numbers_beside=True,
    media_us=100_000,
    piece=3_200,
    transfers=False,
    encoding="audio/x-raw",
)
FONOSTER: Final = Vendor(
    "fonoster",
    "Documented: Twilio's messages, mu-law 8 kHz, marks that come back on clear, no call control: closing the"
    " socket hangs up.",
    transfers=False,
)
PIVOT: Final = Vendor(
    "2600hz",
    "Documented: Twilio's messages, L16 unless asked otherwise, the call ends with the stream. From memory:"
    " marks on clear, and that L16 is little-endian.",
    transfers=False,
    encoding="audio/l16",
)

VENDORS: Final[Mapping[str, Vendor]] = MappingProxyType(
    {vendor.name: vendor for vendor in (TWILIO, SIGNALWIRE, TELNYX, PLIVO, VOBIZ, EXOTEL, FONOSTER, PIVOT)}
)
"""The vendors, by name."""

LIMIT: Final = 262_144
"""Longest message that is read (characters): 2 s of the widest audio we take, with room."""
TEXT: Final = 500
"""Longest id, name or value that is kept (characters), as Twilio's own limit for a parameter."""
PARAMETERS: Final = 32
"""Parameters of a call that are kept."""
RATES: Final = (8_000, 16_000, 24_000, 32_000, 48_000)
"""Sample rates that are taken (Hz)."""

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
    """Return *value* if it is a short printable text or a whole number, else ''."""
    number = whole(value) if isinstance(value, int) else None
    if number is not None:
        return str(number)
    return value if isinstance(value, str) and len(value) <= TEXT and value.isprintable() else ""


def whole(value: object) -> int | None:
    """Return *value* as a number from 0 on, if it is one or a text of digits, else ``None``."""
    if isinstance(value, str):
        value = int(value) if value.isascii() and value.isdigit() and len(value) <= _DIGITS else None
    fits = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _BIGGEST
    return value if fits and isinstance(value, int) else None


def inside(fields: Mapping[str, object], name: str) -> Fields:
    """Return the fields inside the field *name*; empty if it holds none."""
    found = fields.get(name)
    return found if isinstance(found, dict) else {}


def stream_of(fields: Fields, vendor: Vendor) -> str:
    """Return the id of the stream that a message names, in itself or in its ``start``; '' for none."""
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
    """Return the name of a mark; '' for none."""
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
    """Return how the caller's audio is encoded, and its rate (Hz)."""
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
    """Return the call's parameters from an object or a text of ``name=value`` pairs."""
    if isinstance(given, str):
        pairs = [
            pair.partition("=")[::2] for pair in given[:LIMIT].replace(";", ",").split(",") if "=" in pair
        ]
        given = {name.strip(): value.strip() for name, value in pairs[:PARAMETERS]}
    if not isinstance(given, dict):
        return {}
    kept = [(text(name), text(value)) for name, value in list(given.items())[:PARAMETERS]]
    return {name: value for name, value in kept if name and value}
