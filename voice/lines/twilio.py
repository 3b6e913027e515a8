"""What Twilio's Media Streams and their kin speak: JSON with audio in base64, on one WebSocket a call.

One engine, one table a vendor (:mod:`turnbudget.voice.lines.twilio_messages`). A mark that comes back is
proof that the audio before it was heard, unless the queue was cleared meanwhile: then it proves nothing, and
is told so.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

import msgspec

from turnbudget.voice.lines.dialect import Abilities, AudioIn, Hangup, MarkPlayed, Odd, Started
from turnbudget.voice.lines.reorder import Chunk, Reorder
from turnbudget.voice.lines.twilio_messages import (
    AHEAD_US,
    TWILIO,
    Vendor,
    inside,
    read,
    read_key,
    read_mark,
    read_media,
    read_start,
    stream_of,
    text,
)
from turnbudget.voice.lines.wire import Framed
from turnbudget.voice.sound import encoding
from turnbudget.voice.sound.encoding import ConstantLevel

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from turnbudget.voice.lines.dialect import Inbound, Message
    from turnbudget.voice.lines.reorder import Placed
    from turnbudget.voice.lines.twilio_messages import Fields, Opening
    from turnbudget.voice.sound.audio import Int16

EARLY: Final = 50
"""Messages of audio kept from before the start (1 s of 20 ms frames)."""
EARLY_BYTES: Final = 48_000
"""Bytes of audio kept from before the start (1 s of the widest audio)."""
CONTENT: Final[Mapping[str, str]] = {
    "mulaw": "audio/x-mulaw",
    "alaw": "audio/x-alaw",
    "pcm16": "audio/x-l16",
    "pcm16be": "audio/x-l16",
}
"""Content types of our encodings, for vendors whose audio carries its own."""


class TwilioDialect:
    """One call's stream with a carrier of the Twilio family."""

    transport: Literal["websocket", "tcp"] = "websocket"

    def __init__(self, vendor: Vendor = TWILIO, *, token: str = "") -> None:
        """Speak as *vendor*; *token* came in the address. Raises ComponentError if G.711 fails."""
        encoding.self_test()
        self.name = vendor.name
        self._vendor = vendor
        self._token = token
        self._opening: Opening | None = None
        self._over = ""
        """Why nothing more is said or heard; '' while the call runs."""
        self._told = False
        self._early: list[tuple[str, Chunk]] = []
        self._order = Reorder(1)
        self._constant = ConstantLevel(vendor.rate)
        self._spare = b""
        self._marks = AwaitedMarks(only_played=not vendor.marks_on_clear)
        self._frames: Framed | None = None
        """Cuts our audio into pieces, for vendors that want them of one size; ``None`` for others."""
        self._held: list[str] = []
        """Marks behind audio that waits for its piece to be full."""
        self._readers: Mapping[str, Callable[[Fields], Sequence[Inbound]]] = {
            "connected": self._read_connected,
            "start": self._read_start,
            "media": self._read_media,
            "dtmf": self._read_dtmf,
            vendor.played: self._read_mark,
            "stop": self._read_stop,
            "error": self._read_error,
            **({vendor.cleared: self._read_cleared} if vendor.cleared else {}),
        }

    @property
    def abilities(self) -> Abilities:
        """What the vendor does with our audio; the rate is final once the call has started."""
        vendor = self._vendor
        return Abilities(
            rate=self._opening.rate if self._opening else vendor.rate,
            buffers=True,
            marks=True,
            marks_on_clear=vendor.marks_on_clear,
            clears=True,
            transfers=vendor.transfers,
            ahead_us=AHEAD_US,
            message_us=self._piece_us,
        )

    # What the far side says.

    def receive(self, message: Message) -> Sequence[Inbound]:
        """Return what *message* means, in order; never raises."""
        if self._over:
            return ()
        fields = read(message)
        if isinstance(fields, Odd):
            return self._refuse(fields)
        event = text(fields.get("event"))
        reader = self._readers.get(event)
        if reader is None:
            return (Odd(f"an event that is not known: {event[:40]!r}"),)
        if self._foreign(stream_of(fields, self._vendor)):
            return (Odd(f"{event} of another stream"),)
        return reader(fields)

    def ended(self) -> Sequence[Inbound]:
        """Return the audio that still waited, and the hang-up if it was not told yet."""
        late = self._deliver(self._order.flush()) if self._opening and not self._over else ()
        self._over = self._over or "the socket closed"
        return (*late, *self._hangup(self._over))

    def _foreign(self, stream: str) -> bool:
        return bool(self._opening and stream and stream != self._opening.info.stream)

    def _refuse(self, odd: Odd) -> Sequence[Inbound]:
        if odd.fatal:
            self._over = odd.why
        return (odd,)

    def _hangup(self, reason: str) -> Sequence[Inbound]:
        told, self._told = self._told, True
        return () if told else (Hangup(reason),)

    def _read_connected(self, _: Fields) -> Sequence[Inbound]:
        return ()

    def _read_start(self, fields: Fields) -> Sequence[Inbound]:
        if self._opening:
            return (Odd("a second start"),)
        opening = read_start(fields, self._vendor, self._token)
        if isinstance(opening, Odd):
            return self._refuse(opening)
        self._opening = opening
        self._order = Reorder(opening.rate // 1_000 * opening.encoding.width)
        self._constant = ConstantLevel(opening.rate)
        if self._vendor.piece:
            self._frames = Framed(opening.encoding, self._vendor.piece // opening.encoding.width)
        events: list[Inbound] = [Started(opening.info)]
        for stream, chunk in self._early:
            events += [Odd("media of another stream")] if self._foreign(stream) else self._take(chunk)
        self._early = []
        return events

    def _read_media(self, fields: Fields) -> Sequence[Inbound]:
        chunk = read_media(fields)
        if not isinstance(chunk, Chunk):
            return (chunk,) if chunk else ()
        if self._opening:
            return self._take(chunk)
        kept = sum(len(early.payload) for _, early in self._early)
        if len(self._early) >= EARLY or kept + len(chunk.payload) > EARLY_BYTES:
            return (Odd("over a second of media before the start"),)
        self._early.append((stream_of(fields, self._vendor), chunk))
        return ()

    def _take(self, chunk: Chunk) -> Sequence[Inbound]:
        placed = self._order.feed(chunk)
        return (Odd("media that came twice or too late"),) if placed is None else self._deliver(placed)

    def _deliver(self, pieces: Sequence[Placed]) -> Sequence[Inbound]:
        """Return *pieces* as samples; half a sample waits for its other half."""
        if self._opening is None:
            return ()
        events: list[Inbound] = []
        law = self._opening.encoding
        for piece in pieces:
            spare = self._spare if piece.joined else b""
            data = spare + piece.payload
            end = len(data) - len(data) % law.width
            self._spare = data[end:]
            samples = law.decode(data[:end])
            if samples.size:
                at = None if piece.at is None else (piece.at - len(spare)) // law.width
                events.append(AudioIn(samples, at))
            level = self._constant.feed(samples)
            if level is not None:
                events.append(Odd(f"a constant {level} in {law.name}: another encoding, or a dead line"))
        return events

    def _read_dtmf(self, fields: Fields) -> Sequence[Inbound]:
        return (read_key(fields) if self._opening else Odd("a key before the start"),)

    def _read_mark(self, fields: Fields) -> Sequence[Inbound]:
        return (self._marks.back(read_mark(fields, self._vendor)),)

    def _read_cleared(self, _: Fields) -> Sequence[Inbound]:
        return self._marks.lost()

    def _read_stop(self, fields: Fields) -> Sequence[Inbound]:
        late = self._deliver(self._order.flush())
        reason = text(inside(fields, "stop").get("reason"))
        self._over = f"stop: {reason}" if reason else "stop"
        return (*late, *self._hangup(self._over))

    def _read_error(self, fields: Fields) -> Sequence[Inbound]:
        told = inside(fields, "payload")
        return (Odd(f"the far side reports {text(told.get('code'))} {text(told.get('title'))}".rstrip()),)

    # What we say.

    def audio(self, samples: Int16) -> Sequence[Message]:
        """Return the messages that carry *samples*, once they fill the pieces that the vendor wants."""
        if self._silent or self._opening is None or not samples.size:
            return ()
        if self._frames:
            return self._pieces(self._frames.feed(samples))
        return (self._play(self._opening.encoding.encode(samples)),)

    def begin_reply(self) -> Sequence[Message]:
        """Return nothing: a reply begins with its audio."""
        return ()

    def end_reply(self, mark: str) -> Sequence[Message]:
        """Return the rest of the reply, and what makes *mark* come back when it was played."""
        last = self._pieces(self._frames.fill()) if self._frames and not self._silent else ()
        return (*last, *self.mark(mark))

    def clear(self) -> Sequence[Message]:
        """Return what empties the far side's queue; marks that come back from now on prove nothing."""
        if self._silent:
            return ()
        if self._frames:
            self._frames.drop()
        self._held = []
        self._marks.clear()
        return (self._say(self._vendor.clear),)

    def mark(self, name: str) -> Sequence[Message]:
        """Return what makes *name* come back when earlier audio was played, behind that audio."""
        if self._silent:
            return ()
        if self._frames and self._frames.waits:
            self._held.append(name)
            return ()
        return (self._ask(name),)

    def dtmf(self, digit: str) -> Sequence[Message]:
        """Return what plays a key's tone to the caller, if the vendor can."""
        if self._silent or not self._vendor.dtmf:
            return ()
        return (self._say(self._vendor.dtmf, {"dtmf": digit}),)

    def transfer(self, target: str) -> Sequence[Message]:  # noqa: ARG002 - other dialects say it on the socket
        """Return nothing: the socket is closed, and the document behind the stream transfers the caller."""
        return ()

    def hang_up(self) -> Sequence[Message]:
        """Return what ends the stream, besides closing the socket."""
        last = () if self._silent or not self._vendor.hang_up else (self._say(self._vendor.hang_up),)
        self._over = self._over or "we hung up"
        return last

    @property
    def _silent(self) -> bool:
        return self._opening is None or bool(self._over)

    @property
    def _piece_us(self) -> int:
        """Length of a piece (µs)."""
        if not self._opening:
            return 0
        samples = self._vendor.piece // self._opening.encoding.width
        return samples * 1_000_000 // self._opening.rate

    def _pieces(self, pieces: Sequence[bytes]) -> list[str]:
        """Return *pieces* as messages, with the marks that waited behind the first."""
        messages = [self._play(piece) for piece in pieces]
        if messages:
            messages[1:1] = map(self._ask, self._held)
            self._held = []
        return messages

    def _ask(self, name: str) -> str:
        self._marks.set(name)
        body: dict[str, object] = {"name": name} if self._vendor.flat_marks else {"mark": {"name": name}}
        return self._say(self._vendor.mark, body)

    def _play(self, data: bytes) -> str:
        media: dict[str, object] = {"payload": base64.b64encode(data).decode()}
        if self._vendor.typed and self._opening:
            content = CONTENT[self._opening.encoding.name]
            media = {"contentType": content, "sampleRate": self._opening.rate, **media}
        return self._say(self._vendor.play, {"media": media})

    def _say(self, event: str, body: Mapping[str, object] | None = None) -> str:
        stream = self._opening.info.stream if self._opening else ""
        named = {self._vendor.stream: stream} if self._vendor.names_stream else {}
        return msgspec.json.encode({"event": event, **named, **(body or {})}).decode()


MOST: Final = 256
"""Marks waited for at once; the oldest is given up."""


@dataclass(slots=True)
class _Mark:
    name: str
    cleared: bool = False


class AwaitedMarks:
    """Marks of one call that have not come back; of two with one name, the older comes back first."""

    def __init__(self, *, only_played: bool) -> None:
        """If *only_played*, the far side returns only marks whose audio was played, even after a clear."""
        self._only_played = only_played
        self._waiting: list[_Mark] = []

    def set(self, name: str) -> None:
        """Wait for *name*."""
        self._waiting = [*self._waiting[1 - MOST :], _Mark(name)]

    def clear(self) -> None:
        """Note that the far side's queue is being cleared, so that marks from now on prove nothing."""
        for mark in self._waiting:
            mark.cleared = True

    def back(self, name: str) -> MarkPlayed | Odd:
        """Return what it means that *name* has come back."""
        for index, mark in enumerate(self._waiting):
            if mark.name == name:
                del self._waiting[index]
                return MarkPlayed(name, cleared=mark.cleared and not self._only_played)
        return Odd("a mark that nobody waits for")

    def lost(self) -> list[MarkPlayed]:
        """Return the marks that were cleared and will not come back, and drop them."""
        gone = [MarkPlayed(mark.name, cleared=True) for mark in self._waiting if mark.cleared]
        self._waiting = [mark for mark in self._waiting if not mark.cleared]
        return gone
