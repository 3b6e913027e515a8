"""What leaves a voice is trimmed, at 16 kHz, without clicks, and plausible."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from laws import each

from turnbudget.voice.errors import TtsError
from turnbudget.voice.sound import audio
from turnbudget.voice.tts.finish import expected_us, finish

TEXT = "Thank you for calling."


def tone(seconds, rate, hz=440.0, level=0.3):
    return (level * np.sin(np.arange(round(seconds * rate)) * 2 * np.pi * hz / rate)).astype(np.float32)


def pitch(sound):
    spectrum = np.abs(np.fft.rfft(sound * np.hanning(sound.size)))
    return float(spectrum.argmax()) * audio.RATE / sound.size


@each("rate", [8_000, 11_025, 16_000, 22_050, 24_000, 44_100, 48_000])
def test_a_tone_keeps_its_pitch_and_length_at_any_rate(rate):
    """TTS-12: 1.0 s of 440 Hz stays that, whatever the sound's own rate is."""
    sound = finish(tone(1.0, rate), rate, TEXT)
    assert pitch(sound.samples) == pytest.approx(440, rel=0.01)
    assert audio.us(sound.samples.size) == pytest.approx(1_000_000, rel=0.02)


def test_twenty_milliseconds_are_kept_before_the_first_audible_sample():
    quiet = np.zeros(16_000, np.float32)
    sound = finish(np.concatenate([quiet, tone(1.0, 16_000), quiet]), 16_000, TEXT)
    assert sound.onset == audio.first_audible(sound.samples)
    assert 300 <= sound.onset <= audio.FRAME
    assert sound.padding_us == pytest.approx(980_000, abs=1_000)
    assert audio.us(sound.samples.size) == pytest.approx(1_070_000, abs=1_000)


def test_a_lonely_click_in_front_is_no_beginning():
    click = np.zeros(8_000, np.float32)
    click[0] = 0.5
    sound = finish(np.concatenate([click, tone(1.0, 16_000)]), 16_000, TEXT)
    assert sound.onset <= audio.FRAME


def test_joins_do_not_click():
    """TTS-13: one sound ends at +9000, the next begins at −7000; no step is 2000 or more."""
    first = finish(np.full(16_000, 9_000 / 32_768, np.float32) * np.sin(np.arange(16_000) / 9), 16_000, TEXT)
    second = finish(-7_000 / 32_768 * np.cos(np.arange(16_000, dtype=np.float32) / 9), 16_000, TEXT)
    joined = audio.join([first.samples, second.samples]).astype(np.int32)
    assert np.abs(np.diff(joined)).max() < 2_000
    assert abs(joined[0]) < audio.AUDIBLE
    assert abs(joined[-1]) < audio.AUDIBLE


def test_a_gap_of_an_odd_byte_count_shifts_nothing():
    """TTS-11: 22,050 Hz and a gap of 0.25 s; sentence two is as loud as alone."""
    second = tone(1.0, 22_050)
    gap = np.zeros(int(22_050 * 0.25), np.float32)
    both = finish(np.concatenate([tone(1.0, 22_050), gap, second]), 22_050, TEXT * 2).samples
    alone = finish(second, 22_050, TEXT).samples

    def loudness(sound):
        return 20 * np.log10(np.sqrt(np.mean(np.square(sound.astype(np.float64)))))

    assert abs(loudness(both[-alone.size :]) - loudness(alone)) < 3


def test_a_dc_offset_goes_and_what_is_too_loud_is_clipped():
    sound = finish(tone(1.0, 16_000) + np.float32(0.2), 16_000, TEXT)
    assert abs(float(sound.samples.mean())) < 60
    loud = finish(tone(1.0, 16_000, level=0.8) * np.linspace(0, 1.5, 16_000, dtype=np.float32), 16_000, TEXT)
    assert loud.samples.max() <= 32_767


def test_stereo_becomes_mono():
    sound = finish(np.stack([tone(1.0, 16_000)] * 2, axis=1), 16_000, TEXT)
    assert sound.samples.ndim == 1


@each(
    ("samples", "rate"),
    [
        (np.zeros(0, np.float32), 16_000),
        (np.zeros(16_000, np.float32), 16_000),
        (np.full(16_000, np.nan, np.float32), 16_000),
        (np.where(np.arange(16_000) % 2, 1, -1).astype(np.float32), 16_000),
        (tone(0.05, 16_000), 16_000),
        (tone(60.0, 16_000), 16_000),
        (tone(1.0, 16_000), 0),
    ],
    ids=["no samples", "silence", "not a number", "full-scale noise", "cut off", "a minute long", "no rate"],
)
def test_what_cannot_be_the_text_is_refused(samples, rate):
    """TTS-04, TTS-15: no empty sound, no header alone, no minute of spelling."""
    with pytest.raises(TtsError):
        finish(samples, rate, TEXT)


def test_a_strange_length_is_doubted():
    """TTS-12: the same samples at two thirds or three halves of their true rate."""
    text = "The appointment is on Friday morning"
    spoken = tone(expected_us(text) / 1e6, 16_000)
    assert finish(spoken, 16_000, text).doubt == ""
    assert "rate" in finish(spoken, 24_000, text).doubt
    assert "rate" in finish(spoken, 10_667, text).doubt


@given(lead=st.integers(0, 4_000), level=st.floats(0.01, 0.8), size=st.integers(8_000, 20_000))
def test_every_finished_sound_is_audible_trimmed_and_faded(lead, level, size):
    samples = np.concatenate([np.zeros(lead, np.float32), tone(size / 16_000, 16_000, 200.0, level)])
    sound = finish(samples, 16_000, TEXT)
    assert sound.onset == audio.first_audible(sound.samples)
    assert 0 <= sound.onset <= audio.FRAME
    assert abs(int(sound.samples[0])) < audio.AUDIBLE
    assert abs(int(sound.samples[-1])) < audio.AUDIBLE
