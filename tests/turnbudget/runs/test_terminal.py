from __future__ import annotations

import io

import pytest
from rich.cells import cell_len
from rich.console import Console
from sample_run import FORESEEN, SHELF, SHELVED, SLOW, STARTS, header, sample_rows, turn, unasked

from turnbudget.runs.folder import Run
from turnbudget.runs.summary import summarise
from turnbudget.runs.terminal import Bar, axis, guessed, show, stage_table, waterfall


def screen(*things, width=80, encoding="utf-8", colour=None):
    raw = io.BytesIO()
    file = io.TextIOWrapper(raw, encoding=encoding, newline="")
    console = Console(file=file, width=width, force_terminal=colour is not None, color_system=colour)
    for thing in things:
        show(thing, console) if isinstance(thing, Run) else console.print(thing)
    file.flush()
    return raw.getvalue().decode(encoding)


def run(*rows, **named):
    return Run(summarise(rows, header(rows, **named)), rows)


@pytest.mark.parametrize("width", [40, 80, 132])
def test_waterfall_keeps_to_the_width_there_is(width):
    for row in sample_rows():
        lines = screen(waterfall(row), width=width).splitlines()
        assert len(lines) == 2
        assert all(cell_len(line) <= width for line in lines)


def test_turns_share_one_axis_with_the_budget_at_one_place():
    (ruler,) = screen(axis(800_000)).splitlines()
    limits = {
        screen(waterfall(turn({"endpoint": us}))).splitlines()[1].index("│")
        for us in (100_000, 500_000, 950_000)
    }
    assert limits == {ruler.index("800 ms")}


def test_late_sound_stands_right_of_the_budget_however_little_it_is_late():
    on_time, late = (screen(waterfall(turn({"endpoint": us}))).splitlines()[1] for us in (800_000, 800_001))
    assert "◆" in on_time
    assert "│" not in on_time
    assert late.index("◆") == late.index("│") + 1


def test_bridged_turn_shows_two_numbers_and_runs_off_the_axis():
    head, bar = screen(waterfall(turn(SLOW, outcome="bridged", sounded=621_000))).splitlines()
    assert "621 ms" in head
    assert "answer 2,040 ms" in head
    assert "●" in bar
    assert bar.endswith("›")


def test_turn_without_a_sound_says_so():
    head, bar = screen(
        waterfall(turn({"endpoint": 200_000}, answered=False, outcome="failed", said=""))
    ).splitlines()
    assert "failed" in head
    assert "–" in head
    assert "◆" not in bar


def test_greeting_is_set_apart():
    head, _ = screen(waterfall(unasked("a", "greeting", 0, 0, "Hello"))).splitlines()
    assert head.startswith("  · ")
    assert "greeting: Hello" in head


def test_whole_run_can_be_written_in_ascii():
    text = screen(run(*sample_rows(), turn(heard="नमस्ते", said="Zoë, 你好")), encoding="ascii")
    assert text.isascii()
    assert "|" in text
    assert "EEEE" in text


def test_without_colour_a_stage_is_a_letter_and_nothing_escapes():
    text = screen(run(*sample_rows()))
    assert "\x1b" not in text
    assert "EEEEEEEE" in text


def test_no_color_is_respected(monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")
    text = screen(waterfall(turn()), colour="truecolor")
    assert "EEEEEEEE" in text
    assert "48;2" not in text


def test_with_colour_a_stage_is_its_colour():
    assert "48;2;163;171;184" in screen(waterfall(turn()), colour="truecolor")


def test_what_a_caller_says_steers_no_terminal():
    row = turn(heard="[bold]\x1b[2J\x07 hi\r\nthere \u202eevil", said="\x9b31m")
    text = screen(waterfall(row))
    assert not {"\x1b", "\x07", "\r", "\x9b", "\u202e"} & set(text)
    assert "[bold]" in text
    assert len(text.splitlines()) == 2


def test_table_of_stages_has_what_each_cost():
    text = screen(stage_table(run(turn(SHELVED), turn(SHELVED)).summary))
    assert "endpoint" in text
    assert "160 ms" in text
    assert "320 ms" in text


def test_headline_comes_with_its_n():
    text = screen(run(turn(), turn({"endpoint": 900_000}, outcome="answered")))
    assert "50.0 % of all caller turns sounded within 800 ms (1 of 2)" in text
    assert "(n 2)" in text


def test_faults_and_an_early_end_are_said_in_full():
    fault = "broken.wav: " + "not a WAV file " * 12
    text = screen(run(turn(), faults=(fault,), truncated=True))
    assert " ".join(text.split()).count("not a WAV file") == 12
    assert "ended before its end" in text


def test_empty_run_is_shown_without_numbers():
    text = screen(run(wer=None))
    assert "no caller turns" in text
    assert "nan" not in text.lower().replace("unanswered", "")


def test_what_was_guessed_of_a_turn_is_one_line_with_the_verdict_first():
    row = turn(guesses=(*STARTS, *FORESEEN))
    assert screen(guessed(row, "")) == (
        "    hit, 1 of 2 head starts kept, foreseen at 0.62, 57 ms of work unused\n"
    )
    assert screen(guessed(row, "begun too early")).startswith("    wrong hit: begun too early, 1 of 2 head")
    assert screen(guessed(turn(guesses=FORESEEN[1:]), None), width=100) == (
        "    miss: its opening was not ready, none of 1 foreseen came, 41 ms of work unused\n"
    )


@pytest.mark.parametrize("width", [40, 80])
def test_what_was_guessed_keeps_to_the_width_there_is(width):
    (line,) = screen(guessed(turn(guesses=(*STARTS, *FORESEEN)), ""), width=width).splitlines()
    assert cell_len(line) <= width


def test_a_run_shows_its_guesses_and_its_wrong_hits():
    text = screen(run(turn(lanes=SHELF, guesses=FORESEEN, false_cut=True)))
    assert "wrong hit: begun before the caller's real end" in text
    assert "wrong hits  100.0 % (1 of 1), hits  100.0 % (1 of 1)" in text
    assert "hit" not in screen(waterfall(turn()))


def test_same_rows_give_the_same_text():
    assert screen(run(*sample_rows())) == screen(run(*sample_rows()))


def test_without_a_terminal_steps_are_told_once_not_each_with_its_count():
    console = Console(file=io.StringIO(), width=80)
    with Bar(console) as bar:
        for number in range(1, 64):
            bar.steps(number, 63, "rendering replies")
        for number in range(1, 10):
            bar.doing(f"rendering line {number} of 9")
        bar.doing("one")
        bar.doing("two")
    assert console.file.getvalue().splitlines() == [
        "rendering replies (1/63)",
        "rendering line 1 of 9",
        "one",
        "two",
    ]
