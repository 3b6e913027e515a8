"""Speech held in memory within a bound of bytes: what was not asked for longest goes first."""

from __future__ import annotations

import dataclasses
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Generic, Literal, NamedTuple, TypeVar

from turnbudget.voice.errors import TtsError
from turnbudget.voice.sound import audio
from turnbudget.voice.tts.finish import longest_us, shortest_us

if TYPE_CHECKING:
    from collections.abc import Container, Iterator

    from turnbudget.voice.tts.synthesizer import Speech

K = TypeVar("K")
Origin = Literal["rendered", "disk"]

OVERHEAD: Final = 1_024
"""Bytes that an entry takes beside its samples: objects, text, its place in the table; rounded up."""
FASTEST: Final = 200 / 450
SLOWEST: Final = 200 / 80
"""The pace of the fastest and the slowest voice that can be chosen (:mod:`turnbudget.voice.tts.choose`)."""


class Key(NamedTuple):
    """Whatever can be heard: another text, engine or voice (its rate and versions included) is another."""

    text: str
    engine: str
    voice: str


@dataclass(slots=True)
class Kept:
    """One speech and what is known of it."""

    speech: Speech
    origin: Origin
    made: str
    """When it was rendered (UTC); '' in virtual time."""
    hits: int = 0

    @property
    def bytes(self) -> int:
        """The memory it takes."""
        return self.speech.samples.nbytes + OVERHEAD


class Held(Generic[K]):
    """Entries by key, at most *most_bytes* of them."""

    def __init__(self, most_bytes: int) -> None:
        self._most = most_bytes
        self._entries: OrderedDict[K, Kept] = OrderedDict()
        self.bytes = 0
        """The memory that is taken."""

    def take(self, key: K) -> Kept | None:
        """Return what is held under *key*, and count that it was asked for."""
        kept = self.freshen(key)
        if kept is not None:
            kept.hits += 1
        return kept

    def peek(self, key: K) -> Kept | None:
        """Return what is held under *key*; nothing is counted."""
        return self._entries.get(key)

    def freshen(self, key: K) -> Kept | None:
        """Return what is held under *key* and make it the last to go; nothing is counted."""
        kept = self._entries.get(key)
        if kept is not None:
            self._entries.move_to_end(key)
        return kept

    def put(self, key: K, kept: Kept, sparing: Container[K] = ()) -> bool:
        """Hold *kept*; the oldest make room, but none of *sparing*. Say whether there was room."""
        self.pop(key)
        while self._entries and self.bytes + kept.bytes > self._most:
            oldest = next(iter(self._entries))
            if oldest in sparing:
                return False
            self.pop(oldest)
        if self.bytes + kept.bytes > self._most:
            return False
        self._entries[key] = kept
        self.bytes += kept.bytes
        return True

    def pop(self, key: K) -> Kept | None:
        """Let go of what is held under *key* and return it."""
        kept = self._entries.pop(key, None)
        if kept is not None:
            self.bytes -= kept.bytes
        return kept

    def items(self) -> Iterator[tuple[K, Kept]]:
        """Yield every entry, the next to go first."""
        yield from self._entries.items()

    def clear(self) -> None:
        """Let go of everything."""
        self._entries.clear()
        self.bytes = 0

    def __len__(self) -> int:
        return len(self._entries)


def checked(speech: Speech) -> Speech:
    """Return *speech* with samples of its own that nobody can write to; raises TtsError if it is none."""
    sound, text = speech.samples, speech.text
    heard = sound.ndim == 1 and sound.dtype == "int16" and sound.size > speech.onset
    if not heard or audio.first_audible(sound[: speech.onset + 1]) != speech.onset:
        raise TtsError(f"no speech to keep: {text[:40]!r} is not heard from where it should be")
    took = audio.us(sound.size)
    if not shortest_us(text, FASTEST) <= took <= longest_us(text, SLOWEST):
        raise TtsError(f"no speech to keep: {took // 1000} ms cannot be {text[:40]!r}")
    if sound.flags.writeable or sound.base is not None:
        sound = sound.copy()
        sound.setflags(write=False)
    return dataclasses.replace(speech, samples=sound)
