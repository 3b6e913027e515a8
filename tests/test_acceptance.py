"""The promise kept on recorded people: real engines, every turn, checked from outside.

One run of all recorded calls on the skip clock is shared by these tests (half a minute); the recordings and
the engines are needed, and where they are not the tests say so.
"""

from __future__ import annotations

import hashlib
import json

import numpy as np
import pytest
import soundfile

from turnbudget.recorded.replay import ReplayPlan, replay
from turnbudget.runs.folder import load
from turnbudget.settings.config import Config
from turnbudget.voice.time import clock

pytestmark = pytest.mark.quiet
MS = 1_000
QUIET = 10 ** (-52 / 20) * 32_768
"""Peak of a millisecond that nobody hears, −52 dBFS."""


@pytest.fixture(scope="module")
def calls(recordings):
    return recordings / "harper-valley"


@pytest.fixture(scope="module")
def folder(calls, real_engines, tmp_path_factory):  # noqa: ARG001 - without them it skips
    """The folder of the one run with real engines."""
    place = tmp_path_factory.mktemp("runs") / "real"
    clock.run(replay(ReplayPlan((calls,), place, Config())), "skip")
    return place


@pytest.fixture(scope="module")
def run(folder):
    return load(folder)


@pytest.fixture(scope="module")
def turns(run):
    return [row for row in run.rows if row.kind == "turn"]


def spoken(calls):
    """What the caller says in each call, segment by segment, as the transcripts have it.

    A sound of a second at most over the agent, who speaks on, is a sign of listening and no turn.
    """
    for file in sorted((calls / "transcript").glob("*.json")):
        lines = json.loads(file.read_text())
        ours = [span(line) for line in lines if line["speaker_role"] == "agent"]
        texts = []
        for line in sorted(lines, key=lambda line: line["offset_ms"]):
            began, ended = span(line)
            listening = ended - began <= 1_000 and any(one < began and ended < other for one, other in ours)
            if line["speaker_role"] == "caller" and not listening:
                texts.append(
                    " ".join(word for word in line["human_transcript"].split() if word[0] not in "[<")
                )
        yield file.stem, [text for text in texts if text]


def span(line):
    """From when to when a line of a transcript was said, in ms."""
    return line["offset_ms"], line["offset_ms"] + line["duration_ms"]


def test_all_eight_calls_are_replayed_with_real_engines(run):
    assert len(run.summary.calls) == 8
    assert run.summary.faults == ()
    assert not run.summary.truncated
    assert {engine.name.split()[0] for engine in run.summary.engines} >= {"silero", "moonshine", "pyttsx3"}


def test_every_word_the_callers_said_belongs_to_a_row(calls, turns):
    """So every utterance of the reference has one: none is dropped, none counted twice."""
    for call, texts in spoken(calls):
        rows = sorted((row for row in turns if row.call == call), key=lambda row: row.speech_ended_call_us)
        assert " ".join(row.reference for row in rows if row.reference) == " ".join(texts)


def test_every_row_sums_to_the_microsecond(run):
    for row in run.rows:
        assert sum(entry.us for entry in row.entries) == row.closed_us, (row.call, row.turn)


def test_the_witness_agrees_with_the_ledger(run):
    for row in run.rows:
        if row.first_sound_us is not None:
            assert abs(row.witness_us - row.first_sound_us) <= MS, (row.call, row.turn)


def test_99_of_100_turns_sound_in_time_and_none_is_silent_or_failed(turns):
    assert {row.outcome for row in turns} & {"silent", "failed"} == set()
    late = [(row.call, row.turn, row.first_sound_us) for row in turns if not row.in_time]
    assert len(late) <= len(turns) / 100, late


def test_no_time_is_unaccounted_for(run):
    for row in run.rows:
        assert sum(entry.us for entry in row.entries if entry.stage == "unaccounted") < MS


def onsets(path):
    """Where our track becomes audible after 60 ms or more of quiet, in µs: by peaks of each millisecond."""
    sound, rate = soundfile.read(path, dtype="int16")
    size = rate // 1_000
    ours = np.abs(sound[: len(sound) // size * size, 1].astype(np.int32)).reshape(-1, size).max(axis=1)
    loud = np.flatnonzero(ours > QUIET)
    return loud[np.diff(loud, prepend=-1_000) > 60] * MS


def test_the_recording_itself_shows_each_first_sound_where_the_ledger_says(folder, run):
    """Opened as a sound engineer would, with nothing of ours but the file: within 20 ms."""
    found = {call.call: onsets(folder / call.audio) for call in run.summary.calls}
    sounding = [row for row in run.rows if row.first_sound_us is not None]
    assert len(sounding) > 60
    for row in sounding:
        says = row.speech_ended_call_us + row.first_sound_us
        assert np.abs(found[row.call] - says).min() <= 20 * MS, (row.call, row.turn, says)


def test_the_recording_shows_the_caller_silent_from_the_zero_on(folder, turns):
    """MET-01: where the row says that speech ended, the caller's track falls.

    Median of all turns: the last 200 ms before the zero are louder than the 300 ms that begin 100 ms after
    it by 20 dB. An account that counted from the detector's decision would find both silent.
    """
    falls = []
    for row in turns:
        sound, rate = soundfile.read(folder / f"{row.call}.wav", dtype="int16")
        caller, zero = sound[:, 0].astype(float), row.speech_ended_call_us * rate // 1_000_000
        before = np.std(caller[zero - rate // 5 : zero])
        after = np.std(caller[zero + rate // 10 : zero + rate * 2 // 5])
        falls.append(20 * np.log10((before + 1) / (after + 1)))
    assert np.median(falls) > 20


def digests(folder):
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()}


def test_in_virtual_time_two_runs_of_the_recordings_are_the_same_byte_for_byte(calls, tmp_path):
    for place in ("a", "b"):
        run = clock.run(replay(ReplayPlan((calls,), tmp_path / place / "run", Config())), "virtual")
        assert run.summary.outcomes["silent"] == run.summary.outcomes["failed"] == 0
        # One caller goes on while the first frame of our reply is about to leave; it is held, and the turn
        # superseded: nothing sounded, so it counts against the share.
        assert run.summary.in_time.of - run.summary.in_time.count <= run.summary.outcomes["superseded"]
    assert digests(tmp_path / "a" / "run") == digests(tmp_path / "b" / "run")
    assert len(digests(tmp_path / "a" / "run")) == 8 + 4
