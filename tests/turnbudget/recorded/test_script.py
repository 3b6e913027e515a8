"""A script's events come after the turns they name, and one that cannot come is refused."""

from __future__ import annotations

import pytest
import soundfile
from calls import TALK, track

from turnbudget.recorded.conversation import Conversation, Segment
from turnbudget.recorded.script import Event, clips_of, load
from turnbudget.voice.errors import AudioError, ConfigError
from turnbudget.voice.sound import audio

MS = 1_000


def talk(turns=3):
    """A call of so many turns, a second each, the agent between them; the caller pauses 400 ms."""
    caller = [Segment(n * 4_000 * MS, n * 4_000 * MS + 1_000 * MS) for n in range(turns)]
    agent = [Segment(each.ended_us + 500 * MS, each.ended_us + 2_600 * MS) for each in caller]
    sound = audio.silence(audio.samples(4_000 * MS * turns))
    return Conversation(
        name="x",
        source="x.wav",
        caller=sound,
        caller_speech=tuple(caller),
        agent_speech=tuple(agent),
        has_words=False,
    )


def clips(*events, turns=3, pacing="script"):
    return clips_of(talk(turns), pacing, events)


def spoken(found):
    """What is played: 'turn' for a clip of the recording, else what it is."""
    return ["hang-up" if clip.hangs_up else "turn" if clip.turns else "nothing" for clip in found]


def test_a_barge_in_without_sound_is_the_next_turn_into_our_reply():
    found = clips(Event(after_turn=1, do="barge-in", after_ms=600))
    assert [(clip.when, clip.pause_us) for clip in found[:2]] == [("settled", 0), ("sounding", 600 * MS)]
    assert spoken(found) == ["turn"] * 3


def test_a_barge_in_with_sound_comes_between_two_turns(tmp_path):
    soundfile.write(tmp_path / "stop.wav", track("caller", TALK, 1.0), 8_000)
    event = Event(after_turn=2, do="barge-in", after_ms=300, audio=str(tmp_path / "stop.wav"), text="no stop")
    found = clips(event)
    assert len(found) == 4
    assert (found[2].when, found[2].pause_us, found[2].turns) == ("sounding", 300 * MS, ((0, 1_000 * MS),))
    assert [(word.text, word.began_us, word.ended_us) for word in found[2].words] == [
        ("no", 0, 500 * MS),
        ("stop", 500 * MS, 1_000 * MS),
    ]


def test_a_silence_is_so_much_longer_than_the_persons_own_pause():
    found = clips(Event(after_turn=1, do="silence", after_ms=9_000))
    assert spoken(found) == ["turn", "nothing", "turn", "turn"]
    assert (found[1].when, found[1].pause_us) == ("settled", 0)
    assert (found[2].when, found[2].pause_us) == ("at once", 9_400 * MS)


def test_a_silence_may_be_the_last_of_a_call():
    found = clips(Event(after_turn=3, do="silence", after_ms=9_000))
    assert spoken(found[3:]) == ["nothing", "nothing"]
    assert found[-1].pause_us == 9_000 * MS


def test_a_hang_up_is_the_end_of_the_call():
    found = clips(Event(after_turn=2, do="hang-up", after_ms=700))
    assert spoken(found) == ["turn", "turn", "hang-up"]
    assert (found[-1].when, found[-1].pause_us) == ("sounding", 700 * MS)


def test_events_count_the_turns_of_the_recording_not_one_another():
    found = clips(
        Event(after_turn=1, do="silence", after_ms=1_000),
        Event(after_turn=2, do="barge-in"),
        Event(after_turn=3, do="hang-up"),
    )
    assert spoken(found) == ["turn", "nothing", "turn", "turn", "hang-up"]
    assert [clip.when for clip in found[2:]] == ["at once", "sounding", "sounding"]


def test_other_pacings_know_no_events():
    assert spoken(clips(Event(after_turn=9, do="hang-up"), pacing="gated")) == ["turn"] * 3


@pytest.mark.parametrize("turn", [4, 99])
def test_an_event_after_a_turn_that_there_is_not_is_refused(turn):
    with pytest.raises(ConfigError) as caught:
        clips(Event(after_turn=turn, do="hang-up"))
    assert str(caught.value) == (
        f"x.wav: the script has an event after turn {turn}, and the caller 3 turns; mend after_turn"
    )


def test_a_barge_in_after_the_last_turn_needs_a_sound():
    with pytest.raises(ConfigError, match="no next turn to say; name its audio"):
        clips(Event(after_turn=3, do="barge-in"))


def test_a_sound_that_is_missing_is_named():
    with pytest.raises(AudioError, match=r"none\.wav: cannot be opened"):
        clips(Event(after_turn=1, do="barge-in", audio="none.wav"))


def test_a_file_gives_its_events_in_the_order_of_their_turns(tmp_path):
    (tmp_path / "s.toml").write_text(
        """
        [[event]]
        after_turn = 2
        do = "hang-up"
        [[event]]
        after_turn = 1
        do = "barge-in"
        after_ms = 600
        audio = "stop.wav"
        """
    )
    first, second = load(tmp_path / "s.toml")
    assert (first.after_turn, second.do) == (1, "hang-up")
    assert first.audio == str(tmp_path / "stop.wav")  # beside the script, not beside whoever runs it


FAULTS = {
    "": "missing required field `event`",
    "[[event]": "Invalid|invalid|Expected",
    '[[event]]\nafter_turn = 0\ndo = "silence"': r"after_turn",
    '[[event]]\nafter_turn = 1\ndo = "sing"': r"sing",
    '[[event]]\nafter_turn = 1\ndo = "silence"\nafter_ms = -1': r"after_ms",
    '[[event]]\nafter_turn = 1\ndo = "silence"\naudio = "a.wav"': "a silence has no audio",
    '[[event]]\nafter_turn = 1\ndo = "barge-in"\ntext = "no"': "and there is none",
}


@pytest.mark.parametrize(("content", "fault"), FAULTS.items(), ids=range(len(FAULTS)))
def test_a_script_that_means_nothing_is_refused_with_its_name(tmp_path, content, fault):
    (tmp_path / "s.toml").write_text(content)
    with pytest.raises(ConfigError, match=fault) as caught:
        load(tmp_path / "s.toml")
    assert str(caught.value).startswith(f"{tmp_path / 's.toml'}: ")


def test_a_script_that_is_not_there_is_named(tmp_path):
    with pytest.raises(ConfigError, match=r"none\.toml: cannot be read \(No such file"):
        load(tmp_path / "none.toml")
