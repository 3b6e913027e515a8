"""Vosk hears while the caller speaks: each piece of sound is worked off once, and the end is soon told.

One thread works for all utterances of the process, in the order of feeding; what comes while it is busy
goes to it in one piece. Every utterance has a recogniser of its own, so its word times begin at zero.
"""

from __future__ import annotations

import asyncio
import json
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final

from turnbudget.voice.asr import vosk_models
from turnbudget.voice.asr.transcriber import Transcript, Word, Work
from turnbudget.voice.errors import AsrError, ComponentError, MissingEngine
from turnbudget.voice.language.text import spoken
from turnbudget.voice.sound import audio
from turnbudget.voice.time import clock

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from turnbudget.voice.sound.audio import Int16

LISTENED_US: Final = 1_000_000
"""Sound that is heard at the start, to load everything (µs; 1 s)."""
TOLD: Final = audio.samples(300_000)
"""Silence after which the words so far are asked for (samples); Vosk itself waits longer."""


def missing() -> str | None:
    """Return what to type before this engine can run; ``None`` if everything is installed."""
    if find_spec("vosk") is None:
        return "pip install vosk"
    return None if vosk_models.find() else vosk_models.REMEDY


class Vosk:
    """Vosk with the model at *model*, else the one found (``VOSK_MODEL_PATH``, the cache)."""

    name = "vosk"

    def __init__(self, model: Path | None = None) -> None:
        self._path = model
        self._worker = self._new_worker()
        self._model: Any = None

    async def warm(self) -> None:
        """Load the model and hear a second of silence; raises ``MissingEngine``."""
        await asyncio.get_running_loop().run_in_executor(self._worker, self._warm)

    def begin(self, at: int, changed: Callable[[], None]) -> VoskDictation:
        """Begin an utterance whose first sample stands at *at* in the caller's media (samples)."""
        return VoskDictation(self, audio.us(at), changed)

    async def aclose(self) -> None:
        """Free the thread and the model."""
        worker, self._worker = self._worker, self._new_worker()
        # The queue drains first, so that joining the idle thread does not hold the loop.
        await asyncio.get_running_loop().run_in_executor(worker, self._unload)
        worker.shutdown()

    def work(
        self, hearing: VoskHearing, sound: bytes, *, tell: bool = False, last: bool = False
    ) -> asyncio.Future[None]:
        """Have the worker hear *sound*, and *tell* the words so far, or end if it is the *last*."""
        loop = asyncio.get_running_loop()
        return loop.run_in_executor(self._worker, partial(self._hear, hearing, sound, tell=tell, last=last))

    def _hear(self, hearing: VoskHearing, sound: bytes, *, tell: bool = False, last: bool = False) -> None:
        if hearing.forgotten:
            hearing.recogniser = None
            return
        if hearing.recogniser is None:
            import vosk  # noqa: PLC0415 - loads a large library, imported when used

            hearing.recogniser = vosk.KaldiRecognizer(self._loaded(), audio.RATE)
            hearing.recogniser.SetWords(True)  # noqa: FBT003 - vosk's own signature
        hearing.hear(sound, tell=tell)
        if last:
            hearing.end()

    def _warm(self) -> None:
        self._hear(VoskHearing(), bytes(2 * audio.samples(LISTENED_US)), last=True)

    def _loaded(self) -> Any:
        if self._model is None:
            try:
                import vosk  # noqa: PLC0415 - loads a large library, imported when used
            except ImportError as error:
                raise MissingEngine("vosk is not installed", remedy="pip install vosk") from error
            place = vosk_models.checked(self._path) if self._path else vosk_models.find()
            if place is None:
                raise MissingEngine("vosk has no model", remedy=vosk_models.REMEDY)
            vosk.SetLogLevel(-1)
            try:
                self._model = vosk.Model(model_path=str(place))
            except Exception as error:  # vosk raises nothing more exact
                raise AsrError(f"the model cannot be loaded: {error}", where=str(place)) from error
        return self._model

    def _unload(self) -> None:
        self._model = None

    @staticmethod
    def _new_worker() -> ThreadPoolExecutor:
        return ThreadPoolExecutor(1, thread_name_prefix="vosk")


class VoskHearing:
    """What one recogniser has heard; used by the worker thread, but for ``forgotten`` and reading.

    Vosk tells words before an internal silence in an intermediate result, and never again.
    """

    def __init__(self) -> None:
        self.recogniser: Any = None
        self.forgotten = False
        self.results: list[dict[str, Any]] = []
        self.partial = ""

    def hear(self, sound: bytes, *, tell: bool = False) -> None:
        """Hear *sound* and keep the words found; if *tell*, have all of them told."""
        if (sound and self.recogniser.AcceptWaveform(sound)) or tell:
            self.results.append(json.loads(self.recogniser.Result()))
        open_text: str = json.loads(self.recogniser.PartialResult()).get("partial", "")
        self.partial = joined(self.results, open_text)

    def end(self) -> None:
        """Keep the last words, and free the recogniser."""
        self.results.append(json.loads(self.recogniser.FinalResult()))
        self.partial = joined(self.results)
        self.recogniser = None


def joined(results: list[dict[str, Any]], open_text: str = "") -> str:
    """Return the texts of all *results*, and of what is still open, as one."""
    texts = (*(str(result.get("text", "")) for result in results), open_text)
    return " ".join(filter(None, map(spoken, texts)))


def words(results: list[dict[str, Any]], at_us: int) -> tuple[Word, ...]:
    """Return the words of *results* with their times in the caller's media, which begins at *at_us*."""
    return tuple(
        Word(found["word"], at_us + round(found["start"] * 1e6), at_us + round(found["end"] * 1e6))
        for result in results
        for found in result.get("result", ())
        if spoken(found["word"])
    )


class VoskDictation:
    """One utterance. Its :class:`~turnbudget.voice.asr.transcriber.Work` is the batches, all of them used."""

    def __init__(self, engine: Vosk, began_us: int, changed: Callable[[], None]) -> None:
        self._engine = engine
        self._began_us = began_us
        self._changed = changed
        self._hearing = VoskHearing()
        self._waiting: list[bytes] = []
        self._silence: int | None = None
        """Samples fed since the pause; ``None`` while the caller speaks."""
        self._pauses = 0
        self._told = False
        self._batch: asyncio.Future[None] | None = None
        self._final: asyncio.Future[None] | None = None
        self._work: list[Work] = []
        self._fault: BaseException | None = None

    @property
    def partial(self) -> str:
        """All words found so far, unfinished ones included."""
        return self._hearing.partial

    @property
    def whole(self) -> bool:
        """Whether the words up to the pause are final."""
        return self._told

    def feed(self, samples: Int16) -> None:
        """Take the next samples; they are heard at once, or together when the worker is free."""
        self._waiting.append(samples.tobytes())
        if self._silence is not None:
            self._silence += samples.size
        if self._batch is None and self._final is None:
            self._send()

    def pause(self) -> None:
        """Ask for the words so far once the silence has lasted."""
        if self._silence is None:
            self._silence, self._pauses = 0, self._pauses + 1

    def resume(self) -> None:
        """Go on; the words told so far stand."""
        self._silence, self._told = None, False

    async def final(self) -> Transcript:
        """Return the text of all that was fed."""
        if self._hearing.forgotten:
            raise AsrError("the utterance was dropped", where=self._engine.name)
        if self._final is None:
            self._final = self._send(last=True)
        # The wait may be cut short and begun again, so the work itself is never cancelled.
        await asyncio.wait([self._final])
        if self._fault is not None:
            if isinstance(self._fault, ComponentError):
                raise self._fault
            raise AsrError(f"recognition failed: {self._fault}", where=self._engine.name) from self._fault
        results = self._hearing.results
        return Transcript(joined(results), words(results, self._began_us), tuple(self._work))

    def drop(self) -> None:
        """Drop the utterance; sound not yet heard is left."""
        if not self._hearing.forgotten:
            self._hearing.forgotten = True
            self._waiting.clear()
            if self._work or self._batch is not None:
                # The recogniser is freed by the worker: it takes too long for the loop.
                self._send(last=True)

    def _send(self, *, last: bool = False) -> asyncio.Future[None]:
        sound = b"".join(self._waiting)
        self._waiting.clear()
        began, pause = clock.now(), self._pauses if self._silence_lasts() else None
        batch = self._engine.work(self._hearing, sound, tell=pause is not None, last=last)
        self._batch = batch
        batch.add_done_callback(lambda done: self._heard(done, began, pause))
        return batch

    def _silence_lasts(self) -> bool:
        return self._silence is not None and self._silence >= TOLD and not self._told

    def _heard(self, batch: asyncio.Future[None], began: int, pause: int | None) -> None:
        if self._batch is batch:
            self._batch = None
        self._work.append(Work(began, clock.now(), used=True))
        self._fault = self._fault or batch.exception()
        if self._silence is not None and self._fault is None:
            self._told = self._told or pause == self._pauses
        if self._waiting and self._final is None and self._fault is None:
            self._send()
        if not self._hearing.forgotten:
            self._changed()
