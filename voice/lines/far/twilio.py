"""SIMULATED: a carrier of the Twilio family, as its documents describe it; none was reachable to compare.

It sends what its caller says, plays what it is sent at its own pace, gives a mark back when all before it was
heard, and on a clear does with the pending ones what the vendor does. What it does not take stands in
``refused``, under Twilio's numbers where there are any: 31950 is a binary message, 31951 a wrong one.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import msgspec

from turnbudget.voice.errors import AudioError
from turnbudget.voice.lines.dialect import Odd
from turnbudget.voice.lines.far.side import TICK_US, FarSide
from turnbudget.voice.lines.twilio_messages import TWILIO, Vendor, inside, read_format, read_mark, text
from turnbudget.voice.sound.audio import join

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from turnbudget.voice.lines.dialect import Message
    from turnbudget.voice.lines.twilio_messages import Fields
    from turnbudget.voice.sound.audio import Int16

BINARY: Final = "31950: a binary message"
"""Why a binary message is refused."""
INVALID: Final = "31951: a wrong message"
"""Why a wrong message is refused."""
MULTIPLE: Final = 320
"""Number of bytes of which a piece must be a multiple, for vendors that want pieces of one size."""
_KNOWN: Final = frozenset({"event", "media", "mark", "name", "dtmf"})
_MEDIA: Final = frozenset({"payload", "contentType", "sampleRate"})


@dataclass(frozen=True, slots=True)
class FarCall:
    """What a simulated call says of itself; encoding and rate default to the vendor's own."""

    call: str = "CA00000000000000000000000000000001"
    stream: str = "MZ00000000000000000000000000000001"
    caller: str = "+15550100"
    called: str = "+15550199"
    parameters: Mapping[str, str] = field(default_factory=dict)
    encoding: str = ""
    rate: int = 0


class FarTwilio(FarSide):
    """The far end of a Twilio media stream: a carrier as *vendor* describes one, its caller, their *call*."""

    def __init__(self, vendor: Vendor = TWILIO, call: FarCall | None = None, began_us: int = 0) -> None:
        """Connect at *began_us* and send the start; raises AudioError if nobody speaks so."""
        self._vendor = vendor
        self._call = call or FarCall()
        self._form: dict[str, object] = {
            "encoding": self._call.encoding or vendor.encoding,
            vendor.rate_field: self._number(self._call.rate or vendor.rate),
        }
        law, rate = read_format(self._form, vendor)
        if isinstance(law, Odd):
            raise AudioError(law.why)
        super().__init__(rate, began_us, transmits_silence=True)
        self.keys: list[str] = []
        """Keys whose tones we had played."""
        self._law = law
        self._began_us = began_us
        self._sequence = self._chunk = 0
        self._unsaid: list[Int16] = []
        commands: dict[str, Callable[[Fields], None]] = {
            vendor.play: self._queue,
            vendor.mark: self._mark,
            vendor.clear: self._clear,
            vendor.dtmf: lambda fields: self.keys.append(text(fields.get("dtmf"))),
            vendor.hang_up: lambda _: self._close("we ended the stream"),
        }
        self._commands = {event: command for event, command in commands.items() if event}
        self._start()

    def hang_up(self) -> None:
        """Let the caller hang up: most vendors say ``stop`` before the socket closes."""
        if self._vendor.stops and not self.closed:
            self._say("stop", {"stop": {self._vendor.call: self._call.call}})
        super().hang_up()

    def _start(self) -> None:
        vendor, call = self._vendor, self._call
        start: dict[str, object] = {
            vendor.stream: call.stream,
            vendor.call: call.call,
            "tracks": ["inbound"],
            vendor.format: self._form,
        }
        beside: dict[str, object] = {}
        if vendor.numbers_beside:
            start |= {"from": call.caller, "to": call.called}
        if vendor.parameters == "extra_headers":
            beside["extra_headers"] = ";".join(f"{name}={value}" for name, value in call.parameters.items())
        else:
            start[vendor.parameters] = dict(call.parameters)
        if vendor.connects:
            connected = {"event": "connected", "protocol": "Call", "version": "1.0.0"}
            self._out.append(msgspec.json.encode(connected).decode())
        self._say("start", {"start": start, **beside})

    def _spoken(self, frame: Int16) -> list[Message]:
        """Return the caller's next media, once there is enough for a message of this vendor's."""
        self._unsaid.append(frame)
        if len(self._unsaid) * TICK_US < self._vendor.media_us:
            return []
        sound, self._unsaid = join(self._unsaid), []
        self._chunk += 1
        media = {
            "track": "inbound",
            "chunk": self._number(self._chunk),
            "timestamp": self._number((self._tick_us - self._vendor.media_us - self._began_us) // 1_000),
            "payload": base64.b64encode(self._law.encode(sound)).decode(),
        }
        return [self._text("media", {"media": media})]

    def _pressed(self, digit: str) -> list[Message]:
        return [self._text("dtmf", {"dtmf": {"track": "inbound_track", "digit": digit}})]

    def _passed(self, marks: list[str]) -> None:
        for name in marks:
            self._say(
                self._vendor.played, {"name": name} if self._vendor.flat_marks else {"mark": {"name": name}}
            )

    def _take(self, message: Message, now: int) -> None:  # noqa: ARG002 - nothing here depends on the time
        if isinstance(message, bytes):
            return self._refuse(BINARY)
        fields, vendor = msgspec.json.decode(message), self._vendor
        known = _KNOWN | ({vendor.stream} if vendor.names_stream else set())
        foreign = vendor.names_stream and fields.get(vendor.stream) != self._call.stream
        obey = self._commands.get(fields.get("event"))
        if foreign or not fields.keys() <= known or obey is None:
            return self._refuse(INVALID)
        return obey(fields)

    def _queue(self, fields: Fields) -> None:
        media = inside(fields, "media")
        if not media.get("payload") or not media.keys() <= _MEDIA:
            return self._refuse(INVALID)
        data = base64.b64decode(media["payload"], validate=True)
        if self._vendor.typed and (not media.get("contentType") or media.get("sampleRate") != self.rate):
            return self._refuse("audio that does not say what it is")
        if self._vendor.piece and (len(data) < self._vendor.piece or len(data) % MULTIPLE):
            return self._refuse(f"a piece of {len(data)} bytes")
        return self.playout.add(self._law.decode(data))

    def _mark(self, fields: Fields) -> None:
        name = read_mark(fields, self._vendor)
        if not name:
            return self._refuse(INVALID)
        return self.playout.mark(name)

    def _clear(self, _: Fields) -> None:
        marks = self.playout.flush()
        if self._vendor.marks_on_clear:
            self._passed(marks)
        if self._vendor.cleared:
            self._say(self._vendor.cleared, {})

    def _number(self, value: int) -> int | str:
        return str(value) if self._vendor.numbers_as_text else value

    def _say(self, event: str, body: Mapping[str, object]) -> None:
        self._out.append(self._text(event, body))

    def _text(self, event: str, body: Mapping[str, object]) -> str:
        self._sequence += 1
        said: dict[str, object] = {"event": event, self._vendor.sequence: self._number(self._sequence)}
        return msgspec.json.encode({**said, self._vendor.stream: self._call.stream, **body}).decode()
