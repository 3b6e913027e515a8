"""However a stream is cut, the same sound comes out, and no header ever sounds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from laws import each
from riff import tone, wav_bytes

from turnbudget.voice.errors import AudioError
from turnbudget.voice.sound import audio
from turnbudget.voice.sound.encoding import called
from turnbudget.voice.sound.stream import Downstream, Stream


def through(stream, pieces):
    return np.concatenate([*(stream.feed(piece) for piece in pieces), stream.flush()])


def cut(data, sizes):
    """Cut *data* into pieces of *sizes*, the last of which repeats."""
    pieces, at = [], 0
    for size in [*sizes, *[sizes[-1]] * (len(data) // sizes[-1] + 1)]:
        pieces.append(data[at : at + size])
        at += size
    return pieces


def test_a_piece_may_end_inside_a_sample():
    """AUD-10"""
    sound = np.random.default_rng(3).integers(-32_768, 32_767, 20_000).astype(np.int16)
    data = sound.tobytes() + b"\x7f"
    assert (through(Stream(16_000), cut(data, [4_063, 1_697, 1, 3, 640])) == sound).all()


@each("rate", [8_000, 16_000, 24_000, 44_100])
@each("name", ["pcm16", "mulaw", "alaw", "float32"])
def test_a_stream_in_pieces_is_the_stream_in_one(rate, name):
    """AUD-10"""
    data = called(name).encode(np.random.default_rng(4).integers(-20_000, 20_000, rate // 4).astype(np.int16))
    whole = through(Stream(rate, name), [data])
    assert abs(whole.size - 4_000) <= 1
    assert (through(Stream(rate, name), cut(data, [1, 3, 640, 7])) == whole).all()


@given(st.binary(max_size=300), st.lists(st.integers(0, 50), max_size=12), st.sampled_from([8_000, 16_000]))
def test_any_cut_of_any_stream_is_the_stream_in_one(data, sizes, rate):
    """AUD-10"""
    whole = through(Stream(rate), [data])
    pieces, at = [], 0
    for size in sizes:
        pieces.append(data[at : at + size])
        at += size
    assert (through(Stream(rate), [*pieces, data[at:]]) == whole).all()


def test_a_spare_byte_is_forgotten_with_its_utterance():
    """AUD-10"""
    stream, sound = Stream(16_000), tone(440, 0.1)
    stream.feed(b"\1")
    stream.reset()
    assert (stream.feed(sound.tobytes()) == sound).all()
    stream.feed(b"\1")
    stream.flush()
    assert (stream.feed(sound.tobytes()) == sound).all()


def test_a_whole_wav_never_sounds_its_header():
    """AUD-09: three sentences, pushed into a telephone leg."""
    sentence = np.concatenate((np.zeros(320, np.int16), tone(440, 0.2), np.zeros(320, np.int16)))
    stream, leg = Stream(16_000), Downstream(8_000, "mulaw")
    for _ in range(3):
        heard = called("mulaw").decode(leg.feed(stream.feed(wav_bytes(sentence.tobytes()))) + leg.flush())
        assert heard.size == sentence.size // 2
        assert np.abs(heard[:80]).max() < audio.AUDIBLE


@pytest.mark.parametrize("size", [None, 0xFFFF_FFFF, 0])
def test_a_header_may_come_in_pieces_and_lie(size):
    """AUD-09, AUD-01"""
    sound = tone(440, 0.05)
    blob = wav_bytes(sound.tobytes(), size=size)
    for step in (1, 5, 11, 43, 44, 45):
        assert (through(Stream(16_000), cut(blob, [step])) == sound).all()


def test_a_header_says_at_what_rate_and_how_its_sound_is_written():
    """AUD-08, AUD-09"""
    blob = wav_bytes(called("mulaw").encode(tone(440, 0.5, 8_000)), codec=7, rate=8_000, bits=8)
    heard = through(Stream(24_000), [tone(440, 0.5, 24_000).tobytes(), blob])
    assert heard.size == 16_000
    loudest = np.abs(np.fft.rfft(heard * np.hanning(heard.size))).argmax()
    assert loudest == 440


def test_what_was_promised_holds_again_after_an_utterance():
    """AUD-09"""
    stream = Stream(16_000)
    through(stream, [wav_bytes(bytes(800), rate=8_000)])
    sound = tone(440, 0.1)
    assert (stream.feed(sound.tobytes()) == sound).all()


def test_chunks_behind_the_samples_never_sound():
    """AUD-09"""
    sound, trailer = tone(440, 0.1), b"LIST\x0a\0\0\0INFOISFTxx"
    blob = wav_bytes(sound.tobytes()) + trailer
    assert (through(Stream(16_000), [blob]) == sound).all()
    assert (through(Stream(16_000), [blob[:-18], trailer]) == sound).all()
    assert (through(Stream(16_000), [blob + blob]) == np.concatenate((sound, sound))).all()


def test_sound_that_goes_on_behind_a_wav_is_not_lost():
    """AUD-09: a header for the first sentence only must not make us mute."""
    sound = tone(440, 0.1)
    stream = Stream(16_000)
    heard = through(stream, [wav_bytes(sound.tobytes()), sound.tobytes(), sound.tobytes()])
    assert (heard == np.concatenate((sound, sound, sound))).all()


def test_samples_that_only_begin_like_a_header_are_sound():
    """AUD-09"""
    for data in (b"RIFF", b"RIFFxxxx", b"RIFFxxxxyyyy", b"RI"):
        assert through(Stream(16_000), [data]).tobytes() == data


def test_a_header_without_an_end_is_refused_not_hoarded():
    """AUD-09"""
    stream = Stream(16_000)
    stream.feed(b"RIFF\0\0\0\0WAVEjunk\xff\xff\xff\xff")
    with pytest.raises(AudioError, match="a WAV header of over 65536 bytes"):
        stream.feed(bytes(70_000))
    sound = tone(440, 0.1)
    assert (stream.feed(sound.tobytes()) == sound).all()


def test_stereo_is_refused_in_a_mono_stream():
    """AUD-07, AUD-09"""
    with pytest.raises(
        AudioError, match="a WAV of 2 × 16 bits, codec 1, in a mono stream; send mono 16-bit PCM"
    ):
        Stream(16_000).feed(wav_bytes(bytes(800), channels=2))


def test_an_unknown_encoding_is_refused_before_the_call():
    """AUD-14"""
    with pytest.raises(AudioError, match="encoding 'audio/opus' is not known"):
        Stream(8_000, "audio/opus")
    with pytest.raises(AudioError, match="a sample rate of 0 Hz"):
        Downstream(0)


@pytest.mark.parametrize("source", [24_000, 16_000])
def test_high_sounds_do_not_fold_into_an_8_khz_leg(source):
    """AUD-12"""
    both = tone(1_000, 2, source, 6_000) + tone(5_000, 2, source, 6_000)
    leg = Downstream(8_000)
    heard = np.frombuffer(leg.feed(through(Stream(source), [both.tobytes()])) + leg.flush(), "<i2")
    spectrum = np.abs(np.fft.rfft(heard[4_000:12_000] * np.hanning(8_000)))
    assert heard.size == 16_000
    assert spectrum[1_000] == pytest.approx(6_000 * 2_000, rel=0.05)
    assert 20 * np.log10(spectrum[2_950:3_051].max() / spectrum[1_000]) < -60


@pytest.mark.parametrize("name", ["pcm16", "mulaw"])
def test_a_leg_out_in_pieces_is_the_leg_in_one(name):
    """AUD-12"""
    sound = np.random.default_rng(5).integers(-9_000, 9_000, 3_200).astype(np.int16)
    one, many = Downstream(8_000, name), Downstream(8_000, name)
    whole = one.feed(sound) + one.flush()
    assert b"".join(many.feed(frame) for frame in np.split(sound, 10)) + many.flush() == whole


def test_what_was_cut_off_is_not_heard_later():
    """AUD-12"""
    leg = Downstream(8_000)
    leg.feed(tone(440, 0.1))
    leg.reset()
    assert leg.pending_us == 0
    assert not any(leg.feed(np.zeros(3_200, np.int16)) + leg.flush())


def test_what_is_held_back_is_told():
    stream = Stream(8_000, "mulaw")
    given = sum(stream.feed(b"\xff" * 160).size for _ in range(10))
    assert stream.pending_us == 200_000 - audio.us(given)
    assert 0 < stream.pending_us <= 30_000
