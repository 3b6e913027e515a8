"""A vCon's recording is taken from inside it or from beside it, and faults name the vCon."""

from __future__ import annotations

import base64
import hashlib
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


def roles(path, *names, order=(0, 1), **more):
    """Add parties in these roles to the vCon at *path*, its channels theirs in this *order*."""
    whole = json.loads(path.read_text())
    whole["parties"] = [{"role": name} if name else {} for name in names]
    for dialog in whole["dialog"]:
        if dialog and dialog["type"] == "recording":
            dialog.update(parties=list(order), **more)
    path.write_text(json.dumps(whole))
    return path


@pytest.mark.parametrize(
    ("names", "order"),
    [
        (("agent", "customer"), (0, 1)),
        (("customer", "agent"), (1, 0)),
        (("Bot", ""), (0, 1)),
        (("", "caller"), (0, 1)),
    ],
)
def test_roles_say_which_channel_is_the_callers(tmp_path, names, order):
    swapped = stereo(tmp_path / "swapped.wav", swapped=True)
    call = open_vcon(roles(vcon(tmp_path / "monday.vcon", swapped), *names, order=order), READING)
    assert call.caller_speech[0].began_us > 2_000_000, "the agent greets first"


@pytest.mark.parametrize("names", [("customer", "agent"), ("", ""), ("customer", "customer"), ()])
def test_without_a_role_that_tells_the_caller_is_on_the_left(tmp_path, sound, names):
    call = open_vcon(roles(vcon(tmp_path / "monday.vcon", sound), *names), READING)
    assert call.caller_speech[0].began_us > 2_000_000


def test_the_command_line_knows_better_than_a_role(tmp_path, sound):
    path = roles(vcon(tmp_path / "monday.vcon", sound), "agent", "customer")
    assert open_vcon(path, Reading(caller=0, vad=Energy)).caller_speech[0].began_us > 2_000_000


def test_a_null_among_the_dialogs_does_not_refuse_the_file(tmp_path, sound):
    path = vcon(tmp_path / "monday.vcon", sound)
    whole = json.loads(path.read_text())
    path.write_text(json.dumps(whole | {"dialog": [None, 3, *whole["dialog"]]}))
    assert len(open_vcon(path, READING).caller_speech) == 2


@pytest.mark.parametrize(
    ("whole", "fault"),
    [
        ({"payload": "e30", "signatures": [{"signature": "x"}]}, r"is signed \(a JWS\)"),
        ({"ciphertext": "x", "recipients": [], "iv": "x", "tag": "x"}, r"is encrypted \(a JWE\)"),
        ([1], "is no vCon"),
    ],
)
def test_what_is_signed_or_encrypted_is_named_for_what_it_is(tmp_path, whole, fault):
    path = tmp_path / "monday.vcon"
    path.write_text(json.dumps(whole))
    with pytest.raises(UsageError, match=fault):
        open_vcon(path, READING)


@pytest.mark.parametrize("inside", [True, False])
def test_a_recording_that_is_not_the_one_of_the_hash_is_a_fault(tmp_path, sound, inside):
    how = {} if inside else {"filename": "sound.wav"}
    path = vcon(tmp_path / "monday.vcon", sound if inside else None, **how)
    right = base64.urlsafe_b64encode(hashlib.sha512(sound.read_bytes()).digest()).decode().rstrip("=")
    open_vcon(roles(path, content_hash=f"sha512-{right}"), READING)
    with pytest.raises(UsageError, match="content_hash differs"):
        open_vcon(roles(path, content_hash=f"sha512-{right[::-1]}"), READING)
