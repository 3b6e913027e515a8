"""The detectors: each says how likely it is that somebody speaks, and no more."""

from __future__ import annotations

import numpy as np
import pytest
from sounds import babble, count, hum, noise, scene, voice

from turnbudget.voice.asr.transcriber import Word
from turnbudget.voice.errors import MissingEngine
from turnbudget.voice.hearing.vad import Energy, ScriptedVad, Silero
from turnbudget.voice.sound import audio
from turnbudget.voice.tts.choose import choose

MS = 1_000


def probabilities(vad, sound):
    starts = range(0, sound.size - vad.window + 1, vad.window)
    return np.array([vad.probability(sound[at : at + vad.window], at) for at in starts])


@pytest.fixture
def silero():
    try:
        return Silero()
    except MissingEngine as error:
        pytest.skip(str(error))


def test_energy_is_certain_of_a_voice_and_of_its_absence():
    found = probabilities(Energy(), scene(3, (1, voice(1)), background=noise(3)))
    assert found[51:99].min() == 1.0
    assert found[:49].max() == found[101:].max() == 0.0


def test_energy_takes_steady_noise_for_the_floor():
    """ASR-04: hum at −45 dBFS is taken for a voice for no longer than it takes to hear that it is steady."""
    assert probabilities(Energy(), hum(10)).max() == 0.0
    late = probabilities(Energy(), scene(10, (2, hum(8, db=-30))))
    assert late[: 5 * 50 + 1].max() == 1.0
    assert late[5 * 50 + 2 :].max() == 0.0


def test_energy_does_not_hear_a_constant():
    """AUD-17: 5 % of full scale from the first sample on; the voice that rides on it is heard."""
    sound = scene(3, (1, voice(1))) + np.int16(1_638)
    found = probabilities(Energy(), sound)
    assert found[:49].max() == 0.0
    assert found[51:99].min() == 1.0


def test_energy_hears_an_eight_bit_tone_and_not_the_silence_around_it():
    """AUD-20: as it is after conversion, zeros around a sine of half the scale."""
    tone = np.rint(16_384 * np.sin(2 * np.pi * 300 * np.arange(count(1)) / audio.RATE)).astype(np.int16)
    found = probabilities(Energy(), scene(3, (1, tone))) >= 0.5
    assert np.flatnonzero(found).tolist() == list(range(50, 100))


def test_scripted_is_certain_where_a_word_is_spoken():
    vad = ScriptedVad([Word("move", 100 * MS, 300 * MS), Word("it", 310 * MS, 400 * MS)])
    found = probabilities(vad, audio.silence(count(0.6)))
    assert np.flatnonzero(found).tolist() == list(range(5, 20))


def test_scripted_hears_words_that_are_announced_later():
    words = []
    vad = ScriptedVad(words)
    assert vad.probability(audio.silence(320), 0) == 0.0
    words.append(Word("yes", 1_000 * MS, 1_200 * MS))
    assert vad.probability(audio.silence(320), count(1.0)) == 1.0
    assert vad.probability(audio.silence(320), count(1.2)) == 0.0


@pytest.mark.usefixtures("silero")
def test_silero_hears_no_voice_in_what_is_none():
    """ASR-04: zeros, ±1 LSB, hum, noise, and a tone that the energy detector takes for a voice.

    Where noise sets in it wavers for a tenth of a second; the level has the last word there.
    """
    lsb = np.random.default_rng(1).integers(-1, 2, count(10)).astype(np.int16)
    for sound in (audio.silence(count(10)), lsb, hum(10), noise(10, -50), hum(10, db=-20, hz=1_000)):
        found = probabilities(Silero(), sound)
        assert found[7:].max() < 0.35


def test_silero_starts_afresh_for_each_call(silero):
    """Its state is its own: a call beside it hears the same."""
    sound = scene(2, (0.5, babble(1.0, -15)), background=noise(2))
    alone = probabilities(silero, sound)
    first, second = Silero(), Silero()
    beside = [
        (first.probability(sound[at : at + 512], at), second.probability(audio.silence(512), at))
        for at in range(0, sound.size - 511, 512)
    ]
    assert [one for one, _ in beside] == alone.tolist()


@pytest.mark.clock("skip")
async def test_silero_hears_a_sentence_from_its_first_word_to_its_last(silero):
    """A real voice, in noise: nearly all of it is heard, and nothing before or long after it."""
    try:
        speaker, _ = choose("pyttsx3")
    except MissingEngine as error:
        pytest.skip(str(error))
    try:
        await speaker.warm()
        speech = (await speaker.render("I would like to move my appointment to Friday, please.")).samples
    finally:
        await speaker.aclose()
    long = speech.size / audio.RATE
    found = probabilities(silero, scene(long + 2, (1, speech), background=noise(long + 2, -55))) >= 0.5
    place = np.arange(found.size) * 512 / audio.RATE
    inside = (place > 1.05) & (place < 1 + long - 0.25)
    assert found[inside].mean() >= 0.9
    assert not found[(place < 0.9) | (place > 1.3 + long)].any()


def test_silero_takes_one_thread_however_many_cores_there_are(silero):
    """MET-17: a call's detector must not keep every core spinning."""
    options = silero._session.get_session_options()
    assert (options.intra_op_num_threads, options.inter_op_num_threads) == (1, 1)
