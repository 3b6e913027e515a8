from __future__ import annotations

import shutil
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from turnbudget.voice import cache
from turnbudget.voice.errors import ComponentError


@pytest.fixture(autouse=True)
def _own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("TURNBUDGET_CACHE", str(tmp_path))


class Maker:
    """Counts how often it is asked to make a folder."""

    def __init__(self):
        self.made = 0

    def __call__(self, place):
        self.made += 1
        (place / "weights").write_bytes(b"1" * 1_000)
        (place / "inner").mkdir()
        (place / "inner" / "tokens").write_text("a b c")


def test_what_was_made_is_kept():
    make = Maker()
    place = cache.keep("model", make)
    assert cache.keep("model", make) == place
    assert make.made == 1
    assert (place / "inner" / "tokens").read_text() == "a b c"


@pytest.mark.parametrize(
    "harm",
    [
        lambda place: (place / "weights").write_bytes(b"1" * 999),
        lambda place: (place / "weights").write_bytes(b"2" * 1_000),
        lambda place: (place / "inner" / "tokens").unlink(),
        lambda place: (place / cache.MANIFEST).unlink(),
        lambda place: (place / cache.MANIFEST).write_text("[1"),
        lambda place: (place / cache.MANIFEST).write_text("[]"),
        shutil.rmtree,
    ],
    ids=["short", "altered", "missing", "no manifest", "half a manifest", "another manifest", "gone"],
)
def test_a_half_made_or_corrupt_folder_is_made_again(harm):
    """CA-08."""
    make = Maker()
    place = cache.keep("model", make)
    harm(place)
    assert not cache.whole(place)
    assert cache.whole(cache.keep("model", make))
    assert make.made == 2


def test_a_failure_leaves_nothing_and_the_next_try_works(tmp_path):
    def fail(place):
        (place / "half").write_text("h")
        raise RuntimeError("the converter broke")

    with pytest.raises(RuntimeError, match="broke"):
        cache.keep("model", fail)
    assert [file.name for file in tmp_path.iterdir()] == ["model.lock"]
    assert cache.whole(cache.keep("model", Maker()))


def test_the_remnant_of_a_killed_build_is_removed(tmp_path):
    remnant = tmp_path / ".model-abc123"
    (remnant / "model").mkdir(parents=True)
    cache.keep("model", Maker())
    assert not remnant.exists()


def test_two_at_once_make_it_once():
    """CA-07."""
    make, together = Maker(), threading.Barrier(2)

    def get():
        together.wait()
        return cache.keep("model", make)

    with ThreadPoolExecutor(2) as pool:
        one, other = pool.submit(get), pool.submit(get)
        assert one.result() == other.result()
    assert make.made == 1


def test_a_folder_that_cannot_be_written_is_one_line_with_a_remedy(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TURNBUDGET_CACHE", str(tmp_path / "file"))
    with pytest.raises(ComponentError) as caught:
        cache.keep("model", Maker())
    assert "\n" not in str(caught.value)
    assert "TURNBUDGET_CACHE" in str(caught.value)


def test_the_folder_is_ours_then_the_users_then_the_homes(tmp_path, monkeypatch):
    assert cache.folder() == tmp_path
    monkeypatch.delenv("TURNBUDGET_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache.folder() == tmp_path / "xdg" / "turnbudget"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache.folder() == tmp_path / ".cache" / "turnbudget"
