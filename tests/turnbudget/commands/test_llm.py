"""The commands about LLM backends: what they print, and what they refuse with one line."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import urllib.request

import pytest
from click.testing import CliRunner

from turnbudget.agents.simulated.presets import PRESETS
from turnbudget.cli import main


def turnbudget(*arguments):
    return CliRunner().invoke(main, [str(argument) for argument in arguments], catch_exceptions=False)


def only_line(result):
    (line,) = [line for line in result.stderr.splitlines() if line.startswith("turnbudget: ")]
    return line.removeprefix("turnbudget: ")


@pytest.fixture(autouse=True)
def wide(monkeypatch):
    """A terminal in which nothing is folded."""
    monkeypatch.setenv("COLUMNS", "250")


def test_presets_names_every_one():
    result = turnbudget("presets")
    assert result.exit_code == 0
    assert [name for name in PRESETS if f" {name} " not in result.stdout] == []


def test_one_preset_is_shown_with_mark_source_and_date_of_every_constant():
    result = turnbudget("presets", "gpu-small")
    for words in ("losses.step_us", "measured", "assumed", "fit to 28 vLLM 0.15.1 stages", "2026-"):
        assert words in result.stdout


def term(name, *options):
    """The milliseconds of one term of gpu-small's time to first token."""
    lines = turnbudget("presets", "gpu-small", *options).stdout.splitlines()
    (line,) = [line for line in lines if line.strip().startswith(f"{name} ")]
    return float(line.strip().removeprefix(name).split()[0])


def test_the_first_token_is_explained_term_by_term_for_the_prompt_given():
    assert term("sum", "--uncached", 8_000) > term("sum", "--uncached", 100) + 100
    assert term("sum", "--batch", 64) > term("sum", "--batch", 1)


@pytest.mark.parametrize("command", [["presets", "gpu-smal"], ["simulate", "--preset", "gpu-smal"]])
def test_a_preset_that_there_is_not_is_one_line(command):
    result = turnbudget(*command)
    assert (result.exit_code, result.stdout) == (2, "")
    assert only_line(result) == "simulated: no preset is called 'gpu-smal'; did you mean gpu-small?"


def test_a_number_that_no_machine_has_is_one_line(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text('base = "gpu-small"\n[chip]\nbandwidth = 0\n')
    result = turnbudget("presets", path)
    assert result.exit_code == 2
    assert only_line(result) == f"{path}: chip.bandwidth: 0 is impossible; 1 to 1e+21"


@pytest.mark.parametrize(
    ("url", "line"),
    [
        ("127.0.0.1:8080/v1", "'127.0.0.1:8080/v1' is no URL; write it as https://host/v1"),
        ("https://api.openai.com/v1", "no key; set OPENAI_API_KEY"),
    ],
)
def test_what_cannot_be_probed_is_one_line_and_leaves_no_file(tmp_path, monkeypatch, url, line):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    result = turnbudget("probe", url, "--model", "m", "--out", tmp_path / "p.toml")
    assert result.exit_code == 2
    assert line in only_line(result)
    assert not (tmp_path / "p.toml").exists()


def test_probing_where_nobody_answers_is_the_others_fault_and_leaves_no_file(tmp_path, nowhere):
    result = turnbudget("probe", f"http://{nowhere}/v1", "--model", "m", "--out", tmp_path / "p.toml")
    assert result.exit_code == 3
    assert f"no connection to {nowhere}" in only_line(result)
    assert not (tmp_path / "p.toml").exists()


def test_a_preset_that_is_there_is_refused_before_anything_is_asked(tmp_path):
    (tmp_path / "p.toml").write_text("measured = true")
    result = turnbudget("probe", "http://no.such.host/v1", "--model", "m", "--out", tmp_path / "p.toml")
    assert (result.exit_code, result.stdout) == (2, "")
    assert only_line(result) == f"{tmp_path / 'p.toml'}: exists; choose another --out, or --force"
    assert (tmp_path / "p.toml").read_text() == "measured = true"


def test_a_simulated_backend_is_served_until_ctrl_c():
    """A real process, a real socket, a client that knows nothing of us."""
    program = [sys.executable, "-m", "turnbudget", "simulate", "--preset", "gpu-low-batch", "--port", "0"]
    server = subprocess.Popen(program, stderr=subprocess.PIPE, text=True)  # noqa: S603 - our own
    try:
        line = server.stderr.readline()
        assert line.startswith("simulated:gpu-low-batch at http://127.0.0.1:")
        url = line.split()[2].rstrip(";")
        with urllib.request.urlopen(f"{url}/models", timeout=10) as answer:  # noqa: S310 - our own
            assert json.load(answer)["data"]
    finally:
        server.send_signal(signal.SIGINT)
        _, said = server.communicate(timeout=20)
    assert server.returncode == 130
    assert "Traceback" not in said


def test_a_port_that_is_taken_is_one_line():
    import socket  # noqa: PLC0415 - for this test alone

    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        result = turnbudget("simulate", "--port", port)
    assert result.exit_code == 2
    assert str(port) in only_line(result)
