"""A vCon's recording is taken from inside it or from beside it, and faults name the vCon."""

from __future__ import annotations

import json

import pytest
from calls import stereo, vcon

from turnbudget.recorded.tracks import Reading
from turnbudget.recorded.vcon import open_vcon
from turnbudget.voice.errors import AudioError, UsageError
from turnbudget.voice.hearing.vad import Energy

READING = Reading(vad=Energy)


@pytest.fixture
def sound(tmp_path):
    return stereo(tmp_path / "sound.wav")


def test_a_recording_inside_is_read(tmp_path, sound):
    path = vcon(tmp_path / "monday.vcon", sound)
    sound.unlink()
    call = open_vcon(path, READING)
    assert (call.name, call.source) == ("monday", str(path))
    assert len(call.caller_speech) == 2


@pytest.mark.parametrize(
    "named",
    [
        {"filename": "sound.wav"},
        {"url": "https://example.org/calls/sound.wav?token=1#t"},
        {"url": "https://example.org/calls/../../etc/sound.wav"},
        {"filename": "/etc/sound.wav"},
    ],
)
def test_a_recording_beside_is_read_and_none_from_elsewhere(tmp_path, sound, named):
    assert sound.exists()
    assert len(open_vcon(vcon(tmp_path / "monday.vcon", **named), READING).caller_speech) == 2


def test_a_name_with_escapes_is_read_as_it_is_meant(tmp_path, sound):
    sound.rename(tmp_path / "my call.wav")
    call = open_vcon(vcon(tmp_path / "monday.vcon", url="https://example.org/my%20call.wav"), READING)
    assert call.name == "monday"


@pytest.mark.parametrize(
    "named",
    [{}, {"filename": ".."}, {"filename": "a\0.wav"}, {"filename": "monday.vcon"}, {"url": "http://[x"}],
)
def test_a_recording_that_is_nowhere_is_a_fault(tmp_path, named):
    with pytest.raises(UsageError, match=r"monday.vcon: .*neither inside nor beside"):
        open_vcon(vcon(tmp_path / "monday.vcon", **named), READING)


def test_a_recording_that_is_no_audio_is_a_fault_of_the_vcon(tmp_path):
    (tmp_path / "sound.wav").write_bytes(b"no sound")
    with pytest.raises(AudioError) as caught:
        open_vcon(vcon(tmp_path / "monday.vcon", tmp_path / "sound.wav", filename="x.w\0av"), READING)
    assert str(caught.value).startswith(f"{tmp_path / 'monday.vcon'}: is no audio that is read here")


@pytest.mark.parametrize("body", [7, {"a": 1}, "é", "a"])
def test_a_body_that_is_not_base64url_is_a_fault(tmp_path, body):
    with pytest.raises(UsageError, match="not base64url"):
        open_vcon(vcon(tmp_path / "monday.vcon", body=body), READING)


@pytest.mark.parametrize(
    "content", ["", "[]", "3", '{"dialog": 3}', '{"dialog": [3]}', '{"dialog": []}', "\ud800"]
)
def test_a_vcon_without_a_recording_is_a_fault(tmp_path, content):
    (tmp_path / "a.vcon").write_bytes(content.encode("utf-8", "surrogatepass"))
    with pytest.raises(
        UsageError, match="is no vCon with a recording in it; its dialog needs type recording"
    ):
        open_vcon(tmp_path / "a.vcon", READING)


def test_of_several_recordings_the_first_is_taken_and_that_is_said(tmp_path, sound):
    path = vcon(tmp_path / "a.vcon", sound)
    content = json.loads(path.read_text())
    content["dialog"] *= 2
    path.write_text(json.dumps(content))
    assert open_vcon(path, READING).notes[-1] == "2 recordings, took the first"
