"""What every transcriber owes a call; any third party can check its own.

In a test: ``await check_transcriber(MyTranscriber, sound, ["my", "name"])``.
"""

from __future__ import annotations

import asyncio
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from turnbudget.voice.asr.transcriber import Transcriber
from turnbudget.voice.errors import BrokenPromise
from turnbudget.voice.language.text import is_words, normalise
from turnbudget.voice.promises import lacking, tried
from turnbudget.voice.sound import audio
from turnbudget.voice.time import clock

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from turnbudget.voice.asr.transcriber import Dictation, Transcript
    from turnbudget.voice.sound.audio import Int16

HELD_US: Final = 5_000
"""What a call may hold the loop on average: far more than it should, for the machine may be busy."""
EDGE_US: Final = 300_000
"""A word may seem to end so much after the sound."""
WARMING_US: Final = 600_000_000
"""Longest that loading a model may take (µs; 10 minutes, for it may be converted first)."""
LONG_US: Final = 60_000_000
"""Longest that keeping one of the other promises may take (µs; 60 s)."""
WHOLE_US: Final = 2_000_000
"""A pause's text is waited for so long; an engine need not have one before it is asked."""


async def check_transcriber(
    make: Callable[[], Transcriber],
    sound: Int16,
    words: Sequence[str],
    *,
    at: int = 0,
    knows_silence: bool = True,
) -> None:
    """Raise :class:`BrokenPromise`, which lists all that what *make* returns breaks of its promises.

    *sound* is speech (16 kHz int16) in which *words* are heard, and stands at sample *at* in its media.
    *knows_silence* is false for an engine that plays a script and cannot tell silence from speech.
    """
    before = set(threading.enumerate())
    try:
        transcriber = make()
    except Exception as error:
        raise BrokenPromise("a transcriber", [f"it cannot be made: {error!r}"]) from error
    BrokenPromise.unless_kept(type(transcriber).__name__, lacking(transcriber, Transcriber))
    trial = _Trial(transcriber, sound, words, at)
    for promise in (
        trial.warms,
        trial.hears,
        trial.tells,
        trial.holds_nobody,
        trial.goes_on,
        trial.waits_again,
        trial.keeps_apart,
        *([trial.knows_silence] if knows_silence else []),
        transcriber.aclose,
    ):
        long_us = WARMING_US if promise == trial.warms else LONG_US
        hung = f"everything ends, but not {promise.__name__} within {long_us} µs"
        trial.broken.extend(await tried(promise(), long_us, hung))
    left = [thread.name for thread in threading.enumerate() if thread not in before]
    trial.hold(not left, f"aclose leaves no thread, but {', '.join(left)} is left")
    BrokenPromise.unless_kept(type(transcriber).__name__, trial.broken)


@dataclass(frozen=True, slots=True)
class _Trial:
    """A transcriber, the speech it is tried with, and the promises that it did not keep."""

    transcriber: Transcriber
    sound: Int16
    words: Sequence[str]
    at: int
    broken: list[str] = field(default_factory=list)

    def hold(self, kept: bool, promise: str) -> None:  # noqa: FBT001 - reads as a sentence
        """Note *promise* as broken unless it is *kept*."""
        if not kept:
            self.broken.append(promise)

    async def warms(self) -> None:
        await self.transcriber.warm()
        await self.transcriber.warm()

    async def hears(self) -> None:
        dictation = self._begin()
        self.hold(not dictation.partial, "nothing is heard before anything was fed")
        _feed(dictation, self.sound)
        dictation.pause()
        _feed(dictation, audio.silence(10 * audio.FRAME))
        transcript = await dictation.final()
        self._hold_heard(transcript, "speech is heard")
        self.hold(transcript.text == (await dictation.final()).text, "the final text may be asked for twice")
        now = clock.now()
        self.hold(
            all(work.began_us <= work.ended_us <= now for work in transcript.work),
            "work began before it ended, and has ended",
        )
        began = audio.us(self.at)
        ended = began + audio.us(self.sound.size) + EDGE_US
        self.hold(
            all(began <= word.began_us <= word.ended_us <= ended for word in transcript.words),
            "words stand inside their sound, on the media's clock",
        )

    async def tells(self) -> None:
        listener = _Listener()
        dictation = listener.dictation = self._begin(listener)
        with listener.inside():
            _feed(dictation, self.sound)
            self.hold(not dictation.whole, "nothing is whole before a pause")
            self._pause(dictation)
            at_once = dictation.whole
        await listener.wait()
        self.hold(at_once or dictation.whole == listener.was_whole, "that the text is whole is told")
        with listener.inside():
            dictation.resume()
            self.hold(not dictation.whole, "a pause that was not the end has no whole text")
            self._pause(dictation)
        await listener.wait()
        self.hold(not listener.out_of_turn, "changes are told when work has ended, not from inside a method")
        whole, partial = dictation.whole, dictation.partial
        text = (await dictation.final()).text
        self.hold(not whole or text == partial, f"a whole text is final, but {partial!r} became {text!r}")
        dictation.drop()

    async def holds_nobody(self) -> None:
        dictation = self._begin()
        began = clock.now()
        calls = _feed(dictation, self.sound)
        dictation.pause()
        dictation.resume()
        held = clock.now() - began
        dictation.drop()
        dictation.drop()
        self.hold(held <= HELD_US * (calls + 2), f"feed, pause and resume return at once, not in {held} µs")

    async def goes_on(self) -> None:
        dictation = self._begin()
        half = self.sound.size // 2
        _feed(dictation, self.sound[:half])
        dictation.pause()
        dictation.resume()
        _feed(dictation, self.sound[half:])
        dictation.pause()
        self._hold_heard(await dictation.final(), "a pause that was not the end loses nothing")

    async def waits_again(self) -> None:
        dictation = self._begin()
        _feed(dictation, self.sound)
        async with clock.move_on_at(clock.now()):
            await dictation.final()
        self._hold_heard(await dictation.final(), "a wait that was cut short may be begun again")

    async def keeps_apart(self) -> None:
        one, other, nothing, dropped = (self._begin() for _ in range(4))
        for dictation in (one, dropped, other):
            _feed(dictation, self.sound)
            dictation.pause()
        nothing.pause()
        dropped.drop()
        heard = await asyncio.gather(one.final(), other.final(), nothing.final())
        for transcript in heard[:2]:
            self._hold_heard(transcript, "two utterances at once do not disturb each other")
        self.hold(heard[2].text == "", "an utterance without sound has no text")

    async def knows_silence(self) -> None:
        dictation = self._begin()
        _feed(dictation, audio.silence(2 * audio.RATE))
        dictation.pause()
        text = (await dictation.final()).text
        self.hold(not is_words(text), f"silence has no words, not {text!r}")

    def _begin(self, changed: Callable[[], None] = lambda: None) -> Dictation:
        return self.transcriber.begin(self.at, changed)

    @staticmethod
    def _pause(dictation: Dictation) -> None:
        """Let half a second of silence follow, as a call would."""
        dictation.pause()
        _feed(dictation, audio.silence(audio.RATE // 2))

    def _hold_heard(self, transcript: Transcript, promise: str) -> None:
        heard = normalise(transcript.text).split()
        missed = [word for word in self.words if normalise(word) not in heard]
        self.hold(not missed, f"{promise}, but {', '.join(missed)} is not in {transcript.text!r}")


class _Listener:
    """Who is told of changes: it notes whether the text was whole, and that it was told out of turn."""

    def __init__(self) -> None:
        self.dictation: Dictation | None = None
        self.was_whole = False
        self.out_of_turn = False
        self._busy = False
        self._whole = asyncio.Event()

    def __call__(self) -> None:
        self.out_of_turn |= self._busy
        self.was_whole = self.dictation is not None and self.dictation.whole
        if self.was_whole:
            self._whole.set()

    @contextmanager
    def inside(self) -> Iterator[None]:
        """Know that a method is being called."""
        self._busy = True
        self._whole.clear()
        yield
        self._busy = False

    async def wait(self) -> None:
        """Wait until the text is whole, but not for ever."""
        if self.dictation is not None and not self.dictation.whole:
            async with clock.move_on_at(clock.now() + WHOLE_US):
                await self._whole.wait()


def _feed(dictation: Dictation, sound: Int16) -> int:
    """Feed *sound* frame by frame; return how many frames it was."""
    for at in range(0, sound.size, audio.FRAME):
        dictation.feed(sound[at : at + audio.FRAME])
    return -(-sound.size // audio.FRAME)
