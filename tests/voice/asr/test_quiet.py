from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnbudget.voice.asr.moonshine_model import cuts, parts, quietest
from turnbudget.voice.sound.audio import FRAME, RATE, join

LONGEST = 192_000

RANDOM = np.random.default_rng(1)


def noise(seconds, loud):
    return (RANDOM.standard_normal(int(seconds * RATE)) * loud).astype(np.int16)


def test_a_long_pause_is_left_out_but_for_its_edges():
    sound = join([noise(1, 3_000), noise(2, 20), noise(1, 3_000)])
    found = parts(sound)
    assert len(found) == 2
    assert sum(part.size for part in found) == pytest.approx(2.4 * RATE, abs=2 * FRAME)


def test_a_short_pause_stays():
    sound = join([noise(1, 3_000), noise(0.3, 20), noise(1, 3_000)])
    assert [part.size for part in parts(sound)] == [sound.size]


def test_noise_without_pauses_loses_nothing():
    sound = noise(3, 500)
    assert np.array_equal(join(parts(sound)), sound)


@given(st.integers(0, 3 * RATE))
def test_any_length_of_silence_has_parts(size):
    assert join(parts(np.zeros(size, np.int16))).size == size


def test_a_cut_falls_into_the_pause():
    sound = join([noise(8, 3_000), noise(0.5, 10), noise(8, 3_000)])
    (cut,) = cuts(sound)
    assert 8 * RATE < cut < 8.5 * RATE


def test_cuts_stay_where_they_are_as_sound_comes():
    sound = noise(60, 1_000)
    for size in range(LONGEST, sound.size, 7 * RATE):
        assert cuts(sound[:size]) == cuts(sound)[: len(cuts(sound[:size]))]
    edges = [0, *cuts(sound), sound.size]
    assert max(np.diff(edges)) <= LONGEST


def test_too_little_sound_is_cut_in_the_middle():
    assert quietest(np.zeros(100, np.int16)) == 50
