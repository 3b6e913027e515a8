"""What dialects share: sound as whole frames on a wire, JSON control messages, ids of marks, keys."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any, Final

import msgspec

from turnbudget.voice.lines.dialect import CallInfo, Dtmf, Odd
from turnbudget.voice.sound.audio import join, silence

if TYPE_CHECKING:
    from collections.abc import Mapping

    from turnbudget.voice.sound.audio import Int16
    from turnbudget.voice.sound.encoding import Encoding

FRAMES_A_SECOND: Final = 50
"""Frames a second on every wire (20 ms each)."""


class Joined:
    """Turns bytes into samples; half a sample is carried to the next piece."""

    def __init__(self, encoding: Encoding) -> None:
        self._encoding = encoding
        self._spare = b""

    def feed(self, data: bytes) -> Int16:
        """Return the samples that *data* completes."""
        data = self._spare + data
        whole = len(data) - len(data) % self._encoding.width
        self._spare = data[whole:]
        return self._encoding.decode(data[:whole])


class Framed:
    """Turns samples into whole frames of bytes; what does not fill one waits for more."""

    def __init__(self, encoding: Encoding, frame: int) -> None:
        """Cut into frames of *frame* samples."""
        self._encoding = encoding
        self._frame = frame
        self._rest = silence(0)

    @property
    def waits(self) -> bool:
        """Whether samples wait for more."""
        return bool(self._rest.size)

    def feed(self, samples: Int16) -> list[bytes]:
        """Return the frames that *samples* complete."""
        sound = join((self._rest, samples))
        whole = sound.size - sound.size % self._frame
        self._rest = sound[whole:].copy()
        data = self._encoding.encode(sound[:whole])
        step = self._frame * self._encoding.width
        return [data[start : start + step] for start in range(0, len(data), step)]

    def fill(self) -> list[bytes]:
        """Return what waits, filled up to a frame with silence."""
        return self.feed(silence(-self._rest.size % self._frame))

    def drop(self) -> None:
        """Drop what waits."""
        self._rest = silence(0)


PARAMETERS: Final = 64
"""Parameters of a call that are kept: carriers allow fewer."""
PARAMETER: Final = 512
"""Longest parameter that is kept (characters): carriers allow shorter ones."""
PENDING: Final = 64
"""Marks waited for at once; older ones are forgotten."""


def table(text: str) -> dict[str, Any]:
    """Return the JSON object in *text*; raises msgspec.DecodeError or ValueError if it is none."""
    return msgspec.json.decode(text, type=dict[str, Any])


def compact(**fields: object) -> str:
    """Return *fields* as a JSON object without spaces."""
    return msgspec.json.encode(fields).decode()


def call_info(call: str, parameters: Mapping[str, object], *, stream: str = "") -> CallInfo:
    """Return what *parameters* say of a call: some names say who calls whom, and for which tenant."""
    known = {
        name: value
        for name, value in islice(parameters.items(), PARAMETERS)
        if isinstance(value, str) and len(value) <= PARAMETER
    }
    token = known.pop("token", "")
    return CallInfo(
        call,
        stream,
        caller=known.get("caller") or known.get("from", ""),
        called=known.get("called") or known.get("to", ""),
        tenant=known.get("tenant", ""),
        token=token,
        parameters=known,
    )


class MarkIds:
    """Short ids for the names of marks, since a far side may limit an id or spoil one with a quote in it."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        self._count = 0

    def put(self, name: str) -> str:
        """Return a new id for the mark *name*."""
        self._count += 1
        while len(self._names) >= PENDING:
            del self._names[next(iter(self._names))]
        self._names[str(self._count)] = name
        return str(self._count)

    def take(self, key: str) -> str:
        """Return the name of the mark *key*, which came back; raises ValueError if it is not waited for."""
        if key not in self._names:
            raise ValueError("a mark that nobody waits for")
        return self._names.pop(key)

    @property
    def pending(self) -> tuple[str, ...]:
        """Ids of the marks that have not come back, oldest first."""
        return tuple(self._names)


KEYS: Final = frozenset("0123456789*#ABCD")
"""The sixteen keys of a telephone."""


def pressed(digit: str) -> Dtmf | Odd:
    """Return the key that *digit* names, or that it is odd; never quoted, since it may be a secret."""
    key = digit.upper()
    return Dtmf(key) if key in KEYS else Odd("a key that no telephone has")
