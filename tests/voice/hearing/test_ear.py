"""The Ear: when a caller's turn began and ended, whatever the sound, the source and the detector."""

from __future__ import annotations

import numpy as np
import pytest
import soundfile
from laws import each
from riff import tone, wav_bytes
from sounds import (
    MS,
    SECOND,
    Open,
    Pattern,
    Recorder,
    babble,
    count,
    frames,
    hum,
    listen,
    noise,
    scene,
    speak,
    to_int16,
    voice,
)

from turnbudget.voice.errors import MissingEngine
from turnbudget.voice.hearing.endpoint import Endpointing
from turnbudget.voice.hearing.events import Partial, Pause, Resumed, SpeechStarted, Utterance
from turnbudget.voice.hearing.vad import Energy, Silero
from turnbudget.voice.sound import audio
from turnbudget.voice.sound.recording import read, read_channels
from turnbudget.voice.time import clock
from turnbudget.voice.tts.choose import choose

DIGITS = (("my number is five five five", 0.5, 2.0), ("oh one", 2.7, 3.2), ("oh oh", 3.85, 4.3))


def close(us, expected, within_ms):
    return abs(us - expected) <= within_ms * MS


async def test_a_sentence_is_one_utterance_with_its_times():
    sound, words = speak(("move my visit to Friday", 0.5, 2.0))
    heard = await listen(frames(sound), words=words)
    (told,) = heard.utterances
    assert told.text == "move my visit to Friday"
    assert close(told.began_us, 500 * MS, 20)
    assert close(told.ended_us, 2_000 * MS, 20)
    assert 550 * MS <= told.decided_us - told.ended_us <= 590 * MS
    assert (told.rule, told.trust, told.transcriber) == ("endpoint.silence_ms", "final", "scripted")
    assert heard.ear.waiting == 0
    assert not heard.ear.speaking


async def test_events_come_in_the_order_of_speech():
    sound, words = speak(("one two", 0.5, 1.5))
    events = (await listen(frames(sound), words=words)).events
    kinds = [type(event) for event in events if not isinstance(event, Partial)]
    assert kinds == [SpeechStarted, Pause, Utterance]


async def test_digits_with_pauses_are_one_turn_when_the_silence_is_set_for_them():
    """VAD-01: 700 ms and 650 ms between groups, a silence of 1.2 s; zero is the end of the last digit."""
    sound, words = speak(*DIGITS)
    heard = await listen(frames(sound), words=words, endpointing=Endpointing(1_200 * MS))
    assert heard.texts == ["my number is five five five oh one oh oh"]
    assert close(heard.turns[0][1], 4_300 * MS, 20)
    assert len(heard.of(Resumed)) == 2


async def test_digits_with_pauses_are_cut_by_a_short_silence_and_no_digit_is_lost():
    """VAD-01, as it stands with 550 ms: three utterances, each digit in one, each with its own end."""
    sound, words = speak(*DIGITS)
    heard = await listen(frames(sound), words=words)
    assert heard.texts == [text for text, _, _ in DIGITS]
    assert all(
        close(turn[1], end * SECOND, 20) for turn, (_, _, end) in zip(heard.turns, DIGITS, strict=True)
    )


async def test_a_thinking_pause_is_no_end():
    """VAD-02: 450 ms, "uh", 500 ms; the text is one, and what was made in the pauses is known as wasted."""
    sound, words = speak(("can you change the", 0.3, 1.3), ("uh", 1.75, 2.0), ("delivery address", 2.5, 3.3))
    heard = await listen(frames(sound), words=words)
    assert heard.texts == ["can you change the uh delivery address"]
    assert [name for name, _ in heard.marks] == [
        "SpeechStarted",
        "Pause",
        "Resumed",
        "Pause",
        "Resumed",
        "Pause",
    ]
    assert [work.used for work in heard.utterances[0].work] == [False, False, True]


async def test_babble_that_never_stops_ends_no_turn_late_and_begins_none():
    """VAD-07: a command at −12 dBFS over babble at −30, and a detector that takes all of it for a voice."""
    sound = scene(40, (3.0, voice(1.5, db=-12)), background=babble(40))
    heard = await listen(frames(sound), vad=Open())
    (told,) = heard.utterances
    assert close(told.ended_us, 4_500 * MS, 150)
    assert told.decided_us <= 5_500 * MS


async def test_a_voice_that_never_stops_is_cut_off_and_loses_nothing():
    """VAD-07: the cap; the sound after it goes to the next utterance without a gap or a repetition."""
    words = ((1 + 0.9 * k, voice(0.8)) for k in range(24))
    sound = scene(25, *words, background=noise(25))
    transcriber = Recorder()
    heard = await listen(frames(sound), vad=Open(), transcriber=transcriber)
    assert [rule for _, _, rule in heard.turns] == ["endpoint.longest_ms"] * 2 + ["endpoint.silence_ms"]
    assert all(ended - began <= 10_040 * MS for began, ended, _ in heard.turns)
    joined = np.concatenate(transcriber.sounds)
    assert np.array_equal(joined, sound[transcriber.began[0] :][: joined.size])


async def test_blips_do_not_keep_a_turn_open():
    """VAD-13: probability 0.1 for 12 frames, 0.6 for one, over 20 s of breathing that stands out."""
    sound = scene(24, (0.5, voice(23)), background=noise(24))
    vad = Pattern((25, [0.0]), (75, [0.9]), (80, [0.1] * 12 + [0.6]))
    heard = await listen(frames(sound), vad=vad)
    assert len(heard.utterances) == 1
    assert heard.utterances[0].decided_us <= 2_000 * MS + 1_500 * MS


async def test_a_voice_once_heard_is_followed_where_it_gets_faint():
    """Certain for 200 ms, likely for 800: no pause in between, and none is opened by the likely alone."""
    sound = scene(4, (0.5, voice(1.0)), background=noise(4))
    heard = await listen(frames(sound), vad=Pattern((25, [0.0]), (10, [0.6]), (40, [0.4])))
    assert [name for name, _ in heard.marks] == ["SpeechStarted", "Pause"]
    assert close(heard.turns[0][1], 1_500 * MS, 20)
    assert (await listen(frames(sound), vad=Pattern((25, [0.0]), (50, [0.4])))).events == []


async def test_comfort_noise_ends_a_turn_as_silence_does():
    """VAD-15: mu-law 7E, FE and FF (−8, 8 and 0) every 20 ms for a minute."""
    comfort = np.random.default_rng(1).choice([-8, 8, 0], count(62)).astype(np.int16)
    speech = (0.5, voice(1.5))
    silent = await listen(frames(scene(4, speech)), vad=Energy())
    noisy = await listen(frames(scene(62, speech, background=comfort)), vad=Energy())
    assert len(noisy.utterances) == len(silent.utterances) == 1
    for mine, theirs in zip(noisy.turns[0][:2], silent.turns[0][:2], strict=True):
        assert close(mine, theirs, 100)
    gaps = [heard.utterances[0].decided_us - heard.began_us for heard in (silent, noisy)]
    assert close(*gaps, 100)


async def test_a_soft_onset_is_heard_by_the_transcriber():
    """VAD-09: 200 ms too soft for the detector; what it hears begins 250 ms before detection."""
    soft = to_int16(voice(0.2, db=-20) * np.linspace(0.01, 0.1, count(0.2)))
    sound = scene(4, (1.0, soft), (1.2, voice(0.8)), background=noise(4))
    transcriber = Recorder()
    heard = await listen(frames(sound), vad=Pattern((60, [0.0]), (40, [1.0])), transcriber=transcriber)
    assert close(heard.turns[0][0], 1_200 * MS, 20)
    assert audio.us(transcriber.began[0]) <= 950 * MS
    fed = transcriber.sounds[0]
    assert np.array_equal(fed, sound[transcriber.began[0] :][: fed.size])


async def test_an_utterance_right_after_another_takes_none_of_its_sound():
    """VAD-09: the one before ended 100 ms before."""
    sound = scene(4, (0.5, voice(1.0)), (1.6, voice(1.0)), background=noise(4))
    transcriber = Recorder()
    vad = Pattern((25, [0.0]), (50, [1.0]), (5, [0.0]), (50, [1.0]))
    heard = await listen(frames(sound), vad=vad, transcriber=transcriber, endpointing=Endpointing(80 * MS))
    assert len(heard.utterances) == 2
    assert audio.samples(heard.turns[0][1]) < transcriber.began[1] < audio.samples(heard.turns[1][0])


async def test_a_constant_offset_is_no_speech_and_hides_no_end():
    """AUD-17: 5 % of full scale for 10 s, speech riding on it, and the constant again."""
    plain = scene(14, (10, voice(1.5)))
    heard = [await listen(frames(sound), vad=Energy()) for sound in (plain, plain + np.int16(1_638))]
    assert [len(one.utterances) for one in heard] == [1, 1]
    assert close(heard[0].turns[0][1], heard[1].turns[0][1], 20)


async def test_clipped_speech_is_one_turn():
    """AUD-17, its variant: 12 dB over full scale."""
    clipped = to_int16(voice(1.5, db=-20).astype(float) * 40)
    heard = await listen(frames(scene(4, (1, clipped), background=noise(4))), vad=Energy())
    assert len(heard.utterances) == 1
    assert close(heard.turns[0][1], 2_500 * MS, 20)


async def test_an_eight_bit_file_is_one_stretch_of_speech(tmp_path):
    """AUD-20: 1 s of silence, 1 s of a sine, 1 s of silence, as unsigned bytes."""
    wave = np.concatenate((np.zeros(8_000), tone(300, 1, 8_000, 16_384) / 256, np.zeros(8_000)))
    file = tmp_path / "eight.wav"
    file.write_bytes(wav_bytes((np.rint(wave) + 128).astype(np.uint8).tobytes(), rate=8_000, bits=8))
    heard = await listen(frames(read(file).samples), vad=Energy())
    ((began, ended, _),) = heard.turns
    assert close(began, 1_000 * MS, 30)
    assert close(ended, 2_000 * MS, 30)


async def test_only_the_callers_channel_makes_turns(tmp_path):
    """AUD-07: the agent's prompt overlaps the caller's last half second, and is heard by nobody."""
    left, right = scene(6, (0.5, voice(2.0))), scene(6, (2.0, voice(3.0, pitch=200)))
    soundfile.write(tmp_path / "call.wav", np.stack((left, right), axis=1), audio.RATE, subtype="PCM_16")
    caller, _ = read_channels(tmp_path / "call.wav", least=2)
    heard = await listen(frames(caller.samples), vad=Energy())
    ((began, ended, _),) = heard.turns
    assert close(began, 500 * MS, 20)
    assert close(ended, 2_500 * MS, 20)


@pytest.mark.parametrize("rate", [8_000, 11_025, 16_000, 44_100, 48_000])
async def test_silence_is_measured_in_real_time_at_every_rate(tmp_path, rate):
    """AUD-08: the same call at five rates ends at the same moment, after the same silence."""
    time = np.arange(round(4 * rate)) / rate
    wave = (
        np.sin(2 * np.pi * 400 * time)
        * (np.sin(2 * np.pi * 3 * time) * 0.4 + 0.6)
        * ((time >= 1) & (time < 2.5))
    )
    soundfile.write(tmp_path / "call.wav", wave * 0.3, rate, subtype="PCM_16")
    heard = await listen(frames(read(tmp_path / "call.wav").samples), vad=Energy())
    (told,) = heard.utterances
    assert close(heard.turns[0][1], 2_500 * MS, 30)
    assert close(told.decided_us - told.ended_us, 570 * MS, 30)


@pytest.mark.parametrize("silence_ms", [200, 550, 800])
async def test_the_zero_does_not_depend_on_the_silence_window(silence_ms):
    """MET-01: speech that ends at 2.000 s; the endpoint grows by the window, the zero stays."""
    heard = await listen(
        frames(scene(4, (0.5, voice(1.5)), background=noise(4))),
        vad=Energy(),
        endpointing=Endpointing(silence_ms * MS),
    )
    (told,) = heard.utterances
    assert close(heard.turns[0][1], 2_000 * MS, 30)
    assert silence_ms * MS <= told.decided_us - told.ended_us <= (silence_ms + 40) * MS


@pytest.mark.clock("skip")
@pytest.mark.parametrize("silence_ms", [200, 550, 800])
async def test_a_real_voice_and_detector_keep_the_zero_too(silence_ms):
    """MET-01 with Silero and a rendered sentence whose last audible sample stands at 2.000 s."""
    try:
        vad, (speaker, _) = Silero(), choose("pyttsx3")
    except MissingEngine as error:
        pytest.skip(str(error))
    try:
        await speaker.warm()
        speech = (await speaker.render("Please move my visit to Monday.")).samples
    finally:
        await speaker.aclose()
    speech = speech[: np.flatnonzero(np.abs(speech) > audio.AUDIBLE)[-1] + 1]
    sound = scene(4, (2.0 - speech.size / audio.RATE, speech), background=noise(4, -75))
    heard = await listen(frames(sound), vad=vad, endpointing=Endpointing(silence_ms * MS))
    told = heard.utterances[-1]
    assert close(heard.turns[-1][1], 2_000 * MS, 40)
    assert silence_ms * MS <= told.decided_us - told.ended_us <= (silence_ms + 60) * MS


async def test_a_caller_who_hangs_up_in_a_word_leaves_no_utterance():
    sound, words = speak(("move my", 0.5, 1.5), seconds=1.2)
    heard = await listen(frames(sound), words=words, rest_us=0)
    assert heard.ear.speaking
    heard.ear.hang_up()
    assert heard.utterances == []


@each("detector", [Energy, Silero])
@each("nothing", ["zeros", "least bit", "hum", "line noise"])
async def test_what_is_no_speech_begins_nothing(detector, nothing):
    """ASR-04: 30 s of it, and a sentence after it that begins with its own first word."""
    sounds = {
        "zeros": audio.silence(count(30)),
        "least bit": np.random.default_rng(1).integers(-1, 2, count(30)).astype(np.int16),
        "hum": hum(30),
        "line noise": noise(30, -50),
    }
    try:
        vad = detector()
    except MissingEngine as error:
        pytest.skip(str(error))
    transcriber = Recorder()  # one that would make "the" of anything it is fed
    heard = await listen(frames(sounds[nothing]), vad=vad, transcriber=transcriber)
    assert heard.events == []
    assert transcriber.began == []


async def test_hearing_costs_no_time():
    """In virtual time an Ear that waited anywhere but for its text would be late."""
    sound, words = speak(("one two three", 0.5, 1.5), seconds=30)
    heard = await listen(frames(sound), words=words, rest_us=0)
    assert clock.now() - heard.began_us == 30 * SECOND
