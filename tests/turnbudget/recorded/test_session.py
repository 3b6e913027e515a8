"""A replayed call to the microsecond: when the caller speaks again, what counts as what, what is written."""

from __future__ import annotations

import json

import msgspec
import numpy as np
import pytest
import soundfile
from calls import QUICK, STEP_MS, TALK, WORD_MS, Line, harper, replay, track

from turnbudget.recorded.script import Event, load
from turnbudget.settings.config import EndpointTable, OtherwiseTable, ResponderTable, VadTable

MS = 1_000
WORDY = msgspec.structs.replace(
    QUICK, responder=ResponderTable(otherwise=OtherwiseTable(say="Sure, I can do that for you right away."))
)
"""Whose replies are long enough to be spoken into."""
FRAME = 20 * MS


@pytest.fixture
def run(tmp_path):
    """Replay a call of the lines given, in virtual time, and return its run."""

    def go(talk=TALK, seconds=9.0, **how):
        run = replay(harper(tmp_path / "in", talk=talk, seconds=seconds), tmp_path / "run", **how)
        assert run.summary.faults == ()
        return run

    return go


def turns(run):
    return [row for row in run.rows if row.kind == "turn"]


def sounds(path, side):
    """Where a track is loud, as (began, ended) in µs; dips under 50 ms apart from none."""
    sound, rate = soundfile.read(path, dtype="int16")
    loud = np.flatnonzero(np.abs(sound[:, side].astype(int)) > 600)
    parts = np.split(loud, np.flatnonzero(np.diff(loud) > rate // 20) + 1)
    return [(int(part[0]) * 125 // 2, int(part[-1]) * 125 // 2) for part in parts if part.size]


def test_every_turn_of_the_reference_has_a_row(run):
    rows = turns(run())
    assert [row.reference for row in rows] == ["i lost my card", "thank you bye"]
    assert [row.heard for row in rows] == ["i lost my card", "thank you bye"]
    assert [row.outcome for row in rows] == ["answered", "answered"]
    assert {row.speech_ended_by for row in rows} == {"reference"}


def test_the_greeting_has_a_row_of_its_own_kind_and_no_part_in_the_headline(run):
    made = run()
    assert [row.kind for row in made.rows] == ["greeting", "turn", "turn"]
    assert made.summary.in_time.of == 2


def test_the_recording_that_is_written_is_what_the_rows_say(run, tmp_path):
    rows = run().rows
    caller, agent = (sounds(tmp_path / "run" / "one.wav", side) for side in (0, 1))
    began = [start for start, _ in agent]
    for row in rows:
        assert min(abs(row.speech_ended_call_us + row.first_sound_us - at) for at in began) < 1 * MS
    ended = [end for _, end in caller]
    for row in rows[1:]:
        assert min(abs(row.speech_ended_call_us - at) for at in ended) < 5 * MS


def test_gated_the_caller_speaks_after_our_answer_and_the_pause_the_person_made(run, tmp_path):
    """The recorded pauses are 880 ms after the greeting and 430 ms after the answer."""
    first, second = turns(run())
    agent = sounds(tmp_path / "run" / "one.wav", 1)
    for row, pause in ((first, 880 * MS), (second, 430 * MS)):
        quiet = max(end for _, end in agent if end < row.speech_ended_call_us)
        begins = row.speech_ended_call_us - (len(row.reference.split()) - 1) * STEP_MS * MS - WORD_MS * MS
        # Our last frame is filled up to 20 ms, and the caller begins with a frame.
        assert pause <= begins - quiet <= pause + 3 * FRAME


PAUSING = (TALK[0], Line("caller", "my number is", 2_600), Line("caller", "four two", 4_100), TALK[2])
"""The caller pauses 780 ms inside a turn, longer than the silence that ends one."""


def test_a_pause_inside_a_turn_stays_as_recorded_and_a_reply_begun_in_it_is_a_false_cut(run):
    made = run(PAUSING, seconds=6.0, config=WORDY)
    first, second = turns(made)
    gap = second.speech_ended_call_us - first.speech_ended_call_us
    assert gap == (PAUSING[2].ended_ms - PAUSING[1].ended_ms) * MS
    assert (first.outcome, first.false_cut) == ("cut", True)
    assert (second.outcome, second.false_cut) == ("answered", False)
    assert made.summary.false_cuts.count == 1


def test_a_silence_long_enough_for_the_pause_makes_it_one_turn(run):
    patient = msgspec.structs.replace(QUICK, budget_ms=1_000, endpoint=EndpointTable(silence_ms=790))
    (row,) = turns(run(PAUSING, seconds=6.0, config=patient))
    assert row.heard == "my number is four two"


def test_a_murmur_over_our_reply_has_no_row_and_its_words_are_not_the_next_rows(run):
    """What needs no answer was heard all the same: no turn that we owed, no word that was missed."""
    talk = (
        Line("caller", "i lost my card", 1_500),
        Line("agent", "yes", 2_900),
        Line("caller", "okay", 3_400),
        Line("caller", "thank you bye", 7_000),
    )
    made = run(talk, seconds=9.0, config=WORDY, pacing="timeline")
    assert [(row.reference, row.heard, row.outcome) for row in turns(made)] == [
        ("i lost my card", "i lost my card", "answered"),
        ("thank you bye", "thank you bye", "answered"),
    ]
    assert (made.summary.wer.rate, made.summary.wer.words) == (0, 8)


def test_timeline_plays_the_call_as_it_was_and_shows_the_talk_over(run, tmp_path):
    """We answer "wait" at 3.4 s; the caller was recorded to speak at 3.5 s, whatever we do."""
    talk = (
        Line("caller", "wait", 2_600),
        Line("agent", "yes", 2_900),
        Line("caller", "i lost my card", 3_500),
    )
    first, second = turns(run(talk, seconds=6.0, pacing="timeline"))
    assert [row.speech_ended_call_us for row in (first, second)] == [line.ended_ms * MS for line in talk[::2]]
    assert first.outcome == "cut"
    assert not first.false_cut  # the turn was over; it is the next one that comes into our words
    caller, agent = (sounds(tmp_path / "run" / "one.wav", side) for side in (0, 1))
    assert any(a < d and c < b for a, b in caller for c, d in agent)


def test_a_slow_answer_is_preceded_by_the_bridge(run):
    talk = (TALK[0], Line("caller", "please look", 2_600), TALK[2], TALK[3])
    slow, after = turns(run(talk))
    assert (slow.outcome, after.outcome) == ("bridged", "answered")
    assert slow.first_sound_us <= slow.budget_us < slow.first_answer_us


def test_a_barge_in_cuts_our_reply_so_long_after_it_began(run):
    event = Event(after_turn=1, do="barge-in", after_ms=100)
    first, second = turns(run(pacing="script", events=(event,), config=WORDY))
    assert first.outcome == "cut"
    began = second.speech_ended_call_us - (2 * STEP_MS + WORD_MS) * MS
    sounded = first.speech_ended_call_us + first.first_sound_us
    assert 0 <= began - sounded - max(100 * MS, 300 * MS) <= FRAME  # a lead of 300 ms is played before it


def test_a_barge_in_from_a_file_is_heard_and_counted(run, tmp_path):
    soundfile.write(tmp_path / "over.wav", track("caller", [Line("caller", "savings", 0)], 0.4), 8_000)
    (tmp_path / "s.toml").write_text(
        '[[event]]\nafter_turn = 1\ndo = "barge-in"\nafter_ms = 100\naudio = "over.wav"\ntext = "savings"\n'
    )
    rows = turns(run(pacing="script", events=load(tmp_path / "s.toml")))
    assert [row.heard for row in rows] == ["i lost my card", "savings", "thank you bye"]
    assert rows[0].outcome == "cut"


def test_a_silence_is_as_long_as_the_script_says_whatever_we_ask_into_it(run):
    asks = msgspec.structs.replace(
        QUICK, idle_ms=2_000, phrases=msgspec.structs.replace(QUICK.phrases, reprompt="Hello?")
    )
    plain = turns(run(config=asks))
    made = run(
        config=asks, pacing="script", events=(Event(after_turn=1, do="silence", after_ms=5_000),), force=True
    )
    assert [row.kind for row in made.rows].count("reprompt") >= 1
    second = turns(made)[1]
    assert abs(second.speech_ended_call_us - plain[1].speech_ended_call_us - 5_000 * MS) <= FRAME


def test_a_hang_up_in_our_reply_leaves_its_row_cut(run):
    """TURN-13: the turn is in the log, with what was heard and its latency."""
    made = run(pacing="script", events=(Event(after_turn=1, do="hang-up", after_ms=100),))
    (row,) = turns(made)
    assert (row.outcome, row.in_time) == ("cut", True)
    (call,) = made.summary.calls
    assert call.ended == "caller hung up"
    assert abs(call.length_us - row.speech_ended_call_us - row.first_sound_us - 100 * MS) <= 2 * FRAME


def test_a_turn_that_nobody_hears_still_has_a_row(run):
    """A word too short to open a turn is in the recording, and nobody answers it."""
    deaf = msgspec.structs.replace(QUICK, endpoint=EndpointTable(start_ms=600))
    talk = (TALK[0], Line("caller", "yes", 2_600), TALK[2], TALK[3])
    silent, heard = sorted(turns(run(talk, config=deaf)), key=lambda row: row.speech_ended_call_us)
    assert (silent.outcome, silent.heard, silent.reference) == ("silent", "", "yes")
    assert heard.heard == "thank you bye"


def test_word_errors_count_what_nobody_heard(run):
    deaf = msgspec.structs.replace(QUICK, endpoint=EndpointTable(start_ms=600))
    talk = (TALK[0], Line("caller", "yes", 2_600), TALK[2], TALK[3])
    wer = run(talk, config=deaf).summary.wer
    assert (wer.words, wer.deleted) == (4, 1)


def test_what_was_odd_about_a_recording_is_in_its_record(run):
    (call,) = run(seconds=14.24).summary.calls
    assert call.notes[0].endswith("is its true rate 16000 Hz?")
    assert call.turns == 2


def test_a_bridge_is_in_time_even_if_the_detector_was_late(tmp_path):
    """The reference ends the words 100 ms before they sound to end; a margin is ready for that."""
    talk = (TALK[0], Line("caller", "please look", 2_600), TALK[2], TALK[3])
    source = harper(tmp_path / "early", talk=talk, seconds=9.0)
    path = source / "transcript" / "one.json"
    lines = json.loads(path.read_text())
    lines[1]["word_durations_ms"] = [WORD_MS, WORD_MS - 100]
    path.write_text(json.dumps(lines))
    by_level = msgspec.structs.replace(QUICK, vad=VadTable(engine="energy"), margin_ms=120)
    slow = turns(replay(source, tmp_path / "careful", by_level))[0]
    assert slow.vad_ended_call_us - slow.speech_ended_call_us >= 80 * MS
    assert slow.outcome == "bridged"
    assert slow.in_time
    hopeful = msgspec.structs.replace(by_level, margin_ms=0)
    assert not turns(replay(source, tmp_path / "hopeful", hopeful))[0].in_time
