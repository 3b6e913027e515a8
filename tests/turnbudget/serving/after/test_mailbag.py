"""A message that was written survives whoever wrote it; a folder never grows without bound."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import threading

import pytest

from turnbudget.serving.after import mailbag
from turnbudget.serving.after.mailbag import Mailbag, Message


def message(number=1, **how):
    """A message of the bank."""
    return Message(id=f"m{number}", whom="bank", body="{}", created_s=number, due_s=number, **how)


def test_messages_come_back_whole_the_oldest_first(tmp_path):
    bag = Mailbag(tmp_path / "bag")
    for number in (3, 1, 2):
        bag.put(message(number))
    assert [one.id for one in Mailbag(tmp_path / "bag").look()] == ["m1", "m2", "m3"]
    assert bag.whole(bag.look()[0]) == message(1)
    assert {place.stat().st_mode & 0o777 for place in (tmp_path / "bag").iterdir()} == {0o600}


def test_one_that_was_tried_takes_its_own_place(tmp_path):
    bag = Mailbag(tmp_path)
    bag.put(message())
    bag.look()
    bag.put(message(attempts=2))
    assert [one.attempts for one in bag.look()] == [2]
    bag.take(message())
    assert bag.look() == []
    assert bag.whole(message()) is None


def test_two_that_put_the_same_message_do_not_disturb_each_other(tmp_path, monkeypatch):
    """As at the end of a worker: who was cancelled while writing still writes, and it is written again."""
    bag, fsync, meanwhile = Mailbag(tmp_path), os.fsync, []

    def slowly(file):
        if not meanwhile:
            meanwhile.append(threading.Thread(target=bag.put, args=(message(),)))
            meanwhile[0].start()
            meanwhile[0].join(0.2)
        fsync(file)

    monkeypatch.setattr(os, "fsync", slowly)
    bag.put(message())
    meanwhile[0].join()
    assert [bag.whole(one) for one in bag.look()] == [message()]


def test_who_begins_to_deliver_takes_no_message_away_that_another_is_writing(tmp_path, monkeypatch):
    """The other may be at its end, and not come to write it again."""
    ending, taking_over, fsync, held = Mailbag(tmp_path), Mailbag(tmp_path), os.fsync, []

    def meanwhile(file):
        held.append(taking_over.hold())
        fsync(file)

    monkeypatch.setattr(os, "fsync", meanwhile)
    with contextlib.closing(taking_over):
        ending.put(message())
    assert held[0]
    assert [taking_over.whole(one) for one in taking_over.look()] == [message()]


def test_of_too_many_the_oldest_go_and_are_counted(tmp_path, monkeypatch):
    monkeypatch.setattr(mailbag, "MOST", 3)
    bag = Mailbag(tmp_path)
    for number in range(5):
        bag.put(message(number))
    assert [one.id for one in bag.look()] == ["m2", "m3", "m4"]
    assert bag.lost == 2


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff", b'{"id": 3}'])
def test_a_file_that_cannot_be_read_costs_itself(tmp_path, content):
    bag = Mailbag(tmp_path)
    bag.put(message())
    (tmp_path / "000.json").write_bytes(content)
    assert [one.id for one in bag.look()] == ["m1"]
    assert bag.lost == 1


def test_a_message_that_is_too_large_costs_itself(tmp_path, monkeypatch):
    monkeypatch.setattr(mailbag, "LARGEST", 20)
    bag = Mailbag(tmp_path)
    bag.put(message())
    assert bag.look() == []


def test_one_at_a_time_delivers_and_a_killed_one_lets_go(tmp_path):
    """Killed with SIGKILL between writing and sending: the next finds everything, and the lock free."""
    code = (
        "import os, signal, sys; from pathlib import Path\n"
        "from turnbudget.serving.after.mailbag import Mailbag, Message\n"
        "bag = Mailbag(Path(sys.argv[1])); assert bag.hold()\n"
        "for n in range(50): bag.put(Message(id=f'm{n}', whom='bank', body='{}', created_s=n, due_s=n))\n"
        "print('held', flush=True); sys.stdin.readline(); os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    with subprocess.Popen(  # noqa: S603 - our own interpreter, and the code above
        [sys.executable, "-c", code, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout.readline() == "held\n"
        bag = Mailbag(tmp_path)
        assert not bag.hold()
        other.communicate("\n")
    assert bag.hold()
    assert bag.hold()
    assert len(bag.look()) == 50
    bag.close()


def test_a_bag_that_is_closed_takes_no_lock_any_more(tmp_path):
    """A thread that was taking it when its task was cancelled finds the bag closed."""
    bag = Mailbag(tmp_path)
    bag.close()
    assert not bag.hold()
    other = Mailbag(tmp_path)
    assert other.hold()
    other.close()
