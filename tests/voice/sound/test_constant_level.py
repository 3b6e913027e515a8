"""A level that stands still away from zero."""

from __future__ import annotations

import numpy as np
import pytest

from turnbudget.voice.sound.encoding import constant_level


@pytest.mark.parametrize("level", [716, 848, 1_638, -716])
def test_a_constant_level_is_told(level):
    """AUD-14, AUD-17"""
    sound = np.random.default_rng(1).integers(-5_000, 5_000, 32_000).astype(np.int16)
    sound[8_000:16_000] = level
    assert constant_level(sound) == level


def test_silence_and_sound_are_no_constant_level():
    """AUD-14"""
    rng = np.random.default_rng(2)
    assert constant_level(np.zeros(0, np.int16)) is None
    assert constant_level(np.zeros(32_000, np.int16)) is None
    assert constant_level(rng.integers(-90, 90, 32_000).astype(np.int16)) is None
    assert constant_level(np.rint(9_000 * np.sin(np.arange(32_000) / 20)).astype(np.int16)) is None


def test_a_level_held_for_a_moment_is_none():
    """AUD-14: nine frames of 20 ms."""
    sound = np.zeros(32_000, np.int16)
    sound[:2_880] = 716
    assert constant_level(sound) is None
