"""The tool that changes one thing and asks the tests: what it changes, what it leaves, and what it says."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest
from shipped import ROOT

TOOL = ROOT / "bench" / "mutants.py"
SPEC = importlib.util.spec_from_file_location("mutants", TOOL)
mutants = importlib.util.module_from_spec(SPEC)
sys.modules["mutants"] = mutants
SPEC.loader.exec_module(mutants)


def changes(source):
    """Every change of *source*, as (before, after)."""
    places = mutants.mutants(Path("a.py"), source.encode())
    return {(mutant.before, mutant.after) for place in places for mutant in place}


def test_every_kind_of_mistake_is_made():
    source = """
def f(a, b=3, *, c=True):
    if a >= b and not c:
        a.x = min(a, 1.5)
        g(a)
    while g():
        break
    a -= b
    if c:
        raise ValueError("c")
    return a * b
"""
    assert changes(source) >= {
        ("a >= b", "(a > b)"),
        ("a >= b", "(a <= b)"),
        ("a >= b and not c", "(a >= b or not c)"),
        ("not c", "(c)"),
        ("3", "4"),
        ("3", "(2)"),
        ("3", "6"),
        ("True", "False"),
        ("min", "max"),
        ("a.x = min(a, 1.5)", "pass"),
        ("g(a)", "pass"),
        ("g()", "(not (g()))"),
        ("break", "continue"),
        ("a -= b", "a += b"),
        ("a -= b", "pass"),
        ("c", "(not (c))"),
        ('raise ValueError("c")', "pass"),
        ("return a * b", "return None"),
        ("a * b", "(a // b)"),
    }


def test_what_no_program_could_tell_apart_is_left_alone():
    source = '''
"""A law."""
from typing import TYPE_CHECKING, TypeAlias
if TYPE_CHECKING:
    N = 3
Both: TypeAlias = "int | None"
@dataclass(frozen=True)
class A:
    """A thing of 3."""
    x: int | None
    def __repr__(self):
        return f"{self.x + 1}"
    def f(self, y: int | None) -> int | None:
        log.info("%d of %d", y + 1, 2)
        raise ValueError(f"{y + 1}", y - 1)
'''
    assert changes(source) == {('raise ValueError(f"{y + 1}", y - 1)', "pass")}


def test_a_change_stands_where_it_was_found_and_still_is_a_program():
    source = 'a = "ü" if b < 1 else 2 * (c + 1)\n'.encode()
    for place in mutants.mutants(Path("a.py"), source):
        for mutant in place:
            compile(mutant.applied(source), "a.py", "exec")
            assert mutant.line == 1
    assert 'a = "ü" if b < 1 else 2 * ((c - 1))\n'.encode() in {
        mutant.applied(source) for place in mutants.mutants(Path("a.py"), source) for mutant in place
    }


@pytest.fixture
def shop(tmp_path):
    """A project of one module whose tests hold one of its two promises."""
    for folder in ("shop", "tests/shop"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "shop" / "till.py").write_text(
        "def price(count):\n    return count * 7\n\n\ndef free(count):\n    return count > 9\n"
    )
    (tmp_path / "tests" / "shop" / "test_till.py").write_text(
        "from shop.till import price\n\n\ndef test_price():\n    assert price(3) == 21\n"
    )
    (tmp_path / "tests" / "shop" / "test_another.py").write_text("def test_nothing():\n    pass\n")
    (tmp_path / "tests" / "test_street.py").write_text("def test_it():\n    assert __import__('shop.till')\n")
    (tmp_path / "tests" / "test_unrelated.py").write_text("def test_it():\n    assert False\n")
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    return tmp_path


def test_a_promise_that_a_test_holds_kills_and_another_survives_and_the_tree_is_untouched(shop):
    before = {path: path.read_bytes() for path in shop.rglob("*") if path.is_file()}
    assert mutants.tests_of(shop, Path("shop/till.py")) == (
        "tests/shop/test_till.py",
        "tests/shop/test_another.py",
        "tests/test_street.py",
    )
    chosen = mutants.choose(shop, ["shop.till"], 60, 1)
    assert chosen == mutants.choose(shop, ["shop/till.py"], 60, 1)
    told = []
    with mutants.Bed(shop, factor=5.0) as bed:
        outcome = mutants.measure(bed, chosen, told.append)
    assert {mutant.line for mutant in outcome.survivors} == {6}
    assert outcome.tried == len(chosen) == len(told) == 6
    assert (outcome.killed, outcome.percent) == (3, 50.0)
    assert {path: path.read_bytes() for path in shop.rglob("*") if path.is_file()} == before
    assert str(outcome.survivors[0]).startswith("shop/till.py:6: ")


def test_a_file_whose_tests_are_all_left_out_is_no_failure(shop):
    """Beside others it would not be seen; alone pytest ends with another sign."""
    for test in (shop / "tests").rglob("test_*.py"):
        test.write_text("import pytest\n\n\n@pytest.mark.quiet\ndef test_it():\n    assert 0\n")
    with mutants.Bed(shop, factor=5.0) as bed:
        outcome = mutants.measure(bed, mutants.choose(shop, ["shop"], 1, 1), lambda _: None)
    assert (outcome.killed, outcome.tried) == (0, 1)


def test_what_never_ends_is_killed_and_ctrl_c_keeps_what_there_is(shop, monkeypatch):
    (shop / "shop" / "till.py").write_text(
        "def price(count):\n    while count < 21:\n        count += 3\n    return count\n"
    )
    chosen = [each for each in mutants.choose(shop, ["shop"], 60, 1) if each.before == "count += 3"]
    assert [mutant.after for mutant in chosen] in (["pass"], ["count -= 3"])
    monkeypatch.setattr(mutants, "SETTLES_S", 0.5)

    def told(outcome):
        assert outcome.killed == 1
        raise KeyboardInterrupt

    with mutants.Bed(shop, factor=2.0) as bed:
        outcome = mutants.measure(bed, [*chosen, *chosen], told)
    assert (outcome.killed, outcome.tried) == (1, 1)


def test_what_is_not_there_and_tests_that_fail_by_themselves_are_one_line(shop):
    command = [sys.executable, str(TOOL), "nowhere"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)  # noqa: S603 - ours
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].startswith("Error: Invalid value: nowhere is no folder and no module")
    (shop / "tests" / "shop" / "test_till.py").write_text("def test_it():\n    assert 0\n")
    with (
        mutants.Bed(shop, factor=2.0) as bed,
        pytest.raises(
            mutants.click.ClickException, match=r"the tests of shop/till.py fail without any change"
        ),
    ):
        bed.kills(mutants.choose(shop, ["shop"], 1, 1)[0])
