"""Speech in memory within a bound of bytes, where what was not asked for longest goes first; and its renders.

There is one render a key, however many ask for it at once. It belongs to a crew, not to whoever asked first,
so nobody's leaving takes it from the others. All get the sound, or all the error; the next who asks begins
anew.
"""

from __future__ import annotations

import asyncio
import dataclasses
from collections import OrderedDict
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Final, Literal

from turnbudget.voice.errors import TtsError
from turnbudget.voice.sound import audio
from turnbudget.voice.time import clock
from turnbudget.voice.tts.finish import longest_us, shortest_us

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Container, Iterator

    from turnbudget.speculative.shelf.pieces import Key
    from turnbudget.speculative.shelf.store import Store, Stored
    from turnbudget.voice.time.budget import Budget
    from turnbudget.voice.time.crew import Crew
    from turnbudget.voice.tts.synthesizer import Speech

Origin = Literal["rendered", "disk"]

OVERHEAD: Final = 1_024
"""The bytes that an entry takes beside its samples: objects, text, its place; rounded up."""
FASTEST: Final = 200 / 450
"""The time that the fastest voice of :mod:`turnbudget.voice.tts.choose` takes, as a share of the usual."""
SLOWEST: Final = 200 / 80
"""The time that the slowest voice of :mod:`turnbudget.voice.tts.choose` takes, as a share of the usual."""


@dataclass(slots=True)
class CachedSpeech:
    """One speech and what is known of it."""

    speech: Speech
    """The sound."""
    origin: Origin
    """Whether this process rendered it or had it from the disk."""
    made: str
    """When it was rendered (UTC); '' in virtual time."""
    hits: int = 0
    """How often it was asked for."""

    @property
    def bytes(self) -> int:
        """The memory it takes."""
        return self.speech.samples.nbytes + OVERHEAD


class SpeechCache:
    """Entries by key, at most *most_bytes* of them."""

    def __init__(self, most_bytes: int) -> None:
        self._most = most_bytes
        self._entries: OrderedDict[Key, CachedSpeech] = OrderedDict()
        self.bytes = 0
        """The memory that is taken."""

    def take(self, key: Key) -> CachedSpeech | None:
        """Return what is held under *key*, and count that it was asked for."""
        kept = self.freshen(key)
        if kept is not None:
            kept.hits += 1
        return kept

    def peek(self, key: Key) -> CachedSpeech | None:
        """Return what is held under *key*; nothing is counted."""
        return self._entries.get(key)

    def freshen(self, key: Key) -> CachedSpeech | None:
        """Return what is held under *key* and make it the last to go; nothing is counted."""
        kept = self._entries.get(key)
        if kept is not None:
            self._entries.move_to_end(key)
        return kept

    def put(self, key: Key, kept: CachedSpeech, sparing: Container[Key] = ()) -> bool:
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

    def pop(self, key: Key) -> CachedSpeech | None:
        """Let go of what is held under *key* and return it."""
        kept = self._entries.pop(key, None)
        if kept is not None:
            self.bytes -= kept.bytes
        return kept

    def items(self) -> Iterator[tuple[Key, CachedSpeech]]:
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


@dataclass(slots=True)
class _Render:
    """A render under way."""

    task: asyncio.Task[CachedSpeech | Exception]
    made: asyncio.Future[CachedSpeech]
    waiting: int = 0


class Renders:
    """Renders under way; *keep* is told each that ends well and was not forgotten meanwhile.

    *lasting* ones go on when nobody waits for them any more, the others are cancelled.
    """

    def __init__(self, crew: Crew, keep: Callable[[Key, CachedSpeech], object], *, lasting: bool) -> None:
        self._crew = crew
        self._keep = keep
        self._lasting = lasting
        self._running: dict[Key, _Render] = {}

    async def once(
        self, key: Key, make: Callable[[], Awaitable[CachedSpeech]], budget: Budget | None = None
    ) -> CachedSpeech:
        """Return what *make* made of *key*, or join whoever is at it; not longer than *budget*.

        Raises whatever *make* raises, and TtsError.
        """
        render = self._running.get(key) or self._begin(key, make)
        render.waiting += 1
        try:
            if budget is None:
                await asyncio.wait([render.made])
            elif not await clock.wait_until([render.made], budget.ends_us):
                raise TtsError("no sound in time")
        finally:
            render.waiting -= 1
            if not render.waiting and not self._lasting and self._running.get(key) is render:
                self.forget(key)
                render.task.cancel()
        return render.made.result()

    def at_work(self, key: Key) -> bool:
        """Say whether a render of *key* is under way."""
        return key in self._running

    def forget(self, key: Key) -> None:
        """Have nothing kept of the render under way, if there is one; who waits for it gets it."""
        self._running.pop(key, None)

    def cancel(self) -> None:
        """Cancel every render under way; who waits gets a TtsError."""
        for render in self._running.values():
            render.task.cancel()
        self._running.clear()

    def _begin(self, key: Key, make: Callable[[], Awaitable[CachedSpeech]]) -> _Render:
        made: asyncio.Future[CachedSpeech] = asyncio.get_running_loop().create_future()
        # No text in the name: it may be a caller's.
        task = self._crew.create_task(_outcome(make), name="shelf: render")
        render = self._running[key] = _Render(task, made)
        task.add_done_callback(partial(self._end, key, render))
        return render

    def _end(self, key: Key, render: _Render, task: asyncio.Task[CachedSpeech | Exception]) -> None:
        outcome = TtsError("the render was given up") if task.cancelled() else task.result()
        if self._running.get(key) is render:
            self.forget(key)
            if not isinstance(outcome, Exception):
                self._keep(key, outcome)
        if render.made.done():
            return
        if isinstance(outcome, Exception):
            render.made.set_exception(outcome)
            render.made.exception()  # has been seen, even if nobody waits any more
        else:
            render.made.set_result(outcome)


async def _outcome(make: Callable[[], Awaitable[CachedSpeech]]) -> CachedSpeech | Exception:
    """Return what *make* made, or what it raised: a failed render is no failure of the crew."""
    try:
        return await make()
    except Exception as error:  # noqa: BLE001 - whatever a voice raises is for those who asked
        return error


@dataclass(slots=True)
class WarmUp:
    """The likeliest come first, so nothing that it has kept makes room for what comes later."""

    keys: dict[Key, None] = field(default_factory=dict)
    """What has been kept."""
    overflowed: bool = False
    """Memory is full of it: more can only be on disk."""
    disk_bytes: int = 0
    """What that takes on disk (bytes)."""

    def note(self, key: Key, stored: Stored | None, store: Store | None, *, held: bool) -> bool:
        """Note that *key* was kept, *held* in memory or *stored* on disk; say whether it is either."""
        self.overflowed = self.overflowed or not held
        if key not in self.keys:
            self.keys[key] = None
            self.disk_bytes += stored.size if stored else 0
        if held:
            return True
        room = (
            store is not None and self.disk_bytes <= store.most_bytes and len(self.keys) <= store.most_entries
        )
        return stored is not None and room

    def full(self, store: Store, size: int) -> bool:
        """Say whether *size* bytes more on the disk would push out what it has kept there."""
        return self.disk_bytes + size > store.most_bytes or len(self.keys) >= store.most_entries
