"""A fact is used once, by whichever worker comes first, and costs no call where the disk refuses it."""

from __future__ import annotations

import contextlib
from pathlib import Path

from stored import python, refusing

from turnbudget.serving.doors.once import KEPT_US, MOST, OnceStore
from turnbudget.voice.time import clock


@contextlib.contextmanager
def facts(folder=None):
    """The facts in *folder*, or in memory."""
    with contextlib.closing(OnceStore(folder)) as opened:
        yield opened


async def test_a_fact_is_kept_once_and_taken_once(tmp_path):
    for folder in (None, tmp_path / "facts"):
        with facts(folder) as once:
            assert once.put("key", "one")
            assert not once.put("key", "two")
            assert once.look("key") == "one"
            assert once.take("key") == "one"
            assert once.take("key") is None
            assert once.put("key", "three")
            assert once.put("what \udcff a header may hold", "\udcff")
            assert once.take("what \udcff a header may hold") == "\udcff"


def test_of_two_processes_that_put_and_take_the_same_facts_one_gets_each(tmp_path):
    code = (
        "import sys; from pathlib import Path\n"
        "from turnbudget.serving.doors.once import OnceStore; from turnbudget.voice.time import clock\n"
        "async def run():\n"
        "    once = OnceStore(Path(sys.argv[1])); print('there', flush=True); sys.stdin.readline()\n"
        "    put = [n for n in range(300) if once.put(f'{n}', 'x')]\n"
        "    took = [n for n in range(1000, 1300) if once.take(f'{n}') is not None]\n"
        "    print(put, flush=True); print(took, flush=True); once.close()\n"
        "clock.run(run(), 'wall')\n"
    )

    async def lay():
        with facts(tmp_path) as once:
            assert all(once.put(f"{number}", "x") for number in range(1_000, 1_300))

    clock.run(lay(), "wall")
    with python(code, tmp_path) as one, python(code, tmp_path) as other:
        both = [one, other]
        assert [process.stdout.readline() for process in both] == ["there\n"] * 2
        for process in both:
            process.stdin.write("\n")
            process.stdin.flush()
        told = [process.communicate()[0].splitlines() for process in both]
    for line, wanted in ((0, range(300)), (1, range(1_000, 1_300))):
        got = [int(number) for lines in told for number in lines[line].strip("[]").split(", ") if number]
        assert sorted(got) == list(wanted)


async def test_a_disk_that_takes_no_more_costs_no_call(tmp_path, caplog):
    """What one worker is told is kept by that worker, and the log has a line of it."""
    with facts(tmp_path) as once:
        assert once.put("before", "one")
        assert once.put("expected", "two")
        with refusing(once):
            for number in range(200):  # until no page has room
                once.put(f"{number}", "x" * 1_000)
            assert once.put("after CA1", "+15550123" * 1_000)
            assert once.put("after CA2", "+15550124")
            assert not once.put("after CA1", "+15550125")
            once._database._connection.execute("PRAGMA query_only=ON")
            assert once.take("expected") == "two"
            assert once.take("expected") is None
            assert once.look("expected") is None
            once._database._connection.execute("PRAGMA query_only=OFF")
        assert not once.put("after CA1", "+15550125"), "there is room again, and it is known still"
        assert once.look("after CA1") == once.take("after CA1") == "+15550123" * 1_000
        assert once.take("after CA1") is None
        assert once.take("before") == "one"
        assert once.take("expected") is None
        assert once.put("expected", "three")
        assert once.take("expected") == "three"
    assert [record.message for record in caplog.records] == [
        "facts are not shared with other workers: database or disk is full"
    ]


async def test_a_folder_that_cannot_be_is_one_line_and_facts_stay_in_memory(caplog):
    with facts(Path("/dev/null/facts")) as once:
        assert once.put("key", "one")
        assert not once.put("key", "two")
        assert once.take("key") == "one"
        assert once.take("key") is None
    [line] = [record.message for record in caplog.records]
    assert line.startswith("facts are not shared with other workers: ")


async def test_facts_that_nobody_takes_are_forgotten(tmp_path):
    for folder in (None, tmp_path):
        with facts(folder) as once:
            once.put("old")
            await clock.sleep(KEPT_US + 1)
            assert once.look("old") is None
            assert once.put("old")
            for number in range(MOST + 10):
                once.put(f"{number}")
            count = once._database._connection.execute("SELECT count(*) FROM facts").fetchone()[0]
            assert count <= MOST == 20_000
