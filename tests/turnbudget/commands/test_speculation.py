"""What a person can do with the bank and the shelf: mine one; warm, see, take from and clear the other."""

from __future__ import annotations

import pytest
from calls import QUICK
from click.testing import CliRunner

from turnbudget.cli import main
from turnbudget.settings.config import TtsTable, dump
from turnbudget.speculative.bank.bank import read


@pytest.fixture
def shelf(tmp_path, monkeypatch):
    """Run a command of the shelf, on one of its own, with a voice that is scripted."""
    monkeypatch.setenv("TURNBUDGET_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    settings = dump(QUICK).replace('engine = "auto"\nvoice', 'engine = "scripted"\nvoice')
    assert TtsTable(engine="scripted").engine in settings
    (tmp_path / "agent.toml").write_text(settings)
    (tmp_path / "replies.txt").write_text("Which account?\n\nThank you, Maria.\n")
    return lambda *words: CliRunner().invoke(main, ["shelf", *words], catch_exceptions=False)


def warm(shelf, *words):
    return shelf("warm", *words, "--config", "agent.toml")


def test_replies_of_a_file_are_rendered_and_listed(shelf):
    result = warm(shelf, "replies.txt")
    assert (result.exit_code, result.stdout) == (0, "2 replies asked for, 0 faults\n")
    listed = shelf("list")
    assert "Which account?" in listed.stdout
    assert "Thank you, Maria." in listed.stdout
    assert "2 of 2 replies" in listed.stdout
    assert "1 of 2 replies" in shelf("list", "maria").stdout


def test_without_a_file_what_stands_in_the_settings_is_rendered(shelf):
    assert warm(shelf).exit_code == 0
    assert "Here it is." in shelf("list").stdout


def test_a_reply_is_removed_once(shelf):
    warm(shelf, "replies.txt")
    assert shelf("remove", "Which account?").stdout == "1 removed\n"
    again = shelf("remove", "Which account?")
    assert again.exit_code == 2
    assert "no reply on the shelf reads 'Which account?'" in again.stderr


def test_clearing_asks_first(shelf):
    warm(shelf, "replies.txt")
    assert CliRunner().invoke(main, ["shelf", "clear"], input="n\n").exit_code == 1
    assert "2 of 2" in shelf("list").stdout
    assert shelf("clear", "--yes").stdout == "2 removed\n"
    assert shelf("list").stdout == "0 of 0 replies, 0 KB\n"


def test_a_file_that_is_not_there_is_one_line(shelf):
    result = warm(shelf, "none.txt")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == "turnbudget: none.txt: cannot be read: No such file or directory\n"


def mine(*words):
    return CliRunner().invoke(main, ["mine", *map(str, words)], catch_exceptions=False)


def test_mining_writes_a_bank_and_says_what_it_is_worth(recordings, tmp_path):
    source = recordings / "harper-valley" / "dialogues.jsonl"
    result = mine(source, "--out", tmp_path / "bank.toml", "--threshold", 0.6)
    assert result.exit_code == 0
    assert read(tmp_path / "bank.toml").reply
    (chosen,) = [line for line in result.stdout.splitlines() if "chosen" in line]
    assert chosen.split()[0] == "0.60"


def test_an_edited_bank_is_replaced_only_by_force(recordings, tmp_path):
    """Another look at the same dialogues, which make the same bank, is no replacement."""
    source, out = recordings / "harper-valley" / "dialogues.jsonl", tmp_path / "bank.toml"
    assert [mine(source, "--out", out).exit_code for _ in range(2)] == [0, 0]
    mined = out.read_text()
    out.write_text(edited := f"{mined}# mine\n")
    result = mine(source, "--out", out)
    assert result.exit_code == 2
    assert f"turnbudget: {out}: exists, and is another; choose another --out, or --force" in result.stderr
    assert out.read_text() == edited
    assert mine(source, "--out", out, "--force").exit_code == 0
    assert out.read_text() == mined


@pytest.mark.parametrize("option", [("--threshold", "2"), ("--hold-out", "1")])
def test_odds_that_there_are_not_are_refused(tmp_path, option):
    result = mine(tmp_path, *option)
    assert result.exit_code == 2
    assert f"Invalid value for '{option[0]}'" in result.stderr


def test_what_cannot_be_mined_is_one_line_and_no_bank(tmp_path):
    result = mine(tmp_path / "none.jsonl", "--out", tmp_path / "bank.toml")
    assert (result.exit_code, result.stdout) == (2, "")
    (line,) = [line for line in result.stderr.splitlines() if line.startswith("turnbudget: ")]
    assert "none.jsonl" in line
    assert not (tmp_path / "bank.toml").exists()
