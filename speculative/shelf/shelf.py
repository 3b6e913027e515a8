"""Replies rendered to audio before they are asked for, by what can be heard of them and by nothing else.

The shelf is asked with the words of a *reply*, never with the caller's: what to say is decided before, with
the dialogue known, and the shelf only knows how it sounds. It keeps what it is told to keep, and never what
passes by. What holds a caller's data is kept in that call's own shelf (:class:`CallShelf`).
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

from turnbudget.speculative.shelf.memory import CachedSpeech, Renders, SpeechCache, WarmUp, checked
from turnbudget.speculative.shelf.pieces import Key, every_piece, longest, pieces, plain, whole
from turnbudget.voice.errors import TtsError
from turnbudget.voice.time import clock
from turnbudget.voice.time.crew import Crew

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from turnbudget.speculative.shelf.memory import Origin
    from turnbudget.speculative.shelf.store import Store, Stored
    from turnbudget.voice.time.budget import Budget
    from turnbudget.voice.tts.synthesizer import Speech, Synthesizer


WRITES: Final = 64
"""How many entries may be on their way to the disk; a disk that is slower gets no more."""
PATIENCE_US: Final = 2 * clock.SECOND
"""How long the end waits for what is on its way to the disk (µs; 2 s)."""
FAILURES: Final = 3
"""How many texts in a row that cannot be rendered end a warm-up: it is the voice, not the text."""
MOST_BYTES: Final = 8 << 20
"""Bytes that one call's own entries may take: four minutes of speech."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ShelfEntry:
    """One kept speech."""

    text: str
    """What it says."""
    bytes: int
    """The bytes it takes in memory, or on disk if it is only there."""
    hits: int
    """How often it was asked for since it came to memory."""
    origin: Origin
    """Whether this process rendered it or had it from the disk."""
    in_memory: bool
    """Whether it is in memory."""
    on_disk: bool
    """Whether it is on disk."""
    made: str
    """When it was rendered (UTC); '' in virtual time."""


def nobody(done: int, total: int, text: str) -> None:
    """Tell nobody how far a warm-up has come."""


class Shelf:
    """The replies of one process, for everybody: in memory up to *most_bytes*, and in *store* if any.

    Of a voice that changes (another rate, another model), nothing rendered before is found until it changes
    back.
    """

    def __init__(self, voice: Synthesizer, *, most_bytes: int = 64 << 20, store: Store | None = None) -> None:
        self._voice = voice
        self._store = store
        self._most_bytes = most_bytes
        self._crew = Crew()
        self._memory = SpeechCache(most_bytes)
        self._renders = Renders(self._crew, self._keep, lasting=True)
        self._stored: dict[Key, Stored] = {}
        self._saving: dict[Key, asyncio.Task[None]] = {}
        self._warming = WarmUp()
        self._learning = False
        self._removals = 0
        """How often entries had been removed from the disk when this was last looked at."""
        self._faults: deque[str] = deque(maxlen=64)
        self._closed = False

    async def open(self) -> None:
        """Read what the store holds for this voice: the list of all, the audio of what was used last."""
        if self._store is None:
            return
        _, engine, voice = self.key("")
        self._removals = await clock.offload(self._store.removals)
        stored, audible = await clock.offload(_load, self._store, engine, voice, self._most_bytes)
        self._stored = {each.key: each for each in stored}
        for each, speech in reversed(audible):
            self._memory.put(each.key, CachedSpeech(speech, "disk", each.made))

    def key(self, text: str) -> Key:
        """Return what the piece *text* is kept under, with the voice as it is now."""
        return Key(plain(text), self._voice.name, self._voice.voice)

    def find(self, text: str) -> Speech | None:
        """Return the sound of the piece *text* if it is in memory: to the letter, but for white space."""
        kept = self._memory.take(self.key(text))
        return kept.speech if kept else None

    def opening(self, text: str) -> tuple[Speech, str] | None:
        """Return the longest beginning of *text* that is in memory, and the text still to be rendered.

        It ends where a sentence or clause may; the rest is '' if all of *text* is there.
        """
        return longest(text, self.find)

    def has(self, text: str) -> bool:
        """Say whether every piece of *text* is in memory, without counting a hit."""
        return every_piece(text, self.holds)

    def holds(self, piece: str) -> bool:
        """Say whether *piece* is in memory, without counting a hit."""
        return self._memory.peek(self.key(piece)) is not None

    async def fetch(self, text: str) -> Speech | None:
        """Return the sound of the piece *text* from memory or, somewhat later, from the disk."""
        await self.seek(self.key(text))
        return self.find(text)

    async def keep(self, text: str) -> Speech:
        """Return *text* as sound, and keep each of its pieces for everybody; raises TtsError.

        Only for texts that hold no caller's data: they go to the disk as well. However many ask for a piece
        at once, it is rendered once, and nobody's cancellation takes it from the others.
        """
        cut = (text,) if self.holds(text) else pieces(text)
        return whole(text, [await self._piece(self.key(piece)) for piece in cut])

    async def warm(self, texts: Iterable[str], progress: Callable[[int, int, str], None] = nobody) -> None:
        """Keep *texts*, the likeliest first; *progress* hears how many are done, of how many, and the next.

        What fits no longer in memory is kept on disk alone, and the other way round; with no room in either
        it ends, for more would only push out what is likelier. A text that cannot be rendered is told in
        :meth:`faults`; three in a row raise TtsError.
        """
        wanted = list(texts)
        failed = 0
        self._warming = warming = WarmUp()
        try:
            for number, text in enumerate(wanted):
                progress(number, len(wanted), text)
                try:
                    if not await self._warm(text, warming):
                        self._tell(f"the shelf is full after {number} of {len(wanted)} texts")
                        break
                    failed = 0
                except TtsError as error:
                    failed += 1
                    self._tell(f"{text[:60]!r} is not on the shelf: {error}")
                    if failed == FAILURES:
                        raise
        finally:
            self._warming = WarmUp()
        progress(len(wanted), len(wanted), "warm")

    def entries(self) -> list[ShelfEntry]:
        """Return every entry of this voice, in memory or on disk, in the order of texts."""
        return listing(self._memory, self._stored, self.key(""))

    async def remove(self, text: str) -> bool:
        """Remove the entry *text*, or else the pieces of *text*, here and on disk; say whether any was there.

        Other processes let go of it at their next call.
        """
        removed = [await self._remove(self.key(text))]
        if not removed[0]:
            removed += [await self._remove(self.key(piece)) for piece in pieces(text)]
        return any(removed)

    def for_call(self) -> CallShelf:
        """Return a shelf for one call; meanwhile this one learns what other processes have removed."""
        if self._store is not None and self._stored and not self._learning and not self._closed:
            self._learning = True
            self._crew.create_task(self._learn(self._store), name="shelf: what was removed")
        return CallShelf(self, self._crew)

    def faults(self) -> tuple[str, ...]:
        """Return what went wrong on the disk or in a warm-up, a line each, the last of them."""
        return (*(self._store.faults() if self._store else ()), *self._faults)

    def statistics(self) -> tuple[int, int]:
        """Return how many entries are in memory and how many bytes they take."""
        return len(self._memory), self._memory.bytes

    async def seek(self, key: Key) -> Speech | None:
        """Return what *key* sounds like if it is known, from disk if need be, without counting a hit."""
        kept = self._memory.freshen(key)
        if kept is None and key in self._stored and (kept := await self._read(key)) is not None:
            self._memory.put(key, kept, self._warming.keys)
        return kept.speech if kept else None

    async def render(self, key: Key, budget: Budget | None = None) -> CachedSpeech:
        """Return *key* rendered, checked, and kept nowhere; raises TtsError."""
        if self._closed:
            raise TtsError("the shelf has been closed")
        speech = checked(await self._voice.render(key.text, budget))
        if self.key(key.text) != key:
            raise TtsError("the voice has changed meanwhile", where=self._voice.name)
        return CachedSpeech(speech, "rendered", clock.label() or "")

    async def aclose(self) -> None:
        """End the renders, wait for what is on its way to the disk, and note there what was used."""
        if self._closed:
            return
        self._closed = True
        self._renders.cancel()
        await clock.wait_until(list(self._saving.values()), clock.now() + PATIENCE_US)
        async with self._crew:
            pass  # to leave the crew is to cancel and join its members
        if self._store is not None:
            used = [key for key, kept in self._memory.items() if kept.hits and key in self._stored]
            await clock.offload(self._store.touch, used)
            await clock.offload(self._store.close)

    async def _piece(self, key: Key) -> Speech:
        """Return the sound of one piece, from memory, disk or voice."""
        if (kept := self._memory.freshen(key)) is None:
            if self._closed:
                raise TtsError("the shelf has been closed")
            kept = await self._renders.once(key, partial(self._make, key))
        return kept.speech

    async def _make(self, key: Key) -> CachedSpeech:
        """Return *key* from the disk, where another process may have put it meanwhile, or rendered."""
        return await self._read(key) or await self.render(key)

    def _keep(self, key: Key, kept: CachedSpeech) -> None:
        """Hold *kept*, and have it written if it is new; what is being warmed up is not displaced."""
        self._memory.put(key, kept, self._warming.keys)
        store = self._store
        if store is None or kept.origin == "disk" or self._closed or self._warming.full(store, kept.bytes):
            return
        if len(self._saving) >= WRITES:
            self._tell(f"the disk is too slow: {key.text[:60]!r} is kept in memory only")
            return
        self._saving[key] = self._crew.create_task(self._save(store, key, kept), name="shelf: save")

    async def _save(self, store: Store, key: Key, kept: CachedSpeech) -> None:
        stored = await clock.offload(store.write, key, kept.speech, kept.made, self._warming.keys)
        if self._saving.get(key) is not asyncio.current_task():  # it was removed meanwhile
            await clock.offload(store.remove, key)
            return
        del self._saving[key]
        if stored:
            self._stored[key] = stored

    async def _read(self, key: Key) -> CachedSpeech | None:
        """Return *key* from the disk, and know that it is there."""
        if self._store is None:
            return None
        found = await clock.offload(self._store.read, key)
        if found is None:
            self._stored.pop(key, None)
            return None
        speech, self._stored[key] = found
        return CachedSpeech(speech, "disk", found[1].made)

    async def _warm(self, text: str, done: WarmUp) -> bool:
        """Keep one text of a warm-up; say whether there was room."""
        fits = True
        for piece in pieces(text):
            key = self.key(piece)
            if not self._memory.freshen(key) and not (done.overflowed and key in self._stored):
                await self._piece(key)
            if self._saving:
                await asyncio.wait(self._saving.values())
            held = self._memory.peek(key) is not None
            fits = done.note(key, self._stored.get(key), self._store, held=held) and fits
        await clock.sleep(0)
        return fits

    async def _remove(self, key: Key) -> bool:
        self._renders.forget(key)
        self._saving.pop(key, None)
        self._stored.pop(key, None)
        held = self._memory.pop(key) is not None
        return (self._store is not None and await clock.offload(self._store.remove, key)) or held

    async def _learn(self, store: Store) -> None:
        """Let go of what another process has removed from the disk, not of what had to make room there."""
        removals = await clock.offload(store.removals)
        if removals != self._removals:
            for stored in await clock.offload(store.gone, tuple(self._stored.values())):
                self._stored.pop(stored.key, None)
                self._memory.pop(stored.key)
            self._removals = removals
        self._learning = False

    def _tell(self, fault: str) -> None:
        self._faults.append(fault)
        _log.warning("%s", fault)


def _load(
    store: Store, engine: str, voice: str, most_bytes: int
) -> tuple[list[Stored], list[tuple[Stored, Speech]]]:
    """Return what *store* has of a voice, and the audio of what was used last, up to *most_bytes* of it."""
    stored, audible, room = store.index(engine, voice), [], most_bytes
    for each in stored:
        room -= each.size
        if room < 0:
            break
        if (found := store.read(each.key)) is not None:
            audible.append((each, found[0]))
    return stored, audible


class CallShelf:
    """What one call finds: its own entries first, then the *shared* ones; its renders belong to *crew*.

    Its own may hold the caller's data: they are in no other call's reach, never on disk, and gone when the
    call is.
    """

    def __init__(self, shared: Shelf, crew: Crew) -> None:
        self._shared = shared
        self._own = SpeechCache(MOST_BYTES)
        self._renders = Renders(crew, self._own.put, lasting=False)
        self._cpu: dict[str, int] = {}
        self._closed = False

    def find(self, text: str) -> Speech | None:
        """Return the sound of the piece *text* if it is in memory: to the letter, but for white space."""
        kept = self._own.take(self._shared.key(text))
        return kept.speech if kept else self._shared.find(text)

    def opening(self, text: str) -> tuple[Speech, str] | None:
        """Return the longest beginning of *text* that is in memory, and the text still to be rendered.

        It ends where a sentence or clause may; the rest is '' if all of *text* is there.
        """
        return longest(text, self.find)

    async def fetch(self, text: str) -> Speech | None:
        """Return the sound of the piece *text* from memory or, somewhat later, from the disk."""
        return self.find(text) or await self._shared.fetch(text)

    def has(self, text: str) -> bool:
        """Say whether every piece of *text* is in memory, without counting a hit."""
        return every_piece(text, self._holds)

    def renders(self, piece: str) -> bool:
        """Say whether a render of *piece* is under way for this call."""
        return self._renders.at_work(self._shared.key(piece))

    async def keep(self, text: str, budget: Budget | None = None) -> Speech:
        """Return *text* as sound, and keep for this call each piece that is not everybody's.

        A render that all who asked for it have given up is cancelled. Raises TtsError, also when the call
        ends meanwhile.
        """
        cut = (text,) if self._holds(text) else pieces(text)
        return whole(text, [await self._piece(piece, budget) for piece in cut])

    def take_cpu(self) -> dict[str, int]:
        """Return the CPU (µs) of each piece whose render ended since this was last asked: each render once.

        What a render that was given up had taken until then is not known.
        """
        cpu, self._cpu = self._cpu, {}
        return cpu

    def close(self) -> None:
        """End the renders and forget every entry: the call is over."""
        self._closed = True
        self._renders.cancel()
        self._own.clear()

    def _holds(self, piece: str) -> bool:
        return self._own.peek(self._shared.key(piece)) is not None or self._shared.holds(piece)

    async def _piece(self, piece: str, budget: Budget | None) -> Speech:
        key = self._shared.key(piece)
        if (own := self._own.freshen(key)) is not None:
            return own.speech
        if (speech := await self._shared.seek(key)) is not None:
            return speech
        if self._closed:
            raise TtsError("the call has ended")
        return (await self._renders.once(key, partial(self._render, key, budget), budget)).speech

    async def _render(self, key: Key, budget: Budget | None) -> CachedSpeech:
        kept = await self._shared.render(key, budget)
        if kept.speech.cpu_us:
            self._cpu[key.text] = self._cpu.get(key.text, 0) + kept.speech.cpu_us
        return kept


def listing(memory: SpeechCache, disk: Mapping[Key, Stored], voice: Key) -> list[ShelfEntry]:
    """Return every entry of the *voice* of that key, in the order of texts."""
    held = {key: kept for key, kept in memory.items() if key[1:] == voice[1:]}
    entries = [
        ShelfEntry(
            key.text, kept.bytes, kept.hits, kept.origin, in_memory=True, on_disk=key in disk, made=kept.made
        )
        for key, kept in held.items()
    ]
    entries += [
        ShelfEntry(key.text, stored.size, 0, "disk", in_memory=False, on_disk=True, made=stored.made)
        for key, stored in disk.items()
        if key not in held and key[1:] == voice[1:]
    ]
    return sorted(entries, key=lambda entry: entry.text)
