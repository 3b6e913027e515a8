"""Names of calls stay inside the run's folder, and no two are one."""

from __future__ import annotations

from pathlib import Path

import pytest
from laws import each

from turnbudget.runs.names import call_name, fresh_folder, legible, run_name
from turnbudget.voice.errors import RunError


@each(
    ("wanted", "name"),
    [
        ("call 7", "call 7"),
        ("../x", "_x"),
        ("..", "call"),
        ("", "call"),
        ("a/b\\c:d", "a_b_c_d"),
        ("two\nlines\x1b[31m", "two_lines_[31m"),
        ("half \ud83d of one", "half \ufffd of one"),
        ("звонок ١", "звонок ١"),
        ("x" * 300, "x" * 100),
    ],
)
def test_a_call_is_named_so_that_its_file_stays_in_the_folder(wanted, name):
    assert call_name(wanted, ()) == name
    path = Path("runs") / f"{name}.wav"
    assert path.parent == Path("runs")
    name.encode()


def test_a_taken_name_gets_a_number_whatever_its_case():
    assert call_name("Monday", {"monday"}) == "Monday-2"
    assert call_name("Monday", {"monday", "monday-2"}) == "Monday-3"


def test_half_a_character_is_replaced_and_a_whole_one_kept():
    assert legible("\ud800a\udfff \U0001f600") == "\ufffda\ufffd \U0001f600"


def test_a_run_is_called_after_the_first_path(tmp_path):
    (tmp_path / "harper.valley").mkdir()
    assert run_name([tmp_path / "harper.valley", Path("b.wav")]) == "harper.valley"
    assert run_name([Path("some/monday.wav")]) == "monday"
    assert run_name([tmp_path / "harper.valley" / "."]) == "harper.valley"


def test_a_run_of_nothing_has_no_name():
    with pytest.raises(RunError, match="nothing to replay"):
        run_name([])


def test_a_run_never_takes_the_place_of_another(tmp_path):
    (tmp_path / "monday").mkdir()
    (tmp_path / "monday-2").touch()
    assert fresh_folder(tmp_path, "monday") == tmp_path / "monday-3"
    assert fresh_folder(tmp_path, "tuesday") == tmp_path / "tuesday"
    (tmp_path / "tuesday-on").mkdir()
    assert fresh_folder(tmp_path, "tuesday", ("-off", "-on")) == tmp_path / "tuesday-2"
