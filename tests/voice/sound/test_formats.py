"""What recorders give is read: MP3 and W64 by libsndfile, AAC, M4A and WebM by PyAV where it is."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
import soundfile

from turnbudget.voice.errors import AudioError
from turnbudget.voice.sound import compressed, recording
from turnbudget.voice.sound.recording import read_channels

RATE = 16_000
TONES = (400, 900)


def sides(seconds=2.0):
    """A tone a side, each its own pitch, so that swapped or mixed sides would show."""
    at = np.arange(round(seconds * RATE)) / RATE
    return np.column_stack([np.rint(8_000 * np.sin(2 * np.pi * hz * at)) for hz in TONES]).astype(np.int16)


def pitch(samples):
    middle = samples[samples.size // 4 :][: RATE // 2].astype(float)
    strength = np.abs(np.fft.rfft(middle * np.hanning(middle.size)))
    return round(np.argmax(strength) * RATE / middle.size)


def heard(path):
    return [pitch(side.samples) for side in read_channels(path)]


@pytest.mark.parametrize(("name", "kind"), [("a.mp3", "MP3"), ("b.w64", "W64"), ("c.MP3", "MP3")])
def test_mp3_and_w64_are_read(tmp_path, name, kind):
    soundfile.write(tmp_path / name, sides(), RATE, format=kind)
    assert heard(tmp_path / name) == list(TONES)


@pytest.mark.parametrize(
    ("name", "container", "codec", "rate"),
    [("a.m4a", "mp4", "aac", RATE), ("b.aac", "adts", "aac", RATE), ("c.webm", "webm", "libopus", 48_000)],
)
def test_what_telephones_and_meetings_record_is_read(tmp_path, name, container, codec, rate):
    av = pytest.importorskip("av", reason="PyAV is not installed: pip install 'turnbudget[av]'")
    with av.open(str(tmp_path / name), "w", format=container) as file:
        stream = file.add_stream(codec, rate=rate, layout="stereo")
        frame = av.AudioFrame.from_ndarray(sides().reshape(1, -1), format="s16", layout="stereo")
        frame.sample_rate = RATE
        size = stream.codec_context.frame_size or 1_024
        form = stream.codec_context.format
        to = av.AudioResampler(format=form, layout="stereo", rate=rate, frame_size=size)
        for piece in [*to.resample(frame), *to.resample(None), None]:
            for packet in stream.encode(piece):
                file.mux(packet)
    assert heard(tmp_path / name) == list(TONES)
    whole = (tmp_path / name).read_bytes()
    (tmp_path / f"broken-{name}").write_bytes(whole[:40])
    with pytest.raises(AudioError):
        read_channels(tmp_path / f"broken-{name}")


def test_without_pyav_one_line_says_what_to_type(tmp_path, monkeypatch):
    monkeypatch.setattr(compressed, "find_spec", lambda _: None)
    (tmp_path / "a.m4a").write_bytes(b"\0\0\0\x20ftypM4A " + bytes(40))
    with pytest.raises(AudioError, match=r"a\.m4a: needs PyAV to be read; pip install 'turnbudget\[av\]'"):
        read_channels(tmp_path / "a.m4a")


def test_a_file_that_unpacks_to_more_than_a_call_is_refused(tmp_path, monkeypatch):
    """Hours of silence are a few kilobytes of FLAC."""
    assert recording.LONGEST_S == 4 * 60 * 60
    monkeypatch.setattr(recording, "LONGEST_S", 600)
    soundfile.write(tmp_path / "a.flac", np.zeros(601 * 8_000, np.int16), 8_000)
    with pytest.raises(AudioError, match=r"a\.flac: lasts more than 10 minutes; cut it into its calls"):
        read_channels(tmp_path / "a.flac")


def test_a_long_recording_is_never_held_twice(tmp_path):
    """An hour of stereo mu-law took 1.3 GB, of which 230 MB are its sound."""
    soundfile.write(tmp_path / "a.wav", np.zeros((600 * 8_000, 2), np.int16), 8_000, subtype="ULAW")
    tracemalloc.start()
    try:
        channels = read_channels(tmp_path / "a.wav")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    held = sum(side.samples.nbytes for side in channels)
    file = (tmp_path / "a.wav").stat().st_size
    assert held == 2 * 600 * RATE * 2
    assert peak < 1.25 * held + file + 10_000_000
