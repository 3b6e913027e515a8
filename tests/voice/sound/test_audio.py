"""Audio in its internal form: the arithmetic of samples and microseconds, and joins that do not click."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from laws import each

from turnbudget.voice.sound import audio

shorts = st.lists(st.integers(-32_768, 32_767), max_size=300).map(lambda values: np.array(values, np.int16))


def test_a_frame_is_twenty_milliseconds():
    assert audio.us(audio.FRAME) == audio.FRAME_US == 20_000
    assert audio.samples(audio.FRAME_US) == audio.FRAME
    assert audio.us(audio.RATE) == 1_000_000


@given(st.integers(-(10**9), 10**12))
def test_samples_survive_the_way_through_microseconds(count):
    """A place in a call comes back as itself, or, where it falls between two µs, as the one before."""
    assert audio.samples(audio.us(count)) in {count, count - count % 2}
    assert 0 <= count * 62.5 - audio.us(count) < 1


def test_the_first_audible_sample_is_the_first_at_fifty_below_full_scale():
    sound = audio.silence(400)
    assert audio.first_audible(sound) is None
    sound[:300] = 103
    sound[300] = -104
    assert audio.first_audible(sound) == 300
    sound[250] = -32_768
    assert audio.first_audible(sound) == 250
    assert audio.first_audible(audio.silence(0)) is None


@given(shorts)
def test_what_comes_before_the_first_audible_sample_is_not_audible(sound):
    first = audio.first_audible(sound)
    quiet = np.abs(sound[:first].astype(int))
    assert (quiet < audio.AUDIBLE).all()
    assert first is None or abs(int(sound[first])) >= audio.AUDIBLE


def test_a_fade_begins_and_ends_at_zero_and_leaves_the_middle():
    sound = np.full(400, 10_000, np.int16)
    faded = audio.fade(sound, began=True, ended=True)
    assert faded[0] == faded[-1] == 0
    assert (faded[80:-80] == 10_000).all()
    assert np.abs(np.diff(faded.astype(int))).max() <= 10_000 / 79 + 1
    assert (sound == 10_000).all()


@each("size", [0, 1, 2, 79, 80, 81, 159])
def test_a_sound_shorter_than_its_fades_is_faded_still(size):
    faded = audio.fade(np.full(size, 10_000, np.int16), began=True, ended=True)
    assert faded.size == size
    assert not faded[:1].any()
    assert not faded[-1:].any()


@given(shorts, st.booleans(), st.booleans())
def test_a_fade_only_ever_makes_quieter(sound, began, ended):
    faded = audio.fade(sound, began=began, ended=ended)
    assert faded.dtype == np.int16
    assert (np.abs(faded.astype(int)) <= np.abs(sound.astype(int))).all()
    if not (began or ended):
        assert (faded == sound).all()


def test_sounds_are_joined_in_their_order():
    joined = audio.join([np.array([1, 2], np.int16), audio.silence(1), np.array([3], np.int16)])
    assert joined.tolist() == [1, 2, 0, 3]
    assert audio.join([]).size == 0
    assert audio.join([]).dtype == np.int16
