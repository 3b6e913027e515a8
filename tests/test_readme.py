"""The README holds: what it says to type can be typed, it is short, and it knows no machine of ours."""

from __future__ import annotations

import re
import shlex

import click
import pytest
from click.testing import CliRunner
from laws import each
from shipped import ROOT

from turnbudget.cli import main

README = (ROOT / "README.md").read_text("utf-8")
PRIVATE = re.compile(
    r"/home/|/Users/|/root\b|/work/|/tmp/|\b(?!127\.0\.0\.1\b|0\.0\.0\.0\b)(?:\d{1,3}\.){3}\d{1,3}\b"
)


def commands(text):
    """Return the commands in the code blocks of *text*, one list of words each."""
    found = []
    for block in re.findall(r"^```(?:\w+)?\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
        for line in block.replace("\\\n", " ").splitlines():
            words = shlex.split(line.removeprefix("$ "), comments=True) if is_command(line) else []
            if words:
                found.append(words)
    return found


def is_command(line):
    return re.match(r"(\$ )?(\./)?(turnbudget|scripts/\w+)\b", line) is not None


def fault(words):
    """Return what is wrong with a command, ``None`` if it can be typed."""
    program, *rest = words
    if program != "turnbudget":
        script = ROOT / program
        return None if script.is_file() and script.stat().st_mode & 0o111 else f"{program} is no script"
    command, context = main, click.Context(main)
    while isinstance(command, click.Group) and rest and not rest[0].startswith("-"):
        command = command.get_command(context, rest.pop(0))
        if command is None:
            return f"{' '.join(words)}: no such command"
    options = {option for parameter in command.params for option in parameter.opts} | {"--help", "--version"}
    unknown = [word for word in rest if word.startswith("--") and word.partition("=")[0] not in options]
    return f"{' '.join(words)}: no option {', '.join(unknown)}" if unknown else None


@pytest.mark.parametrize("words", commands(README), ids=" ".join)
def test_what_the_readme_says_to_type_can_be_typed(words):
    assert fault(words) is None


def test_the_readme_says_how_to_begin():
    assert ["scripts/demo"] in commands(README)


@each("name", sorted(main.commands))
def test_every_command_explains_itself(name):
    shown = CliRunner().invoke(main, [name, "--help"])
    assert shown.exit_code == 0
    assert main.commands[name].get_short_help_str()


def test_the_readme_is_short():
    assert len(README.splitlines()) <= 150


@pytest.mark.parametrize("page", sorted(ROOT.glob("*.md")), ids=lambda page: page.name)
def test_no_page_knows_a_machine_of_ours(page):
    assert PRIVATE.findall(page.read_text("utf-8")) == []


def test_commands_are_read_as_a_reader_reads_them():
    block = "$ turnbudget replay a.wav \\\n  --clock skip  # real\nscripts/test -x\nls\n"
    page = f"Type:\n```sh\n{block}```\nturnbudget no\n"
    assert commands(page) == [["turnbudget", "replay", "a.wav", "--clock", "skip"], ["scripts/test", "-x"]]


@pytest.mark.parametrize(
    "line", ["turnbudget fly", "turnbudget doctor --loudly", "scripts/fly", "scripts/_env"]
)
def test_what_cannot_be_typed_is_caught(line):
    assert fault(shlex.split(line))


@pytest.mark.parametrize("text", ["/home/me/x", "in /tmp/run", "on 10.0.0.7"])
def test_a_machine_of_ours_is_caught(text):
    assert PRIVATE.search(text)


@pytest.mark.parametrize("text", ["http://127.0.0.1:8000", "version 0.3.45", "runs/demo/report.html"])
def test_what_is_on_every_machine_is_not(text):
    assert not PRIVATE.search(text)
