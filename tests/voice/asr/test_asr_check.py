"""The kit refuses what breaks a promise."""

from __future__ import annotations

import threading

import pytest
from laws import each

from turnbudget.voice.asr.check import check_transcriber
from turnbudget.voice.asr.scripted import ScriptedDictation, ScriptedTranscriber, Take
from turnbudget.voice.asr.transcriber import Word
from turnbudget.voice.errors import BrokenPromise
from turnbudget.voice.sound import audio
from turnbudget.voice.time import clock

REFERENCE = (Word("hello", 0, 500_000), Word("there", 600_000, 900_000))
SOUND = audio.silence(audio.RATE)


class Holding(ScriptedDictation):
    """Blocks the loop at a pause."""

    def pause(self):
        super().pause()
        getattr(clock.asyncio.get_running_loop(), "block")(900_000)  # noqa: B009 - virtual loops only


class Forgetful(ScriptedDictation):
    """Loses what came before a pause."""

    def resume(self):
        super().resume()
        self._began_us = audio.us(self._fed)


def made(dictation):
    class Made(ScriptedTranscriber):
        def begin(self, at, changed):
            return dictation(self, audio.us(at), Take(), changed)

    return lambda: Made(REFERENCE)


async def refused(make, promise, **options):
    with pytest.raises(BrokenPromise, match=promise):
        await check_transcriber(make, SOUND, ["hello", "there"], **options)


async def test_a_word_not_heard_is_named():
    await refused(lambda: ScriptedTranscriber(REFERENCE[:1]), "there is not in 'hello'", knows_silence=False)


async def test_words_out_of_silence_are_refused():
    """ASR-04."""
    await refused(lambda: ScriptedTranscriber(REFERENCE), "silence has no words")


async def test_word_times_of_another_media_clock_are_refused():
    """ASR-10."""

    class Unshifted(ScriptedTranscriber):
        def begin(self, _at, changed):
            return super().begin(0, changed)

    await refused(lambda: Unshifted(REFERENCE), "media's clock", at=audio.RATE * 60)


async def test_blocking_the_loop_is_refused():
    await refused(made(Holding), "return at once")


async def test_forgetting_at_a_pause_is_refused():
    await refused(made(Forgetful), "loses nothing")


class Silent(ScriptedDictation):
    """Tells nobody that its text is whole."""

    def __init__(self, engine, began_us, take, _changed):
        super().__init__(engine, began_us, take, lambda: None)


class Hasty(ScriptedDictation):
    """Takes a partial for the final text."""

    @property
    def whole(self):
        return self._work_began_us is not None

    @property
    def partial(self):
        return "hello" if self._fed else ""


class Settled(ScriptedDictation):
    """Thinks that a pause is over for ever."""

    def resume(self):
        self.kept = self.whole
        super().resume()

    @property
    def whole(self):
        return super().whole or getattr(self, "kept", False)


class Whole(ScriptedDictation):
    """Is whole from the beginning."""

    whole = True


class Babbling(ScriptedDictation):
    """Tells of what its caller has just done."""

    def feed(self, samples):
        super().feed(samples)
        self._changed()


@each(
    ("dictation", "promise"),
    [
        (Silent, "that the text is whole is told"),
        (Hasty, "a whole text is final, but 'hello' became 'hello there'"),
        (Settled, "a pause that was not the end has no whole text"),
        (Whole, "nothing is whole before a pause"),
        (Babbling, "not from inside a method"),
    ],
)
async def test_a_text_that_is_whole_and_is_not_or_is_not_told_is_refused(dictation, promise):
    await refused(made(dictation), promise)


async def test_a_thread_left_behind_is_named():
    done = threading.Event()

    class Leaking(ScriptedTranscriber):
        async def aclose(self):
            threading.Thread(target=done.wait, name="leaked", daemon=True).start()

    try:
        await refused(lambda: Leaking(REFERENCE), "leaked is left", knows_silence=False)
    finally:
        done.set()
