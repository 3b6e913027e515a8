"""Calls of the HarperValley corpus: both sides on one clock, every word in its place, every slip told."""

from __future__ import annotations

import json
from functools import partial

import numpy as np
import pytest
from calls import TALK, Line, harper, transcript

from turnbudget.recorded.harper import open_call
from turnbudget.voice.errors import AudioError, UsageError

OPENED = 1_000


def opened(folder, change=None, **how):
    """The call of a folder whose transcript has been changed by *change*."""
    path = harper(folder, **how) / "transcript" / "one.json"
    if change:
        lines = json.loads(path.read_text())
        path.write_text(json.dumps(change(lines)))
    return open_call(path)


def test_every_word_stands_where_it_was_spoken(tmp_path):
    call = opened(tmp_path)
    first, second = call.caller_speech
    assert [word.text for word in first.words] == ["i", "lost", "my", "card"]
    assert [word.began_us for word in first.words] == [2_600_000, 2_850_000, 3_100_000, 3_350_000]
    assert (first.began_us, first.ended_us) == (2_600_000, 3_570_000)
    assert second.words[-1].ended_us == 7_120_000
    assert call.has_words


def first_sound_us(call):
    """Where the caller's channel first rises out of its noise."""
    return int(np.argmax(np.abs(call.caller) > 600)) * 125 // 2


@pytest.mark.parametrize("late_ms", [0, 1_990])
def test_a_file_that_begins_late_is_moved_onto_the_calls_clock(tmp_path, late_ms):
    call = opened(tmp_path, late_ms=late_ms)
    assert abs(first_sound_us(call) - 2_600_000) < OPENED
    assert call.caller_speech[0].began_us == 2_600_000


def test_a_file_that_begins_before_the_call_is_cut(tmp_path):
    def early(lines):
        return [
            {**line, "start_ms": line["start_ms"] + 400, "offset_ms": line["offset_ms"]} for line in lines
        ]

    late = [Line(line.who, line.text, line.at_ms + 400) for line in TALK]
    path = harper(tmp_path, talk=late) / "transcript" / "one.json"
    path.write_text(json.dumps(early(transcript())))
    call = open_call(path)
    assert abs(first_sound_us(call) - 2_600_000) < OPENED
    assert call.caller_speech[0].began_us == 2_600_000


def say(text, lines):
    """Have the caller's first segment read *text*, its four times left."""
    return [{**line, "human_transcript": text} if line["start_ms"] == 2_600 else line for line in lines]


def test_markers_are_no_words_and_their_times_are_nobodys(tmp_path):
    words = opened(tmp_path, partial(say, "i lost [noise] card")).caller_speech[0].words
    assert [word.text for word in words] == ["i", "lost", "card"]
    assert words[2].began_us == 3_350_000


def test_markers_that_were_not_timed_take_no_word_its_time(tmp_path):
    words = opened(tmp_path, partial(say, "[noise] i lost my card <unk>")).caller_speech[0].words
    assert [(word.text, word.began_us) for word in words][0::3] == [("i", 2_600_000), ("card", 3_350_000)]


@pytest.mark.parametrize("text", ["i have lost my debit card", "i lost it", "lost"])
def test_words_that_were_not_timed_one_by_one_share_the_times_there_are(tmp_path, text):
    """The corpus times the words that a recogniser heard; none of a person's is left out."""
    (segment, _) = opened(tmp_path, partial(say, text)).caller_speech
    assert " ".join(word.text for word in segment.words) == text
    assert (segment.words[0].began_us, segment.words[-1].ended_us) == (2_600_000, 3_570_000)
    assert all(word.began_us < word.ended_us for word in segment.words)
    assert all(
        one.ended_us <= other.ended_us for one, other in zip(segment.words, segment.words[1:], strict=False)
    )


def test_a_segment_without_any_times_lasts_as_long_as_it_says(tmp_path):
    def untimed(lines):
        return [{**line, "word_offsets_ms": [], "word_durations_ms": []} for line in lines]

    segment = opened(tmp_path, untimed).caller_speech[0]
    assert (segment.words[0].began_us, segment.words[-1].ended_us) == (2_600_000, 3_570_000)


def test_half_a_character_costs_one_letter_and_not_the_call(tmp_path):
    words = opened(tmp_path, partial(say, "i lost my ca\ud83drd")).caller_speech[0].words
    assert words[-1].text == "ca\ufffdrd"


def test_segments_of_markers_alone_are_no_speech(tmp_path):
    assert len(opened(tmp_path, partial(say, "[noise] <unk>")).caller_speech) == 1


FAULTS = {
    "no JSON": "is no HarperValley transcript",
    '{"a": 1}': "is no HarperValley transcript",
    "[3, null]": "is no HarperValley transcript",
    "[]": "the caller says nothing in it; leave it out",
    "[" * 100_000: "is no HarperValley transcript",
    json.dumps([{**transcript()[1], "offset_ms": "soon"}]): r"Expected `int`.*offset_ms",
    json.dumps([{**transcript()[1], "offset_ms": 2.5}]): r"offset_ms",
    json.dumps([{**transcript()[1], "offset_ms": 10**15}]): r"offset_ms",
    json.dumps([{**transcript()[1], "word_offsets_ms": [1]}]): "is no HarperValley transcript",
    json.dumps([{**transcript()[1], "offset_ms": 9_000_000}]): "begins 8997 s after the call; mend start_ms",
}


@pytest.mark.parametrize(("content", "fault"), FAULTS.items(), ids=range(len(FAULTS)))
def test_a_transcript_that_is_none_is_a_fault_with_its_name(tmp_path, content, fault):
    path = harper(tmp_path) / "transcript" / "one.json"
    path.write_text(content)
    with pytest.raises(UsageError, match=fault) as caught:
        open_call(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert caught.value.remedy


def test_a_call_whose_sound_is_missing_is_a_fault(tmp_path):
    folder = harper(tmp_path)
    (folder / "audio" / "caller" / "one.wav").unlink()
    with pytest.raises(AudioError, match=r"caller/one\.wav: cannot be opened"):
        open_call(folder / "transcript" / "one.json")


def test_sound_that_ends_before_its_words_is_a_fault(tmp_path):
    """AUD-08: 8 kHz samples under a header that says 16 kHz last half as long as the call."""
    with pytest.raises(
        UsageError, match=r"speaks until 7.1 s, and there are 4.0 s of sound at 16000 Hz; give"
    ):
        opened(tmp_path, rate=16_000)


def test_sound_that_lasts_twice_as_long_as_its_words_is_doubted(tmp_path):
    """AUD-08: the other way round, which may also be a caller who stayed on the line."""
    (note,) = opened(tmp_path, seconds=14.24).notes
    assert note == "14.2 s of sound at 8000 Hz, and the last word ends at 7.1 s: is its true rate 16000 Hz?"
