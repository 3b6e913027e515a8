"""Moonshine hears a whole sound at a time, so it is asked again and again, and at once when a voice falls.

One thread decodes for every utterance of the process, what is most urgent first
(:mod:`turnbudget.voice.asr.decodes`). What a decode found is the draft of the next
(:mod:`turnbudget.voice.asr.moonshine_model`), so asking often is cheap.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

import numpy as np

from turnbudget.voice import cache
from turnbudget.voice.asr import moonshine_convert
from turnbudget.voice.asr.decodes import Agreement, Decode, Decodes, KnownText, Urgency
from turnbudget.voice.asr.moonshine_model import Abandoned, MoonshineModel, cuts
from turnbudget.voice.asr.transcriber import Transcript, Work
from turnbudget.voice.errors import AsrError, ComponentError
from turnbudget.voice.language.text import is_words
from turnbudget.voice.sound import audio
from turnbudget.voice.time import clock

if TYPE_CHECKING:
    from collections.abc import Callable

    from turnbudget.voice.asr.moonshine_model import Leave
    from turnbudget.voice.sound.audio import Int16

FOLDER: Final = "moonshine-base-en-int8-v1"
"""Name of the model's folder in the cache."""
PARTIAL: Final = audio.samples(320_000)
"""New sound after which a partial is decoded (samples)."""
SHARE: Final = 3
"""New sound that a partial waits for, as a multiple of the last one's cost: a third of a core at most."""


def missing() -> str | None:
    """Return what to type before this engine can run; ``None`` if everything is installed."""
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
        self.decodes = Decodes(self.start)
        """Decodes of all utterances, in their order."""

    async def warm(self) -> None:
        """Convert the model if the cache lacks it (progress is told from a thread), load it, run it once.

        Raises :class:`~turnbudget.voice.errors.MissingEngine`,
        :class:`~turnbudget.voice.errors.ComponentError`.
        """
        hiss = np.random.default_rng(0).integers(-300, 300, audio.RATE, np.int16)
        decode = Decode(hiss, KnownText(), Urgency.FINAL)
        self.decodes.add(decode)
        await decode.text

    def begin(self, at: int, changed: Callable[[], None]) -> MoonshineDictation:  # noqa: ARG002 - it knows no word times to shift
        """Begin an utterance."""
        return MoonshineDictation(self, changed)

    async def aclose(self) -> None:
        """Free the thread and the model."""
        self.decodes.give_up_all()
        worker, self._worker = self._worker, self._new_worker()
        # The queue drains first, so that joining the idle thread does not hold the loop.
        await asyncio.get_running_loop().run_in_executor(worker, self._unload)
        worker.shutdown()

    def start(self, decode: Decode) -> asyncio.Future[str | None]:
        """Begin *decode* in the worker; its text is ``None`` if it was given up."""
        loop = asyncio.get_running_loop()
        return loop.run_in_executor(self._worker, self._read, decode.sound, decode.known, decode.leave)

    def _read(self, sound: Int16, known: KnownText, leave: Leave) -> str | None:
        try:
            return read_in_pieces(sound, known, lambda piece: self._loaded().read(piece, leave, known.draft))
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


def read_in_pieces(sound: Int16, known: KnownText, read: Callable[[Int16], str]) -> str:
    """Return the text of *sound* of any length, read in pieces of at most 12 s.

    The model was made for short sound, and its cost grows faster than the sound. Pieces before the last
    cut are read once, and then *known*.
    """
    began, texts = 0, []
    for ended in cuts(sound):
        if ended not in known.settled:
            known.settled[ended] = read(sound[began:ended])
            known.draft.clear()
        texts.append(known.settled[ended])
        began = ended
    texts.append(read(sound[began:]))
    return " ".join(text for text in texts if is_words(text))


class MoonshineDictation:
    """One utterance, decoded as a whole at every step.

    Of its :class:`~turnbudget.voice.asr.transcriber.Work`, each decode runs from being asked for to being
    known (waiting for other calls' finals included); *used* is the one whose text is the final text.
    """

    def __init__(self, engine: Moonshine, changed: Callable[[], None]) -> None:
        self._engine = engine
        self._changed = changed
        self._buffer = np.empty(4 * audio.RATE, np.int16)
        self._size = 0
        self._paused_at: int | None = None
        self._decodes: list[Decode] = []
        self._known = KnownText()
        self._agreement = Agreement()
        self._whole = False
        self._dropped = False

    @property
    def partial(self) -> str:
        """What two decodes in a row agree on; the whole text once a pause was decoded."""
        return self._agreement.text

    @property
    def whole(self) -> bool:
        """Whether the pause was decoded."""
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
            self._decode(self._size, Urgency.PARTIAL)

    def pause(self) -> None:
        """Decode all that was fed, at once."""
        if self._paused_at is None and not self._dropped:
            self._paused_at = self._size
            decode = self._decode_now(Urgency.PAUSE)
            if decode.ended_us is not None and decode.failure() is None:
                self._believe(decode)

    def resume(self) -> None:
        """Go on; a decode for the pause becomes an ordinary partial."""
        self._paused_at, self._whole = None, False
        if self._decodes:
            self._engine.decodes.change(self._decodes[-1], Urgency.PARTIAL)

    async def final(self) -> Transcript:
        """Return the text up to the pause if there is one, else of all that was fed."""
        if self._dropped:
            raise AsrError("the utterance was dropped", where=self._engine.name)
        decode = self._decode_now(Urgency.FINAL)
        try:
            text = await asyncio.shield(decode.text)
        except ComponentError:
            raise
        except Exception as error:
            raise AsrError(f"decoding failed: {error}", where=self._engine.name) from error
        if text is None:
            raise AsrError("the decode was abandoned", where=self._engine.name)
        return Transcript(text, work=self._work(decode))

    def drop(self) -> None:
        """Drop the utterance; its decodes end at their next operator."""
        self._dropped = True
        for decode in self._decodes:
            self._engine.decodes.give_up(decode)

    def _partial_is_due(self) -> bool:
        latest = self._decodes[-1] if self._decodes else None
        if latest is None:
            return self._size >= PARTIAL
        if latest.ended_us is None:
            return False
        rest = SHARE * audio.samples(latest.ended_us - latest.began_us)
        return self._size - latest.sound.size >= max(PARTIAL, rest)

    def _decode_now(self, urgency: Urgency) -> Decode:
        """Return the decode of all up to the pause, and have it done with *urgency*."""
        size = self._size if self._paused_at is None else self._paused_at
        latest = self._decodes[-1] if self._decodes else None
        if latest is None or latest.is_lost():
            return self._decode(size, urgency)
        if latest.sound.size == size:
            self._engine.decodes.change(latest, urgency)
            return latest
        self._engine.decodes.give_up(latest)
        return self._decode(size, urgency)

    def _decode(self, size: int, urgency: Urgency) -> Decode:
        decode = Decode(self._buffer[:size], self._known, urgency)
        self._decodes.append(decode)
        decode.text.add_done_callback(lambda _: self._done(decode))
        self._engine.decodes.add(decode)
        return decode

    def _done(self, decode: Decode) -> None:
        if decode.failure() is None and not self._dropped:
            self._believe(decode)
            self._changed()

    def _believe(self, decode: Decode) -> None:
        text = decode.text.result()
        if text is None:
            return
        if decode.sound.size == self._paused_at:
            self._settle(text)
        else:
            self._agreement.hear(text)

    def _settle(self, text: str) -> None:
        """Take the *text* of the pause; an empty one does not erase a partial."""
        self._whole = is_words(text) or not is_words(self._agreement.text)
        if self._whole:
            self._agreement.settle(text)

    def _work(self, final: Decode) -> tuple[Work, ...]:
        now = clock.now()
        return tuple(
            Work(decode.began_us, now if decode.ended_us is None else decode.ended_us, used=decode is final)
            for decode in self._decodes
        )
