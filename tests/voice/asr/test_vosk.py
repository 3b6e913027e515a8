from __future__ import annotations

import json
import threading

import pytest
from listeners import ignore, watched

from turnbudget.voice.asr.check import check_transcriber
from turnbudget.voice.asr.vosk import Vosk, VoskHearing, joined, words
from turnbudget.voice.errors import AsrError, MissingEngine
from turnbudget.voice.sound import audio
from turnbudget.voice.time import clock


class Recogniser:
    """Plays results as Vosk words them: an intermediate one per sound named, then the last."""

    def __init__(self, intermediate, last):
        self.intermediate = intermediate
        self.last = last
        self.told = ""

    def AcceptWaveform(self, sound):  # noqa: N802 - Vosk's own name
        self.told = self.intermediate.get(sound, "")
        return bool(self.told)

    def Result(self):  # noqa: N802 - likewise
        return json.dumps({"text": self.told})

    def PartialResult(self):  # noqa: N802 - likewise
        return json.dumps({"partial": ""})

    def FinalResult(self):  # noqa: N802 - likewise
        return json.dumps({"text": self.last})


@pytest.mark.parametrize(("last", "text"), [("to friday", "move my visit to friday"), ("", "move my visit")])
def test_words_before_an_internal_silence_are_kept(last, text):
    """ASR-01, ASR-08."""
    hearing = VoskHearing()
    hearing.recogniser = Recogniser({b"one": "move my visit"}, last)
    hearing.hear(b"one")
    assert hearing.partial == "move my visit"
    hearing.hear(b"two")
    hearing.end()
    assert joined(hearing.results) == text
    assert hearing.partial == text


def test_words_are_told_where_vosk_itself_would_still_wait():
    class Patient(Recogniser):
        def AcceptWaveform(self, _):  # noqa: N802 - likewise
            self.told = "move my visit"
            return False

    hearing = VoskHearing()
    hearing.recogniser = Patient({}, "")
    hearing.hear(b"one")
    assert hearing.partial == ""
    hearing.hear(b"two", tell=True)
    assert hearing.partial == "move my visit"


def test_an_unknown_word_is_no_word():
    """ASR-11."""
    results = [{"text": "<unk> yes", "result": [{"word": "<unk>", "start": 0, "end": 1}]}]
    assert joined(results) == "yes"
    assert words(results, 0) == ()


def test_word_times_stand_on_the_media_clock_of_the_call():
    """ASR-10."""
    results = [{"result": [{"word": "hi", "start": 0.1, "end": 0.4}]}]
    (word,) = words(results, 60_000_000)
    assert (word.began_us, word.ended_us) == (60_100_000, 60_400_000)


@pytest.mark.clock("skip")
async def test_a_folder_that_is_no_model_is_named(tmp_path):
    pytest.importorskip("vosk", reason="vosk is not installed")
    engine = Vosk(tmp_path)
    with pytest.raises(MissingEngine, match=str(tmp_path)):
        await engine.warm()
    dictation = engine.begin(0, ignore)
    dictation.feed(audio.silence(audio.FRAME))
    with pytest.raises(MissingEngine):
        await dictation.final()
    await engine.aclose()


@pytest.mark.clock("skip")
async def test_vosk_keeps_every_promise(vosk_model, speech):
    await check_transcriber(lambda: Vosk(vosk_model), speech[: 2 * audio.RATE], [], at=audio.RATE * 60)


@pytest.mark.clock("skip")
async def test_a_second_utterance_has_times_of_its_own(vosk_model, speech):
    """ASR-10."""
    engine = Vosk(vosk_model)
    for at in (0, 20 * audio.RATE):
        dictation = engine.begin(at, ignore)
        dictation.feed(speech[: 3 * audio.RATE])
        transcript = await dictation.final()
        assert transcript.words
        for word in transcript.words:
            assert audio.us(at) <= word.began_us < word.ended_us <= audio.us(at) + 3_300_000
    await engine.aclose()


@pytest.mark.clock("skip")
async def test_a_silence_that_lasts_has_a_whole_text_and_word_times_go_on_behind_it(vosk_model, speech):
    engine = Vosk(vosk_model)
    dictation, watching = watched(engine)
    dictation.feed(speech[: 2 * audio.RATE])
    dictation.pause()
    for _ in range(19):
        dictation.feed(audio.silence(audio.FRAME))
    await watching.until_whole()
    assert dictation.whole
    assert watching.seen[-1][1:] == (dictation.partial, True)
    before = dictation.partial
    dictation.resume()
    assert not dictation.whole
    dictation.feed(speech[2 * audio.RATE : 4 * audio.RATE])
    transcript = await dictation.final()
    assert transcript.text.startswith(before)
    assert len(transcript.text) > len(before)
    times = [(word.began_us, word.ended_us) for word in transcript.words]
    assert times == sorted(times)
    assert times[-1][1] > 2_400_000
    await engine.aclose()


@pytest.mark.clock("skip")
async def test_sound_that_comes_while_it_is_busy_is_heard_in_one_piece(vosk_model, speech):
    engine = Vosk(vosk_model)
    await engine.warm()
    dictation = engine.begin(0, ignore)
    for at in range(0, 2 * audio.RATE, audio.FRAME):
        dictation.feed(speech[at : at + audio.FRAME])
    transcript = await dictation.final()
    assert len(transcript.work) == 2
    await engine.aclose()


@pytest.mark.clock("skip")
async def test_a_dropped_utterance_is_forgotten(vosk_model, speech):
    engine = Vosk(vosk_model)
    await engine.warm()
    dictation = engine.begin(0, ignore)
    dictation.feed(speech)
    dictation.feed(speech)
    dictation.drop()
    with pytest.raises(AsrError, match="dropped"):
        await dictation.final()
    began = clock.now()
    await engine.aclose()
    assert clock.now() - began < 10_000_000
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("vosk")]
