"""One option compares a replay without speculation to one with it, on the same recordings."""

from __future__ import annotations

import json

import pytest
from calls import QUICK, Line, harper
from click.testing import CliRunner
from sample_run import FORESEEN, SHELF, header, turn

from turnbudget.cli import main
from turnbudget.runs.folder import load
from turnbudget.runs.readings import columns
from turnbudget.runs.records import Comparison, Side
from turnbudget.runs.summary import summarise
from turnbudget.settings.config import dump

PLEASE = "--compare-speculation"


@pytest.fixture
def go(tmp_path):
    """Replay a call in virtual time, with the options given."""
    (tmp_path / "quick.toml").write_text(dump(QUICK))

    def run(*options, source=None):
        source = source or harper(tmp_path / "in")
        setting = ["--clock", "virtual", "--config", tmp_path / "quick.toml", "--out", tmp_path / "runs"]
        arguments = ["replay", source, *setting, *options]
        return CliRunner().invoke(main, [str(word) for word in arguments], catch_exceptions=False)

    return run


def folders(tmp_path):
    runs = tmp_path / "runs"
    return sorted(path.name for path in runs.iterdir()) if runs.exists() else []


def side(label, *rows, **named):
    return Side(label=label, folder=f"it-{label}", summary=summarise(rows, header(rows, **named)))


def test_one_option_makes_both_runs_and_one_table(tmp_path, go):
    result = go(PLEASE, "--name", "mine")
    assert result.exit_code == 0
    assert folders(tmp_path) == ["mine-off", "mine-on"]
    off, on = (load(tmp_path / "runs" / name) for name in folders(tmp_path))
    assert (off.summary.speculation, on.summary.speculation) == (False, True)
    assert [row.heard for row in off.rows] == [row.heard for row in on.rows]
    assert not any(row.guesses for row in off.rows)
    assert (off.summary.hits.count, on.summary.hits.count) == (0, 2)
    assert on.summary.wrong_hits.count == 0
    table = result.stdout[result.stdout.index("caller turns") :]
    assert [line.split() for line in table.splitlines() if line.startswith(" hits")] == [
        ["hits", "0.0", "%", "(0", "of", "2)", "100.0", "%", "(2", "of", "2)"]
    ]


def test_both_pages_carry_the_comparison_and_can_be_drawn_again(tmp_path, go):
    go(PLEASE, "--name", "mine")
    for name in folders(tmp_path):
        folder = tmp_path / "runs" / name
        before = (folder / "report.html").read_bytes()
        assert b'"folders":["mine-off","mine-on"]' in before
        shown = CliRunner().invoke(main, ["report", str(folder), "--redraw"])
        assert "wrong hits, of hits" in shown.stdout
        assert (folder / "report.html").read_bytes() == before


def test_a_run_that_takes_the_place_of_one_side_is_compared_to_nothing(tmp_path, go):
    go(PLEASE, "--name", "mine")
    go("--name", "mine-on", "--force")
    assert not (tmp_path / "runs" / "mine-on" / "comparison.json").exists()
    assert b'"comparison":null' in (tmp_path / "runs" / "mine-on" / "report.html").read_bytes()


@pytest.mark.parametrize("option", ["--speculation", "--no-speculation"])
def test_an_option_overrides_the_settings(tmp_path, go, option):
    go(option, "--name", "mine")
    assert load(tmp_path / "runs" / "mine").summary.speculation == (option == "--speculation")


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (("--no-speculation",), "is both --speculation and --no-speculation"),
        (("--backend", "simulated:lpu", "--backend", "simulated:gpu-small"), "one --backend at most"),
    ],
)
def test_what_cannot_go_with_it_is_one_line(tmp_path, go, options, line):
    result = go(PLEASE, *options)
    assert (result.exit_code, folders(tmp_path)) == (2, [])
    assert line in result.stderr


def test_a_folder_that_is_taken_is_refused_before_the_first_has_run(tmp_path, go):
    go("--name", "mine-on")
    result = go(PLEASE, "--name", "mine")
    assert (result.exit_code, folders(tmp_path)) == (2, ["mine-on"])


def test_a_mark_is_set_for_the_run_with_speculation(tmp_path, go):
    """Without, the answer to "please look" is bridged after 650 ms; it is there to compare with."""
    talk = (
        Line("caller", "hello there", 500),
        Line("agent", "yes", 2_000),
        Line("caller", "please look", 2_600),
    )
    source = harper(tmp_path / "slow", talk=talk)
    assert go("--no-speculation", "--fail-over", 605, source=source).exit_code == 1
    assert go(PLEASE, "--fail-over", 800, source=source).exit_code == 0
    assert go(PLEASE, "--fail-over", 100, source=source).exit_code == 1


def test_wrong_hits_stand_above_hits_and_each_number_has_its_n():
    rows = (turn(lanes=SHELF, guesses=FORESEEN), turn(lanes=SHELF, false_cut=True), turn())
    drawn = columns(Comparison(sides=(side("off", turn()), side("on", *rows))))
    lines = {line[0]: line[1:] for line in drawn["lines"]}
    names = [line[0] for line in drawn["lines"]]
    assert names.index("hits") == names.index("wrong hits, of hits") + 1
    assert lines["wrong hits, of hits"] == ["– (0 of 0)", "50.0 % (1 of 2)"]
    assert lines["false cuts"] == ["0.0 % (0 of 1)", "33.4 % (1 of 3)"]
    assert lines["answer p50/p95/p99, ms"] == ["172 / 172 / 172 (n 1)", "172 / 172 / 172 (n 3)"]
    assert lines["work ahead, not used"] == ["0 ms", "41 ms"]
    assert lines["CPU of renders not used"] == ["–", "33 ms"]


def test_sides_without_a_turn_compare_without_numbers():
    drawn = columns(Comparison(sides=(side("off", wer=None), side("on", wer=None))))
    assert "nan" not in json.dumps(drawn).lower()
    assert {line[0]: line[1] for line in drawn["lines"]}["word errors"] == "–"
