"""A shelf with a disk below it: what was rendered once is there after a restart, whatever the disk does."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
import threading
from types import SimpleNamespace

import pytest
from voices import DONE, NAME, THANKS, Voice, shelved, speech

from turnbudget.speculative.shelf import store
from turnbudget.speculative.shelf.memory import OVERHEAD, WarmUp
from turnbudget.speculative.shelf.pieces import Key
from turnbudget.speculative.shelf.store import Store
from turnbudget.voice import database
from turnbudget.voice.errors import TtsError
from turnbudget.voice.time import clock
from turnbudget.voice.time.clock import MS, SECOND

MINE = "Your balance is four hundred and twelve euros."
ALIKE = [NAME.replace("first", word) for word in ("third", "sixth", "ninth", "tenth", "fifth")]
ROOM = speech(NAME).samples.nbytes + OVERHEAD


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "shelf"


def spoilt(statement, folder):
    with contextlib.closing(sqlite3.connect(folder / store.VERSION / store.FILE)) as base, base:
        base.execute(statement)


def on_disk(folder):
    return sorted(stored.key.text for stored in Store(folder).everything())


async def test_what_was_kept_is_there_after_a_restart(folder):
    async with shelved(store=Store(folder)) as shelf:
        await shelf.keep(f"{THANKS} {NAME}")
        assert {entry.origin for entry in shelf.entries()} == {"rendered"}
    voice = Voice()
    async with shelved(voice, store=Store(folder)) as shelf:
        assert shelf.find(NAME).text == NAME
        assert shelf.opening(f"{THANKS} {MINE}")[1] == MINE
        assert [(entry.text, entry.origin, entry.on_disk) for entry in shelf.entries()] == [
            (NAME, "disk", True),
            (THANKS, "disk", True),
        ]
    assert voice.rendered == []


@pytest.mark.clock("skip")
async def test_the_disk_is_read_and_written_off_the_loop(folder):
    threads = {}

    class Watched(Store):
        def __getattribute__(self, name):
            if name == "_try":
                threads.setdefault(name, set()).add(threading.current_thread())
            return super().__getattribute__(name)

    for _ in range(2):
        async with shelved(store=Watched(folder)) as shelf:
            await shelf.keep(NAME)
            assert shelf.find(NAME) is not None
            shelf.for_call()
            assert shelf.entries()[0].made.endswith("+00:00")
            await shelf.remove(NAME)
    # What reads and writes is looked up by a method that runs in a thread already.
    assert threading.main_thread() not in threads["_try"]


async def test_another_voice_hears_none_of_it_and_going_back_is_a_hit(folder):
    """CA-05: over restarts, with a rate changed and changed back."""
    rendered = []
    for rate in ("180", "200", "180", "200"):
        voice = Voice(voice=f"joe@{rate}")
        async with shelved(voice, store=Store(folder)) as shelf:
            assert (await shelf.keep(NAME)).voice == f"joe@{rate}"
        rendered.append(len(voice.rendered))
    assert rendered == [1, 1, 0, 0]


async def test_a_callers_data_never_reaches_the_disk(folder):
    """CA-03: nor the listing, nor another call."""
    async with shelved(store=Store(folder)) as shelf:
        call = shelf.for_call()
        await call.keep(f"{THANKS} {MINE}")
        assert shelf.entries() == []
        call.close()
    assert on_disk(folder) == []


async def test_a_failed_render_is_on_no_disk(folder):
    """CA-08: nor is one that makes no sound."""
    async with shelved(Voice(faults={"name": 1}), store=Store(folder)) as shelf:
        with pytest.raises(TtsError):
            await shelf.keep(NAME)
    assert on_disk(folder) == []


async def test_a_corrupt_file_is_named_and_rendered_again(folder):
    """CA-08: found at the start, removed, rebuilt."""
    async with shelved(store=Store(folder)) as shelf:
        await shelf.keep(NAME)
    spoilt("UPDATE speech SET samples = samples || x'7f7f'", folder)
    voice = Voice()
    async with shelved(voice, store=Store(folder)) as shelf:
        assert shelf.find(NAME) is None
        assert [NAME[:60] in fault for fault in shelf.faults()] == [True]
        await shelf.keep(NAME)
    assert voice.rendered == [NAME]
    assert on_disk(folder) == [NAME]


async def test_a_full_disk_is_one_line_and_the_shelf_lives_on_in_memory(folder, monkeypatch):
    def full(base, work, begin):
        if begin == "BEGIN IMMEDIATE":
            raise sqlite3.OperationalError("database or disk is full")
        return work(base)

    monkeypatch.setattr(database, "_attempt", full)
    async with shelved(store=Store(folder)) as shelf:
        for text in (NAME, DONE, THANKS):
            await shelf.keep(text)
        assert all(shelf.find(text) for text in (NAME, DONE, THANKS))
        assert len(shelf.faults()) == 1
        assert "disk is full" in shelf.faults()[0]


async def test_an_entry_is_removed_from_memory_and_disk_at_once(folder):
    """CA-09: without a restart."""
    async with shelved(store=Store(folder)) as shelf:
        await shelf.keep(NAME)
        assert on_disk(folder) == [NAME]
        assert await shelf.remove(NAME)
        assert (shelf.find(NAME), await shelf.fetch(NAME), on_disk(folder)) == (None, None, [])


async def test_what_another_process_removes_is_let_go_of_at_the_next_call(folder):
    """CA-09: a person removes it on the command line while the server runs."""
    async with shelved(store=Store(folder)) as server:
        await server.keep(f"{THANKS} {NAME}")
        async with shelved(store=Store(folder)) as command:
            assert await command.remove(NAME)
        call = server.for_call()
        await clock.sleep(MS)
        assert call.find(NAME) is None
        assert call.find(THANKS) is not None


async def test_what_had_to_make_room_on_the_disk_stays_in_memory(folder):
    """Another process fills the disk: that is no reason for a server to render its replies anew."""
    async with shelved(store=Store(folder)) as server:
        await server.warm(ALIKE)
        async with shelved(Voice(voice="another"), store=Store(folder, most_bytes=2 * ROOM)) as other:
            await other.keep(NAME)
            await other.keep(DONE)
        assert len(on_disk(folder)) <= 3
        call = server.for_call()
        await clock.sleep(MS)
        assert all(call.has(text) for text in ALIKE)


async def test_what_another_process_has_rendered_is_not_rendered_again(folder):
    first, second = Voice(), Voice()
    async with shelved(first, store=Store(folder)) as one, shelved(second, store=Store(folder)) as other:
        await one.keep(NAME)
        await other.keep(NAME)
    assert (first.rendered, second.rendered) == ([NAME], [])


async def test_what_does_not_fit_in_memory_is_fetched_from_the_disk(folder):
    """The last used are in memory after a start; a call that keeps the others does not render them."""
    async with shelved(store=Store(folder)) as shelf:
        await shelf.warm(ALIKE)
    voice = Voice()
    async with shelved(voice, store=Store(folder), most_bytes=2 * ROOM) as shelf:
        held = [text for text in ALIKE if shelf.find(text)]
        assert len(held) == 2
        away = next(text for text in ALIKE if text not in held)
        assert not shelf.has(away)
        assert (await shelf.for_call().fetch(away)).text == away
        assert shelf.has(away)
        assert shelf.statistics()[1] <= 2 * ROOM
        for text in ALIKE:
            await shelf.for_call().keep(text)
        assert len(shelf.entries()) == 5
    assert voice.rendered == []


async def test_what_was_used_last_is_in_memory_after_a_start(folder):
    async with shelved(store=Store(folder)) as shelf:
        await shelf.warm(ALIKE)
    async with shelved(store=Store(folder)) as shelf:
        shelf.find(ALIKE[3])
    async with shelved(store=Store(folder), most_bytes=ROOM) as shelf:
        assert [text for text in ALIKE if shelf.holds(text)] == [ALIKE[3]]


async def test_a_warm_up_goes_on_on_disk_where_memory_is_full(folder):
    voice = Voice()
    async with shelved(voice, store=Store(folder), most_bytes=2 * ROOM) as shelf:
        await shelf.warm(ALIKE)
        assert [shelf.holds(text) for text in ALIKE] == [True, True, False, False, False]
        await shelf.warm(ALIKE)
        assert [shelf.holds(text) for text in ALIKE] == [True, True, False, False, False]
    assert voice.rendered == ALIKE
    assert on_disk(folder) == sorted(ALIKE)


async def test_a_warm_up_ends_where_the_disk_is_full_too(folder):
    voice = Voice()
    async with shelved(voice, store=Store(folder, most_bytes=3 * ROOM), most_bytes=2 * ROOM) as shelf:
        await shelf.warm(ALIKE)
        assert "full after 3 of 5" in shelf.faults()[-1]
    assert voice.rendered == ALIKE[:4]


async def test_a_warm_up_goes_on_in_memory_where_the_disk_is_full(folder):
    """What is likelier keeps its place on the disk, also where it had been there for longest."""
    for wanted in (ALIKE[:2], ALIKE):
        async with shelved(store=Store(folder, most_bytes=3 * ROOM)) as shelf:
            await shelf.warm(wanted)
            call = shelf.for_call()
            await clock.sleep(MS)
            assert all(call.has(text) for text in wanted)
            assert shelf.faults() == ()
    assert on_disk(folder) == sorted(ALIKE[:3])


async def test_a_shelf_that_closes_finishes_what_is_on_its_way_to_the_disk(folder, monkeypatch):
    offload = clock.offload

    async def slow(*work):
        await clock.sleep(SECOND)
        return await offload(*work)

    async with shelved(store=Store(folder)) as shelf:
        monkeypatch.setattr(clock, "offload", slow)
        await shelf.keep(NAME)
    assert on_disk(folder) == [NAME]


async def test_what_is_removed_on_its_way_to_the_disk_is_not_there_in_the_end(folder, monkeypatch):
    offload = clock.offload

    async def slow(*work):
        await clock.sleep(SECOND)
        return await offload(*work)

    async with shelved(store=Store(folder)) as shelf, asyncio.TaskGroup():
        monkeypatch.setattr(clock, "offload", slow)
        await shelf.keep(NAME)
        await shelf.remove(NAME)
        await clock.sleep(5 * SECOND)
    assert on_disk(folder) == []


async def test_what_has_been_written_makes_room_for_the_next(folder):
    """No more than 64 are on their way to the disk at a time, however many are kept in all."""
    async with shelved(store=Store(folder)) as shelf:
        for number in range(70):
            await shelf.keep(f"Your number is {number}.")
            while not all(entry.on_disk for entry in shelf.entries()):
                await clock.sleep(MS)
    assert len(on_disk(folder)) == 70


def test_a_warm_up_is_full_to_the_byte_and_to_the_entry():
    warm_up, disk, piece = WarmUp(), SimpleNamespace(most_bytes=100, most_entries=3), SimpleNamespace(size=60)
    assert not warm_up.full(disk, 100)
    assert warm_up.full(disk, 101)
    assert warm_up.note("one", piece, disk, held=False)
    assert warm_up.note("one", piece, disk, held=False), "the same piece takes no more room"
    assert not warm_up.full(disk, 40)
    assert warm_up.full(disk, 41)
    assert not warm_up.note("two", piece, disk, held=False), "120 of 100 bytes"
    assert warm_up.note("three", None, disk, held=True)
    assert warm_up.overflowed
    assert WarmUp(keys=dict.fromkeys("abc")).full(disk, 1)
    assert not WarmUp(keys=dict.fromkeys("ab")).full(disk, 1)


def test_a_folder_that_nobody_else_can_enter_is_left_as_its_owner_has_it(folder):
    """A folder that its owner made read-only is not made writable again."""
    place = Store(folder).folder
    place.mkdir(parents=True)
    place.chmod(0o500)
    Store(folder).write(Key(NAME, "cheap", "tone"), speech(NAME), "")
    assert place.stat().st_mode & 0o777 == 0o500
    place.chmod(0o700)
