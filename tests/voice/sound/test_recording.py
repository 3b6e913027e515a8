"""Whatever a call recorder writes is read as 16 kHz mono, or refused in one line."""

from __future__ import annotations

import contextlib
import io
import os
import struct

import numpy as np
import pytest
import soundfile
from hypothesis import given
from hypothesis import strategies as st
from riff import tone, wav_bytes

from turnbudget.voice.errors import AudioError
from turnbudget.voice.sound import audio
from turnbudget.voice.sound.encoding import called
from turnbudget.voice.sound.recording import misdeclared_rate, read, read_channels
from turnbudget.voice.time import clock


def quiet(seconds, rate=16_000):
    return np.zeros(round(seconds * rate), np.int16)


def peak_hz(sound):
    return int(np.abs(np.fft.rfft(sound * np.hanning(sound.size))).argmax() * 16_000 / sound.size)


def level(sound):
    """Peak, in dBFS."""
    return 20 * np.log10(np.abs(sound.astype(float)).max() / 32_768)


@pytest.fixture
def write(tmp_path):
    def write(data, name="call.wav"):
        path = tmp_path / name
        path.write_bytes(data)
        return path

    return write


@pytest.fixture
def encode(tmp_path):
    def encode(sound, rate, name, subtype):
        path = tmp_path / name
        soundfile.write(path, sound, rate, subtype=subtype)
        return path

    return encode


def test_sound_in_the_internal_form_is_read_bit_for_bit(write):
    sound = np.arange(-32_768, 32_768, 2).astype(np.int16)
    recording = read(write(wav_bytes(sound.tobytes())))
    assert (recording.samples == sound).all()
    assert recording.samples.dtype == np.int16
    assert (recording.source_rate, recording.source_channels, recording.channel) == (16_000, 1, 0)
    assert recording.encoding == "16-bit PCM"
    assert recording.notes == ()
    assert recording.us == 2_048_000


@pytest.mark.parametrize("size", [0xFFFF_FFFF, 0x7FFF_FFFF, 2_000_000_000, 0, 32_016])
def test_a_second_of_sound_lasts_a_second_whatever_its_header_says(write, size):
    """AUD-01, AUD-02, AUD-03 (a), AUD-19 (a)"""
    recording = read(write(wav_bytes(tone(440, 1).tobytes(), size=size)))
    assert recording.us == 1_000_000
    assert (recording.samples == tone(440, 1)).all()
    assert len(recording.notes) == 1


def test_header_remains_before_the_sound_make_no_click(write):
    """AUD-03 (b)"""
    remains = b"LISTxINFOISFTxxxxLavf58.26.101 text."
    recording = read(write(wav_bytes(remains + quiet(0.1).tobytes() + tone(440, 1).tobytes())))
    assert audio.first_audible(recording.samples) >= 1_600


def test_24_bit_full_scale_stays_full_scale(write):
    """AUD-05"""
    guid = bytes.fromhex("0100000000001000800000AA00389B71")
    form = struct.pack("<HHIIHHHHI", 0xFFFE, 1, 48_000, 144_000, 3, 24, 22, 24, 4) + guid
    wide = np.rint((2**23 - 1) * np.sin(2 * np.pi * 440 * np.arange(4_800) / 48_000)).astype("<i4")
    data = wide.view(np.uint8).reshape(-1, 4)[:, :3].tobytes()
    body = b"WAVE" + struct.pack("<4sI", b"fmt ", 40) + form + struct.pack("<4sI", b"data", len(data)) + data
    recording = read(write(struct.pack("<4sI", b"RIFF", len(body)) + body))
    assert recording.encoding == "24-bit PCM"
    assert recording.samples.size == 1_600
    assert level(recording.samples) == pytest.approx(0, abs=0.2)


def test_floats_are_sound_not_noise(write):
    """AUD-06"""
    sound = (0.25 * np.sin(2 * np.pi * 440 * np.arange(16_000) / 16_000)).astype("<f4")
    sound[5_000], sound[9_000] = 1.7, np.nan
    recording = read(write(wav_bytes(sound.tobytes(), codec=3, bits=32)))
    assert recording.samples[5_000] == 32_767
    assert recording.samples[9_000] == 0
    assert level(np.delete(recording.samples, 5_000)) == pytest.approx(-12, abs=0.1)
    assert peak_hz(recording.samples) == 440
    assert recording.notes == (
        "samples beyond full scale, clipped: 1",
        "samples that are no number, set to 0: 1",
    )


def test_floats_on_the_scale_of_integers_are_refused(write):
    """AUD-06: clipped to full scale they would be noise."""
    sound = tone(440, 1).astype("<f8")
    with pytest.raises(AudioError, match=r"beyond full scale.*divide by 32768"):
        read(write(wav_bytes(sound.tobytes(), codec=3, bits=64)))


def test_the_caller_is_read_alone(write):
    """AUD-07"""
    caller = np.concatenate((tone(300, 2, 8_000), quiet(2.5, 8_000)))
    agent = np.concatenate((quiet(1.5, 8_000), tone(1_000, 3, 8_000)))
    path = write(wav_bytes(np.stack((caller, agent), axis=1).tobytes(), channels=2, rate=8_000))
    recording = read(path)
    assert recording.us == 4_500_000
    assert peak_hz(recording.samples) == pytest.approx(300, abs=1)
    assert np.abs(recording.samples[33_000:]).max() <= 1
    assert recording.notes == ("2 channels, took 0",)
    assert (recording.source_rate, recording.source_channels, recording.channel) == (8_000, 2, 0)

    left, right = read_channels(path, least=2)
    assert (left.samples == recording.samples).all()
    assert (right.samples == read(path, channel=1).samples).all()
    assert (right.channel, right.notes) == (1, ())
    assert audio.first_audible(right.samples) == pytest.approx(24_000, abs=160)


def test_mono_where_two_channels_are_needed_is_refused(write):
    """AUD-07"""
    path = write(wav_bytes(tone(440, 1).tobytes()))
    with pytest.raises(AudioError, match=r"call\.wav: has 1 channel where 2 are needed; give a stereo"):
        read_channels(path, least=2)


@pytest.mark.parametrize("channel", [2, -1])
def test_a_channel_that_is_not_there_is_refused(write, channel):
    """AUD-07"""
    path = write(wav_bytes(tone(440, 1).tobytes(), channels=2))
    with pytest.raises(
        AudioError, match=f"has 2 channels, and channel {channel} was asked for; ask for 0 to 1"
    ):
        read(path, channel=channel)


@pytest.mark.parametrize("rate", [8_000, 11_025, 16_000, 22_050, 44_100, 48_000, 96_000])
def test_time_is_the_same_at_every_rate(write, rate):
    """AUD-08: sound from 1.0 s to 3.0 s of a file of 4.0 s."""
    sound = np.concatenate((quiet(1, rate), tone(440, 2, rate), quiet(1, rate)))
    samples = read(write(wav_bytes(sound.tobytes(), rate=rate))).samples
    assert samples.size == 64_000
    assert audio.first_audible(samples) == pytest.approx(16_000, abs=32)
    assert audio.first_audible(samples[::-1]) == pytest.approx(16_000, abs=32)
    assert peak_hz(samples[20_000:36_000]) == 440


def test_the_header_wins_over_a_rate_given(write):
    """AUD-08"""
    recording = read(write(wav_bytes(tone(440, 1).tobytes())), rate=8_000)
    assert recording.us == 1_000_000
    assert recording.notes == ("its header says 16000 Hz, which was taken, not the 8000 Hz given",)


def test_a_wrong_declared_rate_shows_against_a_length_known_from_elsewhere(write):
    """AUD-08"""
    recording = read(write(wav_bytes(tone(440, 4).tobytes(), rate=8_000)))
    assert recording.us == 8_000_000
    assert misdeclared_rate(recording, 4_000_000) == 16_000
    assert misdeclared_rate(recording, 4_010_000) == 16_000
    assert misdeclared_rate(recording, 8_000_000) is None
    assert misdeclared_rate(recording, 5_000_000) is None
    assert misdeclared_rate(recording, 0) is None


@pytest.mark.parametrize(("name", "law"), [("a.ul", "mulaw"), ("a.RAW", "mulaw"), ("a.pcma", "alaw")])
def test_raw_g711_needs_its_rate(write, name, law):
    """AUD-13"""
    path = write(called(law).encode(tone(440, 1, 8_000)), name)
    recording = read(path, rate=8_000)
    assert recording.us == 1_000_000
    assert peak_hz(recording.samples) == 440
    assert level(recording.samples) == pytest.approx(-12, abs=0.3)
    with pytest.raises(AudioError, match="does not say its sample rate; give it: --rate 8000"):
        read(path)


@pytest.mark.parametrize(("codec", "law", "name"), [(7, "mulaw", "mu-law"), (6, "alaw", "A-law")])
def test_g711_in_a_wav_is_read(write, codec, law, name):
    """AUD-13"""
    data = called(law).encode(tone(440, 1, 8_000))
    recording = read(write(wav_bytes(data, codec=codec, rate=8_000, bits=8)))
    assert (recording.encoding, recording.us) == (name, 1_000_000)
    assert level(recording.samples) == pytest.approx(-12, abs=0.3)


def test_a_law_read_as_mu_law_is_flagged(write):
    """AUD-14"""
    silence = called("alaw").encode(quiet(1, 8_000))
    assert read(write(silence, "a.alaw"), rate=8_000).notes == ()
    assert read(write(silence, "a.ulaw"), rate=8_000).notes == (
        "stands still at +716: a DC offset, or the wrong G.711 law",
    )


def test_a_constant_level_stays_what_it_is_and_is_flagged(write):
    """AUD-17"""
    offset = round(0.05 * 32_767)
    sound = np.full(80_000, offset, np.int16)
    sound[32_000:44_000] += tone(200, 1.5, 8_000)
    recording = read(write(wav_bytes(sound.tobytes(), rate=8_000)))
    edge = 100
    assert set(recording.samples[edge : 64_000 - edge].tolist()) <= {offset - 1, offset, offset + 1}
    assert "stands still at +1638" in recording.notes[0]


@pytest.mark.parametrize("rate", [8_000, 16_000, 44_100])
def test_clipped_speech_stays_clipped_and_never_wraps(write, rate):
    """AUD-17"""
    loud = np.clip(4.0 * tone(200, 1, rate, 32_767), -32_768, 32_767).astype(np.int16)
    samples = read(write(wav_bytes(loud.tobytes(), rate=rate))).samples
    steps = np.abs(np.diff(samples.astype(int)))
    assert steps.max() < 20_000
    assert samples.max() == 32_767


def test_a_frame_that_is_not_whole_is_dropped(write):
    """AUD-19 (b), (c)"""
    assert read(write(wav_bytes(tone(440, 1).tobytes()[:-1]))).samples.size == 15_999
    assert read(write(wav_bytes(bytes(10), channels=2, bits=24))).samples.size == 1


@pytest.mark.parametrize(
    ("data", "fault"), [(wav_bytes(b""), "no audio"), (wav_bytes(b"")[:20], "no fmt chunk")]
)
def test_a_file_without_samples_is_refused(write, data, fault):
    """AUD-19 (d), (e)"""
    path = write(data)
    with pytest.raises(AudioError) as caught:
        read(path)
    assert str(caught.value).startswith(f"{path}: {fault}")
    assert str(caught.value).endswith("; record it again")


def test_8_bit_sound_is_unsigned(write):
    """AUD-20"""
    sine = np.rint(0x80 + 0x40 * np.sin(2 * np.pi * 300 * np.arange(8_000) / 8_000)).astype(np.uint8)
    rest = np.full(8_000, 0x80, np.uint8)
    recording = read(write(wav_bytes(np.concatenate((rest, sine, rest)).tobytes(), rate=8_000, bits=8)))
    assert not recording.samples[:15_000].any()
    assert not recording.samples[33_000:].any()
    assert level(recording.samples) == pytest.approx(-6, abs=0.2)
    assert recording.notes == ()


@pytest.mark.parametrize(
    ("name", "subtype", "encoding"),
    [
        ("a.flac", "PCM_16", "16-bit PCM"),
        ("a.flac", "PCM_24", "24-bit PCM"),
        ("a.aiff", "PCM_16", "16-bit PCM"),
        ("a.aiff", "FLOAT", "32-bit float"),
        ("a.au", "ULAW", "mu-law"),
        ("a.caf", "ALAW", "A-law"),
        ("a.rf64", "PCM_16", "16-bit PCM"),
        ("a.wav", "PCM_32", "32-bit PCM"),
        ("a.wav", "DOUBLE", "64-bit float"),
        ("a.wav", "IMA_ADPCM", "IMA ADPCM"),
    ],
)
def test_other_files_are_read_as_well(encode, name, subtype, encoding):
    sound = np.stack([tone(440, 1, 8_000)] * 2, axis=1) / 32_768
    recording = read(encode(sound, 8_000, name, subtype), channel=1)
    assert recording.encoding == encoding
    assert recording.us == pytest.approx(1_000_000, rel=0.05)
    assert peak_hz(recording.samples[:16_000]) == 440
    assert level(recording.samples) == pytest.approx(-12, abs=0.5)


def test_big_endian_wav_is_read(tmp_path):
    path = tmp_path / "a.wav"
    soundfile.write(path, tone(440, 1), 16_000, subtype="PCM_16", endian="BIG")
    assert path.read_bytes()[:4] == b"RIFX"
    assert (read(path).samples == tone(440, 1)).all()


def test_what_cannot_be_read_is_refused_in_one_line(write, tmp_path):
    """AUD-19"""
    (tmp_path / "folder.wav").mkdir()
    os.mkfifo(tmp_path / "pipe.wav")
    cases = {
        write(
            b"hello, world\nI am text", "text.wav"
        ): r"is no audio that is read here: it begins with b'hello, world'; convert",
        write(b"", "empty.wav"): r"is empty \(0 bytes\); record it again",
        write(b"RIFF\4\0\0\0AVI ", "film.wav"): r"cannot be read \(.*\); convert it to WAV or FLAC",
        write(
            wav_bytes(b"\1" * 99, codec=0x55), "mp3.wav"
        ): r"cannot be read \(.*\); convert it to WAV or FLAC",
        write(b"fLaC" + b"\0" * 99, "bad.flac"): r"cannot be read \(.*\); convert it to WAV or FLAC",
        write(
            wav_bytes(b"\1" * 99, channels=0), "zero.wav"
        ): "the header declares 0 channels; record it again",
        write(
            wav_bytes(b"\1" * 99, rate=0), "still.wav"
        ): "a sample rate of 0 Hz is not one .*; give one from",
        write(b"\xff" * 99, "bare.ulaw"): "raw G.711 does not say its sample rate; give it",
        tmp_path / "folder.wav": "is a folder, not a recording; name a file in it",
        tmp_path / "pipe.wav": "is no regular file; name a recording",
        tmp_path / "none.wav": r"cannot be opened \(No such file or directory\); check the name",
    }
    for path, line in cases.items():
        with pytest.raises(AudioError, match=line) as caught:
            read(path)
        assert str(caught.value).startswith(f"{path}: ")
        assert "\n" not in str(caught.value)
    with pytest.raises(AudioError, match="cannot be opened"):
        read("nul\0.wav")


@pytest.mark.parametrize("rate", [0, -8_000, 3_999, 10_000_000])
def test_an_absurd_rate_for_a_raw_file_is_refused(write, rate):
    """AUD-08"""
    with pytest.raises(AudioError, match=f"a sample rate of {rate} Hz"):
        read(write(b"\xff" * 99, "a.ul"), rate=rate)


def small(name, subtype):
    written = io.BytesIO()
    sound = np.stack((tone(440, 0.01, 8_000), tone(700, 0.01, 8_000)), axis=1)
    soundfile.write(written, sound, 8_000, format=name, subtype=subtype)
    return written.getvalue()


SMALL = [small("WAV", "PCM_16"), small("WAVEX", "PCM_24"), small("FLAC", "PCM_16"), small("AIFF", "PCM_16")]


@pytest.mark.parametrize("blob", SMALL, ids=["wav", "wavex", "flac", "aiff"])
def test_a_file_cut_off_anywhere_is_read_or_refused(write, blob):
    """AUD-19"""
    for cut in range(len(blob)):
        with contextlib.suppress(AudioError):
            assert 0 < read(write(blob[:cut])).samples.size <= 160


@given(st.sampled_from(SMALL), st.data())
def test_a_damaged_file_is_read_or_refused(tmp_path_factory, blob, data):
    """AUD-19"""
    damaged = bytearray(blob)
    for _ in range(data.draw(st.integers(1, 6))):
        damaged[data.draw(st.integers(0, len(blob) - 1))] = data.draw(st.integers(0, 255))
    path = tmp_path_factory.getbasetemp() / "damaged.wav"
    path.write_bytes(damaged)
    with contextlib.suppress(AudioError):
        assert read(path).samples.dtype == np.int16


@pytest.mark.clock("wall")
async def test_a_recording_is_read_in_a_thread(write):
    path = write(wav_bytes(tone(440, 1).tobytes()))
    assert (await clock.offload(read, path)).us == 1_000_000


def test_a_recorded_call_is_read_without_a_note(recordings):
    for path in sorted((recordings / "harper-valley" / "audio").glob("*/*.wav")):
        recording = read(path)
        assert (recording.source_rate, recording.encoding, recording.notes) == (8_000, "16-bit PCM", ())
        assert recording.us == pytest.approx(soundfile.info(path).duration * 1e6, abs=63)
