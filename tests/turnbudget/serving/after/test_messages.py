"""A message that was written survives whoever wrote it; a database never grows without bound."""

from __future__ import annotations

import contextlib
import signal
import sqlite3
import threading

import pytest
from stored import python, refusing

from turnbudget.serving.after import messages
from turnbudget.serving.after.messages import LARGEST, Message, MessageStore


def message(number=1, **how):
    """A message of the bank."""
    return Message(
        **{"id": f"m{number}", "tenant": "bank", "body": "{}", "created_s": number, "due_s": number, **how}
    )


@contextlib.contextmanager
def store(folder):
    """The messages in *folder*."""
    with contextlib.closing(MessageStore(folder)) as opened:
        yield opened


def test_messages_come_back_whole_the_oldest_first(tmp_path):
    with store(tmp_path / "bag") as bag:
        for number in (3, 1, 2):
            bag.put(message(number))
        with store(tmp_path / "bag") as other:
            assert [one.id for one in other.look()] == ["m1", "m2", "m3"]
        assert bag.whole(bag.look()[0]) == message(1)
        assert {place.stat().st_mode & 0o777 for place in (tmp_path / "bag").iterdir()} == {0o600}


def test_one_that_was_tried_takes_its_own_place(tmp_path):
    with store(tmp_path) as bag:
        bag.put(message())
        bag.look()
        bag.put(message(attempts=2))
        assert [one.attempts for one in bag.look()] == [2]
        bag.take(message())
        assert bag.look() == []
        assert bag.whole(message()) is None


def test_two_that_put_the_same_message_do_not_disturb_each_other(tmp_path):
    """As at the end of a worker: who was cancelled while writing still writes, and it is written again."""
    with store(tmp_path) as bag:
        threads = [threading.Thread(target=bag.put, args=(message(),)) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert [bag.whole(one) for one in bag.look()] == [message()]


def test_who_begins_to_deliver_takes_no_message_away_that_another_is_writing(tmp_path):
    """The other may be at its end, and not come to write it again."""
    with store(tmp_path) as ending, store(tmp_path) as taking_over:
        ending._database._connection.execute("BEGIN IMMEDIATE")
        assert taking_over.hold()
        assert taking_over.look() == []
        ending._database._connection.execute("ROLLBACK")
        ending.put(message())
        assert [taking_over.whole(one) for one in taking_over.look()] == [message()]


def test_of_too_many_the_oldest_go_and_are_counted(tmp_path, monkeypatch):
    monkeypatch.setattr(messages, "MOST", 3)
    with store(tmp_path) as bag:
        for number in range(5):
            bag.put(message(number))
        assert [one.id for one in bag.look()] == ["m2", "m3", "m4"]
        assert bag.lost == 2


def test_a_message_that_is_too_large_costs_itself(tmp_path):
    with store(tmp_path) as bag:
        bag.put(message(body="x" * (LARGEST + 1)))
        bag.put(message(2))
        assert [one.id for one in bag.look()] == ["m2"]
        assert bag.lost == 1


def test_a_full_disk_keeps_what_was_written_and_takes_more_once_there_is_room(tmp_path):
    with store(tmp_path) as bag:
        bag.put(message())
        with refusing(bag):
            with pytest.raises(OSError, match="full"):
                bag.put(message(2, body="x" * 100_000))
            assert [bag.whole(one) for one in bag.look()] == [message()]
        bag.put(message(2))
        assert [one.id for one in bag.look()] == ["m1", "m2"]


def test_one_at_a_time_delivers_and_a_killed_one_lets_go(tmp_path):
    """Killed with SIGKILL between writing and sending: the next finds everything, and the lock free."""
    code = (
        "import os, signal, sys; from pathlib import Path\n"
        "from turnbudget.serving.after.messages import Message, MessageStore\n"
        "bag = MessageStore(Path(sys.argv[1])); assert bag.hold()\n"
        "for n in range(50): bag.put(Message(id=f'm{n}', tenant='bank', body='{}', created_s=n, due_s=n))\n"
        "print('held', flush=True); sys.stdin.readline(); os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    with python(code, tmp_path) as other, store(tmp_path) as bag:
        assert other.stdout.readline() == "held\n"
        assert not bag.hold()
        other.communicate("\n")
        assert bag.hold()
        assert bag.hold()
        assert len(bag.look()) == 50


@pytest.mark.parametrize("lines", [1, 37, 120])
def test_who_is_killed_in_the_middle_of_writing_loses_nothing_written_and_leaves_nothing_half(
    tmp_path, lines
):
    """SIGKILL comes while messages of 200 kB are written one behind the other."""
    code = (
        "import itertools, sys; from pathlib import Path\n"
        "from turnbudget.serving.after.messages import Message, MessageStore\n"
        "bag = MessageStore(Path(sys.argv[1]))\n"
        "for n in itertools.count():\n"
        "    body = f'{n:08d}' * 25_000\n"
        "    bag.put(Message(id=f'm{n}', tenant='bank', body=body, created_s=n, due_s=n))\n"
        "    print(n, flush=True)\n"
    )
    with python(code, tmp_path) as other:
        for _ in range(lines):
            other.stdout.readline()
        other.send_signal(signal.SIGKILL)
        written = lines + len(other.stdout.read().splitlines())
    with store(tmp_path) as bag:
        waiting = bag.look()
        assert written <= len(waiting) <= written + 1
        for number, one in enumerate(waiting):
            assert bag.whole(one).body == f"{number:08d}" * 25_000


def test_a_store_that_is_closed_takes_no_lock_any_more(tmp_path):
    """A thread that was taking it when its task was cancelled finds the store closed."""
    bag = MessageStore(tmp_path)
    bag.close()
    assert not bag.hold()
    with pytest.raises(OSError, match="closed"):
        bag.put(message())
    with store(tmp_path) as other:
        assert other.hold()


# --- a database that cannot be read ----------------------------------------------------------------


@pytest.mark.parametrize("content", [b"{}" * 1_000, b"\xff" * 5_000, b"SQLite format 3\0" + b"\0" * 5_000])
def test_a_file_that_is_no_database_is_one_line_and_is_kept_beside_a_new_one(tmp_path, caplog, content):
    (tmp_path / "messages.sqlite").write_bytes(content)
    with store(tmp_path) as bag:
        bag.put(message())
        assert [one.id for one in bag.look()] == ["m1"]
    assert (tmp_path / "messages.sqlite.unreadable").read_bytes() == content
    [line] = [record.message for record in caplog.records]
    assert "messages.sqlite cannot be read (" in line
    assert "messages.sqlite.unreadable, and a new one begins" in line


def test_one_that_breaks_while_two_use_it_is_set_aside_once_and_both_go_on(tmp_path, caplog):
    with store(tmp_path) as one, store(tmp_path) as other:
        for number in range(200):
            one.put(message(number, body="x" * 5_000))
        one._database._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        place = tmp_path / "messages.sqlite"
        with place.open("r+b") as file:
            file.seek(4_096)
            file.write(b"\xff" * (place.stat().st_size - 4_096))
        for bag, number in ((one, 1_001), (other, 1_002)):
            bag._database._connection.execute("PRAGMA cache_size=0")
            bag.put(message(number))
        assert (
            [found.id for found in one.look()] == [found.id for found in other.look()] == ["m1001", "m1002"]
        )
    assert len([record for record in caplog.records if "a new one begins" in record.message]) == 1
    aside = sqlite3.connect(f"{place}.unreadable")
    with contextlib.closing(aside), pytest.raises(sqlite3.DatabaseError):
        aside.execute("SELECT count(body) FROM messages").fetchall()


def test_a_folder_that_was_taken_away_is_an_error_until_it_is_back(tmp_path):
    with store(tmp_path / "bag") as bag:
        bag.put(message())
        (tmp_path / "bag").rename(tmp_path / "away")
        with pytest.raises(OSError, match="No such file"):
            bag.put(message(2))
        (tmp_path / "away").rename(tmp_path / "bag")
        bag.put(message(2))
        assert [one.id for one in bag.look()] == ["m1", "m2"]
