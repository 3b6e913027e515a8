"""A replay cannot flatter: every recorded turn has a row or is counted as not replayed, with the reason."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
import soundfile
from calls import QUICK, RATE, Line, harper, replay, stereo
from click.testing import CliRunner

from turnbudget.cli import main
from turnbudget.settings import compose
from turnbudget.settings.config import AsrTable, OtherwiseTable, ResponderTable, RuleTable, VadTable, dump
from turnbudget.testing.tones import Tones
from turnbudget.voice.errors import UsageError

ENERGY = msgspec.structs.replace(QUICK, vad=VadTable(engine="energy"))
TURNS = ("one two three", "yes it is that", "the blue one please", "thank you very much")


@pytest.fixture(autouse=True)
def hears_tones(monkeypatch):
    """Have a recogniser that hears the caller's tone as words, and nothing else as any."""

    def choose(*_):
        return Tones(["my words"] * 8), "tones", "for a test"

    monkeypatch.setattr(compose, "choose_transcriber", choose)


def talk(pause_ms, turns=TURNS):
    """Four caller turns, each answered; before the second the caller is silent for *pause_ms*."""
    at, lines = 500, []
    for place, words in enumerate(turns):
        at += pause_ms if place == 1 else 900
        lines.append(Line("caller", words, at))
        at = lines[-1].ended_ms + 700
        lines.append(Line("agent", "well then so", at))
        at = lines[-1].ended_ms
    return tuple(lines), at / 1000 + 2


def recording(tmp_path, lines, seconds, **how):
    return stereo(tmp_path / "call.wav", lines, seconds=seconds, **how)


def sounds(tmp_path, lengths_ms, apart_ms=3_000, pitch=400):
    """A stereo call: the caller's answers last *lengths_ms*, the agent asks before each."""
    rng = np.random.default_rng(3)
    total = round((apart_ms * (len(lengths_ms) + 1)) * RATE / 1000)
    sides = [rng.normal(0, 8, total) for _ in range(2)]

    def tone(side, at_ms, length_ms, hz):
        count = round(length_ms * RATE / 1000)
        start = round(at_ms * RATE / 1000)
        ramp = np.minimum(1, np.minimum(np.arange(count), np.arange(count)[::-1]) / (0.01 * RATE))
        sides[side][start : start + count] += 6_000 * ramp * np.sin(2 * np.pi * hz * np.arange(count) / RATE)

    for place, length in enumerate(lengths_ms):
        tone(1, apart_ms * place + 500, 900, 500)
        tone(0, apart_ms * place + 2_200, length, pitch)
    path = tmp_path / "short.wav"
    soundfile.write(path, np.rint(np.column_stack(sides)).astype(np.int16), RATE)
    return path


def caller_turns(run):
    return [row for row in run.rows if row.kind == "turn"]


@pytest.mark.parametrize("pause_s", [15, 22, 120])
def test_a_recorded_pause_is_a_pause_however_long(tmp_path, pause_s):
    run = replay(recording(tmp_path, *talk(pause_s * 1_000)), tmp_path / "run", ENERGY)
    assert len(caller_turns(run)) == 4
    assert run.summary.not_replayed == 0
    assert run.summary.calls[0].recorded == 4
    assert {row.outcome for row in caller_turns(run)} <= {"answered", "bridged", "shelved"}


def test_a_recorded_pause_is_a_pause_on_the_timeline_too(tmp_path):
    run = replay(recording(tmp_path, *talk(40_000)), tmp_path / "run", ENERGY, pacing="timeline")
    assert len(caller_turns(run)) == 4
    assert run.summary.not_replayed == 0


def test_what_a_call_that_ends_early_leaves_is_counted_with_the_reason(tmp_path):
    lines, seconds = talk(2_000)
    short = msgspec.structs.replace(ENERGY, longest_call_s=12)
    run = replay(recording(tmp_path, lines, seconds), tmp_path / "run", short)
    record = run.summary.calls[0]
    assert record.ended == "the call was too long"
    assert record.recorded == 4
    assert 0 < record.not_replayed < 4
    assert len(caller_turns(run)) + record.not_replayed == 4
    assert run.summary.not_replayed == record.not_replayed


@pytest.mark.parametrize("lengths", [(112, 150, 193), (120, 120, 120)])
def test_a_short_answer_is_a_turn(tmp_path, lengths):
    # "No", "yes" and "two" last 112 to 193 ms; live they are answered.
    run = replay(sounds(tmp_path, (700, *lengths)), tmp_path / "run", ENERGY)
    assert run.summary.calls[0].recorded == 4
    assert len(caller_turns(run)) == 4


def test_a_short_sound_without_a_word_is_no_turn_and_is_said(tmp_path):
    """The recogniser finds no word in this pitch."""
    run = replay(sounds(tmp_path, (700, 120, 150), pitch=300), tmp_path / "run", ENERGY)
    assert len(caller_turns(run)) == 1
    assert "2 sounds under 200 ms without a word: no turn" in run.summary.calls[0].notes
    assert run.summary.calls[0].recorded == 1


def test_a_click_is_no_turn(tmp_path):
    run = replay(sounds(tmp_path, (700, 30, 40)), tmp_path / "run", ENERGY)
    assert len(caller_turns(run)) == 1


def alone(tmp_path, lines, seconds, channels=1):
    """The caller's leg of *lines*: the agent's channel absent, or there and silent."""
    both, rate = soundfile.read(stereo(tmp_path / "both.wav", lines, seconds=seconds), dtype="int16")
    path = tmp_path / "leg.wav"
    if channels == 2:
        both[:, 1] = 0
    soundfile.write(path, both if channels == 2 else both[:, 0], rate)
    return path


@pytest.mark.parametrize("channels", [1, 2])
def test_a_recording_of_one_side_claims_no_false_cut(tmp_path, channels):
    run = replay(alone(tmp_path, *talk(2_500), channels), tmp_path / "run", ENERGY)
    assert len(caller_turns(run)) == 4
    assert {row.false_cut for row in caller_turns(run)} == {None}
    assert run.summary.false_cuts.of == 0
    assert any("the recording holds no agent" in note for note in run.summary.calls[0].notes)


def test_the_silence_that_ends_a_turn_of_one_side_can_be_stated(tmp_path):
    leg = alone(tmp_path, *talk(2_500))
    long = replay(leg, tmp_path / "run", ENERGY, turn_silence_us=60_000_000)
    assert long.summary.calls[0].recorded == 1


def test_a_file_that_is_no_recording_is_still_refused(tmp_path):
    bad = tmp_path / "call.wav"
    bad.write_bytes(b"RIFF")
    with pytest.raises(UsageError):
        replay(bad, tmp_path / "run", ENERGY)


def gate(tmp_path, *more, longest_call_s=12):
    """Replay a call that ends before its recording does, as a gate in CI would."""
    path = tmp_path / "agent.toml"
    path.write_text(dump(msgspec.structs.replace(ENERGY, longest_call_s=longest_call_s)))
    call = recording(tmp_path, *talk(2_000))
    out = ("--clock", "virtual", "--config", path, "--out", tmp_path / "runs")
    words = [str(word) for word in ("replay", call, *out, "--fail-over", "800", *more)]
    return CliRunner().invoke(main, words, catch_exceptions=False)


def test_the_gate_fails_on_turns_that_were_not_replayed(tmp_path):
    result = gate(tmp_path)
    assert result.exit_code == 1
    assert "recorded turns were not replayed" in result.stderr
    assert "of 4 recorded caller turns (the call was too long: " in result.stdout


def test_the_gate_can_be_told_to_pass_over_them(tmp_path):
    assert gate(tmp_path, "--allow-dropped").exit_code == 0


def test_a_whole_replay_passes_and_names_nothing_dropped(tmp_path):
    result = gate(tmp_path, longest_call_s=3_600)
    assert result.exit_code == 0
    assert "not replayed" not in result.stdout


@pytest.mark.parametrize("name", ["../../x", "/elsewhere/x", "..", "", "a/b"])
def test_a_run_stays_in_the_folder_of_runs(tmp_path, name):
    path = stereo(tmp_path / "a.wav")
    words = [
        "replay",
        str(path),
        "--out",
        str(tmp_path / "deep" / "runs"),
        "--name",
        name,
        "--clock",
        "virtual",
    ]
    result = CliRunner().invoke(main, words, catch_exceptions=False)
    assert result.exit_code == 2
    assert "is no name of a folder" in result.stderr
    assert sorted(one.name for one in tmp_path.rglob("*") if one.is_file()) == ["a.wav"]


def voices(tmp_path, lines, seconds, db=None, late_ms=150):
    """A stereo call in which the agent's voice is a noise, and leaks *db* into the caller's side."""
    both, rate = soundfile.read(stereo(tmp_path / "both.wav", lines, seconds=seconds), dtype="int16")
    loud = np.convolve(np.abs(both[:, 1].astype(float)), np.ones(80) / 80, "same")
    agent = np.random.default_rng(5).normal(0, 1, loud.size) * loud
    caller = both[:, 0].astype(float)
    if db is not None:
        late = round(late_ms * rate / 1000)
        caller[late:] += agent[:-late] * 10 ** (db / 20)
    path = tmp_path / "call.wav"
    sides = np.column_stack((caller, agent))
    soundfile.write(path, np.clip(np.rint(sides), -32_768, 32_767).astype(np.int16), rate)
    return path


@pytest.mark.parametrize("db", [-18, -30])
def test_the_agents_voice_in_the_callers_channel_is_no_turn(tmp_path, db):
    run = replay(voices(tmp_path, *talk(900), db), tmp_path / "run", ENERGY)
    assert run.summary.calls[0].recorded == len(caller_turns(run)) == 4
    (note,) = [note for note in run.summary.calls[0].notes if "was taken out" in note]
    assert f"the agent's voice in the caller's channel (150 ms late, {db} dB)" in note


def test_channels_without_a_leak_are_left_as_they_are(tmp_path):
    run = replay(voices(tmp_path, *talk(900)), tmp_path / "run", ENERGY)
    assert run.summary.calls[0].recorded == 4
    assert not any("was taken out" in note for note in run.summary.calls[0].notes)


def test_one_sound_on_both_channels_is_refused_for_nobody_can_tell_who_speaks(tmp_path):
    path = voices(tmp_path, *talk(900))
    sound, rate = soundfile.read(path, dtype="int16")
    mixed = sound.sum(axis=1, dtype=np.int32).clip(-32_768, 32_767).astype(np.int16)
    soundfile.write(path, np.column_stack((mixed, mixed // 2)), rate)
    with pytest.raises(UsageError, match="both channels hold the same sound"):
        replay(path, tmp_path / "run", ENERGY)


def test_what_is_sounded_over_the_agent_is_a_backchannel_and_no_turn(tmp_path):
    lines = (
        Line("caller", "one two three", 500),
        Line("agent", "a b c d e f g h i j k l m n o p", 2_000),
        Line("caller", "mhm", 2_900),
        Line("caller", "mhm", 4_000),
        Line("caller", "mhm", 5_000),
        Line("caller", "that is fine", 7_000),
        Line("agent", "good", 8_600),
    )
    run = replay(recording(tmp_path, lines, 11.0), tmp_path / "run", ENERGY)
    record = run.summary.calls[0]
    assert (record.recorded, record.backchannels, len(caller_turns(run))) == (2, 3, 2)


@pytest.mark.parametrize(("final_ms", "whole"), [(60, True), (5_000, False)])
def test_a_row_says_whether_the_text_it_answers_was_the_final_one(tmp_path, monkeypatch, final_ms, whole):
    monkeypatch.undo()  # the scripted recogniser, which can be late
    slow = msgspec.structs.replace(QUICK, asr=AsrTable(scripted_final_ms=final_ms))
    run = replay(harper(tmp_path / "in"), tmp_path / "run", slow)
    assert {row.heard_whole for row in caller_turns(run)} == {whole}
    assert run.summary.partial_texts.count == (0 if whole else len(caller_turns(run)))
    assert run.summary.partial_texts.of == len(caller_turns(run))
    assert [row.heard_whole for row in run.rows if row.kind == "greeting"] == [None]


@pytest.mark.parametrize("delay_ms", [200, 300, 400, 500, 600])
def test_the_wait_for_the_end_of_a_bridge_is_the_bridges_own(tmp_path, monkeypatch, delay_ms):
    """An answer that was ready waited 68 to 419 ms for the bridge, charged to the event loop."""
    monkeypatch.undo()
    table = ResponderTable(
        rules=(RuleTable("look", "Here it is.", delay_ms),), otherwise=OtherwiseTable(say="Sure.")
    )
    lines = (Line("caller", "please look there", 500), Line("agent", "so", 4_000))
    calls = harper(tmp_path / "in", talk=lines)
    run = replay(calls, tmp_path / "run", msgspec.structs.replace(QUICK, responder=table))
    (row,) = caller_turns(run)
    by = {}
    for entry in row.entries:
        by[entry.owner] = by.get(entry.owner, 0) + entry.us
    assert row.outcome == "bridged"
    assert by.get("event loop", 0) < 1_000
    assert by["bridge"] > 0
