from __future__ import annotations

import resource
from pathlib import Path

import msgspec
import pytest
from sample_run import header, sample_rows, turn

from turnbudget.runs.folder import SUMMARY, RunWriter, draw, load, place
from turnbudget.runs.records import EntryRow
from turnbudget.voice.errors import LedgerError, RunError


def written(folder, rows, **named):
    with RunWriter(folder) as writer:
        for row in rows:
            writer.append(row)
        return writer.finish(header(rows, **named))


def test_run_is_read_back_as_it_was_written(tmp_path):
    rows = sample_rows()
    run = written(tmp_path / "runs" / "a", rows)
    assert load(tmp_path / "runs" / "a") == run
    assert list(run.rows) == rows
    assert {path.name for path in (tmp_path / "runs" / "a").iterdir()} == {
        "turns.jsonl",
        "summary.json",
        "report.html",
        "trace.json",
    }


def test_two_runs_of_the_same_rows_are_the_same_bytes(tmp_path):
    rows = sample_rows()
    written(tmp_path / "a", rows)
    written(tmp_path / "b", rows)
    for path in (tmp_path / "a").iterdir():
        assert path.read_bytes() == (tmp_path / "b" / path.name).read_bytes()


def test_row_is_on_disk_as_soon_as_it_is_appended(tmp_path):
    writer = RunWriter(tmp_path / "a")
    writer.append(turn())
    assert (tmp_path / "a" / "turns.jsonl").read_bytes().endswith(b"}\n")
    writer.close()


@pytest.mark.parametrize("wrong", [{"closed_us": 1}, {"entries": ()}])
def test_row_that_does_not_sum_is_refused(tmp_path, wrong):
    """MET-04: the sum of the stages is the total, or there is no row."""
    with RunWriter(tmp_path / "a") as writer:
        with pytest.raises(LedgerError, match="entries sum to"):
            writer.append(msgspec.structs.replace(turn(), **wrong))
        assert (tmp_path / "a" / "turns.jsonl").read_bytes() == b""


def test_entry_of_negative_length_is_refused_even_if_the_row_sums(tmp_path):
    """MET-05: no duration is negative."""
    stages = {"endpoint": 200_000, "deliver": -28_600}
    row = turn()
    entries = tuple(
        EntryRow(stage=name, us=us, owner="x", owner_kind="service") for name, us in stages.items()
    )
    with RunWriter(tmp_path / "a") as writer, pytest.raises(LedgerError, match="shorter than nothing"):
        writer.append(msgspec.structs.replace(row, entries=entries, closed_us=171_400))


def test_existing_folder_is_refused_with_a_remedy(tmp_path):
    written(tmp_path / "a", [turn()])
    with pytest.raises(RunError, match="--name, or --force"):
        RunWriter(tmp_path / "a")
    assert len(load(tmp_path / "a").rows) == 1


def test_force_replaces_a_run_but_never_a_folder_that_is_none(tmp_path):
    written(tmp_path / "a", [turn(), turn(turn=2)])
    with RunWriter(tmp_path / "a", force=True) as writer:
        writer.append(turn())
        assert len(writer.finish(header([turn()])).rows) == 1
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "letter.txt").write_text("dear")
    with pytest.raises(RunError, match="no run"):
        RunWriter(tmp_path / "home", force=True)
    assert (tmp_path / "home" / "letter.txt").read_text() == "dear"


def test_force_takes_the_old_runs_sound_and_nobody_elses(tmp_path):
    """Else a forced run that breaks down leaves a folder which no run could be forced into again."""
    folder = tmp_path / "a"
    sound = f"{turn().call}.wav"
    written(folder, [turn()])
    for name in (folder / sound, folder / "mine.wav", tmp_path / "other.wav"):
        name.write_bytes(b"")
    told = msgspec.json.decode((folder / SUMMARY).read_bytes())
    told["calls"].append({**told["calls"][0], "audio": "../other.wav"})
    (folder / SUMMARY).write_bytes(msgspec.json.encode(told))
    RunWriter(folder, force=True).close()
    assert sorted(path.name for path in folder.iterdir()) == ["mine.wav", "turns.jsonl"]
    assert (tmp_path / "other.wav").exists()


def test_file_in_the_way_is_one_line(tmp_path):
    (tmp_path / "a").write_text("")
    with pytest.raises(RunError, match="in the way"):
        RunWriter(tmp_path / "a")
    with pytest.raises(RunError, match="cannot be written"):
        RunWriter(tmp_path / "a" / "b")


def test_full_disk_is_one_line_and_loses_no_row_written_before(tmp_path):
    """A limit on the length of files stands for a disk that fills up in the middle of a row."""
    writer = RunWriter(tmp_path / "a")
    writer.append(turn())
    size = (tmp_path / "a" / "turns.jsonl").stat().st_size
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size + 100, hard))
    try:
        with pytest.raises(RunError, match="the disk is full; make room"):
            writer.append(turn(turn=2))
        assert (tmp_path / "a" / "turns.jsonl").stat().st_size == size, "no part of a row is left"
        with pytest.raises(RunError, match="the disk is full"):
            place(tmp_path / "a" / "report.html", b"x" * (size + 200))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert [path.name for path in (tmp_path / "a").iterdir()] == ["turns.jsonl"]
    writer.append(turn(turn=3))
    assert [row.turn for row in writer.finish(header([turn()])).rows] == [1, 3]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_no_space_left_is_one_line(tmp_path):
    writer = RunWriter(tmp_path / "a")
    writer.close()
    writer._turns = Path("/dev/full").open("wb", buffering=0)  # noqa: SIM115 - closed below
    with pytest.raises(RunError, match="the disk is full"):
        writer.append(turn())
    writer.close()


def test_file_that_cannot_be_replaced_is_left_as_it_was(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "report.html").mkdir()
    with pytest.raises(RunError, match="cannot be written"):
        place(tmp_path / "a" / "report.html", b"new")
    assert [path.name for path in (tmp_path / "a").iterdir()] == ["report.html"]


def test_half_written_last_line_is_skipped_with_a_note(tmp_path):
    written(tmp_path / "a", [turn(), turn(turn=2)])
    path = tmp_path / "a" / "turns.jsonl"
    path.write_bytes(path.read_bytes()[:-40])
    run = load(tmp_path / "a")
    assert [row.turn for row in run.rows] == [1]
    assert run.summary.truncated
    assert run.summary.faults[-1] == "turns.jsonl, line 2: half-written, skipped"


def test_last_line_that_lacks_only_its_end_is_kept(tmp_path):
    written(tmp_path / "a", [turn()])
    path = tmp_path / "a" / "turns.jsonl"
    path.write_bytes(path.read_bytes().rstrip(b"\n"))
    assert len(load(tmp_path / "a").rows) == 1


@pytest.mark.parametrize(
    ("damage", "line"),
    [
        (lambda text: text.replace(b'"turn":1', b'"turn":"one"'), "turns.jsonl, line 1: cannot be read"),
        (lambda text: b"\xff\xfe" + text, "turns.jsonl, line 1: cannot be read"),
        (lambda text: text.replace(b'"schema":1', b'"schema":2', 1), "schema 2, this version reads 1"),
        (lambda text: text.replace(b'"closed_us":171400', b'"closed_us":9', 1), "entries sum to 171400"),
        (lambda text: b"\n" + text, "turns.jsonl, line 1: cannot be read"),
    ],
)
def test_damaged_rows_are_one_line_that_says_where(tmp_path, damage, line):
    written(tmp_path / "a", [turn(), turn(turn=2)])
    path = tmp_path / "a" / "turns.jsonl"
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(RunError) as caught:
        load(tmp_path / "a")
    assert line in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["turns.jsonl", "summary.json"])
def test_missing_file_is_one_line(tmp_path, name):
    written(tmp_path / "a", [turn()])
    (tmp_path / "a" / name).unlink()
    with pytest.raises(RunError, match=f"{name} is missing"):
        load(tmp_path / "a")


def test_damaged_summary_and_missing_folder_are_one_line(tmp_path):
    written(tmp_path / "a", [turn()])
    (tmp_path / "a" / "summary.json").write_text('{"schema": 1}')
    with pytest.raises(RunError, match="cannot be read"):
        load(tmp_path / "a")
    with pytest.raises(RunError, match="no such run folder"):
        load(tmp_path / "b")


def test_report_of_an_old_run_can_be_drawn_anew(tmp_path):
    run = written(tmp_path / "a", [turn()])
    before = (tmp_path / "a" / "report.html").read_bytes()
    (tmp_path / "a" / "report.html").unlink()
    draw(tmp_path / "a", run)
    assert (tmp_path / "a" / "report.html").read_bytes() == before


def test_run_without_a_turn_is_a_run(tmp_path):
    run = written(tmp_path / "a", [], truncated=True)
    assert load(tmp_path / "a") == run
    assert run.summary.turns == 0
