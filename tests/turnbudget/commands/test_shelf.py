"""What the command line can do with the shelf: list, warm, remove, clear."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from turnbudget.commands import shelf
from turnbudget.settings.config import Config
from turnbudget.speculative.shelf.shelf import Shelf
from turnbudget.speculative.shelf.store import Store
from turnbudget.voice.errors import UsageError
from turnbudget.voice.tts.scripted import ScriptedSynthesizer

BRIDGE = "One moment."


@pytest.fixture(autouse=True)
def _own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("TURNBUDGET_CACHE", str(tmp_path / "cache"))


async def test_what_stands_in_the_settings_is_warmed_listed_and_found():
    told = []
    texts = shelf.standing(Config())
    assert await shelf.warm(Config(), texts, lambda *step: told.append(step)) == ()
    assert told[-1] == (len(texts), len(texts), "warm")
    replies, faults = shelf.stored()
    assert BRIDGE in {each.key.text for each in replies}
    assert faults == ()
    console = Console(width=120, record=True, file=io.StringIO())
    console.print(shelf.table(replies))
    assert BRIDGE in console.export_text()
    ours = Shelf(ScriptedSynthesizer(), store=Store())
    await ours.open()
    assert all(ours.has(text) for text in texts)
    await ours.aclose()


async def test_a_reply_is_removed_by_its_text_or_by_what_was_said():
    """CA-09: with the documented means."""
    await shelf.warm(Config(), [BRIDGE, "Thank you, Maria. That is done."], lambda *_: None)
    assert shelf.remove(f" {BRIDGE} ") == 1
    assert shelf.remove(BRIDGE) == 0
    assert shelf.remove("Thank you, Maria. That is done.") == 2
    assert shelf.stored() == ([], ())


async def test_the_shelf_can_be_cleared():
    await shelf.warm(Config(), [BRIDGE], lambda *_: None)
    assert shelf.clear() == 1
    assert shelf.clear() == 0


def test_a_file_of_replies_has_one_a_line(tmp_path):
    (tmp_path / "replies.txt").write_text("\ufeffOne moment.\n\n  Thank you. \n", "utf-8")
    assert shelf.read_texts(tmp_path / "replies.txt") == ["One moment.", "Thank you."]


@pytest.mark.parametrize(("content", "why"), [(None, "cannot be read"), (b"\xff\xfe\x00", "UTF-8")])
def test_a_file_that_is_none_is_named(tmp_path, content, why):
    if content:
        (tmp_path / "replies.txt").write_bytes(content)
    with pytest.raises(UsageError, match=why):
        shelf.read_texts(tmp_path / "replies.txt")
