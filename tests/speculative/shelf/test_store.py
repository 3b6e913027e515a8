"""The disk holds whole entries or none, private and bounded, for several processes; none can break us."""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from voices import DONE, NAME, speech
from writer import key as numbered

from turnbudget.speculative.shelf import files
from turnbudget.speculative.shelf.entry import HEAD, Corrupt, pack, title, unpack
from turnbudget.speculative.shelf.held import Key
from turnbudget.speculative.shelf.store import LOCK, NAMED, Store

KEY = Key(NAME, "cheap", "tone")
MADE = "2026-11-30T12:00:00+00:00"
ROOT, HELPERS = Path(__file__).parents[3], Path(__file__).parents[1]


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "shelf")


def put(store, *texts, voice="tone"):
    for text in texts:
        assert store.write(Key(text, "cheap", voice), speech(text, voice), MADE)


def place(store, key=KEY):
    return store._path(key)


def texts(store, voice="tone"):
    return [stored.key.text for stored in store.index("cheap", voice)]


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
    assert store.index("cheap", "tone")[0][:4] == stored[:4]
    assert stored.made == MADE


def test_an_entry_is_as_documented():
    """A line with a checksum, a line of JSON, the samples."""
    first, facts, _ = pack(KEY, speech(NAME), "").split(b"\n", 2)
    rest = pack(KEY, speech(NAME), "")[len(first) + 1 :]
    assert first == b"turnbudget shelf 1 " + hashlib.sha256(rest).hexdigest().encode()
    assert facts.startswith(b'{"text":"May I have')
    assert rest.endswith(speech(NAME).samples.astype("<i2").tobytes())


def test_two_voices_have_nothing_in_common(store):
    """CA-05: engine, voice, rate and version stand in the key; going back is a hit."""
    put(store, NAME, voice="joe@180")
    put(store, NAME, DONE, voice="joe@200")
    assert texts(store, "joe@180") == [NAME]
    assert store.read(Key(NAME, "cheap", "joe@220")) is None
    assert store.read(Key(NAME, "other", "joe@180")) is None
    assert store.read(Key(NAME, "cheap", "joe@180"))[0].voice == "joe@180"
    assert len(store.everything()) == 3


def test_nobody_else_can_read_it(store):
    put(store, NAME)
    for folder in (store.folder, place(store).parent):
        assert folder.stat().st_mode & 0o777 == 0o700
    for file in (place(store), store.folder / LOCK):
        assert file.stat().st_mode & 0o777 == 0o600
    store.folder.chmod(0o755)
    put(store, DONE)
    assert store.folder.stat().st_mode & 0o777 == 0o700


def flipped(whole):
    return whole[:-900] + bytes([whole[-900] ^ 1]) + whole[-899:]


ODD = {
    "a flipped bit": (flipped, "checksum"),
    "cut short": (lambda whole: whole[:-200], "bytes of"),
    "something appended": (lambda whole: whole + b"..", "bytes of"),
    "empty": (lambda _: b"", "no entry"),
    "no facts": (lambda whole: whole[:84], "no entry"),
    "other facts": (lambda whole: whole.replace(b'"onset"', b'"offset"'), "facts"),
    "another text": (lambda whole: whole.replace(b"first and", b"third and"), "elsewhere|checksum"),
    "another version": (lambda whole: whole.replace(b"shelf 1", b"shelf 2"), "no entry"),
    "another form": (lambda whole: whole.replace(b"16000 Hz", b"8000 Hz "), "form"),
    "noise": (lambda whole: hashlib.sha256(whole).digest() * 700, "no entry"),
    "all zero": (lambda whole: bytes(len(whole)), "no entry"),
}


@pytest.mark.parametrize(("spoil", "why"), ODD.values(), ids=ODD)
def test_a_corrupt_file_is_skipped_named_removed_and_made_again(store, spoil, why):
    """CA-08: at the first look or when it is read, whichever sees it."""
    put(store, NAME, DONE)
    place(store).write_bytes(spoil(place(store).read_bytes()))
    listed = texts(store)
    assert store.read(KEY) is None
    assert listed in ([DONE], [NAME, DONE], [DONE, NAME])
    assert texts(store) == [DONE]
    (fault,) = store.faults()
    assert str(place(store)) in fault
    assert re.search(why, fault)
    put(store, NAME)
    assert store.read(KEY) is not None


def test_an_entry_under_another_ones_name_is_not_played(store):
    """CA-08: a file copied over another is whole, and wrong."""
    put(store, NAME, DONE)
    place(store).write_bytes(place(store, KEY._replace(text=DONE)).read_bytes())
    assert store.read(KEY) is None
    assert texts(store) == [DONE]


def test_what_is_not_ours_is_left_alone_and_named(store):
    put(store, NAME)
    (place(store).parent / "notes.txt").write_text("buy milk")
    (place(store).parent / f"{'0' * 32}.speech").mkdir()
    (place(store).parent / f"{'1' * 32}.speech").symlink_to("/dev/zero")
    os.mkfifo(place(store).parent / f"{'2' * 32}.speech")
    (store.folder / "stray").write_text("")
    assert texts(store) == [NAME]
    assert (place(store).parent / "notes.txt").read_text() == "buy milk"
    assert "notes.txt: not ours" in "\n".join(store.faults())


def test_a_folder_full_of_rubbish_is_told_in_few_lines(store):
    put(store, NAME)
    for number in range(2 * NAMED):
        (place(store).parent / f"{number:032x}.speech").write_bytes(b"rubbish")
    assert texts(store) == [NAME]
    assert len(store.faults()) == NAMED + 1
    assert "more such files" in store.faults()[-1]


def test_a_kill_in_mid_write_breaks_nothing_and_leaves_nothing(store):
    """CA-08: SIGKILL at half a file."""
    put(store, NAME)
    assert run(store, 0, 3, "killed").wait() == -9
    assert len(list(place(store).parent.glob(f"{files.REMNANT}*"))) == 1
    assert sorted(texts(store)) == sorted([NAME, numbered(0).text, numbered(1).text])
    assert list(place(store).parent.glob(f"{files.REMNANT}*")) == []
    assert store.faults() == ()


def test_what_somebody_is_writing_is_not_swept_away(store):
    put(store, NAME)
    (place(store).parent / f"{files.REMNANT}abc").write_bytes(b"half")
    with files.locked(store.folder / LOCK, fcntl.LOCK_SH):
        texts(store)
        assert (place(store).parent / f"{files.REMNANT}abc").exists()
    texts(store)
    assert not (place(store).parent / f"{files.REMNANT}abc").exists()


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


@pytest.mark.parametrize("where", ["os.replace", "mkstemp", "write"])
def test_a_full_disk_is_one_clear_line_and_no_remnant(store, monkeypatch, where):
    put(store, NAME)

    def full(*_, **__):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    target = {
        "os.replace": (files.os, "replace"),
        "mkstemp": (files.tempfile, "mkstemp"),
        "write": (files.os, "fdopen"),
    }
    with monkeypatch.context() as patch:
        patch.setattr(*target[where], full)
        for text in (DONE, "Goodbye, and have a great day."):
            assert store.write(KEY._replace(text=text), speech(text), "") is None
    (fault,) = store.faults()
    assert "No space left on device; new replies are kept in memory only, make room" in fault
    assert list(place(store).parent.glob(f"{files.REMNANT}*")) == []
    put(store, DONE)
    assert sorted(texts(store)) == sorted([NAME, DONE])


def test_a_place_that_cannot_be_made_is_one_clear_line(tmp_path):
    (tmp_path / "shelf").write_text("a file")
    store = Store(tmp_path / "shelf")
    assert store.index("cheap", "tone") == []
    assert store.write(KEY, speech(NAME), "") is None
    assert store.read(KEY) is None
    assert len(store.faults()) == 2


def test_a_folder_of_another_user_is_not_written_to(store, monkeypatch):
    put(store, NAME)
    monkeypatch.setattr(files.os, "geteuid", lambda: 4711)
    assert store.write(KEY._replace(text=DONE), speech(DONE), "") is None
    assert "another user" in store.faults()[0]


def test_the_disk_is_bounded_and_what_was_not_used_for_longest_goes(tmp_path):
    size = len(pack(numbered(0), speech(numbered(0).text), MADE))
    store = Store(tmp_path, most_bytes=10 * size, most_entries=1_000)
    for number in range(10):
        put(store, numbered(number).text)
        os.utime(place(store, numbered(number)), ns=(number, number))
    store.touch([numbered(0)])
    for number in range(10, 13):
        put(store, numbered(number).text)
    kept = set(texts(store))
    assert len(kept) <= 11
    assert numbered(0).text in kept
    assert numbered(1).text not in kept
    assert numbered(12).text in kept


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
    for age, text in enumerate((NAME, DONE)):
        put(store, text)
        os.utime(place(store, KEY._replace(text=text)), ns=(9 - age, 9 - age))
    assert texts(store) == [NAME, DONE]


def test_an_entry_can_be_removed_and_all_can(store):
    put(store, NAME, DONE)
    put(store, NAME, voice="another")
    there = store.index("cheap", "tone")
    assert store.remove(KEY)
    assert not store.remove(KEY)
    assert [stored.key for stored in store.gone(there)] == [KEY]
    assert store.clear() == 2
    assert store.everything() == []


def test_a_text_too_long_for_the_first_lines_is_not_written(store):
    endless = KEY._replace(text="word " * HEAD)
    assert store.write(endless, speech(NAME), "") is None
    assert store.faults() == ()


def test_half_a_character_is_a_name_like_any_other(store):
    assert store.read(KEY._replace(text="\ud800")) is None
    assert not store.remove(KEY._replace(text="\ud800"))


def test_no_bytes_are_taken_for_an_entry_that_are_none():
    whole = pack(KEY, speech(NAME), "")
    for cut in range(0, 600, 7):
        with pytest.raises(Corrupt):
            unpack(whole[:cut], KEY)
    assert title(whole[:HEAD]).size == len(whole)
