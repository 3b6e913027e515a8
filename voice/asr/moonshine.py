"""Moonshine hears a whole sound at a time, so it is asked again and again, and at once when a silence begins.

One thread decodes for every utterance of the process. Work for partials gives way: as soon as any
utterance pauses, partials under way or waiting are abandoned, so that a final text waits for nothing but
other final texts.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

import numpy as np

from voice import audio, cache, clock
from voice.asr import moonshine_convert
from voice.asr.agreement import Agreement
from voice.asr.moonshine_model import Abandoned, Leave, MoonshineModel
from voice.asr.quiet import cuts
from voice.asr.text import is_words
from voice.asr.transcriber import Transcript, Work
from voice.errors import AsrError, ComponentError

if TYPE_CHECKING:
    from collections.abc import Callable

    from voice.audio import Int16

FOLDER: Final = "moonshine-base-en-int8-v1"
PARTIAL: Final = audio.samples(320_000)
"""New sound that a partial is worth."""
SHARE: Final = 3
"""A partial waits for this many times the last one's cost in new sound: a third of a core at most."""


def missing() -> str | None:
    """Return what has to be typed before this engine can run, ``None`` if it is all there."""
    here = all(find_spec(name) for name in ("onnxruntime", "onnx", "moonshine_cpp"))
    return None if here else "pip install 'turnbudget[moonshine]'"


class Moonshine:
    """Moonshine base-en, int8: English, about 25 times as fast as speech on one core."""

    name = "moonshine"

    def __init__(self, *, threads: int = 1, progress: moonshine_convert.Progress = lambda *_: None) -> None:
        self._threads = threads
        self._progress = progress
        self._worker = self._new_worker()
        self._model: MoonshineModel | None = None
        self._giving_way: set[Leave] = set()

    async def warm(self) -> None:
        """Convert the model if the cache lacks it (progress is told from a thread), load it, run it once.

        Raises :class:`~voice.errors.MissingEngine`, :class:`~voice.errors.ComponentError`.
        """
        hiss = np.random.default_rng(0).integers(-300, 300, audio.RATE, np.int16)
        await self.decode(hiss, Leave(), {})

    def begin(self, at: int, changed: Callable[[], None]) -> MoonshineDictation:  # noqa: ARG002 - it knows no word times to shift
        """Begin an utterance."""
        return MoonshineDictation(self, changed)

    async def aclose(self) -> None:
        """Free the thread and the model."""
        self.make_way()
        worker, self._worker = self._worker, self._new_worker()
        # The queue drains first, so that joining the idle thread does not hold the loop.
        await asyncio.get_running_loop().run_in_executor(worker, self._unload)
        worker.shutdown()

    def decode(self, sound: Int16, leave: Leave, settled: dict[int, str]) -> asyncio.Future[str | None]:
        """Decode *sound* in the worker: its text, or ``None`` if the leave was taken back."""
        loop = asyncio.get_running_loop()
        return loop.run_in_executor(self._worker, self._read, sound, leave, settled)

    def may_give_way(self, leave: Leave) -> None:
        """Let the decode with this *leave* be abandoned for a final text."""
        self._giving_way.add(leave)

    def must_not_give_way(self, leave: Leave) -> None:
        """Take the decode with this *leave* for the final text, or as done."""
        self._giving_way.discard(leave)

    def make_way(self) -> None:
        """Abandon every decode that may give way, whoever's it is."""
        for leave in self._giving_way:
            leave.take_back()
        self._giving_way.clear()

    def _read(self, sound: Int16, leave: Leave, settled: dict[int, str]) -> str | None:
        try:
            return read_in_pieces(sound, settled, lambda piece: self._loaded().read(piece, leave))
        except Abandoned:
            return None

    def _loaded(self) -> MoonshineModel:
        if self._model is None:
            packaged = moonshine_convert.source()
            folder = cache.keep(
                FOLDER, lambda made: moonshine_convert.convert(packaged, made, self._progress)
            )
            try:
                self._model = MoonshineModel(folder, self._threads)
            except ComponentError:
                raise
            except Exception as error:  # ONNX Runtime's errors have no common parent but this
                raise AsrError(f"the model cannot be loaded: {error}", where=str(folder)) from error
        return self._model

    def _unload(self) -> None:
        self._model = None

    @staticmethod
    def _new_worker() -> ThreadPoolExecutor:
        return ThreadPoolExecutor(1, thread_name_prefix="moonshine")


def read_in_pieces(sound: Int16, settled: dict[int, str], read: Callable[[Int16], str]) -> str:
    """Return the text of *sound* of any length, read in pieces of at most 12 s.

    The model was made for short sound, and its cost grows faster than the sound. Pieces before the last
    cut are read once and kept in *settled* (by where they end).
    """
    began, texts = 0, []
    for ended in cuts(sound):
        if ended not in settled:
            settled[ended] = read(sound[began:ended])
        texts.append(settled[ended])
        began = ended
    texts.append(read(sound[began:]))
    return " ".join(text for text in texts if is_words(text))


class _Decode:
    """One decode: the samples it covers, when it was asked for and when it was done."""

    def __init__(self, covers: int, began_us: int, future: asyncio.Future[str | None], leave: Leave) -> None:
        self.covers = covers
        self.began_us = began_us
        self.ended_us: int | None = None
        self.future = future
        self.leave = leave

    def failure(self) -> BaseException | None:
        """Return what went wrong in a decode that is done."""
        return asyncio.CancelledError() if self.future.cancelled() else self.future.exception()


class MoonshineDictation:
    """One utterance, decoded as a whole at every step.

    Of its :class:`~voice.asr.transcriber.Work`, each decode runs from being asked for to being known
    (waiting for other calls' finals included); *used* is the one whose text is the final text.
    """

    def __init__(self, engine: Moonshine, changed: Callable[[], None]) -> None:
        self._engine = engine
        self._changed = changed
        self._buffer = np.empty(4 * audio.RATE, np.int16)
        self._size = 0
        self._paused_at: int | None = None
        self._decodes: list[_Decode] = []
        self._settled: dict[int, str] = {}
        self._agreement = Agreement()
        self._whole = False
        self._dropped = False

    @property
    def partial(self) -> str:
        """What two decodes in a row agree on; all of the text once a pause has been decoded."""
        return self._agreement.text

    @property
    def whole(self) -> bool:
        """Whether the pause has been decoded."""
        return self._whole

    def feed(self, samples: Int16) -> None:
        """Take the next samples; decode again if enough is new."""
        size = self._size + samples.size
        if size > self._buffer.size:
            # A decode under way keeps its view of the old buffer.
            self._buffer = np.concatenate([self._buffer, np.empty(size, np.int16)])
        self._buffer[self._size : size] = samples
        self._size = size
        if self._paused_at is None and not self._dropped and self._partial_is_due():
            self._engine.may_give_way(self._decode().leave)

    def pause(self) -> None:
        """Decode all there is, at once."""
        if self._paused_at is None and not self._dropped:
            self._paused_at = self._size
            decode = self._decode_now()
            if decode.ended_us is not None and decode.failure() is None:
                self._believe(decode)

    def resume(self) -> None:
        """Go on; a decode for the pause becomes a partial like others."""
        self._paused_at, self._whole = None, False
        latest = self._decodes[-1] if self._decodes else None
        if latest is not None and latest.ended_us is None:
            self._engine.may_give_way(latest.leave)

    async def final(self) -> Transcript:
        """Return the text of all up to the pause (what was fed after it is silence), or of all there is."""
        if self._dropped:
            raise AsrError("the utterance was dropped", where=self._engine.name)
        decode = self._decode_now()
        try:
            text = await asyncio.shield(decode.future)
        except ComponentError:
            raise
        except Exception as error:
            raise AsrError(f"decoding failed: {error}", where=self._engine.name) from error
        if text is None:
            raise AsrError("the decode was abandoned", where=self._engine.name)
        return Transcript(text, work=self._work(decode))

    def drop(self) -> None:
        """Forget the utterance; its decodes end at their next operator."""
        self._dropped = True
        for decode in self._decodes:
            self._engine.must_not_give_way(decode.leave)
            decode.leave.take_back()

    def _partial_is_due(self) -> bool:
        latest = self._decodes[-1] if self._decodes else None
        if latest is None:
            return self._size >= PARTIAL
        if latest.ended_us is None:
            return False
        rest = SHARE * audio.samples(latest.ended_us - latest.began_us)
        return self._size - latest.covers >= max(PARTIAL, rest)

    def _decode_now(self) -> _Decode:
        """Return the decode of all there is up to the pause; begin it, before all partials, if need be."""
        covers = self._size if self._paused_at is None else self._paused_at
        latest = self._decodes[-1] if self._decodes else None
        if latest is not None and latest.covers == covers and not latest.leave.taken_back:
            self._engine.must_not_give_way(latest.leave)
            return latest
        self._engine.make_way()
        return self._decode()

    def _decode(self) -> _Decode:
        leave = Leave()
        sound = self._buffer[: self._size if self._paused_at is None else self._paused_at]
        future = self._engine.decode(sound, leave, self._settled)
        decode = _Decode(sound.size, clock.now(), future, leave)
        self._decodes.append(decode)
        future.add_done_callback(lambda _: self._done(decode))
        return decode

    def _done(self, decode: _Decode) -> None:
        decode.ended_us = clock.now()
        self._engine.must_not_give_way(decode.leave)
        if decode.failure() is None and not self._dropped:
            self._believe(decode)
            self._changed()

    def _believe(self, decode: _Decode) -> None:
        text = decode.future.result()
        if text is None:
            return
        if decode.covers == self._paused_at:
            self._settle(text)
        else:
            self._agreement.hear(text)

    def _settle(self, text: str) -> None:
        """Take the *text* of the pause; an empty one erases no partial."""
        self._whole = is_words(text) or not is_words(self._agreement.text)
        if self._whole:
            self._agreement.settle(text)

    def _work(self, final: _Decode) -> tuple[Work, ...]:
        now = clock.now()
        return tuple(
            Work(decode.began_us, now if decode.ended_us is None else decode.ended_us, used=decode is final)
            for decode in self._decodes
        )
