"""From one rate to another, and how much is held back on the way."""

from __future__ import annotations

import numpy as np
import pytest
from laws import each

from turnbudget.voice.errors import AudioError
from turnbudget.voice.sound.encoding import to_float
from turnbudget.voice.sound.resampler import Resampler, resample

RATES = [
    (8_000, 16_000),
    (16_000, 8_000),
    (24_000, 16_000),
    (44_100, 16_000),
    (16_000, 48_000),
    (16_000, 16_000),
]


@each("live", [True, False])
@each(("source", "target"), RATES)
def test_silence_stays_digital_silence(source, target, live):
    resampler = Resampler(source, target, live=live)
    out = [resampler.feed(np.zeros(source // 50, np.float32)) for _ in range(50)] + [resampler.flush()]
    assert not np.concatenate(out).any()
    assert sum(map(len, out)) == target


@each(("source", "target"), RATES)
def test_a_live_leg_holds_back_30_ms_at_most(source, target):
    resampler = Resampler(source, target, live=True)
    sound = to_float(np.random.default_rng(7).integers(-9_000, 9_000, source).astype(np.int16))
    for piece in np.split(sound, 50):
        resampler.feed(piece)
        assert resampler.pending_us <= 30_100
    resampler.flush()
    assert resampler.pending_us == 0


def test_a_flushed_resampler_is_as_new():
    resampler = Resampler(8_000, 16_000, live=True)
    sound = to_float(np.random.default_rng(8).integers(-9_000, 9_000, 999).astype(np.int16))
    first = np.concatenate((resampler.feed(sound), resampler.flush()))
    again = np.concatenate((resampler.feed(sound), resampler.flush()))
    assert (first == again).all()


def test_a_whole_sound_keeps_its_length():
    assert resample(np.zeros(22_050, np.int16), 22_050, 16_000).size == 16_000
    assert resample(np.zeros(0, np.int16), 22_050, 16_000).size == 0


@pytest.mark.parametrize("rate", [0, 1, -8_000, 1_000_000])
def test_a_rate_nobody_speaks_at_is_refused(rate):
    with pytest.raises(AudioError, match=f"a sample rate of {rate} Hz"):
        Resampler(rate, 16_000, live=True)
