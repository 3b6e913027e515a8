"""Several backends on the same recordings: refused before the first has run, and shown in one table."""

from __future__ import annotations

import asyncio
import re
from io import StringIO

import msgspec
import pytest
from calls import QUICK, harper, plan, replay
from click.testing import CliRunner
from provider import CLOSE, provider, whole
from rich.console import Console
from sample_run import header, turn

from turnbudget.cli import main
from turnbudget.commands import replaying
from turnbudget.recorded.compare import answered_by, late, look_ahead, price, side_by_side
from turnbudget.runs.folder import Run
from turnbudget.runs.folder import load as load_run
from turnbudget.runs.records import CallRecord
from turnbudget.runs.summary import summarise
from turnbudget.settings.config import LlmTable, dump
from turnbudget.voice.errors import RunError

LOW, WAFER = "simulated:gpu-low-batch", "simulated:wafer-scale"


def run_of(*rows, usd=None, minutes=2):
    """A run of *rows*, its only call so long."""
    call = CallRecord(
        call="a", source="a.wav", length_us=minutes * 60_000_000, turns=len(rows), audio="a.wav", ended="x"
    )
    head = msgspec.structs.replace(header(rows), calls=(call,), usd=usd)
    return Run(summarise(rows, head), rows)


def printed(*named, width=80):
    console = Console(width=width, file=StringIO())
    console.print(side_by_side(named))
    return console.file.getvalue()


@pytest.fixture
def go(tmp_path, monkeypatch):
    """Replay a call with the backends named, in virtual time."""
    for key in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.delenv(key, raising=False)
    (tmp_path / "quick.toml").write_text(dump(QUICK))
    source = harper(tmp_path / "in")

    def replay_with(*specs, options=(), virtual=True):
        backends = [word for spec in specs for word in ("--backend", spec)]
        clocks = ["--clock", "virtual"] if virtual else ["--asr", "scripted", "--tts", "scripted"]
        arguments = ["replay", source, *backends, *clocks, "--out", tmp_path / "runs", *options]
        if "--config" not in options:
            arguments += ["--config", tmp_path / "quick.toml"]
        return CliRunner().invoke(main, [str(word) for word in arguments], catch_exceptions=False)

    return replay_with


def folders(tmp_path):
    runs = tmp_path / "runs"
    return sorted(path.name for path in runs.iterdir()) if runs.exists() else []


def test_two_backends_are_compared_side_by_side(tmp_path, go):
    """Each has a run of its own; a price stands where the preset names one."""
    result = go(LOW, WAFER)
    assert result.exit_code == 0
    low, wafer = (load_run(tmp_path / "runs" / name) for name in folders(tmp_path))
    table = result.stdout[result.stdout.index("  backend  ") :].splitlines()
    assert re.split(r"\s{2,}", table[0].strip()) == [
        "backend",
        "first sound",
        "first answer",
        "late",
        "$/minute",
    ]
    for line, name, run in ((table[2], "gpu-low-batch", low), (table[3], "wafer-scale", wafer)):
        sound, answer = (
            " / ".join(f"{-(-us // 1000):,}" for us in (spread.p50_us, spread.p95_us, spread.p99_us))
            for spread in (run.summary.first_sound, run.summary.first_answer)
        )
        assert re.split(r"\s{2,}", line.strip()) == [name, sound, answer, "0.0%", price(run.summary)]
    assert float(price(low.summary)) > 0
    assert price(wafer.summary) == "–"
    assert low.summary.first_sound.p50_us > wafer.summary.first_sound.p50_us


def test_the_runs_stand_beside_one_another_and_each_is_named(tmp_path, go):
    result = go(LOW, WAFER, options=("--name", "mine"))
    assert folders(tmp_path) == ["mine", "mine-2"]
    assert [line for line in result.stdout.splitlines() if line.startswith("report: ")] == [
        f"report: {tmp_path / 'runs' / name / 'report.html'}" for name in ("mine", "mine-2")
    ]
    engines = [load_run(tmp_path / "runs" / name).summary.engines[2].name for name in ("mine", "mine-2")]
    assert engines == [f"llm:{LOW}", f"llm:{WAFER}"]


def test_one_backend_is_an_ordinary_run(tmp_path, go):
    result = go(LOW)
    assert result.exit_code == 0
    assert "call one" in result.stdout
    assert "$/minute" not in result.stdout
    assert folders(tmp_path) == ["in"]


def test_a_mark_that_one_of_them_misses_sets_the_exit_code(go):
    """gpt-4.1 takes half a second to its first token, so the bridge sounds at 710 ms."""
    assert go(WAFER, "simulated:api-gpt-4.1", options=("--fail-over", "700")).exit_code == 1
    assert go(WAFER, LOW, options=("--fail-over", "700")).exit_code == 0


@pytest.mark.parametrize(
    ("spec", "line"),
    [
        ("simulated:nope", "simulated: no preset is called 'nope'"),
        ("openai:127.0.0.1:8080/v1", "openai: '127.0.0.1:8080/v1' is no URL"),
        ("openai:https://api.openai.com/v1", "openai: no key; set OPENAI_API_KEY"),
        ("anthropic:claude", "anthropic: no key; set ANTHROPIC_API_KEY"),
        ("mine.toml", "mine.toml: impossible: is no field"),
        ("negative.toml", "negative.toml: machine.chips: -1 is impossible"),
        ("openai:http://127.0.0.1:1/v1", "use a simulated or scripted backend, or --clock skip"),
    ],
)
@pytest.mark.parametrize("before", [(), (LOW,)], ids=["alone", "as the second"])
def test_a_backend_that_cannot_be_used_is_one_line_before_any_call(  # noqa: PLR0913, PLR0917 - fixtures
    tmp_path, monkeypatch, go, spec, line, before
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.toml").write_text('base = "gpu-small"\nimpossible = 1\n')
    (tmp_path / "negative.toml").write_text('base = "gpu-small"\n[machine]\nchips = -1\n')
    result = go(*before, spec)
    assert (result.exit_code, result.stdout) == (2, "")
    (said,) = [one for one in result.stderr.splitlines() if one.startswith("turnbudget: ")]
    assert line in said
    assert folders(tmp_path) == []


@pytest.mark.clock("wall")
@pytest.mark.parametrize("before", [(), (LOW,)], ids=["alone", "as the second"])
async def test_a_model_that_the_server_lacks_is_one_line_before_any_call(tmp_path, go, before):
    """The server is real, and the command runs beside it in a thread."""
    config = msgspec.structs.replace(QUICK, llm=LlmTable(model="small"))
    (tmp_path / "small.toml").write_text(dump(config))
    async with provider([whole(200, b'{"data": [{"id": "big"}]}'), CLOSE]) as it:
        work = lambda: go(  # noqa: E731
            *before, f"openai:{it.url}", options=("--config", tmp_path / "small.toml"), virtual=False
        )
        result = await asyncio.get_running_loop().run_in_executor(None, work)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "turnbudget: openai: the server has no model 'small'; it has big\n" in result.stderr
    assert folders(tmp_path) == []


@pytest.mark.parametrize("taken", ["mine", "mine-2"])
def test_a_folder_that_is_taken_is_refused_before_the_first_has_run(tmp_path, go, taken):
    go(LOW, options=("--name", taken))
    result = go(LOW, WAFER, options=("--name", "mine"))
    assert (result.exit_code, result.stdout) == (2, "")
    assert f"{taken}: the run folder exists; choose another --name, or --force" in result.stderr
    assert folders(tmp_path) == [taken]
    assert go(LOW, WAFER, options=("--name", "mine", "--force")).exit_code == 0


async def test_looking_ahead_asks_every_backend(tmp_path):
    good = answered_by(plan(tmp_path / "in", tmp_path / "run"), LOW, 0)
    await look_ahead([good, answered_by(good, WAFER, 1)])
    (tmp_path / "run-2").mkdir()
    with pytest.raises(RunError):
        await look_ahead([good, answered_by(good, WAFER, 1)])


def test_a_run_that_is_ended_by_ctrl_c_is_the_last(tmp_path, go, monkeypatch):
    real = replaying.perform

    def ended(one, kind, *, quiet=False):
        run = real(one, kind, quiet=quiet)
        return run._replace(summary=msgspec.structs.replace(run.summary, truncated=True))

    monkeypatch.setattr(replaying, "perform", ended)
    result = go(LOW, WAFER)
    assert result.exit_code == 130
    assert folders(tmp_path) == ["in"]
    assert "$/minute" not in result.stdout


def test_a_turn_without_a_sound_is_late():
    rows = run_of(turn(), turn(sounded=900_000), turn(answered=False)).rows
    assert late(rows, 800_000) == "66.7%"
    assert late(rows, 1_000_000) == "33.3%"
    assert late((), 800_000) == "–"


def test_what_we_say_unasked_is_no_turn_that_can_be_late():
    row = msgspec.structs.replace(turn(answered=False), kind="greeting")
    assert late((row, turn()), 800_000) == "0.0%"


def test_the_price_is_that_of_a_minute_of_call():
    assert price(run_of(turn(), usd=0.03, minutes=2).summary) == "0.01500"
    assert price(run_of(turn(), usd=0.0, minutes=2).summary) == "0.00000"
    assert price(run_of(turn(), usd=None).summary) == "–"
    assert price(run_of(turn(), usd=1.0, minutes=0).summary) == "–"


def test_a_long_name_is_folded_and_no_number_is_cut():
    url = "openai:http://a-rather-long-host-name.example:12345/v1"
    text = printed((url, run_of(turn(sounded=1_234_000), usd=0.1)), ("simulated:lpu", run_of(turn())))
    assert "…" not in text
    assert "1,234 / 1,234 / 1,234" in text
    assert "0.05000" in text
    assert "12345/v1" in text


def test_replays_of_the_same_backend_cost_the_same_to_the_last_digit(tmp_path):
    source = harper(tmp_path / "in")
    config = msgspec.structs.replace(QUICK, llm=LlmTable(backend=LOW))
    runs = [replay(source, tmp_path / name / "run", config) for name in ("a", "b")]
    assert runs[0].summary.usd == runs[1].summary.usd > 0
    assert runs[0].rows == runs[1].rows
