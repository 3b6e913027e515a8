"""Chunks and sizes: what is there counts, not what is declared."""

from __future__ import annotations

import contextlib
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st
from laws import each
from riff import chunk, fmt, riff

from turnbudget.voice.errors import AudioError
from turnbudget.voice.sound import wav

SECOND = bytes(range(256)) * 125
"""32,000 bytes: one second at 16 kHz, 16 bits."""


def data_of(blob):
    return bytes(wav.parse(blob).data)


def test_a_clean_file_passes_without_a_note():
    parsed = wav.parse(riff(chunk(b"fmt ", fmt()), chunk(b"data", SECOND)))
    assert bytes(parsed.data) == SECOND
    assert parsed.format == wav.Format(codec=wav.PCM, channels=1, rate=16_000, width=2, block=2)
    assert parsed.notes == ()


def test_sizes_of_all_ones_mean_read_to_the_end():
    """AUD-01"""
    header = "52494646FFFFFFFF57415645666D74201000000001000100803E0000007D00000200100064617461FFFFFFFF"
    parsed = wav.parse(bytes.fromhex(header) + SECOND)
    assert bytes(parsed.data) == SECOND
    assert parsed.notes == ("data size 4294967295, 32000 bytes are there: read to the end",)


@pytest.mark.parametrize("size", [0x7FFF_FFFF, 2_000_000_000, 0xFFFF_FFFE, 32_016])
def test_any_size_beyond_the_end_means_read_to_the_end(size):
    """AUD-02, AUD-19 (a)"""
    blob = riff(chunk(b"fmt ", fmt()), chunk(b"data", SECOND, size), size=(size + 36) & 0xFFFF_FFFF)
    assert data_of(blob) == SECOND


def test_a_header_never_patched_means_read_to_the_end():
    """AUD-03 (a)"""
    parsed = wav.parse(riff(chunk(b"fmt ", fmt()), chunk(b"data", SECOND, 0), size=0))
    assert bytes(parsed.data) == SECOND
    assert "data size 0" in parsed.notes[0]


def test_an_empty_data_chunk_before_other_chunks_is_empty():
    """AUD-03, AUD-19 (d): a size of 0 can be true."""
    assert data_of(riff(chunk(b"fmt ", fmt()), chunk(b"data", b""), chunk(b"LIST", b"INFOISFT"))) == b""


@pytest.mark.parametrize(
    "leftover",
    [
        b"LISTxINFOISFTxxxxLavf58.26.101 text.",
        riff(chunk(b"fmt ", fmt()), chunk(b"data", b"")),
        b"fmt " + struct.pack("<I", 16) + fmt() + b"data" + b"\xff" * 4,
    ],
)
def test_header_bytes_among_the_samples_are_cut_off(leftover):
    """AUD-03 (b)"""
    sound = struct.pack("<4000h", *range(4_000))
    parsed = wav.parse(riff(chunk(b"fmt ", fmt()), chunk(b"data", leftover + sound)))
    assert bytes(parsed.data) == sound
    assert parsed.notes == (f"{len(leftover)} bytes of a header among the samples cut off",)


def test_text_is_sound_in_a_file_of_8_bits():
    """AUD-03: the cut never takes what may be sound."""
    sound = b"~" * 800
    assert data_of(riff(chunk(b"fmt ", fmt(wav.MULAW, rate=8_000, bits=8)), chunk(b"data", sound))) == sound


@pytest.mark.parametrize("bits", [16, 24])
def test_an_extensible_header_names_its_codec_inside(bits):
    """AUD-05"""
    guid = bytes.fromhex("0100000000001000800000AA00389B71")
    more = struct.pack("<HHI", 22, bits, 4) + guid
    form = fmt(wav.EXTENSIBLE, rate=48_000, bits=bits, more=more)
    parsed = wav.parse(riff(chunk(b"fmt ", form), chunk(b"data", b"\1" * 48)))
    assert parsed.format == wav.Format(
        codec=wav.PCM, channels=1, rate=48_000, width=bits // 8, block=bits // 8
    )
    assert parsed.notes == ()


@pytest.mark.parametrize(
    ("form", "body", "whole"),
    [(fmt(), 31_999, 31_998), (fmt(channels=2, bits=24), 10, 6), (fmt(), 1, 0)],
)
def test_only_whole_frames_are_used(form, body, whole):
    """AUD-19 (b), (c)"""
    parsed = wav.parse(riff(chunk(b"fmt ", form), chunk(b"data", b"\1" * body)))
    assert len(parsed.data) == whole
    assert "stray" in parsed.notes[-1]


def test_a_file_of_20_bytes_is_refused():
    """AUD-19 (e)"""
    with pytest.raises(AudioError, match=r"^a\.wav: no fmt chunk that could be read; record it again$"):
        wav.parse(riff(chunk(b"fmt ", fmt()), chunk(b"data", SECOND))[:20], "a.wav")


def test_a_file_that_ends_before_its_samples_says_so():
    """AUD-19"""
    with pytest.raises(AudioError, match="no data chunk: the file ends after 36 bytes"):
        wav.parse(riff(chunk(b"fmt ", fmt())))


@each(
    ("form", "fault"),
    [
        (fmt(channels=0), "0 channels"),
        (fmt(rate=0), "0 Hz"),
        (fmt(rate=4_000_000_000, pace=0), "4000000000 Hz"),
        (fmt(bits=0), "samples of 0 bits"),
        (fmt(wav.FLOAT, bits=24), "samples of 24 bits"),
        (fmt()[:12], "a fmt chunk of 12 bytes"),
    ],
)
def test_an_absurd_header_is_refused_by_the_field_at_fault(form, fault):
    with pytest.raises(AudioError, match=fault):
        wav.parse(riff(chunk(b"fmt ", form), chunk(b"data", SECOND)))


def test_a_header_that_contradicts_itself_about_the_rate_is_noted():
    """AUD-08"""
    parsed = wav.parse(riff(chunk(b"fmt ", fmt(rate=8_000, pace=32_000)), chunk(b"data", SECOND)))
    assert parsed.format.rate == 8_000
    assert parsed.notes == ("byte rate 32000 is not 8000 Hz × 2 bytes; took the 8000 Hz",)


def test_a_wrong_block_size_is_mended():
    parsed = wav.parse(riff(chunk(b"fmt ", fmt(channels=2, block=3, pace=64_000)), chunk(b"data", SECOND)))
    assert parsed.format.block == 4
    assert parsed.notes == ("block size 3 is not that of 2 × 16 bits",)


def test_samples_in_a_wider_container_keep_its_width():
    """AUD-05"""
    assert wav.parse(riff(chunk(b"fmt ", fmt(bits=24, block=4)), chunk(b"data", SECOND))).format.width == 4
    assert wav.parse(riff(chunk(b"fmt ", fmt(bits=12, block=2)), chunk(b"data", SECOND))).format.width == 2


def test_a_large_file_keeps_its_size_in_another_chunk():
    sizes = struct.pack("<QQQI", 99, 64, 32, 0)
    blob = riff(
        chunk(b"ds64", sizes),
        chunk(b"fmt ", fmt()),
        chunk(b"data", SECOND[:64], 0xFFFF_FFFF),
        chunk(b"LIST", b"INFO"),
        size=0xFFFF_FFFF,
        magic=b"RF64",
    )
    parsed = wav.parse(blob)
    assert bytes(parsed.data) == SECOND[:64]
    assert parsed.notes == ()


def test_odd_chunks_are_stepped_over_with_and_without_their_pad():
    for pad in (True, False):
        odd = chunk(b"LIST", b"INFOodd", pad=pad)
        assert data_of(riff(odd, chunk(b"fmt ", fmt()), odd, chunk(b"data", SECOND), odd)) == SECOND


def test_a_chunk_that_claims_the_rest_of_the_file_hides_no_sound():
    parsed = wav.parse(
        riff(chunk(b"fmt ", fmt()), chunk(b"LIST", b"INFO", 0xFFFF_FFF0), chunk(b"data", SECOND))
    )
    assert bytes(parsed.data) == SECOND
    assert "'LIST' declares 4294967280 bytes" in parsed.notes[0]


def test_bytes_behind_the_declared_samples_are_not_sound():
    """AUD-02: the length is the lesser of declared and there."""
    parsed = wav.parse(riff(chunk(b"fmt ", fmt()), chunk(b"data", SECOND[:64]), b"\0\1\2\3" * 5))
    assert bytes(parsed.data) == SECOND[:64]
    assert parsed.notes == ("20 bytes behind the declared samples are neither sound nor chunk",)


def test_a_header_still_on_its_way_is_waited_for():
    """AUD-09"""
    blob = riff(chunk(b"LIST", b"INFO" * 9), chunk(b"fmt ", fmt()), chunk(b"data", SECOND))
    start = blob.index(SECOND)
    assert all(wav.read_header(blob[:cut]) is None for cut in range(start))
    header = wav.read_header(blob[:start])
    assert header == wav.Header(
        wav.Format(codec=wav.PCM, channels=1, rate=16_000, width=2, block=2), start, 32_000
    )


names = st.sampled_from([b"LIST", b"fact", b"bext", b"id3 ", b"JUNK", b"cue "])
others = st.lists(st.builds(chunk, names, st.binary(max_size=40)), max_size=4).map(b"".join)
sounds = st.binary(max_size=200).map(lambda body: b"\0\0\0\0" + body[: len(body) // 4 * 4])


@given(others, others, others, sounds, st.sampled_from([1, 2]))
def test_sound_is_found_between_any_chunks(before, between, behind, sound, channels):
    """AUD-19"""
    form = chunk(b"fmt ", fmt(channels=channels))
    blob = riff(before, form, between, chunk(b"data", sound), behind)
    if b"data" not in sound:
        assert data_of(blob) == sound


@given(st.binary(max_size=120), st.sampled_from([b"RIFF\0\0\0\0WAVE", riff(chunk(b"fmt ", fmt()))]))
def test_no_bytes_raise_anything_but_an_audio_error(rubbish, start):
    """AUD-19"""
    with contextlib.suppress(AudioError):
        parsed = wav.parse(start + rubbish, "a.wav")
        assert len(parsed.data) % parsed.format.block == 0
        assert len(parsed.data) <= len(rubbish)
