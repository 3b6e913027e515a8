"""The level of a sound: where a voice ended, to the block, and what stands out of the noise."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sounds import babble, count, hum, noise, scene, to_int16, voice

from turnbudget.voice.hearing.level import BLOCK, Level
from turnbudget.voice.sound import audio


def level_of(sound, at=0, step=audio.FRAME):
    level = Level()
    for start in range(0, sound.size, step):
        level.hear(sound[start : start + step], at + start)
    return level


def end_ms(sound, began=0):
    return audio.us(level_of(sound).last_voiced(count(began))) / 1_000


def test_a_voice_ends_where_an_engineer_would_mark_it():
    assert end_ms(scene(1.7, (0.2, voice(1.0)), background=noise(1.7))) == pytest.approx(1_200, abs=10)


@pytest.mark.parametrize("offset", [0, 1_638, -9_000, 20_000])
def test_a_constant_offset_changes_nothing(offset):
    """AUD-17: 5 % of full scale, and far more."""
    sound = scene(1.7, (0.2, voice(1.0)), background=noise(1.7))
    assert end_ms(sound + np.int16(offset)) == end_ms(sound)


def test_a_constant_alone_does_not_stand_out():
    """AUD-17: the constant is there from the first sample on."""
    assert not level_of(np.full(count(1), 1_638, np.int16)).stands_out(audio.FRAME)


def test_clipping_moves_no_end():
    """AUD-17, its variant: 12 dB over full scale."""
    clipped = to_int16(voice(1.0, db=-20).astype(float) * 40)
    assert np.abs(clipped.astype(int)).max() >= 32_767
    assert end_ms(scene(1.7, (0.2, clipped))) == pytest.approx(1_200, abs=10)


def test_mains_hum_is_no_voice():
    """ASR-04: 50 Hz at −45 dBFS stands above a quiet line, and still nobody speaks."""
    assert not level_of(hum(3.0)).stands_out(audio.FRAME)


def test_the_noise_of_a_line_does_not_hide_the_end():
    """VAD-15: comfort noise at −60 dBFS after the voice, as with true silence."""
    speech = voice(1.5)
    quiet, noisy = scene(2.2, (0, speech)), scene(2.2, (0, speech), background=noise(2.2, -60))
    assert abs(end_ms(noisy) - end_ms(quiet)) <= 20


def test_babble_raises_the_floor_and_a_voice_stands_out_of_it():
    """VAD-07: −12 dBFS over −30 dBFS."""
    ground = babble(4.0)
    assert not level_of(ground).stands_out(audio.FRAME)
    sound = scene(4.0, (1.0, voice(1.5, db=-12)), background=ground)
    assert level_of(sound[: count(2.0)]).stands_out(audio.FRAME)
    assert end_ms(sound[: count(3.0)], 1.0) == pytest.approx(2_500, abs=60)


def test_lost_frames_filled_with_zeros_are_not_the_floor():
    """AUD-18 in babble: two frames of digital silence leave the babble as it was."""
    ground = babble(4.0)
    ground[count(3.0) : count(3.04)] = 0
    assert not level_of(ground).stands_out(audio.FRAME)


def test_a_final_hiss_belongs_to_the_voice():
    """The s of "Williams", 36 dB below the vowel before it, 300 ms long, on a quiet line."""
    vowel, hiss = voice(0.8, db=-14, pitch=110), np.diff(noise(0.3, -53, seed=3), prepend=0).astype(np.int16)
    assert end_ms(scene(1.8, (0.2, vowel), (1.0, hiss), background=noise(1.8, -75))) == pytest.approx(
        1_300, abs=20
    )


def test_the_echo_of_a_room_does_not():
    """A tail that falls by 60 dB in 200 ms is left after 35 dB."""
    speech = voice(0.8, db=-14)
    tail = voice(0.4, db=-14) * 10.0 ** (-np.arange(count(0.4)) / count(0.2) * 3)
    sound = scene(1.8, (0.2, speech), (1.0, to_int16(tail)), background=noise(1.8, -75))
    assert 1_050 <= end_ms(sound) <= 1_150


def test_nothing_heard_is_nothing_voiced():
    level = Level()
    assert not level.stands_out(audio.FRAME)
    assert level.last_voiced(0) == 0
    assert level_of(noise(1.0, -80)).last_voiced(4_800) == 4_800


def test_a_jump_begins_anew():
    """What was heard before has no place after it."""
    level = level_of(voice(1.0))
    level.hear(noise(0.1, -75), count(60.0))
    assert level.last_voiced(count(60.0)) == count(60.0)
    level.hear(voice(0.2), count(60.1))
    assert level.last_voiced(count(60.0)) == pytest.approx(count(60.3), abs=BLOCK)


def test_a_call_of_ten_minutes_is_forgotten_but_for_three_seconds():
    """MET-14: the level keeps no more after ten minutes than after ten seconds."""
    level = Level()
    for second in range(600):
        level.hear(noise(1.0, -75), second * audio.RATE)
    size = level._powers.size
    level.hear(voice(1.0), 600 * audio.RATE)
    assert level.last_voiced(600 * audio.RATE) == 601 * audio.RATE
    assert level._powers.size == size


pieces = st.lists(st.integers(1, 2_000), min_size=1, max_size=30)
sounds = st.builds(
    lambda began, long, db: scene(3, (began / 10, voice(long / 10, db)), background=noise(3)),
    st.integers(0, 20),
    st.integers(1, 9),
    st.integers(-40, -24),
)


@given(sounds, pieces)
def test_it_does_not_matter_how_the_sound_is_cut(sound, sizes):
    cut, level, start = sizes, Level(), 0
    for size in cut:
        level.hear(sound[start : start + size], start)
        start = min(sound.size, start + size)
    whole = level_of(sound[:start], step=BLOCK)
    assert (level.last_voiced(0), level.floor()) == (whole.last_voiced(0), whole.floor())


@given(sounds, st.integers(1, 48_000), st.integers(0, 48_000))
def test_the_end_lies_between_what_was_asked_and_what_was_heard(sound, heard, began):
    assert began <= level_of(sound[:heard]).last_voiced(began) <= max(began, heard)


@given(sounds, st.integers(-8_000, 8_000))
def test_any_offset_changes_nothing(sound, offset):
    moved = level_of(sound + np.int16(offset))
    assert moved.last_voiced(0) == level_of(sound).last_voiced(0)


@given(sounds, st.integers(0, 48_000))
def test_what_came_later_changes_nothing_of_what_was_heard_by_a_place(sound, cut):
    until = min(cut, sound.size - 1) // BLOCK * BLOCK
    whole, then = level_of(sound), level_of(sound[: until + 1])
    assert whole.last_voiced(0, until) == then.last_voiced(0)
    assert whole.floor(until) == then.floor()
    assert whole.stands_out(audio.FRAME, until) == then.stands_out(audio.FRAME)
