"""What the carriers that speak like Twilio call things: one engine, one table a vendor.

Nothing here was tried on a carrier's own network. Each table says in ``facts`` what its documents say, what
was read in other people's code, and what is from memory and has to be checked first.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

AHEAD_US: Final = 10_000_000
"""How far ahead of playing we send, in µs: ours, as no vendor documents the size of its queue."""


@dataclass(frozen=True, slots=True)
class Vendor:
    """The words and habits of one vendor; the defaults are Twilio's."""

    name: str
    facts: str
    """What is known of it, and from where."""

    connects: bool = True
    """It says ``connected`` before ``start``."""
    stops: bool = True
    """It says ``stop`` when the call ends; otherwise its socket just closes."""
    stream: str = "streamSid"
    """The field of the stream's id."""
    call: str = "callSid"
    """The field of the call's id, in ``start``."""
    sequence: str = "sequenceNumber"
    format: str = "mediaFormat"
    rate_field: str = "sampleRate"
    parameters: str = "customParameters"
    """The field of what we gave along, in ``start`` or beside it."""
    numbers_beside: bool = False
    """``start`` says who called whom; otherwise only what we gave along can."""
    media_us: int = 20_000
    """How much of the caller's audio one message carries, in µs."""
    numbers_as_text: bool = True
    """Its numbers are JSON strings; both are read, this is how it writes."""
    names_stream: bool = True
    """Our messages carry the stream's id."""

    play: str = "media"
    """Our event with audio."""
    typed: bool = False
    """Our audio says its own encoding and rate."""
    piece: int = 0
    """Our audio goes out in pieces of so many bytes, the last filled up with silence; 0: in any size."""
    mark: str = "mark"
    """Our event that asks for an acknowledgement."""
    played: str = "mark"
    """Its event that gives it."""
    flat_marks: bool = False
    """A mark's name stands in the message itself, not in a ``mark`` inside it."""
    clear: str = "clear"
    """Our event that empties its queue."""
    cleared: str = ""
    """Its event that says so, if there is one."""
    marks_on_clear: bool = True
    """Pending marks come back when the queue is emptied, as if they had been played."""
    dtmf: str = ""
    """Our event that plays a key's tone, if there is one."""
    hang_up: str = ""
    """Our event that ends the stream; otherwise closing the socket does."""
    transfers: bool = True
    """What follows the stream can send the caller elsewhere."""

    encoding: str = "audio/x-mulaw"
    """What is spoken if ``start`` does not say."""
    rate: int = 8_000
    linear: str = "pcm16"
    """How its 16-bit linear audio stands in bytes, in the words of :mod:`turnbudget.voice.sound.encoding`."""
    stream_attributes: Mapping[str, str] = field(default_factory=dict)
    """What its ``<Stream>`` needs beyond an address, so that our audio is heard at all."""


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
VOBIZ: Final = Vendor(
    "vobiz",
    "Documented: every message, that the socket closes without a stop, that a checkpoint is acknowledged only"
    " if it was played and without a stream id. From memory: L16 is little-endian.",
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
    hang_up="stop",
    encoding="audio/x-l16",
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
