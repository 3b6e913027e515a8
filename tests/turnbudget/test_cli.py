"""The front door: what a person types, the one line they get when it cannot be done, and the exit code."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import click
import pytest
from calls import QUICK, Line, harper, pair, replay, stereo
from click.testing import CliRunner
from laws import each

from turnbudget.cli import main
from turnbudget.commands.replaying import leave
from turnbudget.runs.folder import load as load_run
from turnbudget.settings.config import dump, load
from turnbudget.voice.asr import choose as transcribers
from turnbudget.voice.errors import Defect, MissingEngine, TtsError


def turnbudget(*arguments):
    """Run the command line and return what it gave; whatever it raises, the test raises."""
    return CliRunner().invoke(main, [str(argument) for argument in arguments], catch_exceptions=False)


@pytest.fixture
def quick(tmp_path):
    """A configuration file with short phrases."""
    path = tmp_path / "quick.toml"
    path.write_text(dump(QUICK))
    return path


@pytest.fixture
def go(tmp_path, quick):
    """Replay in virtual time into ``tmp_path/runs``."""
    return lambda *arguments: turnbudget(
        "replay", *arguments, "--clock", "virtual", "--config", quick, "--out", tmp_path / "runs"
    )


def only_line(result):
    """The one line on stderr, of a command that was refused; progress lines apart."""
    (line,) = [line for line in result.stderr.splitlines() if line.startswith("turnbudget: ")]
    return line.removeprefix("turnbudget: ")


def test_a_replay_ends_with_waterfalls_a_headline_and_the_page(tmp_path, go):
    result = go(harper(tmp_path / "in"))
    assert result.exit_code == 0
    assert "call one" in result.stdout
    assert "100.0 % of all caller turns sounded within 800 ms (2 of 2)" in result.stdout
    assert result.stdout.splitlines()[-1] == f"report: {tmp_path / 'runs' / 'in' / 'report.html'}"


def test_quiet_says_the_headline_alone(tmp_path, go):
    result = go(harper(tmp_path / "in"), "--quiet")
    assert "call one" not in result.stdout
    assert "of all caller turns" in result.stdout


def test_a_run_can_be_printed_again(tmp_path, go):
    first = go(harper(tmp_path / "in"), "--name", "mine")
    again = turnbudget("report", tmp_path / "runs" / "mine")
    assert (again.exit_code, again.stdout) == (0, first.stdout)


def test_a_page_can_be_drawn_again(tmp_path, go):
    go(harper(tmp_path / "in"), "--name", "mine")
    page = tmp_path / "runs" / "mine" / "report.html"
    before = page.read_bytes()
    page.unlink()
    assert turnbudget("report", tmp_path / "runs" / "mine", "--redraw").exit_code == 0
    assert page.read_bytes() == before


def test_without_a_name_every_run_gets_a_folder_of_its_own(tmp_path, go):
    source = harper(tmp_path / "in")
    assert [go(source).exit_code for _ in range(2)] == [0, 0]
    assert sorted(path.name for path in (tmp_path / "runs").iterdir()) == ["in", "in-2"]


def test_a_run_that_exists_is_replaced_only_by_force(tmp_path, go):
    source = harper(tmp_path / "in")
    go(source, "--name", "mine")
    result = go(source, "--name", "mine")
    assert result.exit_code == 2
    assert (
        only_line(result)
        == f"{tmp_path / 'runs' / 'mine'}: the run folder exists; choose another --name, or --force"
    )
    assert go(source, "--name", "mine", "--force").exit_code == 0


@pytest.mark.parametrize(
    ("over", "share", "code"), [(800, 0.01, 0), (100, 0.01, 1), (100, 1, 0), (650, 0.5, 0), (650, 0.49, 1)]
)
def test_too_many_late_turns_set_the_exit_code(tmp_path, go, over, share, code):
    """Of two turns one is answered, one is bridged later than 650 ms."""
    talk = (
        Line("caller", "hello there", 500),
        Line("agent", "yes", 2_000),
        Line("caller", "please look", 2_600),
    )
    result = go(harper(tmp_path / "in", talk=talk), "--fail-over", over, "--fail-share", share)
    assert result.exit_code == code
    assert (f"turns sounded later than {over} ms or never" in result.stderr) == (code == 1)


def test_a_run_without_a_turn_has_not_kept_the_mark(tmp_path, capsys):
    run = replay(harper(tmp_path / "in"), tmp_path / "run")
    with pytest.raises(SystemExit) as left:
        leave(run._replace(rows=[row for row in run.rows if row.kind != "turn"]), 800, 1)
    assert left.value.code == 1
    assert "no caller turn was measured" in capsys.readouterr().err


def test_one_bad_file_of_many_is_named_the_others_replay_and_the_exit_code_is_2(tmp_path, go):
    (tmp_path / "bad.wav").write_bytes(b"no sound at all")
    result = go(tmp_path / "bad.wav", harper(tmp_path / "in"), "--name", "mine")
    assert result.exit_code == 2
    assert only_line(result).startswith(f"{tmp_path / 'bad.wav'}: is no audio that is read here")
    assert "(2 of 2)" in result.stdout
    assert len(load_run(tmp_path / "runs" / "mine").rows) == 3


REFUSED = {
    "nothing there": (["none.wav"], "none.wav: there is no such file or folder; check the name"),
    "an empty folder": (["empty"], "empty: there is nothing to replay in it; give stereo"),
    "no caller channel": (
        ["a.wav", "--caller-channel", "4"],
        "a.wav: has 2 channels, and the caller is said to be on 4",
    ),
    "one side": (
        ["y-agent.wav"],
        "y-agent.wav: is the agent's side, and the caller's, y-caller.wav, is not there; give",
    ),
    "a real engine in virtual time": (
        ["in", "--tts", "piper"],
        "tts.engine = 'piper': a real engine takes real time",
    ),
    "a gate without its mark": (["in", "--fail-share", 0.05], "--fail-share alone fails no run"),
    "a script without its pacing": (["in", "--script", "s.toml", "--pacing", "gated"], "go together"),
    "script pacing without a script": (
        ["in", "--pacing", "script"],
        "--pacing script and --script FILE go together",
    ),
    "a script after the end": (
        ["in", "--script", "s.toml"],
        "one.json: the script has an event after turn 9",
    ),
    "a setting that there is not": (
        ["in", "--config", "bad.toml"],
        "bad.toml:1: there is no key or table budget; did you mean budget_ms?",
    ),
    "no place for runs": (["in", "--out", "a.wav"], "cannot be written (Not a directory)"),
}


@pytest.mark.parametrize(("arguments", "line"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_used_is_one_line_and_exit_code_2(tmp_path, monkeypatch, arguments, line):
    monkeypatch.chdir(tmp_path)
    harper(tmp_path / "in")
    stereo(tmp_path / "a.wav")
    pair(tmp_path)
    (tmp_path / "x-agent.wav").rename(tmp_path / "y-agent.wav")
    (tmp_path / "empty").mkdir()
    (tmp_path / "s.toml").write_text('[[event]]\nafter_turn = 9\ndo = "hang-up"\n')
    (tmp_path / "bad.toml").write_text("budget = 1\n")
    result = turnbudget("replay", "--clock", "virtual", *arguments)
    assert result.exit_code == 2
    assert line in only_line(result)
    assert not (tmp_path / "runs").exists() or not list((tmp_path / "runs").iterdir())


@pytest.mark.parametrize("option", [["--asr", "nonsense"], ["--pacing", "sundial"], ["--fail-share", "2"]])
def test_a_choice_that_there_is_not_is_refused_with_those_there_are(tmp_path, go, option):
    result = go(harper(tmp_path / "in"), *option)
    assert result.exit_code == 2
    assert f"Invalid value for '{option[0]}'" in result.stderr


def test_an_engine_that_is_not_installed_is_one_line_with_what_to_type(tmp_path, quick, monkeypatch):
    monkeypatch.setitem(transcribers.ENGINES, "moonshine", lambda: "pip install 'turnbudget[moonshine]'")
    arguments = ["--asr", "moonshine", "--tts", "scripted", "--vad", "energy", "--config", quick]
    result = turnbudget("replay", harper(tmp_path / "in"), *arguments, "--out", tmp_path / "runs")
    assert result.exit_code == 2
    assert only_line(result).endswith("type pip install 'turnbudget[moonshine]'")
    assert not list((tmp_path / "runs").iterdir())


@pytest.mark.parametrize(
    ("error", "code"), [(MissingEngine("none"), 2), (TtsError("hoarse"), 3), (Defect("ours\nindeed"), 3)]
)
def test_the_exit_code_says_whose_fault_it_is(tmp_path, go, monkeypatch, error, code):
    async def fail(*_):
        raise error

    monkeypatch.setattr("turnbudget.recorded.replay.open_studio", fail)
    result = go(harper(tmp_path / "in"))
    assert (result.exit_code, only_line(result)) == (code, " ".join(str(error).split()))


def test_a_defect_keeps_its_traceback_and_is_no_missed_mark(tmp_path, go, monkeypatch):
    async def fail(*_):
        raise ZeroDivisionError

    monkeypatch.setattr("turnbudget.recorded.replay.open_studio", fail)
    result = go(harper(tmp_path / "in"))
    assert result.exit_code == 3
    assert "ZeroDivisionError" in result.stderr
    assert only_line(result) == "this is a defect of turnbudget; please report it with the lines above"


def test_ctrl_c_while_engines_load_is_one_line_and_130(tmp_path, go, monkeypatch):
    async def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("turnbudget.recorded.replay.open_studio", interrupt)
    result = go(harper(tmp_path / "in"))
    assert result.exit_code == 130
    assert only_line(result) == "ended by Ctrl-C before there was anything to report"


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_who_ends_us_in_a_call_leaves_a_run_that_can_be_read(tmp_path, quick, ending):
    """A real signal to a real process, on the wall clock, once the second row is there."""
    harper(tmp_path / "in", ("one", "two"))
    program = [sys.executable, "-m", "turnbudget", "replay", tmp_path / "in", "--clock", "wall"]
    options = ["--asr", "scripted", "--tts", "scripted", "--vad", "scripted", "--config", quick]
    process = subprocess.Popen(  # noqa: S603 - our own
        [*program, *options, "--out", tmp_path / "runs", "--name", "cut"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    for line in process.stderr:
        if line.strip() == "one":
            break
    process.send_signal(ending)
    out, _ = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "the run was ended before its end" in out
    run = load_run(tmp_path / "runs" / "cut")
    assert run.summary.truncated
    assert [(call.call, call.ended) for call in run.summary.calls] == [("one", "broken off")]
    again = turnbudget("report", tmp_path / "runs" / "cut")
    assert again.exit_code == 0
    assert "the run was ended before its end" in again.stdout


def test_a_job_in_the_background_still_ends_on_sigterm(tmp_path, quick):
    """A shell has its jobs pass over SIGINT, so SIGTERM is not made one: they would never end."""
    harper(tmp_path / "in", ("one", "two"))
    background = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN); "
    program = background + "from turnbudget.cli import main; main(prog_name='turnbudget')"
    options = ["--asr", "scripted", "--tts", "scripted", "--vad", "scripted", "--config", quick]
    options += ["--out", tmp_path / "runs"]
    process = subprocess.Popen(  # noqa: S603 - our own
        [sys.executable, "-c", program, "replay", tmp_path / "in", "--clock", "wall", *options],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    for line in process.stderr:
        if line.strip() == "one":
            break
    process.terminate()
    process.communicate(timeout=30)
    assert process.returncode == -signal.SIGTERM


def test_the_default_settings_are_printed_as_a_file_that_loads(tmp_path):
    result = turnbudget("config")
    (tmp_path / "agent.toml").write_text(result.stdout)
    assert load(tmp_path / "agent.toml") == load(None)


def test_notes_on_a_recording_are_said_above_its_turns(tmp_path, go):
    result = go(harper(tmp_path / "in", seconds=14.24))
    assert "note: 14.2 s of sound at 8000 Hz, and the last word ends at 7.1 s" in result.stdout
    assert b"is its true rate 16000 Hz?" in (tmp_path / "runs" / "in" / "report.html").read_bytes()


COMMANDS = ("config", "demo", "doctor", "mine", "models", "replay", "report", "shelf")


def test_help_names_every_command_and_where_to_begin():
    result = turnbudget("--help")
    assert all(f"  {command} " in result.stdout for command in COMMANDS)
    assert "turnbudget demo" in " ".join(result.stdout.split())


def every_command(group=main, before=()):
    """Every command as it is typed, those of groups in groups included."""
    for name in group.commands:
        command = group.get_command(click.Context(group), name)
        yield (*before, name), command
        if isinstance(command, click.Group):
            yield from every_command(command, (*before, name))


TYPED = dict(every_command())


@each("typed", TYPED, ids=" ".join)
def test_every_command_and_every_option_says_what_it_is_for(typed):
    assert turnbudget(*typed, "-h").exit_code == 0
    assert TYPED[typed].help
    options = [option for option in TYPED[typed].params if isinstance(option, click.Option)]
    assert [option.name for option in options if not option.help] == []


def test_a_command_that_ran_by_itself_still_knows_the_short_name_of_its_help():
    """Click keeps the help option that a command first made, with the names it had then."""
    CliRunner().invoke(TYPED[("presets",)], ["--help"])
    assert turnbudget("presets", "-h").exit_code == 0
    assert CliRunner().invoke(TYPED[("talk",)], ["-h"]).exit_code == 0


def test_help_imports_no_command_that_is_heavy():
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "turnbudget", "--help"], capture_output=True, check=True
    )
    assert b"turnbudget.serving" not in done.stderr
    assert b"Talk to the agent by microphone." in done.stdout


@each("typed", [typed for typed in TYPED if TYPED[typed].epilog], ids=" ".join)
def test_every_example_is_a_line_of_its_own(typed):
    shown = turnbudget(*typed, "-h").stdout.partition("Examples:\n")[2]
    assert shown.splitlines() == [f"  {line}" for line in TYPED[typed].epilog.splitlines()]


def test_examples_stand_as_they_are_typed():
    text = turnbudget("replay", "--help").stdout
    examples = text.partition("Examples:\n")[2].splitlines()
    assert len(examples) >= 5
    assert all(line.startswith("  turnbudget replay ") for line in examples)


def program(*arguments, **how):
    """Run the command line in a process of its own."""
    return subprocess.run(  # noqa: S603 - our own
        [sys.executable, "-m", "turnbudget", *arguments], stderr=subprocess.PIPE, check=False, **how
    )


ASCII = {**os.environ, "PYTHONIOENCODING": "ascii", "LC_ALL": "C"}


def test_what_a_command_prints_survives_a_terminal_that_knows_only_ascii(tmp_path):
    replay(harper(tmp_path / "in"), tmp_path / "run")
    done = program("report", tmp_path / "run", env=ASCII, stdout=subprocess.PIPE)
    assert b"of all caller turns" in done.stdout
    done = program("presets", env=ASCII, stdout=subprocess.PIPE)
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"gpu-small" in done.stdout


@pytest.mark.parametrize("command", ["config", "presets"])
def test_a_full_disk_below_what_is_printed_is_one_line_and_no_missed_mark(command):
    with open("/dev/full", "w") as full:  # noqa: PTH123 - a device
        done = program(command, stdout=full)
    assert done.returncode == 3
    assert done.stderr == b"turnbudget: what was to be printed cannot be written (No space left on device)\n"


@pytest.mark.parametrize("command", ["config", "presets"])
def test_a_reader_who_leaves_is_one_line_and_no_missed_mark(command):
    gone, ours = os.pipe()
    os.close(gone)
    done = program(command, stdout=ours)
    os.close(ours)
    assert (done.returncode, done.stderr) == (141, b"turnbudget: nobody reads any more what is printed\n")
