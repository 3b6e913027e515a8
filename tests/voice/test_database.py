"""A database is private, survives what is done to its file, and keeps no more than one that broke."""

from __future__ import annotations

import contextlib

import pytest

from turnbudget.voice.database import ASIDE, DURABLE, Database, Hold

TABLES = "CREATE TABLE IF NOT EXISTS facts (fact TEXT)"


def add(base, fact):
    base.transact(lambda connection: connection.execute("INSERT INTO facts VALUES (?)", (fact,)))


def facts(base):
    return base.transact(
        lambda connection: [fact for (fact,) in connection.execute("SELECT fact FROM facts")], "BEGIN"
    )


def test_who_holds_a_folder_is_alone_and_who_let_go_comes_no_more(tmp_path):
    one, other = Hold(tmp_path / ".holder"), Hold(tmp_path / ".holder")
    assert (one.take(), one.take(), other.take()) == (True, True, False)
    one.close()
    assert (one.take(), other.take()) == (False, True)
    other.close()


def test_of_several_files_that_cannot_be_read_the_last_is_kept_whole(tmp_path):
    place = tmp_path / "facts.sqlite"
    (tmp_path / f"facts.sqlite{ASIDE}-wal").write_bytes(b"of the one before")
    told = []
    for content in (b"buy milk" * 100, b"buy bread" * 100):
        place.write_bytes(content)
        with contextlib.closing(Database(place, TABLES, tell=lambda *what: told.append(what))) as base:
            add(base, "new")
            assert facts(base) == ["new"]
    aside = tmp_path / f"facts.sqlite{ASIDE}"
    assert told == [(aside, "file is not a database")] * 2
    assert aside.read_bytes() == content
    assert {file.name for file in tmp_path.iterdir()} == {place.name, aside.name}


def test_nobody_else_can_read_it_and_a_link_is_not_followed(tmp_path):
    place = tmp_path / "facts.sqlite"
    place.touch(0o644)
    with contextlib.closing(Database(place, TABLES, DURABLE)) as base:
        add(base, "mine")
        assert {file.stat().st_mode & 0o777 for file in tmp_path.iterdir()} == {0o600}
    place.rename(tmp_path / "elsewhere")
    place.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="it is no file"):
        Database(place, TABLES)


def test_a_transaction_that_fails_leaves_nothing(tmp_path):
    with contextlib.closing(Database(tmp_path / "facts.sqlite", TABLES)) as base:

        def fail(connection):
            connection.execute("INSERT INTO facts VALUES ('half')")
            raise KeyError(connection)

        with pytest.raises(KeyError):
            base.transact(fail)
        assert facts(base) == []
