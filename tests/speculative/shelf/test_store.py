"""The disk holds whole entries or none, private and bounded, for several processes; none can break us."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import resource
import sqlite3
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import msgspec
import numpy as np
import pytest
from voices import DONE, NAME, THANKS, speech
from writer import key as numbered

from turnbudget.speculative.shelf import store as module
from turnbudget.speculative.shelf.pieces import Key
from turnbudget.speculative.shelf.store import FILE, FORM, NAMED, Store

KEY = Key(NAME, "cheap", "tone")
MADE = "2026-11-30T12:00:00+00:00"
ROOT, HELPERS = Path(__file__).parents[3], Path(__file__).parents[1]
BYE = "Goodbye, and have a great day."


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "shelf")


def put(store, *texts, voice="tone"):
    for text in texts:
        assert store.write(Key(text, "cheap", voice), speech(text, voice), MADE)


def texts(store, voice="tone"):
    return [stored.key.text for stored in store.index("cheap", voice)]


def database(store):
    return store.folder / FILE


def sql(store, statement, *values):
    """Have *statement* done by somebody else, who knows nothing of us."""
    with contextlib.closing(sqlite3.connect(database(store))) as base, base:
        return base.execute(statement, values).fetchall()


def run(store, *arguments):
    paths = os.pathsep.join(str(path) for path in (ROOT, HELPERS))
    return subprocess.Popen(  # noqa: S603 - our own interpreter and file
        [sys.executable, HELPERS / "writer.py", store.folder.parent, *map(str, arguments)],
        env=os.environ | {"PYTHONPATH": paths},
    )


def test_what_is_written_is_read_as_it_was(store):
    put(store, NAME)
    read, stored = Store(store.folder.parent).read(KEY)
    wrote = speech(NAME)
    assert (read.text, read.onset, read.voice, read.cost_us) == (NAME, wrote.onset, "tone", wrote.cost_us)
    assert np.array_equal(read.samples, wrote.samples)
    assert read.samples.dtype == np.int16
    assert not read.samples.flags.writeable
    assert store.index("cheap", "tone") == [stored]
    assert stored.made == MADE


def test_what_is_written_is_there_when_the_database_was_closed(store):
    put(store, NAME)
    store.close()
    assert texts(store) == [NAME]
    assert [path.name for path in Store(store.folder.parent).folder.iterdir() if path.name == FILE] == [FILE]


def test_an_entry_is_as_documented(store):
    """Its facts, its samples, and a checksum over both."""
    put(store, NAME)
    *facts, size, checksum, samples = sql(
        store,
        "SELECT engine, voice, form, text, made, onset, padding_us, cost_us, doubt, size, checksum, samples"
        " FROM speech",
    )[0]
    whole = msgspec.json.encode(facts) + samples
    assert facts[:5] == ["cheap", "tone", FORM, NAME, MADE]
    assert samples == speech(NAME).samples.astype("<i2").tobytes()
    assert (size, checksum) == (len(whole), hashlib.sha256(whole).digest())


def test_two_voices_have_nothing_in_common(store):
    """CA-05: engine, voice, rate and version stand in the key; going back is a hit."""
    put(store, NAME, voice="joe@180")
    put(store, NAME, DONE, voice="joe@200")
    assert texts(store, "joe@180") == [NAME]
    assert store.read(Key(NAME, "cheap", "joe@220")) is None
    assert store.read(Key(NAME, "other", "joe@180")) is None
    assert store.read(Key(NAME, "cheap", "joe@180"))[0].voice == "joe@180"
    assert len(store.everything()) == 3


def test_what_was_kept_in_another_form_is_not_found(store, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(module, "FORM", "int16 8000 Hz")
        put(store, NAME)
    assert store.read(KEY) is None
    assert (texts(store), store.everything()) == ([], [])
    put(store, NAME)
    assert texts(store) == [NAME]


def test_nobody_else_can_read_it(store):
    put(store, NAME)
    assert {file.name for file in store.folder.iterdir()} == {FILE, f"{FILE}-wal", f"{FILE}-shm"}
    assert {file.stat().st_mode & 0o777 for file in store.folder.iterdir()} == {0o600}
    store.close()
    store.folder.chmod(0o755)
    database(store).chmod(0o644)
    put(store, DONE)
    assert store.folder.stat().st_mode & 0o777 == 0o700
    assert {file.stat().st_mode & 0o777 for file in store.folder.iterdir()} == {0o600}


ODD = {
    "a flipped bit": ("samples = ?", lambda sound: sound[:-900] + bytes([sound[-900] ^ 1]) + sound[-899:]),
    "cut short": ("samples = ?", lambda sound: sound[:-200]),
    "something appended": ("samples = ?", lambda sound: sound + b".."),
    "empty": ("samples = ?", lambda _: b""),
    "no sound": ("samples = ?", lambda _: "a text"),
    "another onset": ("onset = ?", lambda _: 7),
    "no number": ("cost_us = ?", lambda _: "much"),
    "no text": ("doubt = CAST(? AS TEXT)", lambda _: b"\xff\xfe"),
    "another text": ("text = ?", lambda _: NAME.replace("first", "third")),
    "another voice": ("voice = ?", lambda _: "tune"),
    "another checksum": ("checksum = ?", lambda _: bytes(32)),
    "another size": ("size = ?", lambda _: 4),
}


@pytest.mark.parametrize(("spoilt", "how"), ODD.values(), ids=ODD)
def test_a_corrupt_entry_is_skipped_named_removed_and_made_again(store, spoilt, how):
    """CA-08: when it is read."""
    put(store, NAME, DONE)
    ((sound,),) = sql(store, "SELECT samples FROM speech WHERE text = ?", NAME)
    sql(store, f"UPDATE speech SET {spoilt} WHERE text = ?", how(sound), NAME)  # noqa: S608 - from this file
    assert store.read(KEY) is None
    assert texts(store) == [DONE]
    (fault,) = store.faults()
    assert str(database(store)) in fault
    assert re.search("(checksum|bytes of|elsewhere).*removed, it will be rendered again", fault)
    put(store, NAME)
    assert store.read(KEY) is not None


def test_an_entry_under_another_ones_name_is_not_played(store):
    """CA-08: it is whole, and wrong."""
    put(store, NAME, DONE)
    ((name,),) = sql(store, "SELECT name FROM speech WHERE text = ?", NAME)
    sql(store, "DELETE FROM speech WHERE text = ?", NAME)
    sql(store, "UPDATE speech SET name = ? WHERE text = ?", name, DONE)
    assert store.read(KEY) is None
    assert "elsewhere" in store.faults()[0]
    assert texts(store) == []


def test_sound_that_is_not_heard_from_where_it_should_be_is_not_played(store):
    wrote = speech(NAME)
    store.write(KEY, replace(wrote, onset=wrote.onset + 1), MADE)
    assert store.read(KEY) is None
    assert "not heard from where" in store.faults()[0]


def test_a_shelf_full_of_rubbish_is_told_in_few_lines(store):
    keys = [numbered(number) for number in range(2 * NAMED)]
    put(store, *(key.text for key in keys))
    sql(store, "UPDATE speech SET samples = ?", b"rubbish")
    assert [store.read(key) for key in keys] == [None] * len(keys)
    assert len(store.faults()) == NAMED + 1
    assert "more such entries" in store.faults()[-1]


def middle(whole):
    return whole[: len(whole) // 4] + bytes(len(whole) // 2) + whole[-(len(whole) // 4) :]


BROKEN = {
    "noise": lambda whole: hashlib.sha256(whole).digest() * 4_000,
    "a text": lambda _: b"buy milk\n" * 400,
    "another head": lambda whole: b"SQLite format 9\0" + whole[16:],
    "zeros for a head": lambda whole: bytes(4_096) + whole[4_096:],
    "cut to a page": lambda whole: whole[:16_384],
    "cut in a page": lambda whole: whole[:20_000],
    "zeros in its middle": middle,
}


@pytest.mark.parametrize("spoil", BROKEN.values(), ids=BROKEN)
def test_a_database_that_is_none_is_one_clear_line_and_an_empty_shelf(store, spoil):
    """CA-08: it is set aside and begun anew, whatever it was."""
    put(store, *(numbered(number).text for number in range(8)), NAME)
    store.close()
    database(store).write_bytes(spoil(database(store).read_bytes()))
    texts(store)
    for number in range(8):
        store.read(numbered(number))
    put_again = store.write(KEY, speech(NAME), MADE) or store.write(KEY, speech(NAME), MADE)
    assert put_again
    assert store.read(KEY) is not None
    assert NAME in texts(store)
    assert (store.folder / f"{FILE}.unreadable").stat().st_mode & 0o777 == 0o600
    (fault,) = store.faults()
    assert f"{database(store)}: " in fault
    assert "begun anew, replies will be rendered again" in fault
    assert sql(store, "PRAGMA integrity_check") == [("ok",)]


def test_an_empty_file_is_an_empty_shelf(store):
    put(store, NAME)
    store.close()
    database(store).write_bytes(b"")
    assert texts(store) == []
    put(store, NAME)
    assert store.faults() == ()


def found_broken(store):
    base = store._database
    base._connection = base._opened("no database")


def test_two_who_find_a_database_broken_begin_anew_once(store):
    put(store, NAME)
    other = Store(store.folder.parent)
    assert texts(other) == [NAME]
    found_broken(store)
    put(store, DONE)
    found_broken(other)
    assert texts(Store(store.folder.parent)) == texts(other) == [DONE]
    assert [len(one.faults()) for one in (store, other)] == [1, 0]


def test_what_is_not_ours_is_left_alone(store):
    put(store, NAME)
    (store.folder / "notes.txt").write_text("buy milk")
    assert texts(store) == [NAME]
    store.clear()
    assert (store.folder / "notes.txt").read_text() == "buy milk"


def test_a_link_in_its_place_is_not_followed(store):
    put(store, NAME)
    store.close()
    database(store).rename(store.folder / "elsewhere")
    database(store).symlink_to(store.folder / "elsewhere")
    assert texts(store) == []
    assert len(store.faults()) == 1


def test_a_kill_in_mid_write_breaks_nothing_and_leaves_nothing(store):
    """CA-08: SIGKILL when all is written and has not taken effect."""
    put(store, NAME)
    assert run(store, 0, 3, "killed").wait() == -9
    assert sorted(texts(store)) == sorted([NAME, numbered(0).text, numbered(1).text])
    assert all(store.read(key) for key in (KEY, numbered(0), numbered(1)))
    assert sql(store, "PRAGMA integrity_check") == [("ok",)]
    put(store, numbered(2).text)
    assert store.faults() == ()


def test_a_kill_while_nobody_else_has_it_open_breaks_nothing(store):
    assert run(store, 0, 3, "killed").wait() == -9
    assert sorted(texts(store)) == sorted([numbered(0).text, numbered(1).text])
    assert store.faults() == ()


def test_processes_that_write_the_same_entries_do_not_disturb_each_other_or_a_reader(store):
    """CA-08: a reader beside two writers sees whole entries or none."""
    put(store, NAME)
    writers = [run(store, first, first + 60) for first in (0, 30)]
    seen = 0
    while any(writer.poll() is None for writer in writers):
        seen += sum(store.read(numbered(number)) is not None for number in range(0, 90, 7))
        texts(store)
    assert [writer.wait() for writer in writers] == [0, 0]
    assert seen
    assert len(texts(store)) == 91
    assert store.faults() == ()


def test_processes_that_begin_at_once_make_one_database(store):
    writers = [run(store, first, first + 5) for first in range(0, 20, 5)]
    assert [writer.wait() for writer in writers] == [0] * 4
    assert len(texts(store)) == 20


def full_pages(store):
    ((pages,),) = store._database._connection.execute("PRAGMA page_count").fetchall()
    store._database._connection.execute(f"PRAGMA max_page_count = {pages}")


@pytest.fixture
def _small_files():
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    yield lambda _: resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 16, hard))
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize("how", ["pages", "files"])
def test_a_full_disk_is_one_clear_line_and_breaks_nothing(store, _small_files, how):  # noqa: PT019 - called
    put(store, NAME)
    {"pages": full_pages, "files": _small_files}[how](store)
    for text in (DONE, BYE) if how == "files" else (DONE,):
        assert store.write(KEY._replace(text=text), speech(text), "") is None
    (fault,) = store.faults()
    assert re.search("full|disk I/O error", fault)
    assert (
        "new replies are kept in memory only, make room or name another folder in TURNBUDGET_CACHE" in fault
    )
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    put(store, DONE)
    assert sorted(texts(store)) == sorted([NAME, DONE])
    assert store.read(KEY) is not None
    assert sql(store, "PRAGMA integrity_check") == [("ok",)]


def test_who_waits_too_long_for_another_one_to_write_is_told_once(store, monkeypatch):
    monkeypatch.setattr(module, "WAIT_S", 0)
    put(store, NAME)
    with contextlib.closing(sqlite3.connect(database(store), isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        assert store.read(KEY) is not None
        for text in (DONE, BYE):
            assert store.write(KEY._replace(text=text), speech(text), "") is None
        assert store.read(KEY) is not None
    assert ["locked" in fault for fault in store.faults()] == [True]
    put(store, DONE)


def test_a_place_that_cannot_be_made_is_one_clear_line(tmp_path):
    (tmp_path / "shelf").write_text("a file")
    store = Store(tmp_path / "shelf")
    assert store.index("cheap", "tone") == []
    for text in (NAME, DONE):
        assert store.write(KEY._replace(text=text), speech(text), "") is None
    assert store.read(KEY) is None
    assert len(store.faults()) == 1


def test_a_shelf_that_is_only_looked_at_is_not_made(store):
    assert (store.index("cheap", "tone"), store.everything(), store.read(KEY)) == ([], [], None)
    assert (store.remove(KEY), store.clear(), store.removals()) == (False, 0, 0)
    assert not store.folder.exists()


def test_a_folder_of_another_user_is_not_written_to(store, monkeypatch):
    put(store, NAME)
    store.close()
    monkeypatch.setattr(module.os, "geteuid", lambda: 4711)
    assert store.write(KEY._replace(text=DONE), speech(DONE), "") is None
    assert "another user" in store.faults()[0]


def size_of(key):
    return len(msgspec.json.encode((key.engine, key.voice, FORM, key.text, MADE, 0, 0, 30_000, ""))) + (
        speech(key.text).samples.nbytes
    )


def test_the_disk_is_bounded_and_what_was_not_used_for_longest_goes(tmp_path):
    store = Store(tmp_path, most_bytes=10 * size_of(numbered(0)), most_entries=1_000)
    for number in range(10):
        put(store, numbered(number).text)
    store.touch([numbered(0)])
    for number in range(10, 13):
        put(store, numbered(number).text)
    kept = set(texts(store))
    assert len(kept) <= 11
    assert numbered(0).text in kept
    assert numbered(1).text not in kept
    assert numbered(12).text in kept


def test_the_file_is_bounded_as_its_entries_are(tmp_path):
    """What goes makes room in the database for what comes."""
    store = Store(tmp_path, most_bytes=1 << 20)
    for number in range(100):
        put(store, numbered(number).text)
    store.close()
    assert database(store).stat().st_size < 1.5 * (1 << 20)


def test_a_shelf_that_is_cleared_gives_its_room_back(store):
    put(store, *(numbered(number).text for number in range(20)))
    found_broken(store)
    put(store, *(numbered(number).text for number in range(20)))
    assert store.clear() == 20
    assert not (store.folder / f"{FILE}.unreadable").exists()
    store.close()
    assert database(store).stat().st_size <= 10 * module.PAGE


def test_many_small_entries_are_bounded_too(tmp_path):
    store = Store(tmp_path, most_entries=32)
    for number in range(60):
        put(store, numbered(number).text)
    assert len(texts(store)) <= 32 + 32 // 16


def test_what_is_spared_does_not_make_room(tmp_path):
    store = Store(tmp_path, most_entries=4)
    oldest = KEY._replace(text=numbered(0).text)
    for number in range(8):
        text = numbered(number).text
        store.write(KEY._replace(text=text), speech(text), "", (oldest,))
    assert oldest.text in texts(store)
    assert len(texts(store)) <= 5


def test_what_somebody_removes_is_counted_and_what_makes_room_is_not(tmp_path):
    store = Store(tmp_path, most_entries=2)
    for number in range(6):
        put(store, numbered(number).text)
    assert store.removals() == 0
    assert not store.remove(KEY)
    assert store.removals() == 0
    assert store.remove(KEY._replace(text=texts(store)[0]))
    before = store.removals()
    store.clear()
    assert store.removals() > before > 0
    assert store.clear() == 0


def test_the_last_used_is_listed_first(store):
    put(store, NAME, DONE, THANKS)
    assert texts(store) == [THANKS, DONE, NAME]
    store.touch([KEY._replace(text=DONE), KEY])
    assert texts(store) == [NAME, DONE, THANKS]


def test_an_entry_can_be_removed_and_all_can(store):
    put(store, NAME, DONE)
    put(store, NAME, voice="another")
    there = store.index("cheap", "tone")
    assert store.remove(KEY)
    assert not store.remove(KEY)
    assert [stored.key for stored in store.gone(there)] == [KEY]
    assert store.clear() == 2
    assert store.everything() == []


def test_a_text_as_long_as_a_book_is_kept_like_any_other(store):
    endless = KEY._replace(text="word " * 8_192)
    assert store.write(endless, speech(NAME), "")
    assert store.read(endless)[0].text == endless.text


def test_half_a_character_is_a_name_like_any_other(store):
    put(store, NAME)
    half = KEY._replace(text="\ud800")
    assert store.read(half) is None
    assert not store.remove(half)
    assert store.write(half, speech(NAME), "") is None
    assert store.faults() == ()
