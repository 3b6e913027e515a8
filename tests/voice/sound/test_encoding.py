"""Bytes on a wire and the samples they stand for."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnbudget.voice.errors import AudioError
from turnbudget.voice.sound import encoding
from turnbudget.voice.sound.encoding import ENCODINGS, called, from_float, to_float

EVERY = np.arange(-32_768, 32_768).astype(np.int16)


def test_g711_works_without_audioop():
    """AUD-13"""
    encoding.self_test()
    assert called("mulaw").decode(b"\xff").tolist() == [0]
    assert called("alaw").decode(b"\xd5").tolist() == [8]
    assert called("mulaw").encode(np.zeros(2, np.int16)) == b"\xff\xff"
    assert called("alaw").encode(np.zeros(2, np.int16)) == b"\xd5\xd5"
    assert "audioop" not in sys.modules


def test_g711_read_by_the_other_law_is_a_constant_level():
    """AUD-14: the numbers that tell it."""
    assert called("mulaw").decode(b"\xd5").tolist() == [716]
    assert called("alaw").decode(b"\xff").tolist() == [848]


@pytest.mark.parametrize("law", ["mulaw", "alaw"])
def test_every_g711_code_comes_back_as_itself(law):
    """AUD-13: two codes of mu-law mean 0, and the negative one is written as the other."""
    codes = bytes(code for code in range(256) if not (law == "mulaw" and code == 0x7F))
    assert called(law).encode(called(law).decode(codes)) == codes


@pytest.mark.parametrize("law", ["mulaw", "alaw"])
def test_g711_is_wrong_by_no_more_than_its_step(law):
    """AUD-13: half a step is at most a thirty-second of the sample."""
    back = called(law).decode(called(law).encode(EVERY)).astype(int)
    assert (np.abs(back - EVERY) <= np.abs(EVERY.astype(int)) / 32 + 8).all()


@pytest.mark.parametrize("name", ["pcm16", "pcm16be", "float32"])
def test_linear_encodings_lose_nothing(name):
    assert (called(name).decode(called(name).encode(EVERY)) == EVERY).all()


def test_8_bit_sound_rests_at_0x80():
    """AUD-20"""
    assert called("pcm8").decode(b"\x80\x00\xff").tolist() == [0, -32_768, 32_512]
    assert called("pcm8").encode(np.array([0, -32_768, 32_767], np.int16)) == b"\x80\x00\xff"


def test_telephone_names_are_understood():
    """AUD-14"""
    assert called("audio/x-alaw") is called("PCMA") is ENCODINGS["alaw"]
    assert called("audio/x-mulaw") is called("PCMU") is ENCODINGS["mulaw"]


def test_an_unknown_encoding_is_refused_in_words():
    """AUD-14"""
    with pytest.raises(AudioError, match=r"^encoding 'opus' is not known; use one of pcm16, .*alaw"):
        called("opus")


def test_floats_are_clipped_never_wrapped():
    """AUD-06"""
    floats = np.array([0.25, 1.0, 1.7, -3, np.nan, np.inf, -np.inf], np.float32)
    assert from_float(floats).tolist() == [8_192, 32_767, 32_767, -32_768, 0, 0, 0]


def test_samples_as_floats_are_exact():
    assert (from_float(to_float(EVERY)) == EVERY).all()


@given(st.sampled_from(sorted(ENCODINGS)), st.binary(max_size=64))
def test_any_whole_number_of_samples_is_read(name, data):
    known = called(name)
    whole = data[: len(data) // known.width * known.width]
    assert known.decode(whole).size == len(whole) // known.width
    assert known.decode(whole).dtype == np.int16
