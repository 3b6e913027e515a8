"""A run of many calls: deterministic, without growth, and nothing is lost when it goes wrong."""

from __future__ import annotations

import asyncio
import gc
import itertools
import json
import resource
import signal
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
import soundfile
from calls import QUICK, Line, harper, plan, replay, stereo

from turnbudget.recorded.replay import replay as run_replay
from turnbudget.runs.folder import load
from turnbudget.runs.terminal import Progress
from turnbudget.settings.config import EndpointTable, PhraseTable, VadTable
from turnbudget.voice.errors import ComponentError, RunError, UsageError
from turnbudget.voice.time import clock

PROGRAM = """
import sys
from pathlib import Path
from calls import replay
replay(Path(sys.argv[1]), Path(sys.argv[2]))
"""


def files(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_two_runs_in_virtual_time_are_the_same_byte_for_byte(tmp_path):
    """Also in another process, whose sets and dictionaries of text come in another order."""
    source = harper(tmp_path / "in", ("one", "two"))
    replay(source, tmp_path / "a" / "run")
    for seed in ("1", "2"):
        program = [sys.executable, "-c", PROGRAM, source, tmp_path / seed / "run"]
        path = ":".join(path for path in sys.path if path)
        subprocess.run(program, check=True, env={"PYTHONHASHSEED": seed, "PYTHONPATH": path})  # noqa: S603 - our own
        assert files(tmp_path / seed / "run") == files(tmp_path / "a" / "run")
    assert sorted(files(tmp_path / "a" / "run")) == [
        "one.wav",
        "report.html",
        "summary.json",
        "trace.json",
        "turns.jsonl",
        "two.wav",
    ]


def resident():
    """Memory in use, in bytes."""
    file = Path("/proc/self/statm")
    return int(file.read_text().split()[1]) * resource.getpagesize() if file.exists() else 0


@pytest.mark.quiet
def test_a_thousand_calls_in_one_process_leave_nothing_behind(tmp_path, monkeypatch):
    """MET-14: what stays of a call is its line in the summary, not one frame of its sound."""
    monkeypatch.setattr(soundfile.SoundFile, "flush", lambda _: None)  # a thousand waits for the disk
    talk = (Line("caller", "hello there", 100),)
    source = harper(tmp_path / "in", [f"{n:04}" for n in range(1_000)], talk, seconds=0.9)
    done = itertools.count(1)
    seen = []

    def call_done():
        if next(done) in {200, 1_000}:
            seen.append((len(gc.get_objects()), resident()))

    brief = msgspec.structs.replace(
        QUICK,
        phrases=PhraseTable(greeting="Hi.", bridge="Hm.", reprompt=""),
        endpoint=EndpointTable(silence_ms=100),
    )
    progress = Progress(call_done=call_done)
    run = clock.run(run_replay(plan(source, tmp_path / "run", brief, pacing="timeline"), progress), "virtual")
    assert (len(run.summary.calls), run.summary.turns) == (1_000, 1_000)
    (objects_then, memory_then), (objects, memory) = seen
    assert (objects - objects_then) / 800 < 5
    assert (memory - memory_then) / 800 < 10_000  # the caller's sound alone is 28,800


def test_one_input_that_cannot_be_used_is_a_fault_and_the_others_replay(tmp_path):
    (tmp_path / "bad.wav").write_bytes(b"")
    source = harper(tmp_path / "in", ("one", "two"))
    (source / "transcript" / "one.json").write_text("no JSON")
    run = replay([tmp_path / "bad.wav", source, tmp_path / "none.wav"], tmp_path / "run")
    assert [call.call for call in run.summary.calls] == ["two"]
    bad, corrupt, none = run.summary.faults
    assert bad.startswith(f"{tmp_path / 'bad.wav'}: is empty (0 bytes)")
    assert "one.json: is no HarperValley transcript" in corrupt
    assert "none.wav: there is no such file" in none
    assert load(tmp_path / "run") == run


def test_if_nothing_can_be_used_no_run_is_left(tmp_path):
    stereo(tmp_path / "a.wav")
    with pytest.raises(UsageError, match=r"a\.wav: "):
        replay(tmp_path / "a.wav", tmp_path / "run")
    assert not (tmp_path / "run").exists()
    with pytest.raises(UsageError, match=r"none of 2 inputs can be replayed: .*x.*; .*y"):
        replay([tmp_path / "x", tmp_path / "y"], tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_fault_names_the_call_that_has_no_transcript(tmp_path):
    by_level = msgspec.structs.replace(QUICK, vad=VadTable(engine="energy"))
    run = replay([stereo(tmp_path / "a.wav"), harper(tmp_path / "in")], tmp_path / "run", by_level)
    (fault,) = run.summary.faults
    assert fault.startswith(f"{tmp_path / 'a.wav'}: scripted recognition needs a transcript")


def test_two_calls_of_one_name_are_two_calls(tmp_path):
    sources = [harper(tmp_path / "a", ("One",)), harper(tmp_path / "b", ("one",))]
    run = replay(sources, tmp_path / "run")
    assert [(call.call, call.audio) for call in run.summary.calls] == [
        ("One", "One.wav"),
        ("one-2", "one-2.wav"),
    ]
    assert {row.call for row in run.rows} == {"One", "one-2"}
    assert all((tmp_path / "run" / call.audio).is_file() for call in run.summary.calls)


@pytest.mark.parametrize("name", ["..", "a\nb", "half-\udcff", "-rf"])
def test_a_call_of_an_odd_name_stays_in_its_folder_and_can_be_written(tmp_path, name):
    source = harper(tmp_path / "in")
    for path in [*source.rglob("one.*")]:
        path.rename(path.with_name(f"{name}{path.suffix}"))
    run = replay(source, tmp_path / "runs" / "run")
    (call,) = run.summary.calls
    assert [path.name for path in (tmp_path / "runs").iterdir()] == ["run"]
    assert (tmp_path / "runs" / "run" / call.audio).is_file()
    assert (
        json.loads((tmp_path / "runs" / "run" / "summary.json").read_bytes())["calls"][0]["call"] == call.call
    )


def test_a_run_that_exists_is_replaced_only_if_told(tmp_path):
    source = harper(tmp_path / "in")
    first = replay(source, tmp_path / "run")
    with pytest.raises(RunError, match="the run folder exists; choose another --name, or --force"):
        replay(source, tmp_path / "run")
    assert load(tmp_path / "run") == first
    replay(source, tmp_path / "run", force=True)


def test_engines_that_cannot_be_opened_leave_no_run(tmp_path, monkeypatch):
    async def fail(*_):
        raise ComponentError("no voice today")

    monkeypatch.setattr("turnbudget.recorded.replay.open_studio", fail)
    with pytest.raises(ComponentError):
        replay(harper(tmp_path / "in"), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def cancelled_at(tmp_path, told, names=("one", "two")):
    """A run that is cancelled, as Ctrl-C does it, when *told* says so of a row."""

    async def go():
        task = asyncio.current_task()

        def row(written):
            if told(written):
                task.cancel()

        return await run_replay(plan(harper(tmp_path / "in", names), tmp_path / "run"), Progress(row=row))

    return clock.run(go(), "virtual")


def test_a_run_that_is_ended_keeps_what_it_has_and_says_that_it_is_cut(tmp_path):
    run = cancelled_at(tmp_path, lambda row: row.call == "two" and row.turn == 2)
    assert run.summary.truncated
    assert [(call.call, call.ended) for call in run.summary.calls] == [
        ("one", "caller hung up"),
        ("two", "broken off"),
    ]
    assert [row.turn for row in run.rows if row.call == "two"][:2] == [1, 2]
    assert load(tmp_path / "run") == run
    assert (tmp_path / "run" / "two.wav").stat().st_size > 100_000


def test_a_run_that_is_ended_in_its_first_call_is_a_run(tmp_path):
    run = cancelled_at(tmp_path, lambda row: row.kind == "greeting")
    assert [row.kind for row in run.rows] == ["greeting"]
    assert run.summary.calls[0].length_us > 0
    assert run.summary.wer is None


def test_a_disk_that_refuses_ends_the_run_and_keeps_what_was_written(tmp_path, monkeypatch):
    written = []

    def append(self, row):
        if row.call == "two" and row.turn == 2:
            raise RunError("the disk is full", where=str(self.folder), remedy="make room")
        written.append(row)
        real(self, row)

    from turnbudget.runs.folder import RunWriter  # noqa: PLC0415 - what is replaced

    real = RunWriter.append
    monkeypatch.setattr(RunWriter, "append", append)
    with pytest.raises(RunError, match="the disk is full; make room"):
        replay(harper(tmp_path / "in", ("one", "two", "three")[::-1]), tmp_path / "run")
    run = load(tmp_path / "run")
    assert run.rows == tuple(written)
    assert run.summary.truncated
    assert run.summary.faults == (f"{tmp_path / 'run'}: the disk is full; make room",)


def test_sound_that_finds_no_room_ends_the_run_with_one_line(tmp_path):
    """The limit stands in for a full disk: rows still fit, the call's sound does not."""
    source = harper(tmp_path / "in")
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, before[1]))
    try:
        with pytest.raises(RunError, match=r"one\.wav: cannot be written .*; free some space"):
            replay(source, tmp_path / "run")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    run = load(tmp_path / "run")
    assert run.summary.truncated
    assert [row.kind for row in run.rows][:2] == ["greeting", "turn"]


def test_the_notes_of_a_recording_reach_the_summary(tmp_path):
    source = harper(tmp_path / "in", seconds=14.24)
    run = replay(source, tmp_path / "run")
    assert json.loads((tmp_path / "run" / "summary.json").read_bytes())["calls"][0]["notes"] == list(
        run.summary.calls[0].notes
    )
    assert run.summary.faults == ()
