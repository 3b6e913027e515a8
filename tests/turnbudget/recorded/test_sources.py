"""Whatever ``replay`` is given is found once, in order, and a fault is one line with a remedy."""

from __future__ import annotations

import os

import pytest
from calls import harper, pair, raw, stereo, vcon

from turnbudget.recorded.sources import find, listing, open_conversation
from turnbudget.recorded.tracks import Reading
from turnbudget.voice.errors import AudioError, UsageError
from turnbudget.voice.hearing.vad import Energy

READING = Reading(vad=Energy)


def names(found):
    return [path.name for path in found]


def test_a_folder_gives_its_recordings_in_the_order_of_their_names(tmp_path):
    stereo(tmp_path / "b.wav")
    stereo(tmp_path / "a.FLAC".lower())
    vcon(tmp_path / "c.vcon", tmp_path / "b.wav")
    (tmp_path / "notes.txt").write_text("no sound")
    assert names(find(tmp_path)) == ["a.flac", "b.wav", "c.vcon"]


def test_a_folder_gives_every_kind_that_is_read_and_names_sounds_that_are_not(tmp_path):
    stereo(tmp_path / "a.ogg")
    stereo(tmp_path / "b.aiff")
    stereo(tmp_path / "c.mp3")
    (tmp_path / "d.wma").write_bytes(b"0&\xb2u\x8ef\xcf\x11" + bytes(40))
    assert names(find(tmp_path)) == ["a.ogg", "b.aiff", "c.mp3", "d.wma"]
    assert open_conversation(tmp_path / "a.ogg", READING).name == "a"
    assert len(open_conversation(tmp_path / "c.mp3", READING).caller_speech) == 2
    with pytest.raises(AudioError, match=r"d\.wma: is no audio that is read here.*; convert it to WAV"):
        open_conversation(tmp_path / "d.wma", READING)


def test_a_pair_is_found_once_by_its_callers_file(tmp_path):
    pair(tmp_path, "x")
    assert names(find(tmp_path)) == ["x-caller.wav"]
    assert names(find(tmp_path / "x-agent.wav")) == ["x-caller.wav"]


def test_a_harper_valley_folder_gives_its_transcripts(tmp_path):
    assert names(find(harper(tmp_path, ("two", "one")))) == ["one.json", "two.json"]


def test_a_path_given_twice_is_replayed_once(tmp_path, monkeypatch):
    stereo(tmp_path / "a.wav")
    pair(tmp_path, "x")
    monkeypatch.chdir(tmp_path)
    sides = [tmp_path / "x-agent.wav", tmp_path / "x-caller.wav"]
    given = [tmp_path / "a.wav", (tmp_path / "a.wav").relative_to(tmp_path), *sides, tmp_path]
    assert names(listing(given)) == ["a.wav", "x-caller.wav"]


def test_a_fault_stands_where_it_came_up_and_the_rest_is_found(tmp_path):
    stereo(tmp_path / "a.wav")
    first, second, third = listing([tmp_path / "none", tmp_path / "a.wav", tmp_path / "none.wav"])
    assert isinstance(first, UsageError)
    assert second == tmp_path / "a.wav"
    assert str(third) == f"{tmp_path / 'none.wav'}: there is no such file or folder; check the name"


def test_a_folder_with_nothing_to_replay_is_a_fault(tmp_path):
    (tmp_path / "notes.txt").write_text("no sound")
    with pytest.raises(UsageError, match="nothing to replay in it; give stereo recordings"):
        find(tmp_path)


def test_a_folder_that_may_not_be_read_is_a_fault(tmp_path, monkeypatch):
    def refuse(_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("pathlib.Path.iterdir", refuse)
    with pytest.raises(UsageError, match=r"cannot be read \(Permission denied\); check its rights"):
        find(tmp_path)


@pytest.mark.parametrize("name", ["x" * 5_000, "a\0b"])
def test_a_name_no_file_can_have_is_a_fault(tmp_path, name):
    with pytest.raises(UsageError):
        find(tmp_path / name)


def test_a_pipe_is_a_fault_and_nobody_waits_for_it(tmp_path):
    os.mkfifo(tmp_path / "pipe.wav")
    (path,) = find(tmp_path / "pipe.wav")
    with pytest.raises(AudioError, match="no regular file"):
        open_conversation(path, READING)


def test_a_pair_is_named_by_what_its_sides_share(tmp_path):
    assert open_conversation(pair(tmp_path, "monday_"), READING).name == "monday"


def test_a_pair_of_bare_sides_is_named_after_its_folder(tmp_path, monkeypatch):
    pair(tmp_path, "x")
    for who in ("caller", "agent"):
        (tmp_path / f"x-{who}.wav").rename(tmp_path / f"{who}.wav")
    monkeypatch.chdir(tmp_path)
    assert open_conversation(find(tmp_path)[0].relative_to(tmp_path), READING).name == tmp_path.name


def test_the_agents_side_alone_is_a_fault_that_names_the_other(tmp_path):
    pair(tmp_path, "x")
    (tmp_path / "x-caller.wav").unlink()
    with pytest.raises(AudioError, match=r"the caller's, x-caller.wav, is not there; give both sides"):
        open_conversation(tmp_path / "x-agent.wav", READING)


def test_the_callers_side_alone_is_a_recording_without_an_agent(tmp_path):
    pair(tmp_path, "x")
    (tmp_path / "x-agent.wav").unlink()
    assert open_conversation(tmp_path / "x-caller.wav", READING).one_sided


def test_a_stereo_recording_that_is_called_agent_is_a_stereo_recording(tmp_path):
    stereo(tmp_path / "with-an-agent.wav")
    call = open_conversation(tmp_path / "with-an-agent.wav", READING)
    assert call.name == "with-an-agent"
    assert len(call.caller_speech) == 2


def test_raw_mu_law_is_a_pair_of_a_stated_rate(tmp_path):
    path = raw(tmp_path)
    with pytest.raises(AudioError, match="does not say its sample rate; give it: --rate 8000"):
        open_conversation(path, READING)
    call = open_conversation(path, Reading(vad=Energy, rate=8_000))
    assert [len(side) for side in (call.caller_speech, call.agent_speech)] == [2, 2]


def test_a_transcript_may_be_given_by_itself(tmp_path, monkeypatch):
    harper(tmp_path, ("one", "two"))
    monkeypatch.chdir(tmp_path / "transcript")
    (path,) = find((tmp_path / "transcript" / "two.json").relative_to(tmp_path / "transcript"))
    assert open_conversation(path, READING).name == "two"


@pytest.mark.parametrize("content", [b"", b"RIFF", b"\0" * 2_000, b"<html>no sound</html>"])
def test_a_file_that_is_no_audio_is_a_fault_with_its_name(tmp_path, content):
    """AUD-19."""
    (tmp_path / "bad.wav").write_bytes(content)
    with pytest.raises(AudioError) as caught:
        open_conversation(tmp_path / "bad.wav", READING)
    assert str(caught.value).startswith(f"{tmp_path / 'bad.wav'}: ")
    assert "\n" not in str(caught.value)
    assert caught.value.remedy
